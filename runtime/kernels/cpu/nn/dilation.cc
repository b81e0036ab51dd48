// Grayscale dilation: the largest sum of an image and a filter within each window, channel by
// channel, and its gradients. Schemas: runtime/ops/nn/volume_ops.cc.
#include <limits>
#include <vector>

#include "runtime/kernels/kernel.h"
#include "runtime/kernels/types.h"
#include "runtime/tensor/window.h"

namespace tensorfleet::cpu {
namespace {

struct DilationPlan {
  Window rows, columns;
  int64_t batch = 0, channels = 0;
  Shape output;
};

class DilationAttrs {
 public:
  explicit DilationAttrs(KernelInit& init) {
    init.Get("strides", &strides_);
    init.Get("rates", &rates_);
    std::string padding;
    init.Get("padding", &padding);
    if (!init.status().ok()) return;
    for (const auto& [name, numbers] :
         {std::pair("strides", &strides_), std::pair("rates", &rates_)}) {
      if (numbers->size() != 4) {
        init.Fail(InvalidArgument("Sliding window ", name, " field must specify 4 dimensions"));
        return;
      }
      if ((*numbers)[0] != 1 || (*numbers)[3] != 1) {
        init.Fail(
            Unimplemented("Stride and rate is not yet supported in the batch and depth "
                          "dimensions."));
        return;
      }
    }
    StatusOr<Padding> named = PaddingFromName(padding);
    if (named.ok()) {
      padding_ = *named;
    } else {
      init.Fail(named.status());
    }
  }

  StatusOr<DilationPlan> Plan(const Tensor& in, const Tensor& filter) const {
    if (in.rank() != 4) {
      return InvalidArgument("input must be 4-dimensional", in.shape().ToString());
    }
    if (filter.rank() != 3) {
      return InvalidArgument("filter must be 3-dimensional: ", filter.shape().ToString());
    }
    DilationPlan plan;
    plan.batch = in.dim(0);
    plan.channels = in.dim(3);
    if (filter.dim(2) != plan.channels) {
      return InvalidArgument("input and filter must have the same depth: ", plan.channels, " vs ",
                             filter.dim(2));
    }
    TFLEET_ASSIGN_OR_RETURN(plan.rows,
                            MakeWindow(in.dim(1), filter.dim(0), rates_[1], strides_[1], padding_));
    TFLEET_ASSIGN_OR_RETURN(plan.columns,
                            MakeWindow(in.dim(2), filter.dim(1), rates_[2], strides_[2], padding_));
    TFLEET_ASSIGN_OR_RETURN(plan.output, Shape::Make({plan.batch, plan.rows.output,
                                                      plan.columns.output, plan.channels}));
    return plan;
  }

 private:
  std::vector<int64_t> strides_, rates_;
  Padding padding_ = Padding::kValid;
};

// Calls visit(image element, filter element) for the taps of output (y, x) of image n that are
// inside, at the first channel.
template <typename Visit>
void ForTaps(const DilationPlan& p, int64_t n, int64_t y, int64_t x, const Visit& visit) {
  for (int64_t i = p.rows.FirstTap(y); i < p.rows.LastTap(y); ++i) {
    const int64_t in_y = p.rows.Start(y) + i * p.rows.dilation;
    for (int64_t j = p.columns.FirstTap(x); j < p.columns.LastTap(x); ++j) {
      const int64_t in_x = p.columns.Start(x) + j * p.columns.dilation;
      visit(((n * p.rows.input + in_y) * p.columns.input + in_x) * p.channels,
            (i * p.columns.size + j) * p.channels);
    }
  }
}

template <typename T>
class Dilation2D final : public Kernel {
 public:
  explicit Dilation2D(KernelInit& init) : attrs_(init) {}
  bool IsExpensive() const override { return true; }

