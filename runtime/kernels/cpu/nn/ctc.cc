// Connectionist temporal classification: the loss with its gradient (Graves et al., 2006), the
// greedy decoder. Schemas: runtime/ops/nn/ctc_ops.cc.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "runtime/kernels/kernel.h"
#include "runtime/kernels/types.h"

namespace tensorfleet::cpu {
namespace {

// Steps, batch and classes of `inputs`, and the steps that each sequence has.
struct CtcBatch {
  int64_t steps = 0, batch = 0, classes = 0;
  absl::Span<const int32_t> lengths;
};

StatusOr<CtcBatch> ReadBatch(const Tensor& inputs, const Tensor& lengths) {
  if (inputs.rank() != 3) return InvalidArgument("inputs is not a 3-Tensor");
  CtcBatch batch{inputs.dim(0), inputs.dim(1), inputs.dim(2), {}};
  if (lengths.rank() != 1) return InvalidArgument("sequence_length is not a vector");
  if (lengths.dim(0) != batch.batch) {
    return FailedPrecondition("len(sequence_length) != batch_size.  ",
                              "len(sequence_length):  ", lengths.dim(0),
                              " batch_size: ", batch.batch);
  }
  if (batch.steps == 0) return InvalidArgument("max_time is 0");
  if (batch.classes == 0) return InvalidArgument("num_classes is 0");
  batch.lengths = lengths.values<int32_t>();
  for (int64_t b = 0; b < batch.batch; ++b) {
    if (batch.lengths[b] < 0 || batch.lengths[b] > batch.steps) {
      return FailedPrecondition("sequence_length(", b, ") is ", batch.lengths[b],
                                ", which is not from 0 to the number of steps, ", batch.steps);
    }
  }
  return batch;
}

template <typename T>
T LogSum(T a, T b) {
  constexpr T kNone = -std::numeric_limits<T>::infinity();
  if (a == kNone) return b;
  if (b == kNone) return a;
  return a > b ? a + std::log1p(std::exp(b - a)) : b + std::log1p(std::exp(a - b));
}

// The labels of each sequence, from a sparse tensor whose indices are [entry][batch, place].
StatusOr<std::vector<std::vector<int>>> ReadLabels(const Tensor& indices, const Tensor& values,
                                                   int64_t batch) {
  if (indices.rank() != 2 || indices.dim(1) != 2) {
    return InvalidArgument("labels_indices is not a matrix of two columns");
  }
  if (values.rank() != 1) return InvalidArgument("labels_values is not a vector");
  if (indices.dim(0) != values.dim(0)) {
    return InvalidArgument(
        "labels_indices and labels_values must contain the same number of rows, "
        "but saw shapes: ",
        indices.shape().ToString(), " vs. ", values.shape().ToString());
  }
  std::vector<std::vector<int>> labels(batch);
  int64_t last_row = 0, last_place = -1;
  for (int64_t i = 0; i < values.dim(0); ++i) {
    const int64_t row = indices.values<int64_t>()[2 * i],
                  place = indices.values<int64_t>()[2 * i + 1];
    if (row < 0 || row >= batch) {
      return InvalidArgument("labels batch index must be between 0 and ", batch, " but saw: ", row);
    }
    if (row < last_row || (row == last_row && place <= last_place)) {
      return InvalidArgument("indices[", i, "] is out of order");
    }
    last_row = row;
    last_place = place;
    labels[row].push_back(values.values<int32_t>()[i]);
  }
  return labels;
}

template <typename T>
class CtcLoss final : public Kernel {
 public:
  explicit CtcLoss(KernelInit& init) {
    init.Get("preprocess_collapse_repeated", &collapses_);
    init.Get("ctc_merge_repeated", &merges_);
    init.Get("ignore_longer_outputs_than_inputs", &ignores_longer_);
  }
  bool IsExpensive() const override { return true; }

  Status Compute(KernelContext& ctx) const override {
    const Tensor& inputs = ctx.input(0);
    TFLEET_ASSIGN_OR_RETURN(const CtcBatch batch, ReadBatch(inputs, ctx.input(3)));
    TFLEET_ASSIGN_OR_RETURN(auto labels, ReadLabels(ctx.input(1), ctx.input(2), batch.batch));
    TFLEET_ASSIGN_OR_RETURN(Tensor loss, Tensor::Zeros(inputs.dtype(), {batch.batch}));
    TFLEET_ASSIGN_OR_RETURN(Tensor gradient, Tensor::Zeros(inputs.dtype(), inputs.shape()));
    for (int64_t b = 0; b < batch.batch; ++b) {
      TFLEET_RETURN_IF_ERROR(Prepare(batch, b, &labels[b]));
    }
    const T* const x = inputs.values<T>().data();
    T* const loss_to = loss.template mutable_values<T>().data();
    T* const gradient_to = gradient.template mutable_values<T>().data();
    const int64_t cost = 1 + batch.steps * batch.classes * 20;
    ParallelFor(ctx, batch.batch, cost, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        const int64_t needed = StepsNeeded(labels[b]);
        if (batch.lengths[b] == 0 || needed > batch.lengths[b]) continue;
        loss_to[b] = Score(batch, b, labels[b], x, gradient_to);
      }
    });
    ctx.SetOutput(0, std::move(loss));
    ctx.SetOutput(1, std::move(gradient));
    return OkStatus();
  }

