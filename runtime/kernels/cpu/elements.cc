#include "runtime/kernels/cpu/elements.h"

namespace tensorfleet::cpu {

void CopyObjects(DType dtype, void* to, const void* from, int64_t n) {
  const auto copy = [&](auto tag) {
    using E = typename decltype(tag)::Type;
    std::copy_n(static_cast<const E*>(from), n, static_cast<E*>(to));
  };
  switch (dtype) {
    case DType::kString:
      return copy(ElementTag<std::string>());
    case DType::kResource:
      return copy(ElementTag<ResourceHandle>());
    default:
      return copy(ElementTag<Variant>());
  }
}

void FillElements(DType dtype, void* to, const void* value, int64_t n) {
  VisitElement(dtype, [&](auto tag) {
    using E = typename decltype(tag)::Type;
    std::fill_n(static_cast<E*>(to), n, *static_cast<const E*>(value));
  });
}

}  // namespace tensorfleet::cpu
