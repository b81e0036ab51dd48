// A tensor: element type, shape and a shared buffer in host memory. Copying one copies a handle;
// the data is shared and must not be written while anybody else holds it (`buffer_is_unique`).
// Thread-compatible: concurrent reads are safe.
#pragma once

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <new>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/types/span.h"
#include "runtime/base/check.h"
#include "runtime/base/status.h"
#include "runtime/tensor/buffer.h"
#include "runtime/tensor/dtype.h"
#include "runtime/tensor/shape.h"

namespace tensorfleet {

class Tensor {
 public:
  // An invalid tensor: what an output holds before it is set.
  Tensor() = default;

  // Memory for `shape`: plain data is left uninitialised, strings, handles and variants are
  // default-constructed. Errors: ResourceExhausted; InvalidArgument for kInvalid or a reference
  // type, or for what Shape::Make refuses.
  static StatusOr<Tensor> Allocate(DType dtype, const Shape& shape);
  static StatusOr<Tensor> Allocate(DType dtype, std::initializer_list<int64_t> dims);
  // The same, with plain data set to zero.
  static StatusOr<Tensor> Zeros(DType dtype, const Shape& shape);
  static StatusOr<Tensor> Zeros(DType dtype, std::initializer_list<int64_t> dims);
  // Whether a tensor may be this large: Allocate asks it, and so does who gives a tensor another
  // shape. A tensor without elements counts as if its zeros were ones, so that a loop over its rows
  // is never longer than one over a tensor that could be. Errors: ResourceExhausted.
  static Status CheckSize(DType dtype, const Shape& shape);
  // Uses `buffer` (plain data only), which must hold at least shape.num_elements() elements.
  static Tensor FromBuffer(DType dtype, const Shape& shape, BufferRef buffer);

  // These throw std::bad_alloc when memory runs out: a kernel's node or a request then fails.
  template <typename T>
  static Tensor Scalar(T value);
  static Tensor Scalar(const char* value) { return Scalar<std::string>(value); }
  template <typename T>
  static Tensor Vector(absl::Span<const T> values);
  template <typename T>
  static Tensor Vector(std::initializer_list<T> values) {
    return Vector<T>(absl::MakeConstSpan(values.begin(), values.size()));
  }
  // Row-major `values`, as many as `shape` has elements.
  template <typename T>
  static Tensor Of(const Shape& shape, std::initializer_list<T> values) {
    return Vector<T>(absl::MakeConstSpan(values.begin(), values.size())).Reshaped(shape);
  }

  bool is_valid() const { return dtype_ != DType::kInvalid; }
  // Lets go of the buffer: invalid again.
  void Clear() {
    dtype_ = DType::kInvalid;
    buffer_ = BufferRef();
    offset_ = 0;
  }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  int rank() const { return shape_.rank(); }
  int64_t dim(int i) const { return shape_.dim(i); }
  int64_t num_elements() const { return shape_.num_elements(); }
  // Bytes of the elements as they lie in memory (for strings: of the objects, not of their text).
  size_t bytes() const { return ElementSize(dtype_) * num_elements(); }
  // Like bytes(), plus the text of strings: what a trace or a metric should count.
  size_t total_bytes() const;

  // The elements, row-major. T must be the element type.
  template <typename T>
  absl::Span<const T> values() const {
    TFLEET_DCHECK(kDTypeOf<T> == dtype_);
    return absl::MakeConstSpan(static_cast<const T*>(raw()), num_elements());
  }
  // For the holder of the only reference, usually a kernel that has just allocated its output.
  template <typename T>
  absl::Span<T> mutable_values() {
    TFLEET_DCHECK(kDTypeOf<T> == dtype_);
    return absl::MakeSpan(static_cast<T*>(mutable_raw()), num_elements());
  }
  // The only element of a one-element tensor.
  template <typename T>
  const T& scalar() const {
    TFLEET_DCHECK(num_elements() == 1);
    return values<T>()[0];
  }
  const void* raw() const {
    return buffer_ ? static_cast<char*>(buffer_->data()) + offset_ : nullptr;
  }
  void* mutable_raw() { return buffer_ ? static_cast<char*>(buffer_->data()) + offset_ : nullptr; }

  // The same elements under another shape of as many elements (checked: our bug otherwise).
  Tensor Reshaped(const Shape& shape) const;
  // The same elements as a vector.
  Tensor Flat() const;
  // The same bytes as another plain type of the same size.
  Tensor BitcastTo(DType dtype) const;
  // Rows [begin, end) of the first dimension, sharing the buffer. The result may be less than
  // 64-byte aligned.
  Tensor Rows(int64_t begin, int64_t end) const;
  // A copy with a buffer of its own. Errors: ResourceExhausted.
  StatusOr<Tensor> Clone() const;

  // True when this handle is the only one to its buffer, so the data may be overwritten in place.
  bool buffer_is_unique() const { return buffer_ && buffer_->unique(); }
  bool SharesBufferWith(const Tensor& other) const {
    return buffer_.get() != nullptr && buffer_.get() == other.buffer_.get();
  }
  const BufferRef& buffer() const { return buffer_; }
  bool is_aligned() const { return reinterpret_cast<uintptr_t>(raw()) % kBufferAlignment == 0; }

  // "float [2,3]: 1 2 3 ..." with at most `max_elements` elements: for messages and tests.
  std::string ToString(int max_elements = 10) const;
  // The elements alone, TensorFlow's way of printing inside Print and Assert ("[1 2 3...]").
  std::string SummarizeValues(int64_t max_elements) const;

 private:
  DType dtype_ = DType::kInvalid;
  Shape shape_;
  BufferRef buffer_;
  size_t offset_ = 0;  // bytes into the buffer
};

template <typename T>
Tensor Tensor::Scalar(T value) {
  StatusOr<Tensor> t = Allocate(kDTypeOf<T>, Shape());
  if (!t.ok()) throw std::bad_alloc();
  t->mutable_values<T>()[0] = std::move(value);
  return *std::move(t);
}

template <typename T>
Tensor Tensor::Vector(absl::Span<const T> values) {
  StatusOr<Tensor> t = Allocate(kDTypeOf<T>, {static_cast<int64_t>(values.size())});
  if (!t.ok()) throw std::bad_alloc();
  std::copy(values.begin(), values.end(), t->mutable_values<T>().begin());
  return *std::move(t);
}

}  // namespace tensorfleet
