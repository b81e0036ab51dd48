// The ops that step_fixture.h lists, and their kernels.
#include <chrono>
#include <thread>

#include "runtime/execute/testing/step_fixture.h"
#include "runtime/kernels/cpu/families.h"
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
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DType::kFloat, Shape({n_, n_})));
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

class Never final : public AsyncKernel {
 public:
  void ComputeAsync(KernelContext& ctx, Done done) const override {
    if (ctx.step().cancellation->Register([done] { done(Cancelled("Never was cancelled")); }) < 0) {
      done(Cancelled("Never was cancelled"));
    }
  }
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

Status Count::Compute(KernelContext& ctx) const {
  ++count_runs;
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
  ops.Add(OpSchemaBuilder("Fail").Input("x: int64").Output("y: int64").Attr("message: string"));
  ops.Add(OpSchemaBuilder("Var").Output("ref: Ref(int64)").Stateful());
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
  ops.Add(OpSchemaBuilder("Forget").Output("y: int64"));
  ops.Add(OpSchemaBuilder("WrongType").Output("y: int64"));
}

void AddKernels(KernelRegistry& kernels) {
  cpu::RegisterControlFlowKernels(kernels);
  cpu::RegisterFunctionalKernels(kernels);
  cpu::RegisterTransferKernels(kernels);
  cpu::RegisterWhileKernels(kernels);
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
  kernels.Add<Simple<Forget>>("Forget", kCpu);
  kernels.Add<Simple<WrongType>>("WrongType", kCpu);
  kernels.Add<Slow>("Slow", kCpu);
  kernels.Add<Later>("Later", kCpu);
  kernels.Add<Never>("Never", kCpu);
  kernels.Add<Dies>("Dies", kCpu);
  kernels.Add<Fail>("Fail", kCpu);
  kernels.Add<Count>("Count", kCpu);
  kernels.Add<Var>("Var", kCpu);
  kernels.Add<Matrix>("Matrix", kCpu);
}

}  // namespace

std::atomic<int64_t>& StepFixture::runs() { return count_runs; }

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
