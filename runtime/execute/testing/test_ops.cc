// The ops that step_fixture.h lists, and their kernels.
#include <chrono>
#include <limits>
#include <new>
#include <stdexcept>
#include <thread>

#include "runtime/execute/testing/step_fixture.h"
#include "runtime/kernels/portable/families.h"
#include "runtime/ops/families.h"

namespace tensorfleet {
namespace {

using std::chrono::microseconds;

int64_t In(const KernelContext& ctx, int i) { return ctx.input(i).scalar<int64_t>(); }
Status Out(KernelContext& ctx, int64_t value) {
  ctx.SetOutput(0, Tensor::Scalar<int64_t>(value));
  return OkStatus();
}

// A kernel that is one function of the context.
template <Status (*compute)(KernelContext&)>
class Simple final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override { return compute(ctx); }
};

Status Identity(KernelContext& ctx) {
  ctx.SetOutput(0, ctx.TakeInput(0));
  return OkStatus();
}
Status Neg(KernelContext& ctx) { return Out(ctx, -In(ctx, 0)); }
Status Add(KernelContext& ctx) { return Out(ctx, In(ctx, 0) + In(ctx, 1)); }
Status Less(KernelContext& ctx) {
  ctx.SetOutput(0, Tensor::Scalar<bool>(In(ctx, 0) < In(ctx, 1)));
  return OkStatus();
}
Status Positive(KernelContext& ctx) {
  ctx.SetOutput(0, Tensor::Scalar<bool>(In(ctx, 0) > 0));
  return OkStatus();
}
Status Flushes(KernelContext& ctx) {
  volatile float least = std::numeric_limits<float>::min();
  return Out(ctx, least / 2 == 0);
}
Status Sum(KernelContext& ctx) {
  int64_t sum = 0;
  for (int i = 0; i < ctx.num_inputs(); ++i) sum += In(ctx, i);
  return Out(ctx, sum);
}
Status Assign(KernelContext& ctx) {
  Variable& variable = ctx.ref_input(0);
  {
    MutexLock lock(&variable.mu());
    variable.mutable_tensor() = ctx.TakeInput(1);
  }
  ctx.SetRefOutput(0, ctx.ref_input_ptr(0));
  return OkStatus();
}
Status IsInit(KernelContext& ctx) {
  ctx.SetOutput(0, Tensor::Scalar<bool>(ctx.ref_input(0).is_initialized()));
  return OkStatus();
}
Status Pointer(KernelContext& ctx) {
  ctx.SetOutput(1, Tensor::Scalar<int64_t>(reinterpret_cast<int64_t>(ctx.input(0).raw())));
  TFLEET_ASSIGN_OR_RETURN(Tensor same,
                          ctx.ForwardOrAllocate(0, DType::kFloat, ctx.input(0).shape()));
  ctx.SetOutput(0, std::move(same));
  return OkStatus();
}
Status Forget(KernelContext&) { return OkStatus(); }
Status WrongType(KernelContext& ctx) {
  ctx.SetOutput(0, Tensor::Scalar<float>(1));
  return OkStatus();
}

class Value final : public Kernel {
 public:
  explicit Value(KernelInit& init) { init.Get("v", &v_); }
  Status Compute(KernelContext& ctx) const override { return Out(ctx, v_); }

 private:
  int64_t v_ = 0;
};

class Matrix final : public Kernel {
 public:
  explicit Matrix(KernelInit& init) { init.Get("n", &n_); }
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DType::kFloat, {n_, n_}));
    std::fill_n(out.mutable_values<float>().begin(), n_ * n_, 1.0f);
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  int64_t n_ = 0;
};

class Slow final : public Kernel {
 public:
  explicit Slow(KernelInit& init) { init.Get("micros", &micros_); }
  bool IsExpensive() const override { return true; }
  Status Compute(KernelContext& ctx) const override {
    std::this_thread::sleep_for(microseconds(micros_));
    return Identity(ctx);
  }

 private:
  int64_t micros_ = 0;
};

class Later final : public AsyncKernel {
 public:
  explicit Later(KernelInit& init) { init.Get("micros", &micros_); }
  void ComputeAsync(KernelContext& ctx, Done done) const override {
    std::thread([this, &ctx, done = std::move(done)] {
      if (micros_ > 0) std::this_thread::sleep_for(microseconds(micros_));
      done(Identity(ctx));
    }).detach();
  }

