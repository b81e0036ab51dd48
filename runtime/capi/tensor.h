// TF_Tensor, and the way from it to the engine's tensors and back.
#pragma once

#include "runtime/capi/boundary.h"
#include "runtime/tensor/tensor.h"

// Plain data is in `tensor`, shared with the engine. Strings are TF_TString objects in `strings`,
// since the engine's elements are std::string: they are converted on the way. Handles and variants
// are in `tensor`, and cannot be looked at.
struct TF_Tensor {
  tensorfleet::DType dtype = tensorfleet::DType::kInvalid;
  tensorfleet::Shape shape;
  tensorfleet::Tensor tensor;
  tensorfleet::BufferRef strings;
  size_t string_bytes = 0;  // of the array in `strings`
  bool is_callers_memory = false;
};

namespace tensorfleet::capi {

// Errors: InvalidArgument for a number that is no type of elements.
StatusOr<DType> ElementType(TF_DataType type);
// Errors: InvalidArgument.
StatusOr<Shape> ShapeFrom(const int64_t* dims, int num_dims);

// Shares plain data, copies strings. Errors: InvalidArgument for NULL.
StatusOr<Tensor> ToEngine(const TF_Tensor* tensor);
// A new TF_Tensor, which shares plain data. Errors: ResourceExhausted; FailedPrecondition for an
// invalid tensor.
StatusOr<TF_Tensor*> FromEngine(const Tensor& tensor);

}  // namespace tensorfleet::capi
