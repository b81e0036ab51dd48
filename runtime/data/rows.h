// Elements as the rows of one, and back.
#pragma once

#include <vector>

#include "runtime/data/dataset.h"

namespace tensorfleet::data {

// `n` elements of `dtype` from `from` to `to`, which do not overlap. With `may_take` strings and
// objects are moved out.
void CopyElements(DType dtype, void* to, void* from, int64_t n, bool may_take);

// Puts elements of one shape together, each written to its place as it comes. Memory grows with
// what has come where a batch could be large.
class BatchBuilder {
 public:
  // Up to `size` elements.
  BatchBuilder(const std::vector<DType>& types, int64_t size);

  int64_t size() const { return size_; }
  int64_t count() const { return count_; }
  bool is_full() const { return count_ == size_; }
  // Errors: InvalidArgument for other shapes than the first element's, in TensorFlow's words;
  // ResourceExhausted.
  Status Add(Element element);
  // The batch of those that have come, at least one; begins anew.
  StatusOr<Element> Finish();
  // Those that have come, one by one.
  Element Row(int64_t i) const;

 private:
  Status Reserve(const Element& element);

  const std::vector<DType> types_;
  const int64_t size_;
  int64_t count_ = 0;
  int64_t capacity_ = 0;
  std::vector<Shape> shapes_;  // of a row
  Element rows_;
};

// Row `i` of `batch`, which shares its memory.
Tensor RowOf(const Tensor& batch, int64_t i);

// `shape` without, and with, a first dimension.
PartialShape WithoutFirst(const PartialShape& shape);
PartialShape WithFirst(int64_t size, const PartialShape& shape);

}  // namespace tensorfleet::data