 private:
  int64_t micros_ = 0;
};

std::atomic<int64_t> count_waits{0};

// Ends with `why` when the step is cancelled.
void WaitForCancellation(KernelContext& ctx, const Status& why, const AsyncKernel::Done& done) {
  if (ctx.step().cancellation->Register([why, done] { done(why); }) < 0) done(why);
  ++count_waits;
}

class Never final : public AsyncKernel {
 public:
  void ComputeAsync(KernelContext& ctx, Done done) const override {
    WaitForCancellation(ctx, Cancelled("Never was cancelled"), done);
  }
};

class FailsLate final : public AsyncKernel {
 public:
  explicit FailsLate(KernelInit& init) { init.Get("message", &message_); }
  void ComputeAsync(KernelContext& ctx, Done done) const override {
    WaitForCancellation(ctx, InvalidArgument(message_), done);
  }

 private:
  std::string message_;
};

class Dies final : public AsyncKernel {
 public:
  void ComputeAsync(KernelContext& ctx, Done done) const override;
};

class Fail final : public Kernel {
 public:
  explicit Fail(KernelInit& init) { init.Get("message", &message_); }
  Status Compute(KernelContext&) const override { return InvalidArgument(message_); }

 private:
  std::string message_;
};

void Throw(const std::string& what) {
  if (what == "memory") throw std::bad_alloc();
  if (what == "length") throw std::length_error("vector");
  throw std::runtime_error(what);
}

class Throws final : public Kernel {
 public:
  explicit Throws(KernelInit& init) {
    init.Get("what", &what_);
    if (what_ == "made") Throw(what_);
  }
  Status Compute(KernelContext&) const override {
    Throw(what_);
    return OkStatus();
  }

 private:
  std::string what_;
};

class ThrowsLater final : public AsyncKernel {
 public:
  explicit ThrowsLater(KernelInit& init) { init.Get("what", &what_); }
  void ComputeAsync(KernelContext& ctx, Done done) const override {
    if (!what_.empty()) Throw(what_);
    ctx.pool().Schedule([done] { Throw("on a pool"); });
  }

 private:
  std::string what_;
};

class Count final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override;
};

class Var final : public Kernel {
 public:
  Var() : variable_(ResourceRef<Variable>::Adopt(new Variable(DType::kInt64))) {}
  Status Compute(KernelContext& ctx) const override {
    ctx.SetRefOutput(0, variable_);
    return OkStatus();
  }

 private:
  const ResourceRef<Variable> variable_;
};

std::atomic<int64_t> count_runs{0};
std::function<void(int64_t)>& OnCount() {
  static auto* const hook = new std::function<void(int64_t)>;
  return *hook;
}

Status Count::Compute(KernelContext& ctx) const {
  const int64_t count = ++count_runs;
  if (const auto& hook = OnCount()) hook(count);
  return Identity(ctx);
}

void Dies::ComputeAsync(KernelContext& ctx, Done done) const {
  ctx.SetOutputsDead();
  std::thread([done = std::move(done)] {
    while (count_runs == 0) std::this_thread::sleep_for(microseconds(100));
    done(OkStatus());
  }).detach();
}

