// Functions of square matrices (exponential, logarithm, square root, logarithm of the determinant,
// the gradient of Cholesky), and Cross. Schemas: runtime/ops/linalg/decomposition_ops.cc.
#include <complex>

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <unsupported/Eigen/MatrixFunctions>

#include "runtime/kernels/cpu/linalg/each_matrix.h"
#include "runtime/kernels/cpu/small_float.h"
#include "runtime/kernels/types.h"

namespace tensorfleet::cpu {
namespace {

struct Exponential {
  template <typename M>
  static auto Of(const M& in) {
    return in.exp();
  }
};
struct Logarithm {
  template <typename M>
  static auto Of(const M& in) {
    return in.log();
  }
};
struct SquareRootOf {
  template <typename M>
  static auto Of(const M& in) {
    return in.sqrt();
  }
};

template <typename T, typename Function>
class MatrixFunction final : public Kernel {
 public:
  bool IsExpensive() const override { return true; }

  Status Compute(KernelContext& ctx) const override {
    const Tensor& in = ctx.input(0);
    TFLEET_RETURN_IF_ERROR(CheckSquareMatrices(in));
    const int64_t n = in.dim(-1);
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(in.dtype(), in.shape()));
    const T* const from = in.values<T>().data();
    T* const to = out.template mutable_values<T>().data();
    if (in.num_elements() > 0) {
      TFLEET_RETURN_IF_ERROR(
          ForEachMatrix(ctx, CountMatrices(in), 20 * CubicCost(n, n), [&](int64_t i) {
            const GemmMatrix<T> matrix = ConstMatrixMap<T>(from + i * n * n, n, n);
            MatrixMap<T>(to + i * n * n, n, n) = Function::Of(matrix);
            return OkStatus();
          }));
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }
};
template <typename T>
using MatrixExponential = MatrixFunction<T, Exponential>;
template <typename T>
using MatrixLogarithm = MatrixFunction<T, Logarithm>;
template <typename T>
using MatrixSquareRoot = MatrixFunction<T, SquareRootOf>;

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
              sum = std::log(Real(0));
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

template <typename T>
class Cross final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    const Tensor &a = ctx.input(0), &b = ctx.input(1);
    if (a.shape() != b.shape()) {
      return InvalidArgument("Both inputs must be of same shape: ", a.shape().ToString(), " vs. ",
                             b.shape().ToString());
    }
    if (a.rank() < 1) return InvalidArgument("Input must be at least 1D", a.shape().ToString());
    if (a.dim(-1) != 3) {
      return FailedPrecondition("Cross-products are only defined for 3-element vectors.");
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(a.dtype(), a.shape()));
    const T* const x = a.values<T>().data();
    const T* const y = b.values<T>().data();
    T* const to = out.template mutable_values<T>().data();
    ParallelFor(ctx, a.num_elements() / 3, 5, [&](int64_t begin, int64_t end) {
      for (int64_t i = 3 * begin; i < 3 * end; i += 3) {
        to[i] = Difference(x[i + 1], y[i + 2], x[i + 2], y[i + 1]);
        to[i + 1] = Difference(x[i + 2], y[i], x[i], y[i + 2]);
        to[i + 2] = Difference(x[i], y[i + 1], x[i + 1], y[i]);
      }
    });
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  // ab - cd; integers wrap around.
  static T Difference(T a, T b, T c, T d) {
    if constexpr (std::is_integral_v<T>) {
      using U = uint64_t;
      return static_cast<T>(U(a) * U(b) - U(c) * U(d));
    } else {
      return a * b - c * d;
    }
  }
};

}  // namespace

void RegisterMatrixFunctionKernels(KernelRegistry& r) {
  using All = Concat<FullFloats, Complexes>;
  AddForTypes<MatrixExponential>(r, "MatrixExponential", All());
  AddForTypes<MatrixLogarithm>(r, "MatrixLogarithm", Complexes());
  AddForTypes<MatrixSquareRoot>(r, "MatrixSquareRoot", All());
  AddForTypes<LogMatrixDeterminant>(r, "LogMatrixDeterminant", All());
  for (const char* op : {"CholeskyGrad", "BatchCholeskyGrad"}) {
    AddForTypes<CholeskyGrad>(r, op, FullFloats());
  }
  AddForTypes<Cross>(r, "Cross", Reals());
}

}  // namespace tensorfleet::cpu
