// MatMul and BatchMatMul.
#include <complex>

#include "runtime/kernels/cpu/array/cast.h"
#include "runtime/kernels/cpu/broadcast.h"
#include "runtime/kernels/cpu/float_view.h"
#include "runtime/kernels/cpu/linalg/gemm.h"
#include "runtime/kernels/cpu/linalg/matmul.h"
#include "runtime/kernels/kernel.h"
#include "runtime/kernels/types.h"

namespace tensorfleet::cpu {

StatusOr<GemmShape> MatMulShape(const Tensor& a, const Tensor& b, bool transpose_a,
                                bool transpose_b) {
  if (a.rank() != 2 || b.rank() != 2) {
    return InvalidArgument("In[", a.rank() != 2 ? 0 : 1, "] is not a matrix. Instead it has shape ",
                           (a.rank() != 2 ? a : b).shape().ToString());
  }
  GemmShape shape;
  shape.transpose_a = transpose_a;
  shape.transpose_b = transpose_b;
  shape.m = a.dim(transpose_a ? 1 : 0);
  shape.k = a.dim(transpose_a ? 0 : 1);
  shape.n = b.dim(transpose_b ? 0 : 1);
  if (b.dim(transpose_b ? 1 : 0) != shape.k) {
    return InvalidArgument("Matrix size-incompatible: In[0]: ", a.shape().ToString(),
                           ", In[1]: ", b.shape().ToString());
  }
  return shape;
}

namespace {

template <typename T>
class MatMul final : public Kernel {
 public:
  explicit MatMul(KernelInit& init) {
    init.Get("transpose_a", &transpose_a_);
    init.Get("transpose_b", &transpose_b_);
  }
  bool IsExpensive() const override { return true; }

  Status Compute(KernelContext& ctx) const override {
    const Tensor& a = ctx.input(0);
    const Tensor& b = ctx.input(1);
    TFLEET_ASSIGN_OR_RETURN(const GemmShape shape, MatMulShape(a, b, transpose_a_, transpose_b_));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(a.dtype(), {shape.m, shape.n}));
    if (out.num_elements() > 0) {
      TFLEET_ASSIGN_OR_RETURN(const auto wide_a, WideInput<T>::Of(a));
      TFLEET_ASSIGN_OR_RETURN(const auto wide_b, WideInput<T>::Of(b));
      TFLEET_ASSIGN_OR_RETURN(auto wide_out, WideOutput<T>::For(out));
      Gemm<Widened<T>>(&ctx, shape, wide_a.data(), wide_b.data(), wide_out.data());
      wide_out.Finish();
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  bool transpose_a_ = false, transpose_b_ = false;
};

template <typename T>
class BatchMatMul final : public Kernel {
 public:
  explicit BatchMatMul(KernelInit& init) : broadcasts_(init.node().op() != "BatchMatMul") {
    init.Get("adj_x", &adj_x_);
    init.Get("adj_y", &adj_y_);
  }
  bool IsExpensive() const override { return true; }

  Status Compute(KernelContext& ctx) const override {
    const Tensor& x = ctx.input(0);
    const Tensor& y = ctx.input(1);
    for (int i = 0; i < 2; ++i) {
      if (ctx.input(i).rank() < 2) {
        return InvalidArgument("In[", i, "] ndims must be >= 2: ", ctx.input(i).rank());
      }
    }
    GemmShape shape;
    shape.transpose_a = shape.conjugate_a = adj_x_;
    shape.transpose_b = shape.conjugate_b = adj_y_;
    shape.m = x.dim(adj_x_ ? -1 : -2);
    shape.k = x.dim(adj_x_ ? -2 : -1);
    shape.n = y.dim(adj_y_ ? -2 : -1);
    TFLEET_ASSIGN_OR_RETURN(const Shape batch, BatchShape(x, y));
    if (y.dim(adj_y_ ? -1 : -2) != shape.k) {
      return InvalidArgument("Matrix size-incompatible: In[0]: ", x.shape().ToString(),
                             ", In[1]: ", y.shape().ToString(), " ", adj_x_, " ", adj_y_);
    }
    TFLEET_ASSIGN_OR_RETURN(const Shape matrix, Shape::Make({shape.m, shape.n}));
    TFLEET_ASSIGN_OR_RETURN(const Shape out_shape, batch.Concatenated(matrix));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(kDTypeOf<T>, out_shape));
    if (out.num_elements() > 0) {
      TFLEET_ASSIGN_OR_RETURN(const Tensor own_x, OfOwnType(ctx, x));
      TFLEET_ASSIGN_OR_RETURN(const Tensor own_y, OfOwnType(ctx, y));
      TFLEET_RETURN_IF_ERROR(Multiply(ctx, shape, batch, own_x, own_y, out));
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  // Only the third version has inputs of other types than the output's.
  static StatusOr<Tensor> OfOwnType(const KernelContext& ctx, const Tensor& in) {
    if (in.dtype() == kDTypeOf<T>) return in;
    const UnaryLoop cast = FindCast(in.dtype(), kDTypeOf<T>);
    TFLEET_CHECK(cast != nullptr);
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(kDTypeOf<T>, in.shape()));
    cast(in.raw(), out.mutable_raw(), in.num_elements());
    return out;
  }

