// Kernels that take strings apart and put rows of them together: StringSplit, StringSplitV2,
// ReduceJoin. Schemas and shape rules: runtime/ops/string/string_ops.cc.
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"
#include "runtime/kernels/cpu/index_input.h"
#include "runtime/kernels/cpu/strided_copy.h"
#include "runtime/kernels/kernel_registry.h"

namespace tensorfleet::cpu {
namespace {

using Pieces = std::vector<absl::string_view>;

// Rows of pieces as a sparse matrix: outputs indices, values, shape.
Status SetSparse(KernelContext& ctx, const std::vector<Pieces>& rows) {
  int64_t total = 0, widest = 0;
  for (const Pieces& row : rows) {
    total += row.size();
    widest = std::max<int64_t>(widest, row.size());
  }
  TFLEET_ASSIGN_OR_RETURN(Tensor indices, ctx.Allocate(DType::kInt64, {total, 2}));
  TFLEET_ASSIGN_OR_RETURN(Tensor values, ctx.Allocate(DType::kString, {total}));
  auto index = indices.mutable_values<int64_t>().begin();
  auto value = values.mutable_values<std::string>().begin();
  for (size_t r = 0; r < rows.size(); ++r) {
    for (size_t c = 0; c < rows[r].size(); ++c) {
      *index++ = r;
      *index++ = c;
      *value++ = std::string(rows[r][c]);
    }
  }
  TFLEET_ASSIGN_OR_RETURN(
      Tensor shape, IntegerVector(DType::kInt64, {static_cast<int64_t>(rows.size()), widest}));
  ctx.SetOutput(0, std::move(indices));
  ctx.SetOutput(1, std::move(values));
  ctx.SetOutput(2, std::move(shape));
  return OkStatus();
}

Status CheckSplitInputs(const KernelContext& ctx, absl::string_view separator_name) {
  if (ctx.input(0).rank() != 1) {
    return InvalidArgument("input must be a vector, got shape: ", ctx.input(0).shape().ToString());
  }
  if (!ctx.input(1).shape().is_scalar()) {
    return InvalidArgument(separator_name,
                           " must be a scalar, got shape: ", ctx.input(1).shape().ToString());
  }
  return OkStatus();
}

// Any character of the delimiter separates; an empty one separates every byte.
class StringSplit final : public Kernel {
 public:
  explicit StringSplit(KernelInit& init) { init.Get("skip_empty", &skip_empty_); }
  Status Compute(KernelContext& ctx) const override {
    TFLEET_RETURN_IF_ERROR(CheckSplitInputs(ctx, "delimiter"));
    const std::string& delimiter = ctx.input(1).scalar<std::string>();
    std::vector<Pieces> rows;
    for (const std::string& text : ctx.input(0).values<std::string>()) {
      rows.push_back(Split(text, delimiter));
    }
    return SetSparse(ctx, rows);
  }

 private:
  Pieces Split(absl::string_view text, absl::string_view delimiter) const {
    Pieces pieces;
    if (text.empty()) return pieces;
    if (delimiter.empty()) {
      for (size_t i = 0; i < text.size(); ++i) pieces.push_back(text.substr(i, 1));
      return pieces;
    }
    size_t begin = 0;
    while (true) {
      const size_t end = std::min(text.find_first_of(delimiter, begin), text.size());
      const absl::string_view piece = text.substr(begin, end - begin);
      if (!piece.empty() || !skip_empty_) pieces.push_back(piece);
      if (end == text.size()) return pieces;
      begin = end + 1;
    }
  }

  bool skip_empty_ = true;
};

// Like str.split of Python.
class StringSplitV2 final : public Kernel {
 public:
  explicit StringSplitV2(KernelInit& init) { init.Get("maxsplit", &max_splits_); }
  Status Compute(KernelContext& ctx) const override {
    TFLEET_RETURN_IF_ERROR(CheckSplitInputs(ctx, "sep"));
    const std::string& separator = ctx.input(1).scalar<std::string>();
    std::vector<Pieces> rows;
    for (const std::string& text : ctx.input(0).values<std::string>()) {
      rows.push_back(separator.empty() ? SplitAtSpace(text) : SplitAt(text, separator));
    }
    return SetSparse(ctx, rows);
  }

 private:
  bool MayCut(const Pieces& pieces) const {
    return max_splits_ < 0 || static_cast<int64_t>(pieces.size()) < max_splits_;
  }

