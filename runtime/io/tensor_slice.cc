#include "runtime/io/tensor_slice.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace tensorfleet {
namespace {

// LevelDB-style ordered code: a text that sorts like the values it holds.
void AppendOrderedString(absl::string_view text, std::string* key) {
  for (const char c : text) {
    key->push_back(c);
    if (c == '\0') key->push_back('\xff');
    if (c == '\xff') key->push_back('\0');
  }
  key->append("\0\1", 2);
}

// One byte of length, then that many big-endian bytes.
void AppendOrderedNumber(uint64_t value, std::string* key) {
  std::string bytes;
  for (; value > 0; value >>= 8) bytes.insert(bytes.begin(), static_cast<char>(value & 0xff));
  key->push_back(static_cast<char>(bytes.size()));
  key->append(bytes);
}

// n bytes, big-endian, of which the top n bits are set for a value >= 0 and the next is clear, n
// being the least with -2^(7n-1) <= value < 2^(7n-1); a negative value is the complement of -1 -
// value's code.
void AppendOrderedSigned(int64_t value, std::string* key) {
  const uint64_t magnitude =
      value < 0 ? ~static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  int n = 1;
  while (n < 10 && 7 * n - 1 < 64 && (magnitude >> (7 * n - 1)) != 0) ++n;
  std::string bytes(n, '\0');
  for (int i = 0; i < n && i < 8; ++i) {
    bytes[n - 1 - i] = static_cast<char>((magnitude >> (8 * i)) & 0xff);
  }
  for (int bit = 0; bit < n; ++bit) bytes[bit / 8] |= static_cast<char>(0x80 >> (bit % 8));
  if (value < 0) {
    for (char& c : bytes) c = static_cast<char>(~c);
  }
  key->append(bytes);
}

void CopyBlock(const TensorSlice& from_slice, const Tensor& from, const TensorSlice& to_slice,
               Tensor& to, const std::vector<TensorSlice::Extent>& block) {
  const int rank = static_cast<int>(block.size());
  const size_t size = ElementSize(from.dtype());
  const int64_t run = rank == 0 ? 1 : block[rank - 1].length;
  std::vector<int64_t> at(rank);
  for (int d = 0; d < rank; ++d) at[d] = block[d].start;
  while (true) {
    int64_t from_index = 0, to_index = 0;
    for (int d = 0; d < rank; ++d) {
      from_index = from_index * from.dim(d) + (at[d] - from_slice.extents()[d].start);
      to_index = to_index * to.dim(d) + (at[d] - to_slice.extents()[d].start);
    }
    if (from.dtype() == DType::kString) {
      std::copy_n(from.values<std::string>().begin() + from_index, run,
                  to.mutable_values<std::string>().begin() + to_index);
    } else {
      std::memcpy(static_cast<char*>(to.mutable_raw()) + to_index * size,
                  static_cast<const char*>(from.raw()) + from_index * size, run * size);
    }
    int d = rank - 2;
    for (; d >= 0; --d) {
      if (++at[d] < block[d].start + block[d].length) break;
      at[d] = block[d].start;
    }
    if (d < 0) return;
  }
}

}  // namespace

StatusOr<TensorSlice> TensorSlice::Parse(absl::string_view text) {
  std::vector<Extent> extents;
  for (absl::string_view part : absl::StrSplit(text, ':')) {
    if (part == "-") {
      extents.emplace_back();
      continue;
    }
    const std::pair<absl::string_view, absl::string_view> halves =
        absl::StrSplit(part, absl::MaxSplits(',', 1));
    Extent extent;
    if (!absl::SimpleAtoi(halves.first, &extent.start) ||
        !absl::SimpleAtoi(halves.second, &extent.length)) {
      return InvalidArgument("Expected a pair of numbers or '-' but got '", part,
                             "': string = ", text);
    }
    if (extent.start < 0 || extent.length <= 0) {
      return InvalidArgument("Expected non-negative start and positive length but got start = ",
                             extent.start, ", length = ", extent.length, ": string = ", text);
    }
    extents.push_back(extent);
  }
  return TensorSlice(std::move(extents));
}

StatusOr<TensorSlice> TensorSlice::FromProto(const tensorflow::TensorSliceProto& proto) {
  std::vector<Extent> extents;
  for (const auto& e : proto.extent()) {
    const bool is_full =
        e.has_length_case() == tensorflow::TensorSliceProto::Extent::HAS_LENGTH_NOT_SET;
    if (e.start() < 0 || (!is_full && e.length() < 0)) {
      return InvalidArgument("a stored slice has the extent ", e.start(), ",", e.length());
    }
    extents.push_back({e.start(), is_full ? kFullExtent : e.length()});
  }
  return TensorSlice(std::move(extents));
}

