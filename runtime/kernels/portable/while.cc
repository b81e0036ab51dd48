// While: calls a function with its own results as long as another one says so. For: calls it once
// for each number of a range.
#include <atomic>
#include <utility>
#include <vector>

#include "runtime/kernels/function_call.h"
#include "runtime/kernels/kernel_registry.h"
#include "runtime/kernels/portable/truth.h"

namespace tensorfleet::portable {
namespace {

// One run of the loop. A call may be over before it returns or end later on another thread;
// whichever comes second, the return or the end, goes on, so that the stack does not grow with the
// number of iterations.
class Loop {
 public:
  Loop(const CalledFunction& cond, const CalledFunction& body, KernelContext& ctx,
       AsyncKernel::Done done)
      : cond_(cond), body_(body), ctx_(ctx), done_(std::move(done)), state_(TakeInputs(ctx, 0)) {}

  // Goes on until a call does not end at once. Deletes the loop at its end.
  void Run() {
    while (StartCall()) {
      if (!AfterCall()) return;
    }
  }

 private:
  // Whether the call is over already; if not, the loop goes on when it ends.
  bool StartCall() {
    parts_left_.store(2, std::memory_order_relaxed);
    auto over = [this](const Status& status, std::vector<Tensor> results) {
      status_ = status;
      results_ = std::move(results);
      if (parts_left_.fetch_sub(1, std::memory_order_acq_rel) == 1 && AfterCall()) Run();
    };
    if (in_body_) {
      body_.Call(ctx_, std::move(state_), over);
    } else {
      cond_.Call(ctx_, state_, over);
    }
    return parts_left_.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }

  // Whether there is a next call to make.
  bool AfterCall() {
    if (!status_.ok()) return Finish(status_);
    const CancellationManager* cancellation = ctx_.step().cancellation;
    if (cancellation != nullptr && cancellation->is_cancelled()) {
      return Finish(cancellation->status());
    }
    if (in_body_) {
      if (static_cast<int>(results_.size()) != ctx_.num_outputs()) {
        return Finish(InvalidArgument("body gave ", results_.size(), " results, expected ",
                                      ctx_.num_outputs()));
      }
      state_ = std::move(results_);
      in_body_ = false;
      return true;
    }
    if (results_.size() != 1) {
      return Finish(InvalidArgument("cond gave ", results_.size(), " results, expected one"));
    }
    const StatusOr<bool> goes_on = IsTrue(results_[0]);
    if (!goes_on.ok()) return Finish(goes_on.status());
    if (!*goes_on) return Finish(OkStatus());
    in_body_ = true;
    return true;
  }

  // Always false.
  bool Finish(Status status) {  // by value: it may be status_, which goes with the loop
    if (status.ok()) {
      for (size_t i = 0; i < state_.size(); ++i) {
        ctx_.SetOutput(static_cast<int>(i), std::move(state_[i]));
      }
    }
    AsyncKernel::Done done = std::move(done_);
    delete this;
    done(std::move(status));
    return false;
  }

  const CalledFunction& cond_;
  const CalledFunction& body_;
  KernelContext& ctx_;
  AsyncKernel::Done done_;
  std::vector<Tensor> state_;
  std::vector<Tensor> results_;
  Status status_;
  bool in_body_ = false;
  std::atomic<int> parts_left_{0};
};

class While final : public AsyncKernel {
 public:
  explicit While(KernelInit& init) : cond_(init, "cond"), body_(init, "body") {}
  bool IsExpensive() const override { return true; }
  void ComputeAsync(KernelContext& ctx, Done done) const override {
    (new Loop(cond_, body_, ctx, std::move(done)))->Run();
  }

 private:
  const CalledFunction cond_;
  const CalledFunction body_;
};

// One run of a For loop; goes on as Loop does.
class ForLoop {
 public:
  ForLoop(const CalledFunction& body, KernelContext& ctx, int64_t start, int64_t limit,
          int64_t delta, AsyncKernel::Done done)
      : body_(body),
        ctx_(ctx),
        done_(std::move(done)),
        state_(TakeInputs(ctx, 3)),
        next_(start),
        limit_(limit),
        delta_(delta) {}

  void Run() {
    while (IsThereMore()) {
      if (!StartCall()) return;
      if (!AfterCall()) return;
    }
    Finish(OkStatus());
  }

 private:
  bool IsThereMore() const { return delta_ > 0 ? next_ < limit_ : next_ > limit_; }
  bool StartCall() {
    parts_left_.store(2, std::memory_order_relaxed);
    std::vector<Tensor> args;
    args.reserve(state_.size() + 1);
    args.push_back(Tensor::Scalar(static_cast<int32_t>(next_)));
    for (Tensor& value : state_) args.push_back(std::move(value));
    next_ += delta_;
    body_.Call(ctx_, std::move(args), [this](const Status& status, std::vector<Tensor> results) {
      status_ = status;
      state_ = std::move(results);
      if (parts_left_.fetch_sub(1, std::memory_order_acq_rel) == 1 && AfterCall()) Run();
    });
    return parts_left_.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }
  bool AfterCall() {
    if (!status_.ok()) return Finish(status_);
    const CancellationManager* cancellation = ctx_.step().cancellation;
    if (cancellation != nullptr && cancellation->is_cancelled()) {
      return Finish(cancellation->status());
    }
    if (static_cast<int>(state_.size()) != ctx_.num_outputs()) {
      return Finish(InvalidArgument("For loop body returned ", state_.size(),
                                    " arguments. Expected: ", ctx_.num_outputs()));
    }
    return true;
  }
  // Always false.
  bool Finish(Status status) {
    if (status.ok()) {
      for (size_t i = 0; i < state_.size(); ++i) {
        ctx_.SetOutput(static_cast<int>(i), std::move(state_[i]));
      }
    }
    AsyncKernel::Done done = std::move(done_);
    delete this;
    done(std::move(status));
    return false;
  }

  const CalledFunction& body_;
  KernelContext& ctx_;
  AsyncKernel::Done done_;
  std::vector<Tensor> state_;
  Status status_;
  int64_t next_;
  const int64_t limit_, delta_;
  std::atomic<int> parts_left_{0};
};

class For final : public AsyncKernel {
 public:
  explicit For(KernelInit& init) : body_(init, "body") {}
  bool IsExpensive() const override { return true; }
  void ComputeAsync(KernelContext& ctx, Done done) const override {
    int64_t numbers[3];
    constexpr const char* kNames[] = {"start", "limit", "delta"};
    for (int i = 0; i < 3; ++i) {
      if (!ctx.input(i).shape().is_scalar()) {
        return done(InvalidArgument(kNames[i], " must be a scalar, but it has shape ",
                                    ctx.input(i).shape().ToString()));
      }
      numbers[i] = ctx.input(i).scalar<int32_t>();
    }
    const auto [start, limit, delta] = numbers;
    if (delta == 0 || (delta > 0 && start > limit) || (delta < 0 && start < limit)) {
      return done(InvalidArgument("Need delta != 0 with its sign as from start to limit: start=",
                                  start, " limit=", limit, " delta=", delta));
    }
    (new ForLoop(body_, ctx, start, limit, delta, std::move(done)))->Run();
  }

 private:
  const CalledFunction body_;
};

}  // namespace

void RegisterWhileKernels(KernelRegistry& kernels) {
  for (const char* op : {"While", "StatelessWhile", "_While"}) kernels.Add<While>(op, kCpu);
  kernels.Add<For>("For", kCpu);
}

}  // namespace tensorfleet::portable
