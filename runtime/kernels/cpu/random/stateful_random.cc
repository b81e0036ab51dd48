// Random ops whose generator is a variable, and those of no generator at all. Schemas:
// runtime/ops/random/distribution_ops.cc.
#include <numeric>
#include <vector>

#include "runtime/base/random_id.h"
#include "runtime/kernels/cpu/elements.h"
#include "runtime/kernels/cpu/index_input.h"
#include "runtime/kernels/cpu/random/generator_state.h"
#include "runtime/kernels/cpu/random/random_fill.h"
#include "runtime/kernels/cpu/random/stateless_key.h"
#include "runtime/kernels/kernel_registry.h"

namespace tensorfleet::cpu {
namespace {

using FillFn = void (*)(const KernelContext&, Philox, Tensor*);

// Inputs: generator, algorithm and shape; the first version has the algorithm in the generator.
template <FillFn kFill, bool kTagged>
class StatefulRandom final : public Kernel {
 public:
  explicit StatefulRandom(KernelInit& init) : state_(init) { init.Get("dtype", &dtype_); }
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const Shape shape, ShapeFromInput(ctx.input(kTagged ? 1 : 2)));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(dtype_, shape));
    TFLEET_ASSIGN_OR_RETURN(const Philox from,
                            state_.Take(ctx, ReservedBlocks(shape.num_elements()), kTagged));
    kFill(ctx, from, &out);
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  const GeneratorState state_;
  DType dtype_ = DType::kFloat;
};

class StatefulUniformInt final : public Kernel {
 public:
  explicit StatefulUniformInt(KernelInit& init) : state_(init) { init.Get("dtype", &dtype_); }
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const Shape shape, ShapeFromInput(ctx.input(2)));
    for (int i = 3; i <= 4; ++i) {
      if (!ctx.input(i).shape().is_scalar()) {
        return InvalidArgument(i == 3 ? "minval" : "maxval", " must be 0-D, got shape ",
                               ctx.input(i).shape().ToString());
      }
    }
    const int64_t low = IntegerAt(ctx.input(3), 0), high = IntegerAt(ctx.input(4), 0);
    if (low >= high) return InvalidArgument("Need minval < maxval, got ", low, " >= ", high);
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(dtype_, shape));
    TFLEET_ASSIGN_OR_RETURN(const Philox from,
                            state_.Take(ctx, ReservedBlocks(shape.num_elements())));
    FillUniformInt(ctx, from, low, high, &out);
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  const GeneratorState state_;
  DType dtype_ = DType::kInt64;
};

// Steps a generator over as many outputs as `delta` says.
class RngSkip final : public Kernel {
 public:
  explicit RngSkip(KernelInit& init) : state_(init) {}
  Status Compute(KernelContext& ctx) const override {
    if (ctx.input(2).rank() != 0) {
      return InvalidArgument("input 2 (0-based) must have shape [], not ",
                             ctx.input(2).shape().ToString());
    }
    const auto delta = static_cast<uint64_t>(ctx.input(2).scalar<int64_t>());
    return state_.Take(ctx, delta * 256).status();
  }

 private:
  const GeneratorState state_;
};

class RngReadAndSkip final : public Kernel {
 public:
  explicit RngReadAndSkip(KernelInit& init) : state_(init) {}
  Status Compute(KernelContext& ctx) const override {
    if (ctx.input(2).rank() != 0) {
      return InvalidArgument("delta must have shape [], not ", ctx.input(2).shape().ToString());
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DType::kInt64, {GeneratorState::kSize}));
    TFLEET_RETURN_IF_ERROR(state_
                               .Take(ctx, ctx.input(2).scalar<uint64_t>() * 256, false,
                                     out.mutable_values<int64_t>().data())
                               .status());
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  const GeneratorState state_;
};

class NonDeterministicInts final : public Kernel {
 public:
  explicit NonDeterministicInts(KernelInit& init) { init.Get("dtype", &dtype_); }
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const Shape shape, ShapeFromInput(ctx.input(0)));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(dtype_, shape));
    FillFullInt(ctx, Philox(RandomNonZero64(), 0, RandomNonZero64()), &out);
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  DType dtype_ = DType::kInt64;
};

// The rows of its input in a random order.
class StatelessShuffle final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    const Tensor& value = ctx.input(0);
    TFLEET_ASSIGN_OR_RETURN(const Philox from, ReadGenerator(ctx, 1));
    if (value.num_elements() <= 1 || value.rank() == 0 || value.dim(0) <= 1) {
      ctx.SetOutput(0, ctx.TakeInput(0));
      return OkStatus();
    }
    const int64_t rows = value.dim(0), width = value.num_elements() / rows;
    PhiloxWords words(from);
    std::vector<int64_t> order(rows);
    std::iota(order.begin(), order.end(), 0);
    for (int64_t i = 0; i + 1 < rows; ++i) {
      std::swap(order[i], order[i + words.Next() % static_cast<uint32_t>(rows - i)]);
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(value.dtype(), value.shape()));
    VisitElement(value.dtype(), [&](auto tag) {
      using E = typename decltype(tag)::Type;
      const E* const rows_from = ElementsOf<E>(value);
      E* to = MutableElementsOf<E>(out);
      for (const int64_t row : order) to = std::copy_n(rows_from + row * width, width, to);
    });
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }
};

}  // namespace

void RegisterStatefulRandomKernels(KernelRegistry& r) {
  for (const DType t : {DType::kHalf, DType::kBFloat16, DType::kFloat, DType::kDouble}) {
    r.Add<StatefulRandom<FillUniform, false>>("StatefulUniform", kCpu, {{"dtype", t}});
    r.Add<StatefulRandom<FillNormal, false>>("StatefulStandardNormalV2", kCpu, {{"dtype", t}});
    r.Add<StatefulRandom<FillNormal, true>>("StatefulStandardNormal", kCpu, {{"dtype", t}});
    r.Add<StatefulRandom<FillTruncatedNormal, false>>("StatefulTruncatedNormal", kCpu,
                                                      {{"dtype", t}});
  }
  for (const DType t : {DType::kInt32, DType::kInt64, DType::kUInt32, DType::kUInt64}) {
    r.Add<StatefulRandom<FillFullInt, false>>("StatefulUniformFullInt", kCpu, {{"dtype", t}});
    r.Add<NonDeterministicInts>("NonDeterministicInts", kCpu, {{"dtype", t}});
  }
  for (const DType t : {DType::kInt32, DType::kInt64}) {
    r.Add<StatefulUniformInt>("StatefulUniformInt", kCpu, {{"dtype", t}});
  }
  r.Add<RngSkip>("RngSkip", kCpu);
  r.Add<RngReadAndSkip>("RngReadAndSkip", kCpu);
  r.Add<StatelessShuffle>("StatelessShuffle", kCpu);
}

}  // namespace tensorfleet::cpu
