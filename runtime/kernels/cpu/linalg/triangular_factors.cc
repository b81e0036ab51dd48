// LU factors, what follows from them (the logarithm of the determinant), and the gradient of
// Cholesky's. Schemas: runtime/ops/linalg/decomposition_ops.cc.
#include <complex>

#include <Eigen/Cholesky>
#include <Eigen/LU>

#include "runtime/kernels/cpu/linalg/each_matrix.h"
#include "runtime/kernels/types.h"

namespace tensorfleet::cpu {
namespace {

template <typename T, typename Index>
class Lu final : public Kernel {
 public:
  bool IsExpensive() const override { return true; }

  Status Compute(KernelContext& ctx) const override {
    const Tensor& in = ctx.input(0);
    TFLEET_RETURN_IF_ERROR(CheckSquareMatrices(in));
    const int64_t n = in.dim(-1);
    TFLEET_ASSIGN_OR_RETURN(const Shape p_shape, WithMatrixShape(in, {n}));
    TFLEET_ASSIGN_OR_RETURN(Tensor lu, ctx.Allocate(in.dtype(), in.shape()));
    TFLEET_ASSIGN_OR_RETURN(Tensor p, ctx.Allocate(kDTypeOf<Index>, p_shape));
    const T* const from = in.values<T>().data();
    T* const to = lu.template mutable_values<T>().data();
    Index* const order = p.template mutable_values<Index>().data();
    if (in.num_elements() > 0) {
      TFLEET_RETURN_IF_ERROR(ForEachMatrix(ctx, CountMatrices(in), CubicCost(n, n), [&](int64_t i) {
        const Eigen::PartialPivLU<GemmMatrix<T>> decomposed(
            ConstMatrixMap<T>(from + i * n * n, n, n));
        if (!(decomposed.matrixLU().diagonal().cwiseAbs().minCoeff() > 0)) {
          return InvalidArgument("Input is not invertible.");
        }
        MatrixMap<T>(to + i * n * n, n, n) = decomposed.matrixLU();
        const auto rows = decomposed.permutationP().indices();
        for (int64_t k = 0; k < n; ++k) order[i * n + rows[k]] = static_cast<Index>(k);
        return OkStatus();
      }));
    }
    ctx.SetOutput(0, std::move(lu));
    ctx.SetOutput(1, std::move(p));
    return OkStatus();
  }
};

// The sign, or phase, of each determinant, and the logarithm of its absolute value.
template <typename T>
class LogMatrixDeterminant final : public Kernel {
 public:
  bool IsExpensive() const override { return true; }

  Status Compute(KernelContext& ctx) const override {
    const Tensor& in = ctx.input(0);
    TFLEET_RETURN_IF_ERROR(CheckSquareMatrices(in));
    const int64_t n = in.dim(-1);
    const Shape shape = in.shape().SubShape(0, in.rank() - 2);
    TFLEET_ASSIGN_OR_RETURN(Tensor sign, ctx.Allocate(in.dtype(), shape));
    TFLEET_ASSIGN_OR_RETURN(Tensor log_abs, ctx.Allocate(in.dtype(), shape));
    const T* const from = in.values<T>().data();
    T* const sign_to = sign.template mutable_values<T>().data();
    T* const log_to = log_abs.template mutable_values<T>().data();
    TFLEET_RETURN_IF_ERROR(
        ForEachMatrix(ctx, shape.num_elements(), CubicCost(n, n), [&](int64_t i) {
          T phase(1);
          Real sum(0);
          if (n > 0) {
            const Eigen::PartialPivLU<GemmMatrix<T>> lu(ConstMatrixMap<T>(from + i * n * n, n, n));
            phase = T(static_cast<Real>(lu.permutationP().determinant()));
            for (int64_t k = 0; k < n; ++k) {
              const T pivot = lu.matrixLU()(k, k);
              const Real size = std::abs(pivot);
              phase *= pivot / size;
              sum += std::log(size);
            }
            if (!std::isfinite(sum)) {
              phase = T(0);
              // Also where an infinite element is what makes it so.
              sum = sum > 0 ? -std::log(Real(0)) : std::log(Real(0));
            }
          }
          sign_to[i] = phase;
          log_to[i] = T(sum);
          return OkStatus();
        }));
    ctx.SetOutput(0, std::move(sign));
    ctx.SetOutput(1, std::move(log_abs));
    return OkStatus();
  }

 private:
  using Real = typename Eigen::NumTraits<T>::Real;
};

// With l the factor and g the gradient that comes in: l^-T P(l^T g) l^-1, made symmetric, where P
// takes the lower triangle and halves its diagonal.
template <typename T>
class CholeskyGrad final : public Kernel {
 public:
  bool IsExpensive() const override { return true; }

  Status Compute(KernelContext& ctx) const override {
    const Tensor &l = ctx.input(0), &grad = ctx.input(1);
    TFLEET_RETURN_IF_ERROR(CheckSquareMatrices(l));
    TFLEET_RETURN_IF_ERROR(CheckSquareMatrices(grad, 1));
    if (l.shape() != grad.shape()) {
      return InvalidArgument("Input matrix and gradient must have same shape.");
    }
    const int64_t n = l.dim(-1);
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(l.dtype(), l.shape()));
    const T* const l_from = l.values<T>().data();
    const T* const grad_from = grad.values<T>().data();
    T* const to = out.template mutable_values<T>().data();
    if (l.num_elements() > 0) {
      TFLEET_RETURN_IF_ERROR(
          ForEachMatrix(ctx, CountMatrices(l), 4 * CubicCost(n, n), [&](int64_t i) {
            const GemmMatrix<T> lower =
                ConstMatrixMap<T>(l_from + i * n * n, n, n).template triangularView<Eigen::Lower>();
            const GemmMatrix<T> g = ConstMatrixMap<T>(grad_from + i * n * n, n, n)
                                        .template triangularView<Eigen::Lower>();
            const GemmMatrix<T> product = lower.transpose() * g;
            GemmMatrix<T> p = product.template triangularView<Eigen::Lower>();
            p.diagonal() *= T(0.5);
            lower.transpose().template triangularView<Eigen::Upper>().solveInPlace(p);
            lower.template triangularView<Eigen::Lower>().template solveInPlace<Eigen::OnTheRight>(
                p);
            MatrixMap<T>(to + i * n * n, n, n) = T(0.5) * (p + p.transpose());
            return OkStatus();
          }));
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }
};

}  // namespace

void RegisterTriangularFactorKernels(KernelRegistry& r) {
  using All = Concat<FullFloats, Complexes>;
  ForEachType(All(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    r.Add<Lu<T, int32_t>>("Lu", kCpu, {{"T", kDTypeOf<T>}, {"output_idx_type", DType::kInt32}});
    r.Add<Lu<T, int64_t>>("Lu", kCpu, {{"T", kDTypeOf<T>}, {"output_idx_type", DType::kInt64}});
  });
  AddForTypes<LogMatrixDeterminant>(r, "LogMatrixDeterminant", All());
  for (const char* op : {"CholeskyGrad", "BatchCholeskyGrad"}) {
    AddForTypes<CholeskyGrad>(r, op, FullFloats());
  }
}

}  // namespace tensorfleet::cpu