  Status Compute(KernelContext& ctx) const override {
    const Tensor &in = ctx.input(0), &filter = ctx.input(1);
    TFLEET_ASSIGN_OR_RETURN(const DilationPlan p, attrs_.Plan(in, filter));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(in.dtype(), p.output));
    const T* const image = in.values<T>().data();
    const T* const taps = filter.values<T>().data();
    T* const to = out.template mutable_values<T>().data();
    const int64_t cost = 20 + p.rows.size * p.columns.size * (2 + p.channels);
    if (out.num_elements() > 0) {
      ParallelFor(ctx, out.num_elements() / p.channels, cost, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          T* const most = to + i * p.channels;
          std::fill_n(most, p.channels, Eigen::NumTraits<T>::lowest());
          ForTaps(p, i / p.columns.output / p.rows.output, i / p.columns.output % p.rows.output,
                  i % p.columns.output, [&](int64_t at, int64_t tap) {
                    for (int64_t c = 0; c < p.channels; ++c) {
                      const T sum = static_cast<T>(image[at + c] + taps[tap + c]);
                      if (sum > most[c]) most[c] = sum;
                    }
                  });
        }
      });
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  const DilationAttrs attrs_;
};

// Each gradient goes to the first place of the largest sum: in the image, or in the filter.
template <typename T, bool kOfFilter>
class Dilation2DGradient final : public Kernel {
 public:
  explicit Dilation2DGradient(KernelInit& init) : attrs_(init) {}
  bool IsExpensive() const override { return true; }

  Status Compute(KernelContext& ctx) const override {
    const Tensor &in = ctx.input(0), &filter = ctx.input(1), &gradient = ctx.input(2);
    TFLEET_ASSIGN_OR_RETURN(const DilationPlan p, attrs_.Plan(in, filter));
    if (gradient.shape() != p.output) {
      return InvalidArgument("out_backprop has incompatible size: expected ", p.output.ToString(),
                             ", got ", gradient.shape().ToString());
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor out,
                            Tensor::Zeros(in.dtype(), kOfFilter ? filter.shape() : in.shape()));
    const T* const image = in.values<T>().data();
    const T* const taps = filter.values<T>().data();
    const T* const g = gradient.values<T>().data();
    T* const to = out.template mutable_values<T>().data();
    LoopWatch watch(ctx, 20 + p.rows.size * p.columns.size * p.channels);
    std::vector<T> most(p.channels);
    std::vector<int64_t> place(p.channels);
    const int64_t positions =
        p.output.num_elements() == 0 ? 0 : p.output.num_elements() / p.channels;
    for (int64_t i = 0; i < positions; ++i) {
      watch.Pass();
      std::fill(most.begin(), most.end(), Eigen::NumTraits<T>::lowest());
      std::fill(place.begin(), place.end(), -1);
      ForTaps(p, i / p.columns.output / p.rows.output, i / p.columns.output % p.rows.output,
              i % p.columns.output, [&](int64_t at, int64_t tap) {
                for (int64_t c = 0; c < p.channels; ++c) {
                  const T sum = static_cast<T>(image[at + c] + taps[tap + c]);
                  if (sum > most[c]) {
                    most[c] = sum;
                    place[c] = (kOfFilter ? tap : at) + c;
                  }
                }
              });
      for (int64_t c = 0; c < p.channels; ++c) {
        if (place[c] >= 0) to[place[c]] = static_cast<T>(to[place[c]] + g[i * p.channels + c]);
      }
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  const DilationAttrs attrs_;
};
template <typename T>
using Dilation2DBackpropInput = Dilation2DGradient<T, false>;
template <typename T>
using Dilation2DBackpropFilter = Dilation2DGradient<T, true>;

}  // namespace

void RegisterDilationKernels(KernelRegistry& r) {
  AddForTypes<Dilation2D>(r, "Dilation2D", Reals());
  AddForTypes<Dilation2DBackpropInput>(r, "Dilation2DBackpropInput", Reals());
  AddForTypes<Dilation2DBackpropFilter>(r, "Dilation2DBackpropFilter", Reals());
}

}  // namespace tensorfleet::cpu