void TensorSlice::ToProto(tensorflow::TensorSliceProto* proto) const {
  for (const Extent& e : extents_) {
    auto* extent = proto->add_extent();
    if (e.is_full()) continue;
    extent->set_start(e.start);
    extent->set_length(e.length);
  }
}

std::string TensorSlice::ToString() const {
  return absl::StrJoin(extents_, ":", [](std::string* out, const Extent& e) {
    absl::StrAppend(out, e.is_full() ? "-" : absl::StrCat(e.start, ",", e.length));
  });
}

bool TensorSlice::is_full() const {
  return std::all_of(extents_.begin(), extents_.end(), [](const Extent& e) { return e.is_full(); });
}

bool TensorSlice::Covers(const Shape& shape) const {
  if (rank() != shape.rank()) return false;
  for (int d = 0; d < rank(); ++d) {
    const Extent& e = extents_[d];
    if (!e.is_full() && (e.start != 0 || e.length != shape.dim(d))) return false;
  }
  return true;
}

StatusOr<TensorSlice> TensorSlice::Resolved(const Shape& shape) const {
  if (rank() != shape.rank()) {
    return InvalidArgument("Mismatching ranks: shape = ", shape.ToString(),
                           ", slice = ", ToString());
  }
  std::vector<Extent> extents = extents_;
  for (int d = 0; d < rank(); ++d) {
    if (extents[d].is_full()) {
      extents[d] = {0, shape.dim(d)};
    } else if (extents[d].start > shape.dim(d) ||
               extents[d].length > shape.dim(d) - extents[d].start) {
      return Internal("Extent in dimension ", d, " out of bounds: shape = ", shape.ToString(),
                      ", slice = ", ToString());
    }
  }
  return TensorSlice(std::move(extents));
}

bool TensorSlice::Overlaps(const TensorSlice& other) const {
  for (int d = 0; d < rank(); ++d) {
    const Extent &a = extents_[d], &b = other.extents_[d];
    if (a.start >= b.start + b.length || b.start >= a.start + a.length) return false;
  }
  return true;
}

StatusOr<Shape> TensorSlice::PieceShape() const {
  std::vector<int64_t> dims;
  for (const Extent& e : extents_) dims.push_back(e.length);
  return Shape::Make(dims);
}

StatusOr<ShapeAndSlice> ParseShapeAndSlice(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ' ');
  if (parts.size() < 2) {
    return InvalidArgument("Need least two elements in shape_and_slice specification: ", text);
  }
  std::vector<int64_t> dims;
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    int64_t dim = 0;
    if (!absl::SimpleAtoi(parts[i], &dim)) {
      return InvalidArgument("Non numerical dimension in shape_and_slice: ", text);
    }
    dims.push_back(dim);
  }
  ShapeAndSlice parsed;
  TFLEET_ASSIGN_OR_RETURN(parsed.shape, Shape::Make(dims));
  TFLEET_ASSIGN_OR_RETURN(const TensorSlice slice, TensorSlice::Parse(parts.back()));
  TFLEET_ASSIGN_OR_RETURN(parsed.slice, slice.Resolved(parsed.shape));
  TFLEET_ASSIGN_OR_RETURN(parsed.piece_shape, parsed.slice.PieceShape());
  return parsed;
}

std::string EncodeSliceKey(absl::string_view name, const TensorSlice& slice) {
  std::string key;
  AppendOrderedNumber(0, &key);
  AppendOrderedString(name, &key);
  AppendOrderedNumber(slice.rank(), &key);
  for (const TensorSlice::Extent& e : slice.extents()) {
    AppendOrderedSigned(e.start, &key);
    AppendOrderedSigned(e.length, &key);
  }
  return key;
}

int64_t CopyOverlap(const TensorSlice& from_slice, const Tensor& from, const TensorSlice& to_slice,
                    Tensor& to) {
  std::vector<TensorSlice::Extent> block;
  int64_t elements = 1;
  for (int d = 0; d < from_slice.rank(); ++d) {
    const TensorSlice::Extent& a = from_slice.extents()[d];
    const TensorSlice::Extent& b = to_slice.extents()[d];
    const int64_t start = std::max(a.start, b.start);
    const int64_t end = std::min(a.start + a.length, b.start + b.length);
    if (end <= start) return 0;
    block.push_back({start, end - start});
    elements *= end - start;
  }
  CopyBlock(from_slice, from, to_slice, to, block);
  return elements;
}

}  // namespace tensorfleet
