// Pools over volumes: MaxPool3D, AvgPool3D and their gradients. Schemas and shape rules:
// runtime/ops/nn/volume_ops.cc.
#include <limits>

#include "runtime/kernels/cpu/float_view.h"
#include "runtime/kernels/cpu/nn/volume_plan.h"
#include "runtime/kernels/types.h"

namespace tensorfleet::cpu {
namespace {

template <typename T, bool kIsMax>
class VolumePool final : public Kernel {
 public:
  explicit VolumePool(KernelInit& init) : attrs_(init) {}
  bool IsExpensive() const override { return true; }

  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const Tensor in, attrs_.Volume(ctx, 0));
    TFLEET_ASSIGN_OR_RETURN(const VolumePoolPlan p, attrs_.Plan(in.shape()));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(kDTypeOf<T>, p.output));
    if (out.num_elements() > 0) {
      TFLEET_ASSIGN_OR_RETURN(const auto from, WideInput<T>::Of(in));
      TFLEET_ASSIGN_OR_RETURN(auto to, WideOutput<T>::For(out));
      ParallelFor(ctx, p.batch * p.positions(), p.CostOfPosition(),
                  [&](int64_t begin, int64_t end) {
                    for (int64_t i = begin; i < end; ++i) {
                      Pool(p, i / p.positions(), i % p.positions(), from.data(),
                           to.data() + i * p.channels);
                    }
                  });
      to.Finish();
    }
    return attrs_.SetVolume(ctx, std::move(out));
  }

 private:
  using W = Widened<T>;
  static void Pool(const VolumePoolPlan& p, int64_t n, int64_t position, const W* from, W* to) {
    std::fill_n(to, p.channels, kIsMax ? std::numeric_limits<W>::lowest() : W(0));
    const int64_t count = p.ForWindow(n, position, [&](int64_t at) {
      for (int64_t c = 0; c < p.channels; ++c) {
        if (kIsMax) {
          to[c] = from[at + c] > to[c] ? from[at + c] : to[c];
        } else {
          to[c] += from[at + c];
        }
      }
    });
    if (kIsMax) return;
    for (int64_t c = 0; c < p.channels; ++c) to[c] /= static_cast<W>(count);
  }

  const VolumePoolAttrs attrs_;
};
template <typename T>
using MaxPool3D = VolumePool<T, true>;
template <typename T>
using AvgPool3D = VolumePool<T, false>;

Status CheckGradient(const VolumePoolPlan& plan, const Shape& gradient) {
  if (gradient == plan.output) return OkStatus();
  return InvalidArgument("Expected grad shape to be ", plan.output.ToString(), ", but got ",
                         gradient.ToString());
}

// Windows overlap within a volume: a thread has whole volumes, or blocks of channels where there
// are few of them.
constexpr int64_t kChannelBlock = 16;
template <typename Body>
void ForVolumes(const KernelContext& ctx, const VolumePoolPlan& p, const Body& body) {
  constexpr int64_t kBlock = kChannelBlock;
  const int64_t blocks = (p.channels + kBlock - 1) / kBlock;
  ParallelFor(ctx, p.batch * blocks, p.positions() * p.CostOfPosition() / blocks,
              [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) {
                  const int64_t first = i % blocks * kBlock;
                  body(i / blocks, first, std::min(first + kBlock, p.channels));
                }
              });
}

template <typename T>
class AvgPool3DGrad final : public Kernel {
 public:
  explicit AvgPool3DGrad(KernelInit& init) : attrs_(init) {}
  bool IsExpensive() const override { return true; }

  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const Shape shape, attrs_.VolumeShape(ctx, 0));
    TFLEET_ASSIGN_OR_RETURN(const Tensor gradient, attrs_.Volume(ctx, 1));
    TFLEET_ASSIGN_OR_RETURN(const VolumePoolPlan p, attrs_.Plan(shape));
    TFLEET_RETURN_IF_ERROR(CheckGradient(p, gradient.shape()));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(kDTypeOf<T>, shape));
    if (out.num_elements() > 0) {
      TFLEET_ASSIGN_OR_RETURN(const auto from, WideInput<T>::Of(gradient));
      TFLEET_ASSIGN_OR_RETURN(auto to, WideOutput<T>::For(out));
      std::fill_n(to.data(), out.num_elements(), W(0));
      ForVolumes(ctx, p, [&](int64_t n, int64_t first, int64_t last) {
        for (int64_t position = 0; position < p.positions(); ++position) {
          const W* const g = from.data() + (n * p.positions() + position) * p.channels;
          const int64_t count = p.ForWindow(n, position, [](int64_t) {});
          const W share = W(1) / static_cast<W>(count);
          p.ForWindow(n, position, [&](int64_t at) {
            for (int64_t c = first; c < last; ++c) to.data()[at + c] += g[c] * share;
          });
        }
      });
      to.Finish();
    }
    return attrs_.SetVolume(ctx, std::move(out));
  }

 private:
  using W = Widened<T>;
  const VolumePoolAttrs attrs_;
};

