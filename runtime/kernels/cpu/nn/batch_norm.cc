// FusedBatchNorm, three versions, and their gradients. Everything is computed in float; sums over a
// batch are taken block by block, so that they stay accurate and do not depend on the threads.
// Schemas and shape rules: runtime/ops/nn/normalization_ops.cc.
#include <cmath>
#include <limits>
#include <vector>

#include "runtime/kernels/cpu/elementwise.h"
#include "runtime/kernels/cpu/float_view.h"
#include "runtime/kernels/cpu/nn/layout.h"
#include "runtime/kernels/kernel.h"
#include "runtime/kernels/types.h"

namespace tensorfleet::cpu {
namespace {

constexpr int64_t kBlockRows = 256;

// sums[k][channels], k < width, of what visit(row, partial) adds for every row of [0, rows).
template <typename Visit>
std::vector<double> SumRows(const KernelContext& ctx, int64_t rows, int64_t channels, int width,
                            const Visit& visit) {
  const int64_t size = channels * width, blocks = (rows + kBlockRows - 1) / kBlockRows;
  std::vector<float> partial(blocks * size);
  ParallelFor(ctx, blocks, kBlockRows * (1 + size / 4), [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      const int64_t last = std::min(rows, (block + 1) * kBlockRows);
      for (int64_t row = block * kBlockRows; row < last; ++row) {
        visit(row, partial.data() + block * size);
      }
    }
  });
  std::vector<double> sums(size);
  for (int64_t block = 0; block < blocks; ++block) {
    for (int64_t i = 0; i < size; ++i) sums[i] += partial[block * size + i];
  }
  return sums;
}

// sums[c] += what map(c, element) gives, over the rows from `row` to `last`: four at a time.
template <typename Map>
void AddRows(const float* row, const float* last, int64_t channels, const Map& map, float* sums) {
  for (; row + 4 * channels <= last; row += 4 * channels) {
    const float *second = row + channels, *third = second + channels, *fourth = third + channels;
    TFLEET_VECTORIZE
    for (int64_t c = 0; c < channels; ++c) {
      sums[c] += (map(c, row[c]) + map(c, second[c])) + (map(c, third[c]) + map(c, fourth[c]));
    }
  }
  for (; row < last; row += channels) {
    TFLEET_VECTORIZE
    for (int64_t c = 0; c < channels; ++c) sums[c] += map(c, row[c]);
  }
}

// The attributes, and the image as rows of channels.
class BatchNormAttrs {
 public:
  explicit BatchNormAttrs(KernelInit& init) {
    std::string format;
    init.Get("data_format", &format);
    init.Get("epsilon", &epsilon_);
    init.Get("is_training", &is_training_);
    channels_first_ = format == "NCHW" || format == "NCDHW";
  }
  float epsilon() const { return epsilon_; }
  bool is_training() const { return is_training_; }

  StatusOr<Tensor> Image(const KernelContext& ctx, int i) const {
    const Tensor& x = ctx.input(i);
    if (x.rank() != 4 && x.rank() != 5) {
      return InvalidArgument("input must be 4 or 5-dimensional", x.shape().ToString());
    }
    return channels_first_ ? ChannelsToLast(ctx, x) : x;
  }
  Status SetImage(KernelContext& ctx, Tensor image) const {
    if (channels_first_) {
      TFLEET_ASSIGN_OR_RETURN(image, ChannelsToFirst(ctx, image));
    }
    ctx.SetOutput(0, std::move(image));
    return OkStatus();
  }