  StatusOr<Shape> BatchShape(const Tensor& x, const Tensor& y) const {
    const Shape a = x.shape().SubShape(0, x.rank() - 2), b = y.shape().SubShape(0, y.rank() - 2);
    if (!broadcasts_) {
      if (a == b) return a;
      return InvalidArgument("In[0] and In[1] must have the same batch dimensions: ",
                             x.shape().ToString(), " vs ", y.shape().ToString());
    }
    StatusOr<Shape> batch = BroadcastShapes(a, b);
    if (batch.ok()) return batch;
    return InvalidArgument("In[0] and In[1] must have compatible batch dimensions: ",
                           x.shape().ToString(), " vs. ", y.shape().ToString());
  }

  static Status Multiply(KernelContext& ctx, const GemmShape& shape, const Shape& batch,
                         const Tensor& x, const Tensor& y, Tensor& out) {
    using W = Widened<T>;
    TFLEET_ASSIGN_OR_RETURN(const auto wide_x, WideInput<T>::Of(x));
    TFLEET_ASSIGN_OR_RETURN(const auto wide_y, WideInput<T>::Of(y));
    TFLEET_ASSIGN_OR_RETURN(auto wide_out, WideOutput<T>::For(out));
    const Shape batch_x = x.shape().SubShape(0, x.rank() - 2),
                batch_y = y.shape().SubShape(0, y.rank() - 2);
    const BroadcastPlan<2> plan = PlanBroadcast<2>(batch, {&batch_x, &batch_y});
    const int64_t x_step = plan.strides[0].back(), y_step = plan.strides[1].back();
    const double flops = 2.0 * shape.m * shape.n * shape.k;
    // Many small products go to the threads whole; few big ones are cut up.
    const bool is_whole = batch.num_elements() >= 2 * ctx.pool().num_threads() || flops < 1e5;
    const auto multiply = [&](int64_t begin, int64_t end, KernelContext* inner_ctx) {
      // Runs of the batch, then the matrices within a run.
      plan.ForRuns(begin / plan.inner(), (end + plan.inner() - 1) / plan.inner(),
                   [&](int64_t first, const std::array<int64_t, 2>& from) {
                     const int64_t low = std::max<int64_t>(begin - first, 0),
                                   high = std::min(end - first, plan.inner());
                     for (int64_t i = low; i < high; ++i) {
                       const W* a = wide_x.data() + (from[0] + i * x_step) * shape.m * shape.k;
                       const W* b = wide_y.data() + (from[1] + i * y_step) * shape.k * shape.n;
                       Gemm<W>(inner_ctx, shape, a, b,
                               wide_out.data() + (first + i) * shape.m * shape.n);
                     }
                   });
    };
    if (is_whole) {
      ParallelFor(ctx, batch.num_elements(), static_cast<int64_t>(flops / 50) + 100,
                  [&](int64_t begin, int64_t end) { multiply(begin, end, nullptr); });
    } else {
      multiply(0, batch.num_elements(), &ctx);
    }
    wide_out.Finish();
    return OkStatus();
  }

  const bool broadcasts_;
  bool adj_x_ = false, adj_y_ = false;
};

using MatMulTypes = Concat<FloatsAndComplexes, Types<int32_t, int64_t>>;

template <typename T>
void AddMixed(KernelRegistry& r, DType a, DType b) {
  r.Add<BatchMatMul<T>>("BatchMatMulV3", kCpu, {{"Ta", a}, {"Tb", b}, {"Tout", kDTypeOf<T>}});
}

}  // namespace

void RegisterMatMulKernels(KernelRegistry& r) {
  AddForTypes<MatMul>(r, "MatMul", MatMulTypes());
  AddForTypes<BatchMatMul>(r, "BatchMatMul", MatMulTypes());
  AddForTypes<BatchMatMul>(r, "BatchMatMulV2", Concat<MatMulTypes, Types<int16_t>>());
  ForEachType(Concat<MatMulTypes, Types<int16_t>>(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    AddMixed<T>(r, kDTypeOf<T>, kDTypeOf<T>);
  });
  for (const DType a : {DType::kInt8, DType::kUInt8}) {
    for (const DType b : {DType::kInt8, DType::kUInt8}) AddMixed<int32_t>(r, a, b);
    AddMixed<Eigen::bfloat16>(r, a, DType::kBFloat16);
    AddMixed<Eigen::bfloat16>(r, DType::kBFloat16, a);
  }
}

}  // namespace tensorfleet::cpu
