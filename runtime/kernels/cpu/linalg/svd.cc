// Singular values, by Eigen's decomposition as TensorFlow's kernels use it.
// Schemas: runtime/ops/linalg/decomposition_ops.cc.
#include <complex>

#include <Eigen/SVD>

#include "runtime/kernels/cpu/linalg/each_matrix.h"
#include "runtime/kernels/types.h"

namespace tensorfleet::cpu {
namespace {

template <typename T>
class Svd final : public Kernel {
 public:
  explicit Svd(KernelInit& init) {
    init.Get("compute_uv", &computes_uv_);
    init.Get("full_matrices", &is_full_);
  }
  bool IsExpensive() const override { return true; }

  Status Compute(KernelContext& ctx) const override {
    const Tensor& in = ctx.input(0);
    TFLEET_RETURN_IF_ERROR(CheckMatrices(in));
    const int64_t m = in.dim(-2), n = in.dim(-1), p = std::min(m, n);
    const int64_t u_columns = is_full_ ? m : p, v_columns = is_full_ ? n : p;
    TFLEET_ASSIGN_OR_RETURN(const Shape s_shape, WithMatrixShape(in, {p}));
    TFLEET_ASSIGN_OR_RETURN(Tensor s, ctx.Allocate(in.dtype(), s_shape));
    Shape u_shape, v_shape;
    TFLEET_ASSIGN_OR_RETURN(u_shape,
                            computes_uv_ ? WithMatrixShape(in, {m, u_columns}) : Shape::Make({0}));
    TFLEET_ASSIGN_OR_RETURN(v_shape,
                            computes_uv_ ? WithMatrixShape(in, {n, v_columns}) : Shape::Make({0}));
    TFLEET_ASSIGN_OR_RETURN(Tensor u, ctx.Allocate(in.dtype(), u_shape));
    TFLEET_ASSIGN_OR_RETURN(Tensor v, ctx.Allocate(in.dtype(), v_shape));
    const T* const from = in.values<T>().data();
    T* const s_to = s.template mutable_values<T>().data();
    T* const u_to = u.template mutable_values<T>().data();
    T* const v_to = v.template mutable_values<T>().data();
    const auto decompose = [&](int64_t i) {
      MatrixMap<T> left(u_to + i * m * u_columns, m, computes_uv_ ? u_columns : 0);
      MatrixMap<T> right(v_to + i * n * v_columns, n, computes_uv_ ? v_columns : 0);
      if (p == 0) {
        left.setIdentity();
        right.setIdentity();
        return OkStatus();
      }
      unsigned options = 0;
      if (computes_uv_) {
        options = is_full_ ? Eigen::ComputeFullU | Eigen::ComputeFullV
                           : Eigen::ComputeThinU | Eigen::ComputeThinV;
      }
      const Eigen::BDCSVD<GemmMatrix<T>> svd(ConstMatrixMap<T>(from + i * m * n, m, n), options);
      for (int64_t k = 0; k < p; ++k) s_to[i * p + k] = static_cast<T>(svd.singularValues()[k]);
      if (computes_uv_) {
        left = svd.matrixU();
        right = svd.matrixV();
      }
      return OkStatus();
    };
    if (s.num_elements() + u.num_elements() + v.num_elements() > 0) {
      TFLEET_RETURN_IF_ERROR(
          ForEachMatrix(ctx, CountMatrices(in), 10 * CubicCost(m, n), decompose));
    }
    ctx.SetOutput(0, std::move(s));
    ctx.SetOutput(1, std::move(u));
    ctx.SetOutput(2, std::move(v));
    return OkStatus();
  }

 private:
  bool computes_uv_ = true, is_full_ = false;
};

}  // namespace

void RegisterSvdKernels(KernelRegistry& r) {
  for (const char* op : {"Svd", "BatchSvd"})
    AddForTypes<Svd>(r, op, Concat<FullFloats, Complexes>());
}

}  // namespace tensorfleet::cpu
