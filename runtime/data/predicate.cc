#include "runtime/data/predicate.h"

namespace tensorfleet::data {

StatusOr<bool> SaysYes(const BoundFunction& predicate, const Element& element) {
  Element result;
  TFLEET_RETURN_IF_ERROR(predicate.Call(element, &result));
  if (result.size() != 1 || result[0].dtype() != DType::kBool || result[0].num_elements() != 1) {
    return InvalidArgument("Filter predicate `f` must return a scalar bool.");
  }
  return result[0].scalar<bool>();
}

StatusOr<DatasetRef> CallForDataset(const BoundFunction& function, Element args,
                                    const ElementType& type) {
  Element result;
  TFLEET_RETURN_IF_ERROR(function.Call(std::move(args), &result));
  if (result.size() != 1 || result[0].dtype() != DType::kVariant ||
      !result[0].shape().is_scalar()) {
    return InvalidArgument("Function must return a single scalar of dtype DT_VARIANT.");
  }
  TFLEET_ASSIGN_OR_RETURN(DatasetRef dataset, DatasetIn(result[0]));
  TFLEET_RETURN_IF_ERROR(CheckCompatible(type, dataset->type()));
  return dataset;
}

StatusOr<int64_t> CallForInt(const BoundFunction& function, Element args, absl::string_view what) {
  Element result;
  TFLEET_RETURN_IF_ERROR(function.Call(std::move(args), &result));
  if (result.size() != 1 || result[0].dtype() != DType::kInt64 || !result[0].shape().is_scalar()) {
    return InvalidArgument("`", what, "` must return a scalar int64.");
  }
  return result[0].scalar<int64_t>();
}

}  // namespace tensorfleet::data