 private:
  // Checks the labels of one sequence.
  Status Prepare(const CtcBatch& batch, int64_t b, std::vector<int>* labels) const {
    if (labels->empty()) return InvalidArgument("Labels length is zero in batch ", b);
    if (collapses_) {
      labels->erase(std::unique(labels->begin(), labels->end()), labels->end());
    }
    // From the first blank on, or what is no class, there is nothing more.
    const auto is_null = [&](int label) { return label >= batch.classes - 1; };
    const auto end = std::find_if(labels->begin(), labels->end(), is_null);
    if (!std::all_of(end, labels->end(), is_null)) {
      return InvalidArgument(
          "Saw a non-null label (index < num_classes - 1) following a null "
          "label, batch: ",
          b, ", num_classes: ", batch.classes);
    }
    labels->erase(end, labels->end());
    for (const int label : *labels) {
      if (label < 0) {
        return InvalidArgument("All labels must be nonnegative integers, batch: ", b,
                               ", labels: ", label);
      }
    }
    const int64_t needed = StepsNeeded(*labels);
    if (!ignores_longer_ && needed > batch.lengths[b]) {
      return InvalidArgument("Not enough time for target transition sequence (required: ", needed,
                             ", available: ", batch.lengths[b], ")", b,
                             "You can turn this error into a warning by using the flag "
                             "ignore_longer_outputs_than_inputs");
    }
    return OkStatus();
  }
  static int64_t StepsNeeded(const std::vector<int>& labels) {
    return static_cast<int64_t>(labels.size());
  }

  // Minus the logarithm of the probability of the labels of sequence `b`; writes its gradient.
  T Score(const CtcBatch& batch, int64_t b, const std::vector<int>& labels, const T* x,
          T* gradient) const {
    constexpr T kNone = -std::numeric_limits<T>::infinity();
    const int64_t steps = batch.lengths[b], classes = batch.classes;
    const int blank = static_cast<int>(classes - 1);
    std::vector<int> path;  // with blanks around
    for (const int label : labels) {
      path.push_back(blank);
      path.push_back(label);
    }
    path.push_back(blank);
    const int64_t places = static_cast<int64_t>(path.size());
    // Softmax and its logarithm.
    std::vector<T> log_y(steps * classes);
    for (int64_t t = 0; t < steps; ++t) {
      const T* const row = x + (t * batch.batch + b) * classes;
      const T most = *std::max_element(row, row + classes);
      T sum = 0;
      for (int64_t c = 0; c < classes; ++c) sum += std::exp(row[c] - most);
      const T log_sum = std::log(sum) + most;
      for (int64_t c = 0; c < classes; ++c) log_y[t * classes + c] = row[c] - log_sum;
    }
    const auto log_at = [&](int64_t t, int64_t u) { return log_y[t * classes + path[u]]; };
    // Whether the path may go from place u - 2 to u, over a blank.
    const auto skips = [&](int64_t u) {
      return u > 1 && path[u] != blank && !(merges_ && path[u] == path[u - 2]);
    };
    const auto stays = [&](int64_t u) { return merges_ || path[u] == blank; };
    std::vector<T> forward(steps * places, kNone), backward(steps * places, kNone);
    forward[0] = log_at(0, 0);
    if (places > 1) forward[1] = log_at(0, 1);
    for (int64_t t = 1; t < steps; ++t) {
      const T* const before = &forward[(t - 1) * places];
      for (int64_t u = std::max<int64_t>(0, places - 2 * (steps - t));
           u < std::min(places, 2 * (t + 1)); ++u) {
        T sum = stays(u) ? before[u] : kNone;
        if (u > 0) sum = LogSum(sum, before[u - 1]);
        if (skips(u)) sum = LogSum(sum, before[u - 2]);
        forward[t * places + u] = sum + log_at(t, u);
      }
    }
    backward[steps * places - 1] = 0;
    if (places > 1) backward[steps * places - 2] = 0;
    for (int64_t t = steps - 2; t >= 0; --t) {
      const T* const after = &backward[(t + 1) * places];
      for (int64_t u = std::max<int64_t>(0, places - 2 * (steps - t));
           u < std::min(places, 2 * (t + 1)); ++u) {
        T sum = stays(u) ? after[u] + log_at(t + 1, u) : kNone;
        if (u + 1 < places) sum = LogSum(sum, after[u + 1] + log_at(t + 1, u + 1));
        if (u + 2 < places && skips(u + 2)) {
          sum = LogSum(sum, after[u + 2] + log_at(t + 1, u + 2));
        }
        backward[t * places + u] = sum;
      }
    }
    T log_p = kNone;
    for (int64_t u = 0; u < places; ++u) log_p = LogSum(log_p, forward[u] + backward[u]);
    std::vector<T> of_class(classes);
    for (int64_t t = 0; t < steps; ++t) {
      std::fill(of_class.begin(), of_class.end(), kNone);
      for (int64_t u = 0; log_p != kNone && u < places; ++u) {
        T& sum = of_class[path[u]];
        sum = LogSum(sum, forward[t * places + u] + backward[t * places + u]);
      }
      T* const to = gradient + (t * batch.batch + b) * classes;
      for (int64_t c = 0; c < classes; ++c) {
        const T y = std::exp(log_y[t * classes + c]);
        to[c] = of_class[c] == kNone ? y : y - std::exp(of_class[c] - log_p);
      }
    }
    return -log_p;
  }

