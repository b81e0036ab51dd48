// Shapes. `Shape` is the shape of a tensor: every dimension known, the number of elements checked
// against overflow when it is made. `PartialShape` is what is known before a step runs: a
// dimension, or even the rank, may be open.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <ostream>
#include <string>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "runtime/base/check.h"
#include "runtime/base/status.h"

namespace tensorflow {
class TensorShapeProto;
}

namespace tensorfleet {

// Dimensions are non-negative; the product fits in int64. Value type; up to four dimensions take no
// memory of their own.
class Shape {
 public:
  static constexpr int kMaxRank = 254;

  Shape() = default;  // a scalar
  // For tests, which alone link what defines it (tensor/testing): ends the process on bad
  // dimensions.
  Shape(std::initializer_list<int64_t> dims);

  // The way in. Errors: InvalidArgument for a negative dimension, a rank over kMaxRank or a product
  // of the non-zero dimensions over int64.
  static StatusOr<Shape> Make(absl::Span<const int64_t> dims);
  static StatusOr<Shape> FromProto(const tensorflow::TensorShapeProto& proto);
  void ToProto(tensorflow::TensorShapeProto* proto) const;

  int rank() const { return static_cast<int>(dims_.size()); }
  bool is_scalar() const { return dims_.empty(); }
  // Negative `i` counts from the end.
  int64_t dim(int i) const { return dims_[i < 0 ? i + rank() : i]; }
  absl::Span<const int64_t> dims() const { return dims_; }
  int64_t num_elements() const { return num_elements_; }

  // The elements that there would be if no dimension were zero: how much a loop over some of the
  // dimensions may have to do.
  int64_t extent() const;

  // Same shape with one change; overflow is checked like in Make.
  StatusOr<Shape> WithDim(int i, int64_t size) const;
  // dims [begin, end).
  Shape SubShape(int begin, int end) const;
  // This shape followed by `tail`'s dimensions; checked like in Make.
  StatusOr<Shape> Concatenated(const Shape& tail) const;
  StatusOr<Shape> Concatenated(std::initializer_list<int64_t> tail) const;
  // `count` of these: [count, ...]; checked like in Make.
  StatusOr<Shape> Stacked(int64_t count) const;

  // "[2,3]", "[]" for a scalar: TensorFlow's spelling in error messages.
  std::string ToString() const;

  friend bool operator==(const Shape& a, const Shape& b) { return a.dims_ == b.dims_; }
  friend bool operator!=(const Shape& a, const Shape& b) { return !(a == b); }

 private:
  absl::InlinedVector<int64_t, 4> dims_;
  int64_t num_elements_ = 1;
};

// Each dimension is >= 0, or kUnknownDim.
class PartialShape {
 public:
  static constexpr int64_t kUnknownDim = -1;

  PartialShape() = default;  // unknown rank
  PartialShape(std::initializer_list<int64_t> dims) : known_rank_(true), dims_(dims) {}
  explicit PartialShape(absl::Span<const int64_t> dims)
      : known_rank_(true), dims_(dims.begin(), dims.end()) {}
  PartialShape(const Shape& shape) : PartialShape(shape.dims()) {}
  static PartialShape Unknown() { return PartialShape(); }
  static PartialShape UnknownOfRank(int rank);

  // Errors: InvalidArgument for a dimension below -1.
  static StatusOr<PartialShape> FromProto(const tensorflow::TensorShapeProto& proto);
  void ToProto(tensorflow::TensorShapeProto* proto) const;

  bool has_rank() const { return known_rank_; }
  // Only with a known rank.
  int rank() const { return static_cast<int>(dims_.size()); }
  int64_t dim(int i) const { return dims_[i < 0 ? i + rank() : i]; }
  bool has_dim(int i) const { return dim(i) != kUnknownDim; }
  absl::Span<const int64_t> dims() const { return dims_; }
  bool is_fully_defined() const;
  void set_dim(int i, int64_t size) { dims_[i < 0 ? i + rank() : i] = size; }
  void AddDim(int64_t size) { dims_.push_back(size); }

  // The Shape, when fully defined. Errors: InvalidArgument otherwise.
  StatusOr<Shape> ToShape() const;
  // Whether some shape fits both.
  bool IsCompatibleWith(const PartialShape& other) const;
  // What both know together. Errors: InvalidArgument when they contradict each other.
  StatusOr<PartialShape> MergedWith(const PartialShape& other) const;

  // "[2,?]", "<unknown>".
  std::string ToString() const;
  friend bool operator==(const PartialShape& a, const PartialShape& b) {
    return a.known_rank_ == b.known_rank_ && a.dims_ == b.dims_;
  }

 private:
  bool known_rank_ = false;
  absl::InlinedVector<int64_t, 4> dims_;
};

inline std::ostream& operator<<(std::ostream& os, const Shape& s) { return os << s.ToString(); }
inline std::ostream& operator<<(std::ostream& os, const PartialShape& s) {
  return os << s.ToString();
}

}  // namespace tensorfleet
