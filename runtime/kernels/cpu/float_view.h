// Tensors of any floating type as float: for kernels that compute half and bfloat16 in float.
#pragma once

#include "runtime/kernels/cpu/small_float.h"
#include "runtime/tensor/buffer.h"
#include "runtime/tensor/tensor.h"

namespace tensorfleet::cpu {

// The values of a tensor in the type that they are computed in; a converted copy only for half and
// bfloat16.
template <typename T>
class WideInput {
 public:
  static StatusOr<WideInput> Of(const Tensor& tensor) {
    WideInput input;
    if constexpr (kIsSmallFloat<T>) {
      TFLEET_ASSIGN_OR_RETURN(input.buffer_,
                              AllocateHostBuffer(tensor.num_elements() * sizeof(float)));
      float* converted = static_cast<float*>(input.buffer_->data());
      ToFloat(tensor.values<T>().data(), converted, tensor.num_elements());
      input.data_ = converted;
    } else {
      input.data_ = tensor.values<T>().data();
    }
    return input;
  }
  const Widened<T>* data() const { return data_; }

 private:
  BufferRef buffer_;
  const Widened<T>* data_ = nullptr;
};

// Room for a tensor's values in the type that they are computed in; Finish rounds them into the
// tensor.
template <typename T>
class WideOutput {
 public:
  static StatusOr<WideOutput> For(Tensor& tensor) {
    WideOutput output;
    output.to_ = tensor.mutable_values<T>().data();
    output.size_ = tensor.num_elements();
    if constexpr (kIsSmallFloat<T>) {
      TFLEET_ASSIGN_OR_RETURN(output.buffer_, AllocateHostBuffer(output.size_ * sizeof(float)));
      output.data_ = static_cast<float*>(output.buffer_->data());
    } else {
      output.data_ = output.to_;
    }
    return output;
  }
  Widened<T>* data() const { return data_; }
  void Finish() {
    if constexpr (kIsSmallFloat<T>) FromFloat(data_, to_, size_);
  }

 private:
  BufferRef buffer_;
  T* to_ = nullptr;
  int64_t size_ = 0;
  Widened<T>* data_ = nullptr;
};

}  // namespace tensorfleet::cpu
