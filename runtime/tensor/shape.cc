#include "runtime/tensor/shape.h"

#include "absl/strings/str_join.h"
#include "proto/tensor.pb.h"

namespace tensorfleet {
namespace {

std::string DimsToString(absl::Span<const int64_t> dims) {
  return absl::StrCat("[",
                      absl::StrJoin(dims, ",",
                                    [](std::string* out, int64_t d) {
                                      if (d == PartialShape::kUnknownDim) {
                                        out->append("?");
                                      } else {
                                        absl::StrAppend(out, d);
                                      }
                                    }),
                      "]");
}

}  // namespace

StatusOr<Shape> Shape::Make(absl::Span<const int64_t> dims) {
  if (dims.size() > kMaxRank) {
    return InvalidArgument("shape has ", dims.size(), " dimensions; at most ", kMaxRank,
                           " are supported");
  }
  Shape shape;
  // Zero elements can hide an overflow of the other dimensions, which strides would meet: count
  // those too.
  int64_t without_zeros = 1;
  bool has_zero = false;
  for (const int64_t d : dims) {
    if (d < 0)
      return InvalidArgument("Dimension ", d, " must be >= 0 in shape ", DimsToString(dims));
    if (d == 0) {
      has_zero = true;
    } else if (__builtin_mul_overflow(without_zeros, d, &without_zeros)) {
      return InvalidArgument("Shape ", DimsToString(dims), " has more than 2^63 - 1 elements");
    }
  }
  shape.dims_.assign(dims.begin(), dims.end());
  shape.num_elements_ = has_zero ? 0 : without_zeros;
  return shape;
}

StatusOr<Shape> Shape::FromProto(const tensorflow::TensorShapeProto& proto) {
  if (proto.unknown_rank()) return InvalidArgument("the shape of a tensor has no known rank");
  absl::InlinedVector<int64_t, 8> dims;
  for (const auto& dim : proto.dim()) dims.push_back(dim.size());
  return Make(dims);
}

void Shape::ToProto(tensorflow::TensorShapeProto* proto) const {
  proto->Clear();
  for (const int64_t d : dims_) proto->add_dim()->set_size(d);
}

int64_t Shape::extent() const {
  if (num_elements_ > 0) return num_elements_;
  int64_t product = 1;
  for (const int64_t d : dims_) {
    if (d > 0) product *= d;  // Make has seen that it fits
  }
  return product;
}

StatusOr<Shape> Shape::WithDim(int i, int64_t size) const {
  absl::InlinedVector<int64_t, 8> dims(dims_.begin(), dims_.end());
  dims[i < 0 ? i + rank() : i] = size;
  return Make(dims);
}

Shape Shape::SubShape(int begin, int end) const {
  Shape sub;
  for (int i = begin; i < end; ++i) {
    sub.dims_.push_back(dims_[i]);
    sub.num_elements_ *= dims_[i];
  }
  return sub;
}

StatusOr<Shape> Shape::Concatenated(const Shape& tail) const {
  absl::InlinedVector<int64_t, 8> dims(dims_.begin(), dims_.end());
  dims.insert(dims.end(), tail.dims_.begin(), tail.dims_.end());
  return Make(dims);
}

StatusOr<Shape> Shape::Concatenated(std::initializer_list<int64_t> tail) const {
  absl::InlinedVector<int64_t, 8> dims(dims_.begin(), dims_.end());
  dims.insert(dims.end(), tail);
  return Make(dims);
}

StatusOr<Shape> Shape::Stacked(int64_t count) const {
  absl::InlinedVector<int64_t, 8> dims{count};
  dims.insert(dims.end(), dims_.begin(), dims_.end());
  return Make(dims);
}

std::string Shape::ToString() const { return DimsToString(dims_); }

PartialShape PartialShape::UnknownOfRank(int rank) {
  PartialShape shape({});
  shape.dims_.assign(rank, kUnknownDim);
  return shape;
}

StatusOr<PartialShape> PartialShape::FromProto(const tensorflow::TensorShapeProto& proto) {
  if (proto.unknown_rank()) return Unknown();
  if (proto.dim_size() > Shape::kMaxRank) {
    return InvalidArgument("shape has ", proto.dim_size(), " dimensions; at most ", Shape::kMaxRank,
                           " are supported");
  }
  PartialShape shape({});
  for (const auto& dim : proto.dim()) {
    if (dim.size() < kUnknownDim) return InvalidArgument("shape has the dimension ", dim.size());
    shape.dims_.push_back(dim.size());
  }
  return shape;
}

void PartialShape::ToProto(tensorflow::TensorShapeProto* proto) const {
  proto->Clear();
  if (!known_rank_) {
    proto->set_unknown_rank(true);
    return;
  }
  for (const int64_t d : dims_) proto->add_dim()->set_size(d);
}

bool PartialShape::is_fully_defined() const {
  if (!known_rank_) return false;
  for (const int64_t d : dims_) {
    if (d == kUnknownDim) return false;
  }
  return true;
}

StatusOr<Shape> PartialShape::ToShape() const {
  if (!is_fully_defined()) return InvalidArgument("shape ", ToString(), " is not fully defined");
  return Shape::Make(dims_);
}

bool PartialShape::IsCompatibleWith(const PartialShape& other) const {
  if (!known_rank_ || !other.known_rank_) return true;
  if (rank() != other.rank()) return false;
  for (int i = 0; i < rank(); ++i) {
    if (has_dim(i) && other.has_dim(i) && dim(i) != other.dim(i)) return false;
  }
  return true;
}

StatusOr<PartialShape> PartialShape::MergedWith(const PartialShape& other) const {
  if (!IsCompatibleWith(other)) {
    return InvalidArgument("Shapes ", ToString(), " and ", other.ToString(),
                           " do not fit together");
  }
  if (!known_rank_) return other;
  PartialShape merged = *this;
  if (!other.known_rank_) return merged;
  for (int i = 0; i < rank(); ++i) {
    if (!merged.has_dim(i)) merged.set_dim(i, other.dim(i));
  }
  return merged;
}

std::string PartialShape::ToString() const {
  return known_rank_ ? DimsToString(dims_) : "<unknown>";
}

}  // namespace tensorfleet