void AddOps(OpRegistry& ops) {
  RegisterControlFlowOps(ops);
  RegisterFunctionalOps(ops);
  RegisterTransferOps(ops);
  ops.Add(OpSchemaBuilder("Value").Output("y: int64").Attr("v: int"));
  ops.Add(OpSchemaBuilder("Identity").Input("x: T").Output("y: T").Attr("T: type = DT_INT64"));
  for (const char* name : {"Neg", "Count", "Never", "Dies"}) {
    ops.Add(OpSchemaBuilder(name).Input("x: int64").Output("y: int64"));
  }
  ops.Add(OpSchemaBuilder("Add").Input("x: int64").Input("y: int64").Output("z: int64"));
  ops.Add(OpSchemaBuilder("Less").Input("x: int64").Input("y: int64").Output("z: bool"));
  ops.Add(OpSchemaBuilder("Positive").Input("x: int64").Output("z: bool"));
  ops.Add(OpSchemaBuilder("Sum").Input("xs: N * int64").Output("y: int64").Attr("N: int >= 1"));
  for (const char* name : {"Slow", "Later"}) {
    ops.Add(OpSchemaBuilder(name).Input("x: int64").Output("y: int64").Attr("micros: int = 0"));
  }
  for (const char* name : {"Fail", "FailsLate"}) {
    ops.Add(OpSchemaBuilder(name).Input("x: int64").Output("y: int64").Attr("message: string"));
  }
  ops.Add(OpSchemaBuilder("Var").Output("ref: Ref(int64)").Attr("like: int = 0").Stateful());
  for (const char* name : {"Throws", "ThrowsLater"}) {
    ops.Add(OpSchemaBuilder(name).Input("x: int64").Output("y: int64").Attr("what: string"));
  }
  ops.Add(OpSchemaBuilder("Assign")
              .Input("ref: Ref(int64)")
              .Input("x: int64")
              .Output("out: Ref(int64)")
              .AllowsUninitializedInput());
  ops.Add(OpSchemaBuilder("IsInit")
              .Input("ref: Ref(int64)")
              .Output("y: bool")
              .AllowsUninitializedInput());
  ops.Add(OpSchemaBuilder("Matrix").Output("y: float").Attr("n: int"));
  ops.Add(OpSchemaBuilder("Pointer").Input("x: float").Output("y: float").Output("at: int64"));
  ops.Add(OpSchemaBuilder("Flushes").Output("y: int64"));
  ops.Add(OpSchemaBuilder("Forget").Output("y: int64"));
  ops.Add(OpSchemaBuilder("WrongType").Output("y: int64"));
}

void AddKernels(KernelRegistry& kernels) {
  portable::RegisterControlFlowKernels(kernels);
  portable::RegisterFunctionalKernels(kernels);
  portable::RegisterTransferKernels(kernels);
  portable::RegisterWhileKernels(kernels);
  kernels.Add<Value>("Value", kCpu);
  kernels.Add<Simple<Identity>>("Identity", kCpu);
  kernels.Add<Simple<Neg>>("Neg", kCpu);
  kernels.Add<Simple<Add>>("Add", kCpu);
  kernels.Add<Simple<Less>>("Less", kCpu);
  kernels.Add<Simple<Positive>>("Positive", kCpu);
  kernels.Add<Simple<Sum>>("Sum", kCpu);
  kernels.Add<Simple<Assign>>("Assign", kCpu);
  kernels.Add<Simple<IsInit>>("IsInit", kCpu);
  kernels.Add<Simple<Pointer>>("Pointer", kCpu);
  kernels.Add<Simple<Flushes>>("Flushes", kCpu);
  kernels.Add<Simple<Forget>>("Forget", kCpu);
  kernels.Add<Simple<WrongType>>("WrongType", kCpu);
  kernels.Add<Slow>("Slow", kCpu);
  kernels.Add<Later>("Later", kCpu);
  kernels.Add<Never>("Never", kCpu);
  kernels.Add<Dies>("Dies", kCpu);
  kernels.Add<Fail>("Fail", kCpu);
  kernels.Add<FailsLate>("FailsLate", kCpu);
  kernels.Add<Throws>("Throws", kCpu);
  kernels.Add<ThrowsLater>("ThrowsLater", kCpu);
  kernels.Add<Count>("Count", kCpu);
  kernels.Add<Var>("Var", kCpu);
  kernels.Add<Matrix>("Matrix", kCpu);
}

}  // namespace

std::atomic<int64_t>& StepFixture::runs() { return count_runs; }
std::function<void(int64_t)>& StepFixture::on_count() { return OnCount(); }
std::atomic<int64_t>& StepFixture::waits() { return count_waits; }

const OpRegistry& TestOps() {
  static const OpRegistry* const ops = [] {
    auto* made = new OpRegistry;
    AddOps(*made);
    return made;
  }();
  return *ops;
}

const KernelRegistry& TestKernels() {
  static const KernelRegistry* const kernels = [] {
    auto* made = new KernelRegistry;
    AddKernels(*made);
    return made;
  }();
  return *kernels;
}

}  // namespace tensorfleet
