#include "runtime/kernels/cpu/list/variant_math.h"

#include <algorithm>

#include "runtime/kernels/cpu/index_input.h"
#include "runtime/kernels/cpu/list/optional.h"
#include "runtime/kernels/cpu/list/tensor_list.h"
#include "runtime/kernels/cpu/math/binary.h"
#include "runtime/kernels/cpu/ragged/ragged_value.h"

namespace tensorfleet::cpu {
namespace {

bool IsOfType(const Variant& v, const char* type_name) {
  return v.value()->TypeName() == type_name;
}

StatusOr<Variant> ZerosLikeVariant(const Variant& v) {
  if (v.is_empty()) return v;
  if (IsOfType(v, TensorList::kTypeName)) {
    TFLEET_ASSIGN_OR_RETURN(const TensorListPtr list, ListFromVariant(v));
    auto zeros = std::make_shared<TensorList>(*list);
    for (Tensor& element : zeros->elements) {
      if (!element.is_valid()) continue;
      TFLEET_ASSIGN_OR_RETURN(element, ZerosLikeTensor(element));
    }
    return Variant(std::move(zeros));
  }
  if (IsOfType(v, Optional::kTypeName)) {
    TFLEET_ASSIGN_OR_RETURN(const auto optional, OptionalFromVariant(v));
    if (!optional->has_value()) return v;
    std::vector<Tensor> components = optional->components();
    for (Tensor& component : components) {
      TFLEET_ASSIGN_OR_RETURN(component, ZerosLikeTensor(component));
    }
    return Variant(std::make_shared<Optional>(std::move(components), optional->depth()));
  }
  if (const std::vector<Tensor>* const parts = RaggedPartsIn(v)) {
    std::vector<Tensor> zeros = *parts;
    TFLEET_ASSIGN_OR_RETURN(zeros.back(), ZerosLikeTensor(zeros.back()));
    return RaggedVariantOf(std::move(zeros));
  }
  return Unimplemented("ZerosLike is not available for variants that hold ", v.value()->TypeName());
}

StatusOr<Variant> AddLists(const TensorListPtr& first, const TensorList& b, bool is_unique) {
  const TensorList& a = *first;
  if (a.dtype() != b.dtype() || a.size() != b.size()) {
    return InvalidArgument(
        "Trying to add two lists of tensors of different dtypes or lengths. One ", "is ", a.size(),
        " of ", DTypeName(a.dtype()), ", the other ", b.size(), " of ", DTypeName(b.dtype()));
  }
  TFLEET_ASSIGN_OR_RETURN(PartialShape shape, a.element_shape().MergedWith(b.element_shape()));
  std::shared_ptr<TensorList> sum;
  if (shape == a.element_shape() && a.max_elements() < 0) {
    sum = OwnList(first, is_unique);
  } else {
    sum = std::make_shared<TensorList>(a.dtype(), std::move(shape));
    sum->elements = a.elements;
    sum->depth = a.depth;
  }
  sum->depth = std::max(sum->depth, b.depth);
  for (int64_t i = 0; i < b.size(); ++i) {
    const Tensor& y = b.elements[i];
    if (!y.is_valid()) continue;
    Tensor& x = sum->elements[i];
    if (x.is_valid()) {
      TFLEET_ASSIGN_OR_RETURN(x, AddTensors(std::move(x), y));
    } else {
      x = y;
    }
  }
  return Variant(std::move(sum));
}

StatusOr<Variant> AddOptionals(const Optional& a, const Optional& b) {
  if (a.has_value() != b.has_value() || a.components().size() != b.components().size()) {
    return InvalidArgument("Cannot add optionals because one has ", a.components().size(),
                           " components and the other ", b.components().size());
  }
  if (!a.has_value()) return Variant(std::make_shared<Optional>());
  std::vector<Tensor> sums;
  for (size_t i = 0; i < a.components().size(); ++i) {
    TFLEET_ASSIGN_OR_RETURN(Tensor sum, AddTensors(a.components()[i], b.components()[i]));
    sums.push_back(std::move(sum));
  }
  return Variant(std::make_shared<Optional>(std::move(sums), std::max(a.depth(), b.depth())));
}

// Ragged tensors of the same splits.
StatusOr<Variant> AddRagged(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  bool fit = a.size() == b.size();
  for (size_t i = 0; fit && i + 1 < a.size(); ++i) {
    fit = a[i].dtype() == b[i].dtype() &&
          (a[i].dtype() == DType::kInt32 || a[i].dtype() == DType::kInt64) &&
          IntegersOf(a[i]) == IntegersOf(b[i]);
  }
  if (!fit) return InvalidArgument("Cannot add ragged tensors of different splits");
  std::vector<Tensor> sum = a;
  TFLEET_ASSIGN_OR_RETURN(sum.back(), AddTensors(a.back(), b.back()));
  return RaggedVariantOf(std::move(sum));
}

// `is_unique`: nobody else holds `a`.
StatusOr<Variant> AddVariants(const Variant& a, const Variant& b, bool is_unique) {
  if (a.is_empty()) return b;
  if (b.is_empty()) return a;
  if (IsOfType(a, TensorList::kTypeName)) {
    TFLEET_ASSIGN_OR_RETURN(const TensorListPtr x, ListFromVariant(a));
    TFLEET_ASSIGN_OR_RETURN(const TensorListPtr y, ListFromVariant(b));
    return AddLists(x, *y, is_unique);
  }
  if (IsOfType(a, Optional::kTypeName)) {
    TFLEET_ASSIGN_OR_RETURN(const auto x, OptionalFromVariant(a));
    TFLEET_ASSIGN_OR_RETURN(const auto y, OptionalFromVariant(b));
    return AddOptionals(*x, *y);
  }
  const std::vector<Tensor>* const x = RaggedPartsIn(a);
  const std::vector<Tensor>* const y = RaggedPartsIn(b);
  if (x != nullptr && y != nullptr) return AddRagged(*x, *y);
  return Unimplemented("AddN is not available for variants that hold ", a.value()->TypeName());
}

}  // namespace

StatusOr<Tensor> ZerosLikeTensor(const Tensor& t) {
  if (t.dtype() == DType::kResource) {
    return Unimplemented("ZerosLike is not available for resource handles");
  }
  if (t.dtype() != DType::kVariant) return Tensor::Zeros(t.dtype(), t.shape());
  TFLEET_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(DType::kVariant, t.shape()));
  for (int64_t i = 0; i < t.num_elements(); ++i) {
    TFLEET_ASSIGN_OR_RETURN(out.mutable_values<Variant>()[i],
                            ZerosLikeVariant(t.values<Variant>()[i]));
  }
  return out;
}

StatusOr<Tensor> AddTensors(Tensor a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) {
    return InvalidArgument("cannot add ", DTypeName(a.dtype()), " ", a.shape().ToString(), " and ",
                           DTypeName(b.dtype()), " ", b.shape().ToString());
  }
  TFLEET_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(a.dtype(), a.shape()));
  if (a.dtype() == DType::kVariant) {
    for (int64_t i = 0; i < a.num_elements(); ++i) {
      TFLEET_ASSIGN_OR_RETURN(
          out.mutable_values<Variant>()[i],
          AddVariants(a.values<Variant>()[i], b.values<Variant>()[i], a.buffer_is_unique()));
    }
    return out;
  }
  const BinaryLoop add = FindAdd(a.dtype());
  if (add == nullptr) return Unimplemented("there is no sum of ", DTypeName(a.dtype()));
  if (a.num_elements() > 0) add(a.raw(), b.raw(), out.mutable_raw(), a.num_elements(), 1, 1);
  return out;
}

}  // namespace tensorfleet::cpu
