// MaxPool and what is made from the places of the largest elements: MaxPoolWithArgmax and the
// gradients. Schemas and shape rules: runtime/ops/pool_ops.cc.
#include <limits>

#include "runtime/kernels/cpu/elementwise.h"
#include "runtime/kernels/cpu/pool_plan.h"
#include "runtime/kernels/cpu/scratch.h"
#include "runtime/kernels/cpu/types.h"

namespace tensorfleet::cpu {
namespace {

using PoolTypes = Concat<Floats, Types<int32_t, int64_t, uint8_t, int16_t, int8_t, uint16_t>>;

template <typename T>
T Lowest() {
  if constexpr (kIsSmallFloat<T>) {
    return Eigen::NumTraits<T>::lowest();
  } else {
    return std::numeric_limits<T>::lowest();
  }
}

// Calls visit(n, out_y, out_x) for every output pixel, on several threads; `scratch` elements of S
// go with each thread.
template <typename S, typename Visit>
Status ForPixels(const KernelContext& ctx, const PoolPlan& p, int64_t scratch, const Visit& visit) {
  const int64_t per_image = p.rows.output * p.columns.output;
  return ParallelForWithScratch<S>(
      ctx, p.batch * per_image, p.CostOfPixel(), scratch, [&](int64_t begin, int64_t end, S* own) {
        for (int64_t i = begin; i < end; ++i) {
          visit(i / per_image, i / p.columns.output % p.rows.output, i % p.columns.output, own);
        }
      });
}

// Where the largest element of each channel of the window is, the first of equals: positions in the
// whole batch, -1 for a window that is wholly outside.
template <typename T>
void FindLargest(const PoolPlan& p, const T* image, int64_t n, int64_t out_y, int64_t out_x,
                 int64_t* at) {
  std::fill_n(at, p.channels, int64_t{-1});
  p.ForWindow(n, out_y, out_x, [&](int64_t from, int64_t count) {
    for (int64_t i = 0; i < count; ++i, from += p.channels) {
      for (int64_t c = 0; c < p.channels; ++c) {
        if (at[c] < 0 || image[at[c]] < image[from + c]) at[c] = from + c;
      }
    }
  });
}

template <typename T>
class MaxPool final : public Kernel {
 public:
  explicit MaxPool(KernelInit& init) : attrs_(init, init.node().op() == "MaxPoolV2" ? 1 : -1) {}
  bool IsExpensive() const override { return true; }
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const Tensor image, attrs_.Image(ctx, 0));
    TFLEET_ASSIGN_OR_RETURN(const PoolPlan p, attrs_.Plan(ctx, image.shape()));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(kDTypeOf<T>, p.output));
    if (out.num_elements() > 0) {
      const T* from = image.values<T>().data();
      T* to = out.template mutable_values<T>().data();
      TFLEET_RETURN_IF_ERROR(
          ForPixels<T>(ctx, p, 0, [&](int64_t n, int64_t out_y, int64_t out_x, T*) {
            T* pixel = to + p.OutAt(n, out_y, out_x);
            std::fill_n(pixel, p.channels, Lowest<T>());
            p.ForWindow(n, out_y, out_x, [&](int64_t at, int64_t count) {
              for (int64_t i = 0; i < count; ++i, at += p.channels) {
                const T* x = from + at;
                TFLEET_VECTORIZE
                for (int64_t c = 0; c < p.channels; ++c) {
                  pixel[c] = pixel[c] < x[c] ? x[c] : pixel[c];
                }
              }
            });
          }));
    }
    return attrs_.SetImage(ctx, 0, std::move(out));
  }

 private:
  const PoolAttrs attrs_;
};

