// Rows of any floating type in the type that they are computed in.
#pragma once

#include <vector>

#include "runtime/kernels/cpu/small_float.h"

namespace tensorfleet::cpu {

// Converts rows of half and bfloat16 through memory of its own; rows of other types are used where
// they lie.
template <typename T>
class RowBuffer {
 public:
  using W = Widened<T>;
  explicit RowBuffer(int64_t size) : size_(size) {
    if constexpr (kIsSmallFloat<T>) buffer_.resize(size);
  }
  // The row at `from`, or the first `size` elements of it, to be read.
  const W* Read(const T* from) { return Read(from, size_); }
  const W* Read(const T* from, int64_t size) {
    if constexpr (kIsSmallFloat<T>) {
      ToFloat(from, buffer_.data(), size);
      return buffer_.data();
    } else {
      return from;
    }
  }
  // Where to compute what Write then puts at `to`.
  W* Place(T* to) {
    if constexpr (kIsSmallFloat<T>)
      return buffer_.data();
    else
      return to;
  }
  void Write(T* to) { Write(to, size_); }
  void Write(T* to, int64_t size) {
    if constexpr (kIsSmallFloat<T>) FromFloat(buffer_.data(), to, size);
  }

 private:
  const int64_t size_;
  std::vector<float> buffer_;
};

}  // namespace tensorfleet::cpu