  Pieces SplitAt(absl::string_view text, absl::string_view separator) const {
    Pieces pieces;
    while (MayCut(pieces)) {
      const size_t end = text.find(separator);
      if (end == absl::string_view::npos) break;
      pieces.push_back(text.substr(0, end));
      text.remove_prefix(end + separator.size());
    }
    pieces.push_back(text);
    return pieces;
  }

  // Once the splits are used up the rest is the last piece, even when nothing is left.
  Pieces SplitAtSpace(absl::string_view text) const {
    if (max_splits_ == 0) return {text};
    Pieces pieces;
    text = absl::StripLeadingAsciiWhitespace(text);
    while (!text.empty()) {
      size_t end = 0;
      while (end < text.size() && !absl::ascii_isspace(text[end])) ++end;
      pieces.push_back(text.substr(0, end));
      text = absl::StripLeadingAsciiWhitespace(text.substr(end));
      if (!MayCut(pieces)) {
        pieces.push_back(text);
        break;
      }
    }
    return pieces;
  }

  int64_t max_splits_ = -1;
};

class ReduceJoin final : public Kernel {
 public:
  explicit ReduceJoin(KernelInit& init) {
    init.Get("keep_dims", &keep_dims_);
    init.Get("separator", &separator_);
  }
  Status Compute(KernelContext& ctx) const override {
    const Tensor& in = ctx.input(0);
    const int rank = in.rank();
    const Integers wanted = IntegersOf(ctx.input(1));
    absl::InlinedVector<bool, 8> reduced(rank, false);
    Integers axes;
    for (const int64_t axis : wanted) {
      const int64_t normal = NormalizedAxis(axis, rank);
      if (normal < 0) {
        return OutOfRange("Invalid reduction dimension ", axis, " for input with ", rank,
                          " dimension(s)");
      }
      if (reduced[normal]) return InvalidArgument("Duplicate reduction dimension ", normal);
      reduced[normal] = true;
      axes.push_back(normal);
    }
    const auto strides = DenseStrides(in.shape().dims());
    Integers kept_dims, kept_strides, out_dims;
    for (int i = 0; i < rank; ++i) {
      if (!reduced[i]) {
        kept_dims.push_back(in.dim(i));
        kept_strides.push_back(strides[i]);
      }
      if (!reduced[i] || keep_dims_) out_dims.push_back(reduced[i] ? 1 : in.dim(i));
    }
    TFLEET_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(out_dims));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DType::kString, shape));
    if (in.num_elements() == 0) {  // then its other dimensions may be of any size
      ctx.SetOutput(0, std::move(out));
      return OkStatus();
    }
    // The strings of one output, the first of the given axes moving fastest.
    const std::vector<int64_t> members = Members(in.shape(), strides, axes);
    const auto from = in.values<std::string>();
    int64_t i = 0;
    for (std::string& text : out.mutable_values<std::string>()) {
      int64_t base = 0, rest = i++;
      for (int d = static_cast<int>(kept_dims.size()) - 1; d >= 0; --d) {
        base += rest % kept_dims[d] * kept_strides[d];
        rest /= kept_dims[d];
      }
      for (size_t m = 0; m < members.size(); ++m) {
        if (m > 0) text += separator_;
        text += from[base + members[m]];
      }
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  static std::vector<int64_t> Members(const Shape& shape, absl::Span<const int64_t> strides,
                                      const Integers& axes) {
    std::vector<int64_t> members = {0};
    for (int i = static_cast<int>(axes.size()) - 1; i >= 0; --i) {
      const int64_t axis = axes[i];
      std::vector<int64_t> next;
      next.reserve(members.size() * shape.dim(axis));
      for (const int64_t member : members) {
        for (int64_t n = 0; n < shape.dim(axis); ++n) next.push_back(member + n * strides[axis]);
      }
      members = std::move(next);
    }
    return members;
  }

  bool keep_dims_ = false;
  std::string separator_;
};

}  // namespace

void RegisterStringSplitKernels(KernelRegistry& kernels) {
  kernels.Add<StringSplit>("StringSplit", kCpu);
  kernels.Add<StringSplitV2>("StringSplitV2", kCpu);
  kernels.Add<ReduceJoin>("ReduceJoin", kCpu);
}

}  // namespace tensorfleet::cpu
