// NonMaxSuppression, versions 1 to 5 and WithOverlaps: boxes from the highest score down, without
// those that overlap a better one too much. Schemas: runtime/ops/image/image_ops.cc.
#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>
#include <vector>

#include "runtime/kernels/cpu/families.h"
#include "runtime/kernels/kernel.h"
#include "runtime/kernels/types.h"

namespace tensorfleet::cpu {
namespace {

template <typename T>
struct Limits {
  int64_t most = 0;  // boxes to select
  T similarity = T(0);
  T score = std::numeric_limits<T>::lowest();
  T sigma = T(0);  // above 0: boxes lose score to better ones that they overlap
};

template <typename T>
struct Selection {
  std::vector<int32_t> boxes;
  std::vector<T> scores;
};

// How much of two boxes is in both.
template <typename T>
T Overlap(const T* boxes, int64_t i, int64_t j) {
  const T *a = boxes + i * 4, *b = boxes + j * 4;
  const T a_top = std::min(a[0], a[2]), a_left = std::min(a[1], a[3]);
  const T a_bottom = std::max(a[0], a[2]), a_right = std::max(a[1], a[3]);
  const T b_top = std::min(b[0], b[2]), b_left = std::min(b[1], b[3]);
  const T b_bottom = std::max(b[0], b[2]), b_right = std::max(b[1], b[3]);
  const T a_area = (a_bottom - a_top) * (a_right - a_left);
  const T b_area = (b_bottom - b_top) * (b_right - b_left);
  if (a_area <= T(0) || b_area <= T(0)) return T(0);
  const T height = std::max(std::min(a_bottom, b_bottom) - std::max(a_top, b_top), T(0));
  const T width = std::max(std::min(a_right, b_right) - std::max(a_left, b_left), T(0));
  const T both = height * width;
  return both / (a_area + b_area - both);
}

template <typename T, typename Similarity>
Selection<T> Select(const KernelContext& ctx, absl::Span<const T> scores, const Limits<T>& limits,
                    const Similarity& similarity) {
  struct Candidate {
    int32_t box;
    T score;
    size_t begin;  // those selected before it have lowered its score already
    bool operator<(const Candidate& other) const {
      return score == other.score ? box > other.box : score < other.score;
    }
  };
  std::priority_queue<Candidate> candidates;
  for (size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] > limits.score) candidates.push({static_cast<int32_t>(i), scores[i], 0});
  }
  const bool is_soft = limits.sigma > T(0);
  const T scale = is_soft ? T(-0.5) / limits.sigma : T(0);
  const int64_t most = std::min<int64_t>(limits.most, static_cast<int64_t>(scores.size()));
  Selection<T> selected;
  LoopWatch watch(ctx);
  while (static_cast<int64_t>(selected.boxes.size()) < most && !candidates.empty()) {
    Candidate next = candidates.top();
    candidates.pop();
    const T before = next.score;
    bool is_out = false;
    for (size_t j = selected.boxes.size(); j > next.begin; --j) {
      watch.Pass();
      const T alike = similarity(next.box, selected.boxes[j - 1]);
      if (is_soft) {
        const T weight = static_cast<T>(std::exp(static_cast<float>(scale * alike * alike)));
        next.score = next.score * weight;
      } else if (alike > limits.similarity) {
        is_out = true;
        break;
      }
      if (next.score <= limits.score) break;
    }
    next.begin = selected.boxes.size();
    if (is_out) continue;
    if (next.score == before) {
      selected.boxes.push_back(next.box);
      selected.scores.push_back(next.score);
    } else if (next.score > limits.score) {
      candidates.push(next);
    }
  }
  return selected;
}

StatusOr<int64_t> MostBoxes(const Tensor& most) {
  if (!most.shape().is_scalar()) {
    return InvalidArgument("max_output_size must be 0-D, got shape ", most.shape().ToString());
  }
  const int64_t value = most.scalar<int32_t>();
  if (value < 0) return InvalidArgument("max_output_size must be non-negative, got ", value);
  return value;
}

Status CheckScores(const Tensor& boxes, const Tensor& scores) {
  if (scores.rank() != 1) {
    return InvalidArgument("scores must be 1-D", scores.shape().ToString());
  }
  if (scores.dim(0) != boxes.dim(0)) return InvalidArgument("scores has incompatible shape");
  return OkStatus();
}

template <typename T>
StatusOr<T> ScalarAt(const KernelContext& ctx, int i, absl::string_view name) {
  const Tensor& value = ctx.input(i);
  if (!value.shape().is_scalar()) {
    return InvalidArgument(name, " must be 0-D, got shape ", value.shape().ToString());
  }
  if (value.dtype() == DType::kHalf) return static_cast<T>(value.scalar<Eigen::half>());
  return static_cast<T>(value.scalar<float>());
}

template <typename T>
class NonMaxSuppression final : public Kernel {
 public:
  explicit NonMaxSuppression(KernelInit& init) {
    if (FindAttr(init.def(), "iou_threshold") != nullptr) {
      float threshold = 0;
      init.Get("iou_threshold", &threshold);
      fixed_threshold_ = static_cast<T>(threshold);
    }
    if (FindAttr(init.def(), "pad_to_max_output_size") != nullptr) {
      init.Get("pad_to_max_output_size", &pads_);
    }
  }
  bool IsExpensive() const override { return true; }

