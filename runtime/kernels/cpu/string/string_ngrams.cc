// StringNGrams: runs of neighbouring strings, joined. Schema and shape rule:
// runtime/ops/string/unicode_ops.cc.
#include <algorithm>
#include <string>
#include <vector>

#include "runtime/kernels/kernel_registry.h"

namespace tensorfleet::cpu {
namespace {

template <typename Split>
class StringNGrams final : public Kernel {
 public:
  explicit StringNGrams(KernelInit& init) {
    init.Get("separator", &separator_);
    init.Get("ngram_widths", &widths_);
    init.Get("left_pad", &left_pad_);
    init.Get("right_pad", &right_pad_);
    init.Get("pad_width", &pad_width_);
    init.Get("preserve_short_sequences", &keeps_short_);
    for (const int64_t width : widths_) {
      if (width <= 0) init.Fail(InvalidArgument("ngram_widths must contain positive values"));
    }
  }

  Status Compute(KernelContext& ctx) const override {
    for (int i = 0; i < 2; ++i) {
      if (ctx.input(i).rank() == 1) continue;
      return InvalidArgument(i == 0 ? "data" : "data_splits", " must be a vector, got shape ",
                             ctx.input(i).shape().ToString());
    }
    const auto data = ctx.input(0).values<std::string>();
    const auto splits = ctx.input(1).values<Split>();
    // Without splits there is nothing to tell rows apart: TensorFlow gives empty strings.
    if (data.empty() || splits.empty()) {
      TFLEET_ASSIGN_OR_RETURN(Tensor empty, ctx.Allocate(DType::kString, ctx.input(0).shape()));
      ctx.SetOutput(0, std::move(empty));
      ctx.SetOutput(1, ctx.input(1));
      return OkStatus();
    }
    TFLEET_RETURN_IF_ERROR(CheckSplits(splits, static_cast<int64_t>(data.size())));
    TFLEET_ASSIGN_OR_RETURN(Tensor out_splits, ctx.Allocate(kDTypeOf<Split>, ctx.input(1).shape()));
    std::vector<std::string> ngrams;
    auto out = out_splits.template mutable_values<Split>();
    out[0] = 0;
    for (size_t row = 1; row < splits.size(); ++row) {
      TFLEET_RETURN_IF_ERROR(
          AddRow(data.subspan(splits[row - 1], splits[row] - splits[row - 1]), &ngrams));
      if (static_cast<size_t>(static_cast<Split>(ngrams.size())) != ngrams.size()) {
        return InvalidArgument("the number of n-grams doesn't fit the type of the splits");
      }
      out[row] = static_cast<Split>(ngrams.size());
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor all,
                            ctx.Allocate(DType::kString, {static_cast<int64_t>(ngrams.size())}));
    std::move(ngrams.begin(), ngrams.end(), all.mutable_values<std::string>().begin());
    ctx.SetOutput(0, std::move(all));
    ctx.SetOutput(1, std::move(out_splits));
    return OkStatus();
  }

 private:
  static Status CheckSplits(absl::Span<const Split> splits, int64_t size) {
    if (splits[0] != 0) {
      return InvalidArgument("First split value must be 0, got ", splits[0]);
    }
    for (size_t i = 1; i < splits.size(); ++i) {
      if (splits[i] >= splits[i - 1] && splits[i] <= size) continue;
      return InvalidArgument("Invalid split value ", splits[i], ", must be in [", splits[i - 1],
                             ", ", size, "]");
    }
    if (splits.back() != size) {
      return InvalidArgument("Last split value must be data size. Expected ", size, ", got ",
                             splits.back());
    }
    return OkStatus();
  }

  // As many pads on each side as make every string the first and the last of some n-gram, unless
  // fewer are asked for.
  int64_t PadsFor(int64_t width) const {
    return pad_width_ < 0 ? width - 1 : std::min(pad_width_, width - 1);
  }

  Status AddRow(absl::Span<const std::string> row, std::vector<std::string>* ngrams) const {
    const size_t before = ngrams->size();
    const int64_t size = static_cast<int64_t>(row.size());
    for (const int64_t width : widths_) {
      const int64_t pads = PadsFor(width);
      TFLEET_RETURN_IF_ERROR(CheckWork(size, pads, width, ngrams->size()));
      for (int64_t start = -pads; start + width <= size + pads; ++start) {
        AddOne(row, start, width, ngrams);
      }
    }
    // A row too short for any n-gram may stand for itself.
    if (keeps_short_ && ngrams->size() == before && size > 0) {
      const int64_t pads = pad_width_ < 0 ? 0 : pad_width_;
      TFLEET_RETURN_IF_ERROR(CheckWork(size, pads, size + 2 * pads, ngrams->size()));
      AddOne(row, -pads, size + 2 * pads, ngrams);
    }
    return OkStatus();
  }

  // Attributes may ask for more than there is memory for.
  static Status CheckWork(int64_t size, int64_t pads, int64_t width, size_t so_far) {
    int64_t padded = 0, total = 0;
    if (__builtin_mul_overflow(pads, 2, &padded) || __builtin_add_overflow(padded, size, &padded) ||
        __builtin_mul_overflow(padded, width, &total)) {
      return ResourceExhausted("n-grams of width ", width, " are too many");
    }
    const int64_t count = std::max<int64_t>(0, padded - width + 1);
    TFLEET_ASSIGN_OR_RETURN(const Shape shape, Shape::Make({count + static_cast<int64_t>(so_far)}));
    TFLEET_RETURN_IF_ERROR(Tensor::CheckSize(DType::kString, shape));
    TFLEET_ASSIGN_OR_RETURN(const Shape pieces, Shape::Make({count, count > 0 ? width : 0}));
    return Tensor::CheckSize(DType::kUInt8, pieces);
  }

  // The strings [start, start + width), where those outside the row are pads.
  void AddOne(absl::Span<const std::string> row, int64_t start, int64_t width,
              std::vector<std::string>* ngrams) const {
    const int64_t size = static_cast<int64_t>(row.size());
    std::string& ngram = ngrams->emplace_back();
    for (int64_t i = start; i < start + width; ++i) {
      if (i > start) ngram += separator_;
      ngram += i < 0 ? left_pad_ : i >= size ? right_pad_ : row[i];
    }
  }

  std::string separator_, left_pad_, right_pad_;
  std::vector<int64_t> widths_;
  int64_t pad_width_ = 0;
  bool keeps_short_ = false;
};

}  // namespace

void RegisterStringNGramsKernels(KernelRegistry& r) {
  r.Add<StringNGrams<int32_t>>("StringNGrams", kCpu, {{"Tsplits", DType::kInt32}});
  r.Add<StringNGrams<int64_t>>("StringNGrams", kCpu, {{"Tsplits", DType::kInt64}});
}

}  // namespace tensorfleet::cpu