  bool collapses_ = false, merges_ = true, ignores_longer_ = false;
};

// Sequences of labels as the three parts of a sparse tensor.
Status SetSparse(KernelContext& ctx, int indices_at, int values_at, int shape_at,
                 const std::vector<std::vector<int64_t>>& rows) {
  int64_t count = 0, longest = 0;
  for (const std::vector<int64_t>& row : rows) {
    count += static_cast<int64_t>(row.size());
    longest = std::max(longest, static_cast<int64_t>(row.size()));
  }
  TFLEET_ASSIGN_OR_RETURN(Tensor indices, ctx.Allocate(DType::kInt64, {count, 2}));
  TFLEET_ASSIGN_OR_RETURN(Tensor values, ctx.Allocate(DType::kInt64, {count}));
  int64_t* index = indices.mutable_values<int64_t>().data();
  int64_t* value = values.mutable_values<int64_t>().data();
  for (size_t b = 0; b < rows.size(); ++b) {
    for (size_t i = 0; i < rows[b].size(); ++i) {
      *index++ = static_cast<int64_t>(b);
      *index++ = static_cast<int64_t>(i);
      *value++ = rows[b][i];
    }
  }
  ctx.SetOutput(indices_at, std::move(indices));
  ctx.SetOutput(values_at, std::move(values));
  ctx.SetOutput(shape_at, Tensor::Vector<int64_t>({static_cast<int64_t>(rows.size()), longest}));
  return OkStatus();
}

template <typename T>
class CtcGreedyDecoder final : public Kernel {
 public:
  explicit CtcGreedyDecoder(KernelInit& init) {
    init.Get("merge_repeated", &merges_);
    init.Get("blank_index", &blank_);
  }
  bool IsExpensive() const override { return true; }

  Status Compute(KernelContext& ctx) const override {
    const Tensor& inputs = ctx.input(0);
    TFLEET_ASSIGN_OR_RETURN(const CtcBatch batch, ReadBatch(inputs, ctx.input(1)));
    const int64_t blank = blank_ < 0 ? blank_ + batch.classes : blank_;
    if (blank < 0 || blank >= batch.classes) {
      return InvalidArgument("blank_index expected to be between ", -batch.classes, " and ",
                             batch.classes - 1, " but was ", blank_);
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor scores, Tensor::Zeros(inputs.dtype(), {batch.batch, 1}));
    std::vector<std::vector<int64_t>> decoded(batch.batch);
    for (int64_t b = 0; b < batch.batch; ++b) {
      int64_t last = -1;
      T& score = scores.template mutable_values<T>()[b];
      for (int64_t t = 0; t < batch.lengths[b]; ++t) {
        const T* const row = inputs.values<T>().data() + (t * batch.batch + b) * batch.classes;
        const int64_t best = std::max_element(row, row + batch.classes) - row;
        score -= row[best];
        if (best != blank && !(merges_ && best == last)) decoded[b].push_back(best);
        last = best;
      }
    }
    TFLEET_RETURN_IF_ERROR(SetSparse(ctx, 0, 1, 2, decoded));
    ctx.SetOutput(3, std::move(scores));
    return OkStatus();
  }

 private:
  bool merges_ = false;
  int64_t blank_ = -1;
};

}  // namespace

void RegisterCtcKernels(KernelRegistry& r) {
  AddForTypes<CtcLoss>(r, "CTCLoss", FullFloats());
  AddForTypes<CtcGreedyDecoder>(r, "CTCGreedyDecoder", FullFloats());
}

}  // namespace tensorfleet::cpu