  Status Compute(KernelContext& ctx) const override {
    const Tensor &boxes = ctx.input(0), &scores = ctx.input(1);
    if (boxes.rank() != 2) {
      return InvalidArgument("boxes must be 2-D: ", boxes.shape().ToString());
    }
    if (boxes.dim(1) != 4) return InvalidArgument("boxes must have 4 columns");
    TFLEET_RETURN_IF_ERROR(CheckScores(boxes, scores));
    Limits<T> limits;
    TFLEET_ASSIGN_OR_RETURN(limits.most, MostBoxes(ctx.input(2)));
    limits.similarity = fixed_threshold_;
    if (ctx.num_inputs() > 3) {
      TFLEET_ASSIGN_OR_RETURN(limits.similarity, ScalarAt<T>(ctx, 3, "iou_threshold"));
    }
    if (!(limits.similarity >= T(0) && limits.similarity <= T(1))) {
      return InvalidArgument("iou_threshold must be in [0, 1]");
    }
    if (ctx.num_inputs() > 4) {
      TFLEET_ASSIGN_OR_RETURN(limits.score, ScalarAt<T>(ctx, 4, "score_threshold"));
    }
    if (ctx.num_inputs() > 5) {
      TFLEET_ASSIGN_OR_RETURN(limits.sigma, ScalarAt<T>(ctx, 5, "soft_nms_sigma"));
      if (limits.sigma < T(0)) {
        return InvalidArgument("soft_nms_sigma_val must be non-negative but it was ",
                               static_cast<float>(limits.sigma));
      }
    }
    const T* const corners = boxes.values<T>().data();
    Selection<T> selected =
        Select<T>(ctx, scores.values<T>(), limits,
                  [corners](int64_t i, int64_t j) { return Overlap(corners, i, j); });
    return SetOutputs(ctx, limits.most, std::move(selected));
  }

 private:
  Status SetOutputs(KernelContext& ctx, int64_t most, Selection<T> selected) const {
    const auto count = static_cast<int32_t>(selected.boxes.size());
    const int64_t length = pads_ ? most : count;
    TFLEET_ASSIGN_OR_RETURN(Tensor indices, Tensor::Zeros(DType::kInt32, {length}));
    std::copy(selected.boxes.begin(), selected.boxes.end(),
              indices.mutable_values<int32_t>().begin());
    ctx.SetOutput(0, std::move(indices));
    if (ctx.num_outputs() == 3) {
      TFLEET_ASSIGN_OR_RETURN(Tensor scores, Tensor::Zeros(kDTypeOf<T>, {length}));
      std::copy(selected.scores.begin(), selected.scores.end(), scores.mutable_values<T>().begin());
      ctx.SetOutput(1, std::move(scores));
    }
    if (ctx.num_outputs() > 1) {
      ctx.SetOutput(ctx.num_outputs() - 1, Tensor::Scalar<int32_t>(count));
    }
    return OkStatus();
  }

  T fixed_threshold_ = T(0.5);
  bool pads_ = false;
};

class SuppressionWithOverlaps final : public Kernel {
 public:
  bool IsExpensive() const override { return true; }
  Status Compute(KernelContext& ctx) const override {
    const Tensor &overlaps = ctx.input(0), &scores = ctx.input(1);
    if (overlaps.rank() != 2) {
      return InvalidArgument("overlaps must be 2-D: ", overlaps.shape().ToString());
    }
    const int64_t n = overlaps.dim(0);
    if (overlaps.dim(1) != n) return InvalidArgument("overlaps must be square");
    TFLEET_RETURN_IF_ERROR(CheckScores(overlaps, scores));
    Limits<float> limits;
    TFLEET_ASSIGN_OR_RETURN(limits.most, MostBoxes(ctx.input(2)));
    TFLEET_ASSIGN_OR_RETURN(limits.similarity, ScalarAt<float>(ctx, 3, "overlap_threshold"));
    TFLEET_ASSIGN_OR_RETURN(limits.score, ScalarAt<float>(ctx, 4, "score_threshold"));
    const float* const table = overlaps.values<float>().data();
    const Selection<float> selected =
        Select<float>(ctx, scores.values<float>(), limits,
                      [&](int64_t i, int64_t j) { return table[i * n + j]; });
    ctx.SetOutput(0, Tensor::Vector<int32_t>(absl::MakeConstSpan(selected.boxes)));
    return OkStatus();
  }
};

}  // namespace

void RegisterNonMaxSuppressionKernels(KernelRegistry& r) {
  r.Add<NonMaxSuppression<float>>("NonMaxSuppression", kCpu);
  for (const char* op : {"NonMaxSuppressionV2", "NonMaxSuppressionV3", "NonMaxSuppressionV4",
                         "NonMaxSuppressionV5"}) {
    AddForTypes<NonMaxSuppression>(r, op, Types<Eigen::half, float>());
  }
  r.Add<SuppressionWithOverlaps>("NonMaxSuppressionWithOverlaps", kCpu);
}

}  // namespace tensorfleet::cpu
