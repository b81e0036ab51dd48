#include "runtime/kernels/cpu/list/nesting.h"

#include <algorithm>

#include "runtime/kernels/cpu/list/optional.h"
#include "runtime/kernels/cpu/list/tensor_list.h"

namespace tensorfleet::cpu {
namespace {

int DepthOf(const Tensor& t);

int DepthOf(const Variant& variant) {
  if (variant.is_empty()) return 0;
  if (const auto* list = variant.get<TensorList>()) return list->depth;
  if (const auto* optional = variant.get<Optional>()) return optional->depth();
  const auto* encoded = variant.get<EncodedVariant>();
  if (encoded == nullptr) return 1;
  int depth = 0;  // a message, which is no deeper than those may be
  for (const Tensor& t : encoded->data().tensors) depth = std::max(depth, DepthOf(t));
  return depth + 1;
}

int DepthOf(const Tensor& t) {
  int depth = 0;
  if (t.dtype() == DType::kVariant) {
    for (const Variant& v : t.values<Variant>()) depth = std::max(depth, DepthOf(v));
  }
  return depth;
}

}  // namespace

Status NestWithin(const Tensor& element, int* depth) {
  if (element.dtype() != DType::kVariant) return OkStatus();
  *depth = std::max(*depth, DepthOf(element) + 1);
  if (*depth <= kMaxNesting) return OkStatus();
  return ResourceExhausted("lists and optionals are nested more than ", kMaxNesting, " deep");
}

}  // namespace tensorfleet::cpu
