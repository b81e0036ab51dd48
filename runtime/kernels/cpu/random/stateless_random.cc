// Random ops whose result follows from their inputs alone. Schemas and shape rules:
// runtime/ops/random/random_ops.cc.
#include "runtime/kernels/cpu/index_input.h"
#include "runtime/kernels/cpu/random/multinomial.h"
#include "runtime/kernels/cpu/random/random_fill.h"
#include "runtime/kernels/cpu/random/stateless_key.h"
#include "runtime/kernels/kernel_registry.h"

namespace tensorfleet::cpu {
namespace {

// StatelessRandomGetKeyCounter, and ...Alg with the algorithm as a third output.
class GetKeyCounter final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const KeyAndCounter at, Scramble(ctx.input(0)));
    TFLEET_ASSIGN_OR_RETURN(Tensor key, ctx.Allocate(DType::kUInt64, {1}));
    TFLEET_ASSIGN_OR_RETURN(Tensor counter, ctx.Allocate(DType::kUInt64, {2}));
    key.mutable_values<uint64_t>()[0] = at.key;
    counter.mutable_values<uint64_t>()[0] = at.counter[0];
    counter.mutable_values<uint64_t>()[1] = at.counter[1];
    ctx.SetOutput(0, std::move(key));
    ctx.SetOutput(1, std::move(counter));
    if (ctx.num_outputs() == 3) ctx.SetOutput(2, Tensor::Scalar<int32_t>(kPhilox));
    return OkStatus();
  }
};

class GetAlgorithm final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    ctx.SetOutput(0, Tensor::Scalar<int32_t>(kPhilox));
    return OkStatus();
  }
};

using FillFn = void (*)(const KernelContext&, Philox, Tensor*);

// The forms with key, counter and alg after the shape.
template <FillFn kFill>
class StatelessV2 final : public Kernel {
 public:
  explicit StatelessV2(KernelInit& init) { init.Get("dtype", &dtype_); }
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const Shape shape, ShapeFromInput(ctx.input(0)));
    TFLEET_ASSIGN_OR_RETURN(const Philox from, ReadGenerator(ctx, 1));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(dtype_, shape));
    kFill(ctx, from, &out);
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  DType dtype_ = DType::kFloat;
};

// The older forms with a seed after the shape.
template <FillFn kFill>
class StatelessV1 final : public Kernel {
 public:
  explicit StatelessV1(KernelInit& init) { init.Get("dtype", &dtype_); }
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const Shape shape, ShapeFromInput(ctx.input(0)));
    TFLEET_ASSIGN_OR_RETURN(const KeyAndCounter at, Scramble(ctx.input(1)));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(dtype_, shape));
    kFill(ctx, at.Start(), &out);
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  DType dtype_ = DType::kFloat;
};

Status FillBetween(const KernelContext& ctx, Philox from, const Tensor& minval,
                   const Tensor& maxval, Tensor* out) {
  if (!minval.shape().is_scalar()) {
    return InvalidArgument("minval must be 0-D, got shape ", minval.shape().ToString());
  }
  if (!maxval.shape().is_scalar()) {
    return InvalidArgument("maxval must be 0-D, got shape ", maxval.shape().ToString());
  }
  const int64_t low = IntegerAt(minval, 0);
  const int64_t high = IntegerAt(maxval, 0);
  if (low >= high) return InvalidArgument("Need minval < maxval, got ", low, " >= ", high);
  FillUniformInt(ctx, from, low, high, out);
  return OkStatus();
}

// StatelessRandomUniformIntV2 and StatelessRandomUniformInt.
class StatelessInt final : public Kernel {
 public:
  explicit StatelessInt(KernelInit& init) : is_v2_(init.node().num_inputs() == 6) {
    init.Get("dtype", &dtype_);
  }
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const Shape shape, ShapeFromInput(ctx.input(0)));
    StatusOr<Philox> from = is_v2_ ? ReadGenerator(ctx, 1) : SeededBy(ctx.input(1));
    if (!from.ok()) return from.status();
    const int bounds = is_v2_ ? 4 : 2;
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(dtype_, shape));
    TFLEET_RETURN_IF_ERROR(FillBetween(ctx, *from, ctx.input(bounds), ctx.input(bounds + 1), &out));
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  static StatusOr<Philox> SeededBy(const Tensor& seed) {
    TFLEET_ASSIGN_OR_RETURN(const KeyAndCounter at, Scramble(seed));
    return at.Start();
  }

  const bool is_v2_;
  DType dtype_ = DType::kInt32;
};

class StatelessMultinomial final : public Kernel {
 public:
  explicit StatelessMultinomial(KernelInit& init) { init.Get("output_dtype", &dtype_); }
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const int64_t samples, CheckMultinomial(ctx.input(0), ctx.input(1)));
    TFLEET_ASSIGN_OR_RETURN(const KeyAndCounter at, Scramble(ctx.input(2)));
    TFLEET_ASSIGN_OR_RETURN(Tensor out,
                            SampleMultinomial(ctx, at.Start(), ctx.input(0), samples, dtype_));
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  DType dtype_ = DType::kInt64;
};

}  // namespace

void RegisterStatelessRandomKernels(KernelRegistry& kernels) {
  kernels.Add<GetKeyCounter>("StatelessRandomGetKeyCounter", kCpu);
  kernels.Add<GetKeyCounter>("StatelessRandomGetKeyCounterAlg", kCpu);
  kernels.Add<GetAlgorithm>("StatelessRandomGetAlg", kCpu);
  kernels.Add<StatelessV2<FillUniform>>("StatelessRandomUniformV2", kCpu);
  kernels.Add<StatelessV2<FillNormal>>("StatelessRandomNormalV2", kCpu);
  kernels.Add<StatelessV2<FillTruncatedNormal>>("StatelessTruncatedNormalV2", kCpu);
  kernels.Add<StatelessV2<FillFullInt>>("StatelessRandomUniformFullIntV2", kCpu);
  kernels.Add<StatelessV1<FillUniform>>("StatelessRandomUniform", kCpu);
  kernels.Add<StatelessV1<FillNormal>>("StatelessRandomNormal", kCpu);
  kernels.Add<StatelessV1<FillTruncatedNormal>>("StatelessTruncatedNormal", kCpu);
  kernels.Add<StatelessV1<FillFullInt>>("StatelessRandomUniformFullInt", kCpu);
  for (const DType t : {DType::kInt32, DType::kInt64}) {
    kernels.Add<StatelessInt>("StatelessRandomUniformIntV2", kCpu, {{"dtype", t}});
    kernels.Add<StatelessInt>("StatelessRandomUniformInt", kCpu, {{"dtype", t}});
  }
  for (const DType t : {DType::kHalf, DType::kBFloat16, DType::kFloat, DType::kDouble}) {
    kernels.Add<StatelessMultinomial>("StatelessMultinomial", kCpu, {{"T", t}});
  }
}

}  // namespace tensorfleet::cpu
