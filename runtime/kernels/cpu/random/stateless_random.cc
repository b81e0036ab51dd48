// Random ops whose result follows from their inputs alone. Schemas and shape rules:
// runtime/ops/random/random_ops.cc.
#include "runtime/kernels/cpu/index_input.h"
#include "runtime/kernels/cpu/random/multinomial.h"
#include "runtime/kernels/cpu/random/random_fill.h"
#include "runtime/kernels/kernel_registry.h"

namespace tensorfleet::cpu {
namespace {

// TensorFlow's numbers of algorithms.
constexpr int64_t kPhilox = 1;
constexpr int64_t kAuto = 3;

struct KeyAndCounter {
  uint64_t key;
  uint64_t counter[2];
};

// Spreads a pair of seeds over key and counter, so that neighbouring seeds give unrelated
// sequences.
StatusOr<KeyAndCounter> Scramble(const Tensor& seed) {
  if (seed.rank() != 1 || seed.num_elements() != 2) {
    return InvalidArgument("seed must have shape [2], not ", seed.shape().ToString());
  }
  const uint64_t first = static_cast<uint64_t>(IntegerAt(seed, 0));
  const uint64_t second = static_cast<uint64_t>(IntegerAt(seed, 1));
  constexpr uint64_t kScrambleKey = 0x02461e293ec8f720;
  const Philox::Block mixed = Philox(kScrambleKey, first, second).Next();
  return KeyAndCounter{mixed[0] | (uint64_t{mixed[1]} << 32),
                       {0, mixed[2] | (uint64_t{mixed[3]} << 32)}};
}

Philox Start(const KeyAndCounter& at) { return Philox(at.key, at.counter[0], at.counter[1]); }

// Reads inputs key, counter and alg, which stand at `first` and after.
StatusOr<Philox> ReadGenerator(const KernelContext& ctx, int first) {
  const Tensor& key = ctx.input(first);
  const Tensor& counter = ctx.input(first + 1);
  const Tensor& alg = ctx.input(first + 2);
  if (!alg.shape().is_scalar()) {
    return InvalidArgument("algorithm must be of shape [], not ", alg.shape().ToString());
  }
  const int64_t algorithm = IntegerAt(alg, 0);
  if (algorithm != kPhilox && algorithm != kAuto) {
    return InvalidArgument("Unsupported algorithm id: ", algorithm);
  }
  if (key.rank() != 1 || key.dim(0) != 1) {
    return InvalidArgument("key must have shape [1], not ", key.shape().ToString(),
                           ". (Note that batched keys are not supported yet.)");
  }
  if (counter.rank() != 1 || counter.dim(0) < 2) {
    return InvalidArgument(
        "counter must be a vector of at least 2 elements for the Philox "
        "algorithm; got shape ",
        counter.shape().ToString());
  }
  const auto words = counter.values<uint64_t>();
  return Philox(key.values<uint64_t>()[0], words[0], words[1]);
}

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
    kFill(ctx, Start(at), &out);
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
    return Start(at);
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
                            SampleMultinomial(ctx, Start(at), ctx.input(0), samples, dtype_));
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
