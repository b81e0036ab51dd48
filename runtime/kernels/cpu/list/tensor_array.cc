#include "runtime/kernels/cpu/list/tensor_array.h"

#include "runtime/kernels/cpu/list/variant_math.h"

namespace tensorfleet::cpu {

std::string TensorArray::DebugString() const {
  MutexLock lock(&mu_);
  return absl::StrCat("TensorArray[", elements_.size(), "]");
}

int64_t TensorArray::size() const {
  MutexLock lock(&mu_);
  return static_cast<int64_t>(elements_.size());
}

PartialShape TensorArray::element_shape() const {
  MutexLock lock(&mu_);
  return element_shape_;
}

Status TensorArray::MergeElementShape(const PartialShape& shape) {
  MutexLock lock(&mu_);
  StatusOr<PartialShape> merged = element_shape_.MergedWith(shape);
  if (!merged.ok()) {
    return InvalidArgument("TensorArray ", name_, ": the element shape ", shape.ToString(),
                           " does not fit the one that it has, ", element_shape_.ToString());
  }
  element_shape_ = *std::move(merged);
  return OkStatus();
}

Status TensorArray::MakeRoom(int64_t index) {
  const auto size = static_cast<int64_t>(elements_.size());
  if (index >= 0 && index < size) return OkStatus();
  if (index < 0 || !can_grow_) {
    return InvalidArgument("TensorArray ", name_, ": Tried to write to index ", index,
                           " but array is not resizeable and size is: ", size);
  }
  if (index >= kMaxElements) {
    return ResourceExhausted("TensorArray ", name_, ": index ", index, "; at most ", kMaxElements,
                             " elements are supported");
  }
  elements_.resize(index + 1);
  return OkStatus();
}

Status TensorArray::Write(int64_t index, Tensor value) {
  MutexLock lock(&mu_);
  TFLEET_RETURN_IF_ERROR(MakeRoom(index));
  const auto refuse = [&](const auto&... why) {
    return InvalidArgument("TensorArray ", name_, ": Could not write to TensorArray index ", index,
                           " because ", why...);
  };
  if (value.dtype() != dtype_) {
    return refuse("the value dtype is ", DTypeName(value.dtype()), " but TensorArray dtype is ",
                  DTypeName(dtype_), ".");
  }
  if (!element_shape_.IsCompatibleWith(value.shape())) {
    return refuse("the value shape is ", value.shape().ToString(),
                  " which is incompatible with the TensorArray's inferred element shape: ",
                  element_shape_.ToString(), " (consider setting infer_shape=False).");
  }
  Element& element = elements_[index];
  if (element.is_read) return refuse("it has already been read.");
  if (element.is_written && !adds_up_) return refuse("it has already been written to.");
  if (has_one_shape_) element_shape_ = value.shape();
  if (element.is_written) {
    if (element.value.shape() != value.shape()) {
      return refuse("the value shape is ", value.shape().ToString(), " but the first one written ",
                    "had ", element.value.shape().ToString());
    }
    TFLEET_ASSIGN_OR_RETURN(value, AddTensors(element.value, value));
  }
  element.value = std::move(value);
  element.is_written = true;
  return OkStatus();
}

StatusOr<Tensor> TensorArray::Read(int64_t index) {
  MutexLock lock(&mu_);
  if (index < 0 || index >= static_cast<int64_t>(elements_.size())) {
    return InvalidArgument("TensorArray ", name_, ": Tried to read from index ", index,
                           " but array size is: ", elements_.size());
  }
  Element& element = elements_[index];
  if (element.is_cleared) {
    return InvalidArgument("TensorArray ", name_, ": Could not read index ", index,
                           " twice because it was cleared after a previous read (perhaps try ",
                           "setting clear_after_read = false?).");
  }
  if (!element.is_written) {
    if (!element_shape_.is_fully_defined()) {
      return InvalidArgument(
          "TensorArray ", name_, ": Could not read from TensorArray index ", index,
          ".  Furthermore, the element shape is not fully defined: ", element_shape_.ToString(),
          ".  It is possible you are working with a resizeable TensorArray and stop_gradients is ",
          "not allowing the gradients to be written.  If you set the full element_shape property ",
          "on the forward TensorArray, the proper all-zeros tensor will be returned instead of ",
          "incurring this error.");
    }
    TFLEET_ASSIGN_OR_RETURN(const Shape shape, element_shape_.ToShape());
    TFLEET_ASSIGN_OR_RETURN(element.value, Tensor::Zeros(dtype_, shape));
    element.is_written = true;
  }
  element.is_read = true;
  if (!clears_after_read_) return element.value;
  element.is_cleared = true;
  return std::move(element.value);
}

TensorArray::Options TensorArray::ForGradients(const std::string& source, int64_t* size) {
  MutexLock lock(&mu_);
  can_grow_ = false;
  *size = static_cast<int64_t>(elements_.size());
  Options options;
  options.name = absl::StrCat(name_, "@", source);
  options.dtype = dtype_;
  options.element_shape = element_shape_;
  options.has_one_shape = has_one_shape_;
  options.adds_up = true;
  return options;
}

}  // namespace tensorfleet::cpu