template <typename T>
class MaxPoolWithArgmax final : public Kernel {
 public:
  explicit MaxPoolWithArgmax(KernelInit& init) : attrs_(init) {
    init.Get("include_batch_in_index", &counts_batch_);
    init.Get("Targmax", &argmax_type_);
  }
  bool IsExpensive() const override { return true; }
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const Tensor image, attrs_.Image(ctx, 0));
    TFLEET_ASSIGN_OR_RETURN(const PoolPlan p, attrs_.Plan(ctx, image.shape()));
    if (argmax_type_ == DType::kInt32 &&
        image.num_elements() > std::numeric_limits<int32_t>::max()) {
      return InvalidArgument("positions in ", image.shape().ToString(), " do not fit in int32");
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(kDTypeOf<T>, p.output));
    TFLEET_ASSIGN_OR_RETURN(Tensor argmax, ctx.Allocate(argmax_type_, p.output));
    const T* from = image.values<T>().data();
    T* to = out.template mutable_values<T>().data();
    const auto find = [&](auto* places) {
      return ForPixels<int64_t>(ctx, p, p.channels,
                                [&](int64_t n, int64_t out_y, int64_t out_x, int64_t* at) {
                                  FindLargest<T>(p, from, n, out_y, out_x, at);
                                  const int64_t pixel = p.OutAt(n, out_y, out_x);
                                  const int64_t base = counts_batch_ ? 0 : n * p.image_size();
                                  for (int64_t c = 0; c < p.channels; ++c) {
                                    to[pixel + c] = at[c] < 0 ? Lowest<T>() : from[at[c]];
                                    places[pixel + c] = at[c] < 0 ? 0 : at[c] - base;
                                  }
                                });
    };
    if (out.num_elements() > 0) {
      TFLEET_RETURN_IF_ERROR(argmax_type_ == DType::kInt32
                                 ? find(argmax.mutable_values<int32_t>().data())
                                 : find(argmax.mutable_values<int64_t>().data()));
    }
    ctx.SetOutput(0, std::move(out));
    ctx.SetOutput(1, std::move(argmax));
    return OkStatus();
  }

 private:
  const PoolAttrs attrs_;
  bool counts_batch_ = false;
  DType argmax_type_ = DType::kInt64;
};

Status CheckSameShape(const char* name, const Tensor& tensor, const Shape& shape) {
  if (tensor.shape() == shape) return OkStatus();
  return InvalidArgument("Expected ", name, " shape to be ", shape.ToString(), ", but got ",
                         tensor.shape().ToString());
}

// MaxPoolGrad gives each window's gradient to its largest element; MaxPoolGradGrad takes it from
// there.
template <typename T, bool takes>
class MaxPoolGradOf final : public Kernel {
 public:
  explicit MaxPoolGradOf(KernelInit& init)
      : attrs_(init, init.node().op().back() == '2' ? 3 : -1) {}
  bool IsExpensive() const override { return true; }
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const Tensor image, attrs_.Image(ctx, 0));
    TFLEET_ASSIGN_OR_RETURN(const Tensor pooled, attrs_.Image(ctx, 1));
    TFLEET_ASSIGN_OR_RETURN(const Tensor gradient, attrs_.Image(ctx, 2));
    TFLEET_ASSIGN_OR_RETURN(const PoolPlan p, attrs_.Plan(ctx, image.shape()));
    TFLEET_RETURN_IF_ERROR(CheckSameShape("orig_output", pooled, p.output));
    TFLEET_RETURN_IF_ERROR(CheckSameShape("grad", gradient, takes ? image.shape() : p.output));
    TFLEET_ASSIGN_OR_RETURN(Tensor out,
                            Tensor::Zeros(kDTypeOf<T>, takes ? p.output : image.shape()));
    if (p.output.num_elements() > 0 && image.num_elements() > 0) {
      const T* x = image.values<T>().data();
      const T* from = gradient.values<T>().data();
      TFLEET_RETURN_IF_ERROR(takes ? Take(ctx, p, x, from, out) : Give(ctx, p, x, from, out));
    }
    return attrs_.SetImage(ctx, 0, std::move(out));
  }

 private:
  static Status Take(KernelContext& ctx, const PoolPlan& p, const T* image, const T* gradient,
                     Tensor& out) {
    T* to = out.template mutable_values<T>().data();
    return ForPixels<int64_t>(ctx, p, p.channels,
                              [&](int64_t n, int64_t out_y, int64_t out_x, int64_t* at) {
                                FindLargest<T>(p, image, n, out_y, out_x, at);
                                T* pixel = to + p.OutAt(n, out_y, out_x);
                                for (int64_t c = 0; c < p.channels; ++c) {
                                  if (at[c] >= 0) pixel[c] = gradient[at[c]];
                                }
                              });
  }

  // Windows overlap within an image: a thread has whole images.
  static Status Give(KernelContext& ctx, const PoolPlan& p, const T* image, const T* gradient,
                     Tensor& out) {
    T* to = out.template mutable_values<T>().data();
    const int64_t cost = p.rows.output * p.columns.output * p.CostOfPixel();
    return ParallelForWithScratch<int64_t>(
        ctx, p.batch, cost, p.channels, [&](int64_t begin, int64_t end, int64_t* at) {
          for (int64_t n = begin; n < end; ++n) {
            for (int64_t out_y = 0; out_y < p.rows.output; ++out_y) {
              for (int64_t out_x = 0; out_x < p.columns.output; ++out_x) {
                FindLargest<T>(p, image, n, out_y, out_x, at);
                const T* pixel = gradient + p.OutAt(n, out_y, out_x);
                for (int64_t c = 0; c < p.channels; ++c) {
                  if (at[c] >= 0) to[at[c]] = static_cast<T>(to[at[c]] + pixel[c]);
                }
              }
            }
          }
        });
  }

  const PoolAttrs attrs_;
};
template <typename T>
using MaxPoolGrad = MaxPoolGradOf<T, false>;
template <typename T>
using MaxPoolGradGrad = MaxPoolGradOf<T, true>;