// What the gradients of MaxPool3D share: both volumes, and the gradient of the smaller (MaxPool3D)
// or the larger one (its gradient's gradient).
template <typename T, bool kOfGradient>
class MaxPool3DGrad final : public Kernel {
 public:
  explicit MaxPool3DGrad(KernelInit& init) : attrs_(init) {}
  bool IsExpensive() const override { return true; }

  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const Tensor in, attrs_.Volume(ctx, 0));
    TFLEET_ASSIGN_OR_RETURN(const Tensor pooled, attrs_.Volume(ctx, 1));
    TFLEET_ASSIGN_OR_RETURN(const Tensor gradient, attrs_.Volume(ctx, 2));
    TFLEET_ASSIGN_OR_RETURN(const VolumePoolPlan p, attrs_.Plan(in.shape()));
    TFLEET_RETURN_IF_ERROR(CheckGradient(p, pooled.shape()));
    const Shape& expected = kOfGradient ? p.input : p.output;
    if (gradient.shape() != expected) {
      return InvalidArgument("Expected grad shape to be ", expected.ToString(), ", but got ",
                             gradient.shape().ToString());
    }
    const Shape& shape = kOfGradient ? p.output : p.input;
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(kDTypeOf<T>, shape));
    if (out.num_elements() > 0) {
      TFLEET_ASSIGN_OR_RETURN(const auto x, WideInput<T>::Of(in));
      TFLEET_ASSIGN_OR_RETURN(const auto most, WideInput<T>::Of(pooled));
      TFLEET_ASSIGN_OR_RETURN(const auto g, WideInput<T>::Of(gradient));
      TFLEET_ASSIGN_OR_RETURN(auto to, WideOutput<T>::For(out));
      std::fill_n(to.data(), out.num_elements(), W(0));
      ForVolumes(ctx, p, [&](int64_t n, int64_t first, int64_t last) {
        Route(p, n, first, last, x.data(), most.data(), g.data(), to.data());
      });
      to.Finish();
    }
    return attrs_.SetVolume(ctx, std::move(out));
  }

 private:
  using W = Widened<T>;
  static void Route(const VolumePoolPlan& p, int64_t n, int64_t first, int64_t last, const W* x,
                    const W* most, const W* g, W* to) {
    for (int64_t position = 0; position < p.positions(); ++position) {
      const int64_t out = (n * p.positions() + position) * p.channels;
      bool has_first[kChannelBlock] = {};
      p.ForWindow(n, position, [&](int64_t at) {
        for (int64_t c = first; c < last; ++c) {
          if (x[at + c] != most[out + c]) continue;
          if (kOfGradient) {
            if (has_first[c - first]) continue;
            has_first[c - first] = true;
            to[out + c] = g[at + c];
          } else {
            to[at + c] += g[out + c];
          }
        }
      });
    }
  }

  const VolumePoolAttrs attrs_;
};

template <typename T>
void Add(KernelRegistry& r) {
  const DType t = kDTypeOf<T>;
  r.Add<MaxPool3D<T>>("MaxPool3D", kCpu, {{"T", t}});
  r.Add<AvgPool3D<T>>("AvgPool3D", kCpu, {{"T", t}});
  r.Add<AvgPool3DGrad<T>>("AvgPool3DGrad", kCpu, {{"T", t}});
  r.Add<MaxPool3DGrad<T, false>>("MaxPool3DGrad", kCpu, {{"T", t}, {"TInput", t}});
  r.Add<MaxPool3DGrad<T, true>>("MaxPool3DGradGrad", kCpu, {{"T", t}});
}

}  // namespace

void RegisterVolumePoolKernels(KernelRegistry& r) {
  Add<float>(r);
  Add<Eigen::bfloat16>(r);
}

}  // namespace tensorfleet::cpu
