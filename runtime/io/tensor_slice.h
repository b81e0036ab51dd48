// A rectangular piece of a tensor, as partitioned variables are saved: a start and a length per
// dimension.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "proto/checkpoint.pb.h"
#include "runtime/base/status.h"
#include "runtime/tensor/shape.h"
#include "runtime/tensor/tensor.h"

namespace tensorfleet {

class TensorSlice {
 public:
  static constexpr int64_t kFullExtent = -1;
  struct Extent {
    int64_t start = 0;
    int64_t length = kFullExtent;  // kFullExtent: all of the dimension
    bool is_full() const { return length == kFullExtent; }
    friend bool operator==(const Extent& a, const Extent& b) {
      return a.start == b.start && a.length == b.length;
    }
  };

  TensorSlice() = default;
  explicit TensorSlice(std::vector<Extent> extents) : extents_(std::move(extents)) {}
  static TensorSlice Full(int rank) { return TensorSlice(std::vector<Extent>(rank)); }
  // "3,4:-:0,1". Errors: InvalidArgument with the text.
  static StatusOr<TensorSlice> Parse(absl::string_view text);
  // Errors: InvalidArgument for a negative start or length.
  static StatusOr<TensorSlice> FromProto(const tensorflow::TensorSliceProto& proto);
  void ToProto(tensorflow::TensorSliceProto* proto) const;
  std::string ToString() const;

  int rank() const { return static_cast<int>(extents_.size()); }
  const std::vector<Extent>& extents() const { return extents_; }
  bool is_full() const;
  bool Covers(const Shape& shape) const;  // all of a tensor of that shape

  // The extents with their lengths in a tensor of `shape`. Errors: InvalidArgument for another
  // rank; Internal `Extent in dimension 0 out of bounds: shape = [10,2], slice = 3,22:-`.
  StatusOr<TensorSlice> Resolved(const Shape& shape) const;
  // Whether two pieces of one tensor, both resolved, have elements in common.
  bool Overlaps(const TensorSlice& other) const;
  // Of the piece; only once resolved.
  StatusOr<Shape> PieceShape() const;

  friend bool operator==(const TensorSlice& a, const TensorSlice& b) {
    return a.extents_ == b.extents_;
  }

 private:
  std::vector<Extent> extents_;
};

// What a tensor's entry in `shape_and_slices` of SaveV2 and RestoreV2 says: nothing, or "10 2
// 3,4:-": the shape of the whole and the slice.
struct ShapeAndSlice {
  Shape shape;
  TensorSlice slice;  // resolved
  Shape piece_shape;
};
// Errors: InvalidArgument, Internal, with the text at fault.
StatusOr<ShapeAndSlice> ParseShapeAndSlice(absl::string_view text);

// The key of a stored piece in a checkpoint's index: sorts before every name (facts in FORMAT.md).
std::string EncodeSliceKey(absl::string_view name, const TensorSlice& slice);

// Copies the elements that two pieces of one tensor have in common. Both slices are resolved,
// `from_slice` is where `from` lies and `to_slice` where `to` lies. Returns how many elements were
// copied.
int64_t CopyOverlap(const TensorSlice& from_slice, const Tensor& from, const TensorSlice& to_slice,
                    Tensor& to);

}  // namespace tensorfleet