template <typename T>
class MaxPoolGradWithArgmax final : public Kernel {
 public:
  explicit MaxPoolGradWithArgmax(KernelInit& init) : attrs_(init) {
    init.Get("include_batch_in_index", &counts_batch_);
  }
  bool IsExpensive() const override { return true; }
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const Tensor image, attrs_.Image(ctx, 0));
    TFLEET_ASSIGN_OR_RETURN(const PoolPlan p, attrs_.Plan(ctx, image.shape()));
    const Tensor& gradient = ctx.input(1);
    const Tensor& argmax = ctx.input(2);
    TFLEET_RETURN_IF_ERROR(CheckSameShape("grad", gradient, p.output));
    TFLEET_RETURN_IF_ERROR(CheckSameShape("argmax", argmax, p.output));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, Tensor::Zeros(kDTypeOf<T>, image.shape()));
    T* to = out.template mutable_values<T>().data();
    const T* from = gradient.values<T>().data();
    for (int64_t i = 0; i < gradient.num_elements(); ++i) {
      const int64_t place = argmax.dtype() == DType::kInt32 ? argmax.values<int32_t>()[i]
                                                            : argmax.values<int64_t>()[i];
      const int64_t size = counts_batch_ ? out.num_elements() : p.image_size();
      if (place < 0 || place >= size) {
        return InvalidArgument("argmax ", place, " is not in [0, ", size, ")");
      }
      T& element = to[place + (counts_batch_ ? 0 : i / p.out_size() * p.image_size())];
      element = static_cast<T>(element + from[i]);
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  const PoolAttrs attrs_;
  bool counts_batch_ = false;
};

}  // namespace

void RegisterMaxPoolKernels(KernelRegistry& r) {
  AddForTypes<MaxPool>(r, "MaxPool", PoolTypes());
  AddForTypes<MaxPool>(r, "MaxPoolV2", PoolTypes());
  AddForTypes<MaxPoolWithArgmax>(r, "MaxPoolWithArgmax", Reals());
  for (const char* op : {"MaxPoolGrad", "MaxPoolGradV2"}) AddForTypes<MaxPoolGrad>(r, op, Reals());
  for (const char* op : {"MaxPoolGradGrad", "MaxPoolGradGradV2"}) {
    AddForTypes<MaxPoolGradGrad>(r, op, Reals());
  }
  AddForTypes<MaxPoolGradWithArgmax>(r, "MaxPoolGradWithArgmax", Reals());
}

}  // namespace tensorfleet::cpu
