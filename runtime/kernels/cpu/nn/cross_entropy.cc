// The cross entropy of a softmax with given labels, and its gradient for the logits.
#include <string>

#include "absl/strings/str_join.h"
#include "runtime/kernels/cpu/array_loop.h"
#include "runtime/kernels/cpu/broadcast.h"
#include "runtime/kernels/cpu/nn/softmax_row.h"

namespace tensorfleet::cpu {
namespace {

// The largest logit is taken off before anything is computed, so that large ones lose nothing.
template <typename W>
struct RowSum {
  W largest, sum, log_sum;
};

// gradient <- exp(x - largest), with its sum.
template <typename W>
RowSum<W> ExpRow(const ConstArrayMap<W>& x, ArrayMap<W>& gradient) {
  RowSum<W> row;
  row.largest = x.maxCoeff();
  gradient = (x - row.largest).exp();
  row.sum = gradient.sum();
  row.log_sum = std::log(row.sum);
  return row;
}

template <typename T>
class SoftmaxCrossEntropy final : public Kernel {
 public:
  using W = Widened<T>;

  Status Compute(KernelContext& ctx) const override {
    const Tensor& logits = ctx.input(0);
    const Tensor& labels = ctx.input(1);
    StatusOr<Shape> shape = BroadcastShapes(logits.shape(), labels.shape());
    if (!shape.ok()) {
      return InvalidArgument("logits and labels must be broadcastable: logits_size=",
                             logits.shape().ToString(), " labels_size=", labels.shape().ToString());
    }
    if (shape->rank() != 2) {
      return InvalidArgument(
          "logits and labels must be either 2-dimensional, or broadcasted to be 2-dimensional");
    }
    const int64_t batch = shape->dim(0), classes = shape->dim(1);
    TFLEET_ASSIGN_OR_RETURN(const Tensor full_logits, Expanded(ctx, logits, *shape));
    TFLEET_ASSIGN_OR_RETURN(const Tensor full_labels, Expanded(ctx, labels, *shape));
    TFLEET_ASSIGN_OR_RETURN(Tensor loss, ctx.Allocate(kDTypeOf<T>, {batch}));
    TFLEET_ASSIGN_OR_RETURN(Tensor backprop, ctx.Allocate(kDTypeOf<T>, *shape));
    T* losses = loss.template mutable_values<T>().data();
    if (classes == 0) std::fill(losses, losses + batch, T(0));
    if (shape->num_elements() > 0) {
      const T* x = full_logits.values<T>().data();
      const T* target = full_labels.values<T>().data();
      T* gradients = backprop.template mutable_values<T>().data();
      ParallelFor(ctx, batch, 20 + 4 * classes, [&](int64_t begin, int64_t end) {
        RowBuffer<T> logit_row(classes), label_row(classes), gradient_row(classes);
        for (int64_t row = begin; row < end; ++row) {
          const int64_t at = row * classes;
          const ConstArrayMap<W> from(logit_row.Read(x + at), classes);
          const ConstArrayMap<W> label(label_row.Read(target + at), classes);
          ArrayMap<W> gradient(gradient_row.Place(gradients + at), classes);
          const RowSum<W> sums = ExpRow<W>(from, gradient);
          // A label of 0 has no part in the loss, whatever its logit is.
          losses[row] = static_cast<T>(
              (label == W(0)).select(W(0), label * (sums.log_sum - (from - sums.largest))).sum());
          gradient = gradient / sums.sum - label;
          gradient_row.Write(gradients + at);
        }
      });
    }
    ctx.SetOutput(0, std::move(loss));
    ctx.SetOutput(1, std::move(backprop));
    return OkStatus();
  }