 private:
  bool channels_first_ = false, is_training_ = true;
  float epsilon_ = 1e-4f;
};

Status CheckVector(const KernelContext& ctx, int i, const char* name, int64_t channels,
                   const char* when = "") {
  const Tensor& vector = ctx.input(i);
  if (vector.rank() != 1) {
    return InvalidArgument(name, " must be 1-dimensional", vector.shape().ToString());
  }
  if (vector.dim(0) != channels) {
    return InvalidArgument(when, name, " must have the same number of elements as the channels of ",
                           "x, got ", vector.dim(0), " and ", channels);
  }
  return OkStatus();
}

StatusOr<Tensor> VectorOf(const KernelContext& ctx, const std::vector<float>& values) {
  TFLEET_ASSIGN_OR_RETURN(Tensor vector,
                          ctx.Allocate(DType::kFloat, {static_cast<int64_t>(values.size())}));
  std::copy(values.begin(), values.end(), vector.mutable_values<float>().begin());
  return vector;
}

template <typename T>
class FusedBatchNorm final : public Kernel {
 public:
  explicit FusedBatchNorm(KernelInit& init) : attrs_(init) {
    init.Get("exponential_avg_factor", &factor_);
  }
  bool IsExpensive() const override { return true; }

  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const Tensor x, attrs_.Image(ctx, 0));
    const int64_t channels = x.dim(-1);
    TFLEET_RETURN_IF_ERROR(CheckVector(ctx, 1, "scale", channels));
    TFLEET_RETURN_IF_ERROR(CheckVector(ctx, 2, "offset", channels));
    const bool takes_mean = !attrs_.is_training() || factor_ != 1;
    for (const int i : {3, 4}) {
      if (ctx.input(i).rank() != 1) {
        return InvalidArgument(i == 3 ? "estimated_mean" : "estimated_variance",
                               " must be 1-dimensional", ctx.input(i).shape().ToString());
      }
      if (!takes_mean) continue;
      TFLEET_RETURN_IF_ERROR(CheckVector(ctx, i, i == 3 ? "mean" : "variance", channels,
                                         attrs_.is_training() ? "When exponential_avg_factor != 1, "
                                                              : "When is_training=false, "));
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor y, ctx.Allocate(kDTypeOf<T>, x.shape()));
    Statistics used, reported;
    if (x.num_elements() == 0) {
      used.mean.assign(channels, 0.0f);
      used.variance.assign(channels, 0.0f);
      const float nan = std::numeric_limits<float>::quiet_NaN();
      reported.mean.assign(channels, nan);
      reported.variance.assign(channels, nan);
    } else {
      TFLEET_ASSIGN_OR_RETURN(const auto from, WideInput<T>::Of(x));
      const int64_t rows = x.num_elements() / channels;
      if (attrs_.is_training()) {
        used = OfBatch(ctx, from.data(), rows, channels);
        reported = Blended(ctx, used, rows);
      } else {
        used.mean.assign(Input(ctx, 3), Input(ctx, 3) + channels);
        used.variance.assign(Input(ctx, 4), Input(ctx, 4) + channels);
        reported = used;
      }
      TFLEET_ASSIGN_OR_RETURN(auto to, WideOutput<T>::For(y));
      Normalize(ctx, from.data(), rows, used, to.data());
      to.Finish();
    }
    const std::vector<float>* const vectors[] = {&reported.mean, &reported.variance, &used.mean,
                                                 &used.variance};
    for (int i = 0; i < 4; ++i) {
      TFLEET_ASSIGN_OR_RETURN(Tensor vector, VectorOf(ctx, *vectors[i]));
      ctx.SetOutput(1 + i, std::move(vector));
    }
    if (ctx.num_outputs() > 5) {
      ctx.SetOutput(5, Tensor::Scalar<float>(0));  // for other devices' gradients
    }
    return attrs_.SetImage(ctx, std::move(y));
  }

 private:
  struct Statistics {
    std::vector<float> mean, variance;
  };
  static const float* Input(const KernelContext& ctx, int i) {
    return ctx.input(i).values<float>().data();
  }

  // One pass over memory: each block of rows has a mean of its own, around which its squares are
  // taken while it is in the cache; the blocks are then put together.
  static Statistics OfBatch(const KernelContext& ctx, const float* x, int64_t rows,
                            int64_t channels) {
    const int64_t blocks = (rows + kBlockRows - 1) / kBlockRows;
    const auto rows_of = [&](int64_t block) {
      return std::min(rows, (block + 1) * kBlockRows) - block * kBlockRows;
    };
    std::vector<float> partial(blocks * 2 * channels);  // means, then squares, of each block
    ParallelFor(ctx, blocks, kBlockRows * (1 + channels / 2), [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) {
        float* const mean = partial.data() + block * 2 * channels;
        float* const squares = mean + channels;
        const float* const first = x + block * kBlockRows * channels;
        const float* const last = first + rows_of(block) * channels;
        AddRows(
            first, last, channels, [](int64_t, float value) { return value; }, mean);
        const float share = 1 / static_cast<float>(rows_of(block));
        for (int64_t c = 0; c < channels; ++c) mean[c] *= share;
        AddRows(
            first, last, channels,
            [mean](int64_t c, float value) { return (value - mean[c]) * (value - mean[c]); },
            squares);
      }
    });
    std::vector<double> mean(channels), squares(channels);
    for (int64_t block = 0; block < blocks; ++block) {
      const float* const of_block = partial.data() + block * 2 * channels;
      for (int64_t c = 0; c < channels; ++c) mean[c] += double{of_block[c]} * rows_of(block);
    }
    for (double& sum : mean) sum /= static_cast<double>(rows);
    for (int64_t block = 0; block < blocks; ++block) {
      const float* const of_block = partial.data() + block * 2 * channels;
      for (int64_t c = 0; c < channels; ++c) {
        const double distance = of_block[c] - mean[c];
        squares[c] += of_block[channels + c] + distance * distance * rows_of(block);
      }
    }
    Statistics s;
    s.mean.assign(mean.begin(), mean.end());
    for (const double sum : squares) s.variance.push_back(static_cast<float>(sum / rows));
    return s;
  }

  // What the op gives out as mean and variance: the variance without bias, and mixed with the
  // inputs when the factor says so.
  Statistics Blended(const KernelContext& ctx, const Statistics& batch, int64_t rows) const {
    Statistics s = batch;
    const float correction =
        static_cast<float>(rows) / static_cast<float>(std::max<int64_t>(rows - 1, 1));
    for (float& variance : s.variance) variance *= correction;
    if (factor_ == 1) return s;
    for (size_t c = 0; c < s.mean.size(); ++c) {
      s.mean[c] = (1 - factor_) * Input(ctx, 3)[c] + factor_ * s.mean[c];
      s.variance[c] = (1 - factor_) * Input(ctx, 4)[c] + factor_ * s.variance[c];
    }
    return s;
  }

  void Normalize(const KernelContext& ctx, const float* x, int64_t rows, const Statistics& s,
                 float* y) const {
    const int64_t channels = static_cast<int64_t>(s.mean.size());
    std::vector<float> factor(channels);
    for (int64_t c = 0; c < channels; ++c) {
      factor[c] = Input(ctx, 1)[c] / std::sqrt(s.variance[c] + attrs_.epsilon());
    }
    const float *offset = Input(ctx, 2), *mean = s.mean.data(), *scale = factor.data();
    ParallelFor(ctx, rows, 1 + channels / 2, [=](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const float* from = x + row * channels;
        float* to = y + row * channels;
        TFLEET_VECTORIZE
        for (int64_t c = 0; c < channels; ++c) to[c] = (from[c] - mean[c]) * scale[c] + offset[c];
      }
    });
  }

  const BatchNormAttrs attrs_;
  float factor_ = 1;
};

