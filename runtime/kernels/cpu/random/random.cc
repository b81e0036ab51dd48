// Random ops that go on where their last execution stopped: the generator belongs to the kernel,
// which lives as long as its session. Schemas and shape rules: runtime/ops/random/random_ops.cc.
#include <cmath>
#include <numeric>
#include <vector>

#include <Eigen/Core>

#include "runtime/kernels/cpu/elements.h"
#include "runtime/kernels/cpu/index_input.h"
#include "runtime/kernels/cpu/random/generator.h"
#include "runtime/kernels/cpu/random/multinomial.h"
#include "runtime/kernels/cpu/random/random_fill.h"
#include "runtime/kernels/kernel_registry.h"

namespace tensorfleet::cpu {
namespace {

// RandomUniform, RandomStandardNormal and TruncatedNormal.
template <void (*kFill)(const KernelContext&, Philox, Tensor*)>
class RandomFloats final : public Kernel {
 public:
  explicit RandomFloats(KernelInit& init) : generator_(init) { init.Get("dtype", &dtype_); }
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const Shape shape, ShapeFromInput(ctx.input(0)));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(dtype_, shape));
    kFill(ctx, generator_.Reserve(ReservedBlocks(shape.num_elements())), &out);
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  const Generator generator_;
  DType dtype_ = DType::kFloat;
};

// The place where an op of that shape would begin to draw.
class ReserveRandom final : public Kernel {
 public:
  explicit ReserveRandom(KernelInit& init) : generator_(init) {}
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const Shape shape, ShapeFromInput(ctx.input(0)));
    const Philox at = generator_.Reserve(ReservedBlocks(shape.num_elements()));
    ctx.SetOutput(0, Tensor::Vector<uint64_t>({at.key()}));
    ctx.SetOutput(1, Tensor::Vector<uint64_t>({at.counter_low(), at.counter_high()}));
    return OkStatus();
  }

 private:
  const Generator generator_;
};

class RandomUniformInt final : public Kernel {
 public:
  explicit RandomUniformInt(KernelInit& init) : generator_(init) { init.Get("Tout", &dtype_); }
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const Shape shape, ShapeFromInput(ctx.input(0)));
    for (int i = 1; i <= 2; ++i) {
      if (!ctx.input(i).shape().is_scalar()) {
        return InvalidArgument(i == 1 ? "minval" : "maxval", " must be 0-D, got shape ",
                               ctx.input(i).shape().ToString());
      }
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(dtype_, shape));
    if (shape.num_elements() > 0) {
      const int64_t low = IntegerAt(ctx.input(1), 0);
      const int64_t high = IntegerAt(ctx.input(2), 0);
      if (low >= high) return InvalidArgument("Need minval < maxval, got ", low, " >= ", high);
      FillUniformInt(ctx, generator_.Reserve(ReservedBlocks(shape.num_elements())), low, high,
                     &out);
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  const Generator generator_;
  DType dtype_ = DType::kInt32;
};

// Puts the rows of its input in a random order.
class RandomShuffle final : public Kernel {
 public:
  explicit RandomShuffle(KernelInit& init) : generator_(init) {}
  Status Compute(KernelContext& ctx) const override {
    const Tensor& value = ctx.input(0);
    if (value.num_elements() <= 1 || value.rank() == 0 || value.dim(0) <= 1) {
      ctx.SetOutput(0, ctx.TakeInput(0));
      return OkStatus();
    }
    const int64_t rows = value.dim(0);
    const int64_t width = value.num_elements() / rows;
    PhiloxWords words(generator_.Reserve((rows - 1 + 3) / 4));  // the last row needs no word
    std::vector<int64_t> order(rows);
    std::iota(order.begin(), order.end(), 0);
    for (int64_t i = 0; i + 1 < rows; ++i) {
      std::swap(order[i], order[i + words.Next() % static_cast<uint32_t>(rows - i)]);
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(value.dtype(), value.shape()));
    VisitElement(value.dtype(), [&](auto tag) {
      using E = typename decltype(tag)::Type;
      const E* from = ElementsOf<E>(value);
      E* to = MutableElementsOf<E>(out);
      for (const int64_t row : order) to = std::copy_n(from + row * width, width, to);
    });
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  const Generator generator_;
};

class Multinomial final : public Kernel {
 public:
  explicit Multinomial(KernelInit& init) : generator_(init) { init.Get("output_dtype", &dtype_); }
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const int64_t samples, CheckMultinomial(ctx.input(0), ctx.input(1)));
    // Two words for each sample, rounded up to whole blocks per row.
    const int64_t drawn = ctx.input(0).dim(0) * ((samples + 3) / 4 * 4) * 2;
    TFLEET_ASSIGN_OR_RETURN(
        Tensor out, SampleMultinomial(ctx, generator_.Reserve(ReservedBlocks(drawn)), ctx.input(0),
                                      samples, dtype_));
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  const Generator generator_;
  DType dtype_ = DType::kInt64;
};

}  // namespace

void RegisterRandomKernels(KernelRegistry& kernels) {
  for (const DType t : {DType::kHalf, DType::kBFloat16, DType::kFloat, DType::kDouble}) {
    kernels.Add<RandomFloats<FillUniform>>("RandomUniform", kCpu, {{"dtype", t}});
    kernels.Add<RandomFloats<FillNormal>>("RandomStandardNormal", kCpu, {{"dtype", t}});
    kernels.Add<RandomFloats<FillTruncatedNormal>>("TruncatedNormal", kCpu, {{"dtype", t}});
    kernels.Add<Multinomial>("Multinomial", kCpu, {{"T", t}});
  }
  for (const DType t : {DType::kInt32, DType::kInt64}) {
    kernels.Add<RandomUniformInt>("RandomUniformInt", kCpu, {{"Tout", t}});
  }
  kernels.Add<ReserveRandom>("_ReserveRandom", kCpu);
  kernels.Add<RandomShuffle>("RandomShuffle", kCpu);
}

}  // namespace tensorfleet::cpu
