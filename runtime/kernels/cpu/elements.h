// Moving elements without knowing what they mean: plain data is moved by its size, so that one
// instantiation serves every dtype of that size; strings, resource handles and variants are copied
// as objects.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include "runtime/tensor/dtype.h"
#include "runtime/tensor/resource_handle.h"
#include "runtime/tensor/tensor.h"
#include "runtime/tensor/variant.h"

namespace tensorfleet::cpu {

// An element of 16 bytes.
struct Bytes16 {
  uint64_t low, high;
};

template <typename E>
struct ElementTag {
  using Type = E;
};

// Returns visit(ElementTag<E>()), where E moves like the elements of `dtype`: an unsigned integer
// of its size, Bytes16, std::string, ResourceHandle or Variant.
template <typename Visit>
auto VisitElement(DType dtype, Visit&& visit) {
  switch (dtype) {
    case DType::kString:
      return visit(ElementTag<std::string>());
    case DType::kResource:
      return visit(ElementTag<ResourceHandle>());
    case DType::kVariant:
      return visit(ElementTag<Variant>());
    default:
      break;
  }
  switch (ElementSize(dtype)) {
    case 1:
      return visit(ElementTag<uint8_t>());
    case 2:
      return visit(ElementTag<uint16_t>());
    case 4:
      return visit(ElementTag<uint32_t>());
    case 8:
      return visit(ElementTag<uint64_t>());
    default:
      return visit(ElementTag<Bytes16>());
  }
}

// The elements of a tensor as VisitElement's type.
template <typename E>
const E* ElementsOf(const Tensor& t) {
  return static_cast<const E*>(t.raw());
}
template <typename E>
E* MutableElementsOf(Tensor& t) {
  return static_cast<E*>(t.mutable_raw());
}

// The address of element `i`, to be read or written through the functions below.
inline const char* ElementAt(const Tensor& t, int64_t i) {
  return static_cast<const char*>(t.raw()) + i * static_cast<int64_t>(ElementSize(t.dtype()));
}
inline char* MutableElementAt(Tensor& t, int64_t i) {
  return static_cast<char*>(t.mutable_raw()) + i * static_cast<int64_t>(ElementSize(t.dtype()));
}

// `n` objects (strings, handles or variants).
void CopyObjects(DType dtype, void* to, const void* from, int64_t n);

// `n` elements of `dtype`; the ranges must not overlap.
inline void CopyElements(DType dtype, void* to, const void* from, int64_t n) {
  if (IsPlainData(dtype)) {
    if (n > 0) std::memcpy(to, from, n * ElementSize(dtype));
  } else {
    CopyObjects(dtype, to, from, n);
  }
}

// Sets `n` elements to the one at `value`.
void FillElements(DType dtype, void* to, const void* value, int64_t n);

// Roughly what moving one element costs, in units of ThreadPool::ParallelFor (nanoseconds, at least
// 1).
inline int64_t MoveCost(DType dtype) { return IsPlainData(dtype) ? 1 : 20; }

}  // namespace tensorfleet::cpu