 private:
  // `t` repeated up to `shape`; `t` itself when that is its shape.
  static StatusOr<Tensor> Expanded(KernelContext& ctx, const Tensor& t, const Shape& shape) {
    if (t.shape() == shape) return t;
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(t.dtype(), shape));
    if (shape.num_elements() == 0) return out;
    const BroadcastPlan<2> plan = PlanBroadcast<2>(shape, {&t.shape(), &shape});
    const T* from = t.values<T>().data();
    T* to = out.template mutable_values<T>().data();
    plan.ForRuns(0, plan.outer(), [&](int64_t at, const std::array<int64_t, 2>& offsets) {
      for (int64_t i = 0; i < plan.inner(); ++i) {
        to[at + i] = from[offsets[0] + i * plan.strides[0].back()];
      }
    });
    return out;
  }
};

template <typename T, typename Label>
class SparseCrossEntropy final : public Kernel {
 public:
  using W = Widened<T>;

  Status Compute(KernelContext& ctx) const override {
    const Tensor& logits = ctx.input(0);
    const Tensor& labels = ctx.input(1);
    TFLEET_RETURN_IF_ERROR(CheckInputs(logits, labels));
    const int64_t batch = logits.dim(0), classes = logits.dim(1);
    const absl::Span<const Label> label = labels.values<Label>();
    for (const Label value : label) {
      if (value < 0 || value >= classes) {
        return InvalidArgument("Received a label value of ", value,
                               " which is outside the valid range of [0, ", classes,
                               ").  Label values: ", absl::StrJoin(label, " "));
      }
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor loss, ctx.Allocate(kDTypeOf<T>, {batch}));
    TFLEET_ASSIGN_OR_RETURN(Tensor backprop, ctx.ForwardOrAllocate(0, kDTypeOf<T>, logits.shape()));
    const T* x = logits.values<T>().data();
    T* losses = loss.template mutable_values<T>().data();
    T* gradients = backprop.template mutable_values<T>().data();
    ParallelFor(ctx, batch, 20 + 2 * classes, [&](int64_t begin, int64_t end) {
      RowBuffer<T> logit_row(classes), gradient_row(classes);
      for (int64_t row = begin; row < end; ++row) {
        const int64_t at = row * classes;
        const ConstArrayMap<W> from(logit_row.Read(x + at), classes);
        ArrayMap<W> gradient(gradient_row.Place(gradients + at), classes);
        const W target = from(label[row]);  // the gradient may lie on top of it
        const RowSum<W> sums = ExpRow<W>(from, gradient);
        losses[row] = static_cast<T>(sums.log_sum - (target - sums.largest));
        gradient *= W(1) / sums.sum;
        gradient(label[row]) -= W(1);
        gradient_row.Write(gradients + at);
      }
    });
    ctx.SetOutput(0, std::move(loss));
    ctx.SetOutput(1, std::move(backprop));
    return OkStatus();
  }

 private:
  static Status CheckInputs(const Tensor& logits, const Tensor& labels) {
    if (logits.rank() != 2) {
      return InvalidArgument("logits must be 2-D, but got shape ", logits.shape().ToString());
    }
    if (labels.rank() != 1) {
      return InvalidArgument("labels must be 1-D, but got shape ", labels.shape().ToString());
    }
    if (logits.dim(0) != labels.dim(0)) {
      return InvalidArgument(
          "logits and labels must have the same first dimension, got logits shape ",
          logits.shape().ToString(), " and labels shape ", labels.shape().ToString());
    }
    if (logits.dim(1) == 0) {
      return InvalidArgument("Must have at least one class, but got logits shape ",
                             logits.shape().ToString());
    }
    return OkStatus();
  }
};

template <typename T>
void AddSparse(KernelRegistry& r) {
  constexpr char kOp[] = "SparseSoftmaxCrossEntropyWithLogits";
  r.Add<SparseCrossEntropy<T, int32_t>>(kOp, kCpu,
                                        {{"T", kDTypeOf<T>}, {"Tlabels", DType::kInt32}});
  r.Add<SparseCrossEntropy<T, int64_t>>(kOp, kCpu,
                                        {{"T", kDTypeOf<T>}, {"Tlabels", DType::kInt64}});
}

}  // namespace

void RegisterCrossEntropyKernels(KernelRegistry& r) {
  AddForTypes<SoftmaxCrossEntropy>(r, "SoftmaxCrossEntropyWithLogits", Floats());
  ForEachType(Floats(), [&](auto tag) { AddSparse<typename decltype(tag)::type>(r); });
}

}  // namespace tensorfleet::cpu
