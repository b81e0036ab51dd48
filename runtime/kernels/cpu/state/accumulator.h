// Gradients on their way to a synchronous update: workers add theirs, the chief takes the mean once
// there are enough. What ConditionalAccumulator and its kin make.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "runtime/base/cancellation.h"
#include "runtime/base/thread_pool.h"
#include "runtime/kernels/cpu/sum_loop.h"
#include "runtime/kernels/resource.h"

namespace tensorfleet::cpu {

struct AccumulatorSpec {
  std::string name;
  DType dtype = DType::kInvalid;  // half, float or double
  PartialShape shape;
  bool takes_mean = true;  // else the sum
};

// What both kinds have in common: the count, the step, and those who wait to take. Thread-safe.
class Accumulator : public Resource {
 public:
  // The tensors of a take: the gradient, or the indices, values and shape of a sparse one.
  using TakeDone = std::function<void(Status, std::vector<Tensor>)>;
  // See Queue::Caller.
  struct Caller {
    CancellationManager* cancellation = nullptr;
    ThreadPool* pool = nullptr;
  };

  const AccumulatorSpec& spec() const { return spec_; }

  int64_t num_accumulated() const;
  // Gradients of an earlier step than this are dropped silently from now on.
  void SetGlobalStep(int64_t step);
  // Waits until `num_required` (at least 1) gradients are in; takes all there are, forgets them and
  // goes on to the next step. Takes are served in the order they came. Errors: Cancelled.
  void Take(int64_t num_required, const Caller& caller, TakeDone done);

 protected:
  explicit Accumulator(AccumulatorSpec spec) : spec_(std::move(spec)) {}

  // Counts a gradient of `local_step` that `add` adds, under the lock, unless it is stale.
  Status Accept(int64_t local_step, absl::FunctionRef<Status()> add);
  // What was accumulated in `count` gradients; starts anew.
  virtual StatusOr<std::vector<Tensor>> TakeAll(int64_t count)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) = 0;
  int64_t count() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return count_; }

  mutable Mutex mu_;

 private:
  struct Attempt {
    uint64_t id;
    int64_t num_required;
    Caller caller;
    CancellationManager::Token token;
    TakeDone done;
    Status status;
    std::vector<Tensor> taken;
  };
  void Flush(std::vector<Attempt>* finished) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Cancel(uint64_t id);
  static void CallFinished(std::vector<Attempt> finished, uint64_t own);

  const AccumulatorSpec spec_;
  int64_t count_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t global_step_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t next_id_ ABSL_GUARDED_BY(mu_) = 1;
  std::deque<Attempt> attempts_ ABSL_GUARDED_BY(mu_);
};

class DenseAccumulator final : public Accumulator {
 public:
  explicit DenseAccumulator(AccumulatorSpec spec)
      : Accumulator(std::move(spec)), add_(SumLoop(this->spec().dtype, /*subtract=*/false)) {}
  std::string DebugString() const override;

  // Errors: InvalidArgument for another type or shape.
  Status Apply(const KernelContext& ctx, int64_t local_step, Tensor gradient);

 private:
  StatusOr<std::vector<Tensor>> TakeAll(int64_t count) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const SumLoopFn add_;
  Tensor sum_ ABSL_GUARDED_BY(mu_);
};

class SparseAccumulator final : public Accumulator {
 public:
  explicit SparseAccumulator(AccumulatorSpec spec)
      : Accumulator(std::move(spec)),
        add_(SumLoop(this->spec().dtype, /*subtract=*/false)),
        has_shape_(this->spec().shape.has_rank() && this->spec().shape.rank() > 0) {}
  std::string DebugString() const override;

  // Adds `values[i]` to row `indices[i]`; a row may come up several times in a gradient. `shape`,
  // of the whole gradient, is empty when it is not known. The mean of a row is over the gradients
  // that have it. Errors: InvalidArgument.
  Status Apply(int64_t local_step, const Tensor& indices, const Tensor& values,
               absl::Span<const int64_t> shape);

 private:
  StatusOr<std::vector<Tensor>> TakeAll(int64_t count) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Status CheckGradient(const Tensor& indices, const Tensor& values,
                       absl::Span<const int64_t> shape) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Status Add(const Tensor& indices, const Tensor& values) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const SumLoopFn add_;
  const bool has_shape_;  // shape () says as little as an unknown one, as in TensorFlow
  struct Row {
    int64_t slot;            // in sums_, in rows
    int64_t num_gradients;   // that have it
    uint64_t last_gradient;  // that had it
  };
  absl::flat_hash_map<int64_t, Row> rows_ ABSL_GUARDED_BY(mu_);
  std::vector<char> sums_ ABSL_GUARDED_BY(mu_);
  Shape row_shape_ ABSL_GUARDED_BY(mu_);
  uint64_t gradient_number_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace tensorfleet::cpu
