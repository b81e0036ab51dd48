// Ops that call functions: PartitionedCall, If, Case and their like. While: while.cc.
#include <utility>
#include <vector>

#include "runtime/kernels/function_call.h"
#include "runtime/kernels/kernel_registry.h"
#include "runtime/kernels/portable/truth.h"

namespace tensorfleet::portable {
namespace {

class PartitionedCall final : public AsyncKernel {
 public:
  explicit PartitionedCall(KernelInit& init) : function_(init, "f") {}
  // Until it has been measured; so are all below.
  bool IsExpensive() const override { return true; }
  void ComputeAsync(KernelContext& ctx, Done done) const override {
    function_.CallInto(ctx, TakeInputs(ctx, 0), std::move(done));
  }

 private:
  const CalledFunction function_;
};

class If final : public AsyncKernel {
 public:
  explicit If(KernelInit& init) : then_(init, "then_branch"), else_(init, "else_branch") {}
  bool IsExpensive() const override { return true; }
  void ComputeAsync(KernelContext& ctx, Done done) const override {
    const StatusOr<bool> cond = IsTrue(ctx.input(0));
    if (!cond.ok()) return done(cond.status());
    (*cond ? then_ : else_).CallInto(ctx, TakeInputs(ctx, 1), std::move(done));
  }

 private:
  const CalledFunction then_;
  const CalledFunction else_;
};

class Case final : public AsyncKernel {
 public:
  explicit Case(KernelInit& init) {
    std::vector<tensorflow::NameAttrList> branches;
    init.Get("branches", &branches);
    for (const tensorflow::NameAttrList& branch : branches) branches_.emplace_back(init, branch);
  }
  bool IsExpensive() const override { return true; }
  void ComputeAsync(KernelContext& ctx, Done done) const override {
    const Tensor& index = ctx.input(0);
    if (!index.shape().is_scalar()) {
      return done(InvalidArgument("branch_index must be a scalar, but it has shape ",
                                  index.shape().ToString()));
    }
    const int32_t wanted = index.scalar<int32_t>();
    const int32_t last = static_cast<int32_t>(branches_.size()) - 1;
    branches_[wanted < 0 || wanted > last ? last : wanted].CallInto(ctx, TakeInputs(ctx, 1),
                                                                    std::move(done));
  }

 private:
  std::vector<CalledFunction> branches_;
};

class RemoteCall final : public Kernel {
 public:
  explicit RemoteCall(KernelInit& init) {
    init.Fail(
        Unimplemented("RemoteCall is not supported: place the function's nodes on the other device "
                      "with tf.device, "
                      "and call it by PartitionedCall"));
  }
  Status Compute(KernelContext&) const override { return Unimplemented("RemoteCall"); }
};

class FakeParam final : public Kernel {
 public:
  explicit FakeParam(KernelInit& init) {
    DType dtype = DType::kInvalid;
    PartialShape declared;
    init.Get("dtype", &dtype);
    init.Get("shape", &declared);
    if (!init.status().ok()) return;
    std::vector<int64_t> dims;
    if (declared.has_rank()) {
      for (int64_t dim : declared.dims()) dims.push_back(dim < 0 ? 0 : dim);
    }
    const StatusOr<Shape> shape = Shape::Make(dims);
    StatusOr<Tensor> value = shape.ok() ? Tensor::Zeros(dtype, *shape) : shape.status();
    if (value.ok()) {
      value_ = *std::move(value);
    } else {
      init.Fail(value.status());
    }
  }
  Status Compute(KernelContext& ctx) const override {
    ctx.SetOutput(0, value_);
    return OkStatus();
  }

 private:
  Tensor value_;
};

}  // namespace

void RegisterFunctionalKernels(KernelRegistry& kernels) {
  kernels.Add<PartitionedCall>("PartitionedCall", kCpu);
  kernels.Add<PartitionedCall>("StatefulPartitionedCall", kCpu);
  for (const char* op : {"If", "StatelessIf", "_If"}) kernels.Add<If>(op, kCpu);
  for (const char* op : {"Case", "StatelessCase"}) kernels.Add<Case>(op, kCpu);
  kernels.Add<RemoteCall>("RemoteCall", kCpu);
  kernels.Add<FakeParam>("FakeParam", kCpu);
}

}  // namespace tensorfleet::portable