template <typename T>
class FusedBatchNormGrad final : public Kernel {
 public:
  explicit FusedBatchNormGrad(KernelInit& init) : attrs_(init) {}
  bool IsExpensive() const override { return true; }

  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const Tensor dy, attrs_.Image(ctx, 0));
    TFLEET_ASSIGN_OR_RETURN(const Tensor x, attrs_.Image(ctx, 1));
    if (x.shape() != dy.shape()) {
      return InvalidArgument("x and y_backprop must have same shape, but x has shape ",
                             ctx.input(1).shape().ToString(), " and y_backprop has shape ",
                             ctx.input(0).shape().ToString());
    }
    const int64_t channels = x.dim(-1);
    TFLEET_RETURN_IF_ERROR(CheckVector(ctx, 2, "scale", channels));
    TFLEET_RETURN_IF_ERROR(CheckVector(ctx, 3, "reserve_space_1", channels));
    TFLEET_RETURN_IF_ERROR(CheckVector(ctx, 4, "reserve_space_2", channels));
    TFLEET_ASSIGN_OR_RETURN(Tensor dx, ctx.Allocate(kDTypeOf<T>, x.shape()));
    std::vector<float> scale_gradient(channels), offset_gradient(channels);
    if (x.num_elements() > 0) {
      TFLEET_ASSIGN_OR_RETURN(const auto wide_dy, WideInput<T>::Of(dy));
      TFLEET_ASSIGN_OR_RETURN(const auto wide_x, WideInput<T>::Of(x));
      TFLEET_ASSIGN_OR_RETURN(auto wide_dx, WideOutput<T>::For(dx));
      Differentiate(ctx, wide_dy.data(), wide_x.data(), x.num_elements() / channels, wide_dx.data(),
                    scale_gradient.data(), offset_gradient.data());
      wide_dx.Finish();
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor scale, VectorOf(ctx, scale_gradient));
    TFLEET_ASSIGN_OR_RETURN(Tensor offset, VectorOf(ctx, offset_gradient));
    ctx.SetOutput(1, std::move(scale));
    ctx.SetOutput(2, std::move(offset));
    for (const int i : {3, 4}) {  // mean and variance have no gradient
      TFLEET_ASSIGN_OR_RETURN(Tensor nothing, VectorOf(ctx, {}));
      ctx.SetOutput(i, std::move(nothing));
    }
    return attrs_.SetImage(ctx, std::move(dx));
  }

 private:
  void Differentiate(const KernelContext& ctx, const float* dy, const float* x, int64_t rows,
                     float* dx, float* scale_gradient, float* offset_gradient) const {
    const int64_t channels = ctx.input(2).dim(0);
    const float* scale = ctx.input(2).values<float>().data();
    const float* mean = ctx.input(3).values<float>().data();
    const float* variance = ctx.input(4).values<float>().data();
    // The sums of dy and of dy (x - mean).
    const std::vector<double> sums = SumRows(ctx, rows, channels, 2, [&](int64_t row, float* to) {
      TFLEET_VECTORIZE
      for (int64_t c = 0; c < channels; ++c) {
        const int64_t i = row * channels + c;
        to[c] += dy[i];
        to[channels + c] += dy[i] * (x[i] - mean[c]);
      }
    });
    // dx = factor (dy - constant - slope (x - mean)); without training, mean and variance are
    // constants, and dx = factor dy, whatever x is.
    std::vector<float> factor(channels), constant(channels), slope(channels);
    for (int64_t c = 0; c < channels; ++c) {
      const float spread = variance[c] + attrs_.epsilon();
      const float inverse = 1 / std::sqrt(spread);
      offset_gradient[c] = static_cast<float>(sums[c]);
      scale_gradient[c] = static_cast<float>(sums[channels + c]) * inverse;
      factor[c] = scale[c] * inverse;
      if (!attrs_.is_training()) continue;
      constant[c] = static_cast<float>(sums[c] / rows);
      slope[c] = static_cast<float>(sums[channels + c] / rows) / spread;
    }
    if (!attrs_.is_training()) {
      ParallelFor(ctx, rows, 1 + channels, [=, factor = factor.data()](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
          TFLEET_VECTORIZE
          for (int64_t c = 0; c < channels; ++c) {
            dx[row * channels + c] = factor[c] * dy[row * channels + c];
          }
        }
      });
      return;
    }
    ParallelFor(ctx, rows, 1 + channels,
                [=, factor = factor.data(), constant = constant.data(), slope = slope.data()](
                    int64_t begin, int64_t end) {
                  for (int64_t row = begin; row < end; ++row) {
                    TFLEET_VECTORIZE
                    for (int64_t c = 0; c < channels; ++c) {
                      const int64_t i = row * channels + c;
                      dx[i] = factor[c] * (dy[i] - constant[c] - slope[c] * (x[i] - mean[c]));
                    }
                  }
                });
  }

  const BatchNormAttrs attrs_;
};

}  // namespace

void RegisterBatchNormKernels(KernelRegistry& r) {
  r.Add<FusedBatchNorm<float>>("FusedBatchNorm", kCpu, {{"T", DType::kFloat}});
  r.Add<FusedBatchNormGrad<float>>("FusedBatchNormGrad", kCpu, {{"T", DType::kFloat}});
  ForEachType(Concat<SmallFloats, Types<float>>(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const TypeConstraints types = {{"T", kDTypeOf<T>}, {"U", DType::kFloat}};
    for (const char* version : {"V2", "V3"}) {
      r.Add<FusedBatchNorm<T>>(absl::StrCat("FusedBatchNorm", version), kCpu, types);
      r.Add<FusedBatchNormGrad<T>>(absl::StrCat("FusedBatchNormGrad", version), kCpu, types);
    }
  });
}

}  // namespace tensorfleet::cpu
