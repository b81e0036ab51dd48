// Systems of linear equations of special form: least squares, banded triangles, three diagonals.
// Schemas: runtime/ops/linalg/solver_ops.cc.
#include <complex>
#include <vector>

#include <Eigen/Cholesky>
#include <Eigen/QR>

#include "runtime/kernels/cpu/broadcast.h"
#include "runtime/kernels/cpu/linalg/each_matrix.h"
#include "runtime/kernels/types.h"

namespace tensorfleet::cpu {
namespace {

template <typename T>
Status SolveLeastSquares(const ConstMatrixMap<T>& a, const ConstMatrixMap<T>& b, double l2,
                         bool is_fast, MatrixMap<T> x) {
  if (a.rows() == 0 || a.cols() == 0) {
    x.setZero();
    return OkStatus();
  }
  if (!is_fast) {
    // The solution of least norm, also of matrices that lack rank.
    x = a.completeOrthogonalDecomposition().solve(b);
    return OkStatus();
  }
  // By the normal equations.
  const bool is_tall = a.rows() >= a.cols();
  GemmMatrix<T> gram = is_tall ? GemmMatrix<T>(a.adjoint() * a) : GemmMatrix<T>(a * a.adjoint());
  gram.diagonal().array() += T(l2);
  const Eigen::LLT<GemmMatrix<T>> llt(gram);
  if (llt.info() != Eigen::Success) {
    return InvalidArgument(
        "Input matrix was rank deficient or ill-conditioned. Try setting fast=False or provide a "
        "larger l2_regularizer > 0.");
  }
  if (is_tall) {
    x = llt.solve(a.adjoint() * b);
  } else {
    x = a.adjoint() * llt.solve(b);
  }
  return OkStatus();
}

template <typename T>
class MatrixSolveLs final : public Kernel {
 public:
  explicit MatrixSolveLs(KernelInit& init) { init.Get("fast", &is_fast_); }
  bool IsExpensive() const override { return true; }

  Status Compute(KernelContext& ctx) const override {
    const Tensor &a = ctx.input(0), &b = ctx.input(1), &l2 = ctx.input(2);
    TFLEET_RETURN_IF_ERROR(CheckMatrices(a));
    TFLEET_RETURN_IF_ERROR(CheckMatrices(b, 1));
    if (l2.rank() != 0) {
      return InvalidArgument("l2_regularizer must be scalar, got shape ", l2.shape().ToString());
    }
    const int64_t m = a.dim(-2), n = a.dim(-1), k = b.dim(-1);
    if (a.shape().SubShape(0, a.rank() - 2) != b.shape().SubShape(0, b.rank() - 2)) {
      return InvalidArgument("All input tensors must have the same outer dimensions; got ",
                             a.shape().ToString(), " and ", b.shape().ToString());
    }
    if (b.dim(-2) != m) {
      return InvalidArgument("Input matrix and rhs are incompatible: ", a.shape().ToString(),
                             " and ", b.shape().ToString());
    }
    const double regularizer = l2.scalar<double>();
    if (regularizer < 0) return InvalidArgument("l2_regularizer must be >= 0");
    TFLEET_ASSIGN_OR_RETURN(const Shape shape, WithMatrixShape(b, {n, k}));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(a.dtype(), shape));
    const T* const a_from = a.values<T>().data();
    const T* const b_from = b.values<T>().data();
    T* const to = out.template mutable_values<T>().data();
    if (out.num_elements() > 0) {
      TFLEET_RETURN_IF_ERROR(
          ForEachMatrix(ctx, CountMatrices(a), 2 * CubicCost(m, n), [&](int64_t i) {
            return SolveLeastSquares<T>(ConstMatrixMap<T>(a_from + i * m * n, m, n),
                                        ConstMatrixMap<T>(b_from + i * m * k, m, k), regularizer,
                                        is_fast_, MatrixMap<T>(to + i * n * k, n, k));
          }));
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  bool is_fast_ = true;
};

template <typename T>
T Conjugate(const T& x) {
  if constexpr (Eigen::NumTraits<T>::IsComplex) {
    return std::conj(x);
  } else {
    return x;
  }
}

// Substitution in a triangle of which only `count` diagonals are stored, one a row: the main one
// first of a lower triangle, last of an upper one.
template <typename T>
class BandedTriangularSolve final : public Kernel {
 public:
  explicit BandedTriangularSolve(KernelInit& init) {
    init.Get("lower", &is_lower_);
    init.Get("adjoint", &is_adjoint_);
  }
  bool IsExpensive() const override { return true; }

  Status Compute(KernelContext& ctx) const override {
    const Tensor &bands = ctx.input(0), &b = ctx.input(1);
    if (bands.rank() < 2) {
      return InvalidArgument("In[0] ndims must be >= 2: ", bands.shape().ToString());
    }
    if (b.rank() < 2) return InvalidArgument("In[1] ndims must be >= 2: ", b.shape().ToString());
    const int64_t count = bands.dim(-2), n = bands.dim(-1), k = b.dim(-1);
    if (b.dim(-2) != n) {
      return InvalidArgument("In[0] mismatch In[1] shape: ", n, " vs. ", b.dim(-2), ": ",
                             bands.shape().ToString(), " ", b.shape().ToString());
    }
    if (count < 1) return InvalidArgument("Must have at least one band");
    if (n < count) {
      return InvalidArgument("Number of bands ", count, " exceeds the size of the matrix ", n);
    }
    const Shape outer_a = bands.shape().SubShape(0, bands.rank() - 2);
    const Shape outer_b = b.shape().SubShape(0, b.rank() - 2);
    const StatusOr<Shape> outer = BroadcastShapes(outer_a, outer_b);
    if (!outer.ok()) {
      return InvalidArgument("In[0] and In[1] must have compatible batch dimensions: ",
                             bands.shape().ToString(), " vs. ", b.shape().ToString());
    }
    TFLEET_ASSIGN_OR_RETURN(const Shape shape, outer->Concatenated({n, k}));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(b.dtype(), shape));
    if (out.num_elements() > 0) {
      const T* const band_from = bands.values<T>().data();
      const T* const b_from = b.values<T>().data();
      T* const to = out.template mutable_values<T>().data();
      const BroadcastPlan<2> plan = PlanBroadcast<2>(*outer, {&outer_a, &outer_b});
      plan.ForRuns(0, plan.outer(), [&](int64_t first, const std::array<int64_t, 2>& from) {
        for (int64_t i = 0; i < plan.inner(); ++i) {
          Solve(band_from + (from[0] + i * plan.strides[0].back()) * count * n, count, n,
                b_from + (from[1] + i * plan.strides[1].back()) * n * k, k,
                to + (first + i) * n * k);
        }
      });
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  // Element (i, j) of the matrix, of which |i - j| < count.
  T At(const T* bands, int64_t count, int64_t n, int64_t i, int64_t j) const {
    return is_lower_ ? bands[(i - j) * n + i] : bands[(count - 1 - (j - i)) * n + i];
  }
  void Solve(const T* bands, int64_t count, int64_t n, const T* b, int64_t k, T* x) const {
    std::copy_n(b, n * k, x);
    // The adjoint of a lower triangle is an upper one.
    const bool is_forward = is_lower_ != is_adjoint_;
    for (int64_t step = 0; step < n; ++step) {
      const int64_t i = is_forward ? step : n - 1 - step;
      const int64_t reach = std::min(count - 1, step);
      T* const row = x + i * k;
      for (int64_t d = 1; d <= reach; ++d) {
        const int64_t j = is_forward ? i - d : i + d;
        const T factor =
            is_adjoint_ ? Conjugate(At(bands, count, n, j, i)) : At(bands, count, n, i, j);
        for (int64_t c = 0; c < k; ++c) row[c] -= factor * x[j * k + c];
      }
      const T pivot = At(bands, count, n, i, i);
      const T divisor = is_adjoint_ ? Conjugate(pivot) : pivot;
      for (int64_t c = 0; c < k; ++c) row[c] /= divisor;
    }
  }

  bool is_lower_ = true, is_adjoint_ = false;
};

// Diagonals are [..., 3, n]: above (its last element unused), main, below (its first unused).
template <typename T>
class TridiagonalSolve final : public Kernel {
 public:
  explicit TridiagonalSolve(KernelInit& init) {
    init.Get("partial_pivoting", &pivots_);
    bool perturbs = false;
    init.Get("perturb_singular", &perturbs);
    if (perturbs) {
      init.Fail(InvalidArgument(pivots_ ? "perturb_singular is not supported on CPU"
                                        : "perturb_singular requires partial_pivoting"));
    }
  }
  bool IsExpensive() const override { return true; }

  Status Compute(KernelContext& ctx) const override {
    const Tensor &diagonals = ctx.input(0), &rhs = ctx.input(1);
    TFLEET_RETURN_IF_ERROR(CheckMatrices(diagonals));
    TFLEET_RETURN_IF_ERROR(CheckMatrices(rhs, 1));
    if (diagonals.dim(-2) != 3) {
      return InvalidArgument("Expected diagonals to have 3 rows, got ", diagonals.dim(-2));
    }
    const int64_t n = diagonals.dim(-1), k = rhs.dim(-1);
    if (diagonals.shape().SubShape(0, diagonals.rank() - 2) !=
        rhs.shape().SubShape(0, rhs.rank() - 2)) {
      return InvalidArgument("All input tensors must have the same outer dimensions; got ",
                             diagonals.shape().ToString(), " and ", rhs.shape().ToString());
    }
    if (rhs.dim(-2) != n) {
      return InvalidArgument(
          "The length of diagonals and the number of rows of rhs must be equal, "
          "got ",
          n, " and ", rhs.dim(-2));
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(rhs.dtype(), rhs.shape()));
    const T* const from = diagonals.values<T>().data();
    const T* const b = rhs.values<T>().data();
    T* const to = out.template mutable_values<T>().data();
    if (out.num_elements() > 0) {
      TFLEET_RETURN_IF_ERROR(
          ForEachMatrix(ctx, CountMatrices(rhs), 20 * n + 5 * n * k, [&](int64_t i) {
            std::copy_n(b + i * n * k, n * k, to + i * n * k);
            return pivots_ ? SolveWithPivots(from + i * 3 * n, n, k, to + i * n * k)
                           : SolveByThomas(from + i * 3 * n, n, k, to + i * n * k);
          }));
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  static Status NotInvertible() { return InvalidArgument("The matrix is not invertible."); }

  // Rows change places where the one below has the larger pivot, which fills one more diagonal.
  static Status SolveWithPivots(const T* diagonals, int64_t n, int64_t k, T* x) {
    const T *above = diagonals, *main = diagonals + n, *below = diagonals + 2 * n;
    if (n == 1) {
      if (main[0] == T(0)) return NotInvertible();
      for (int64_t c = 0; c < k; ++c) x[c] /= main[0];
      return OkStatus();
    }
    // Rows of the upper triangle: three elements from the diagonal on.
    std::vector<T> u(3 * n);
    u[0] = main[0];
    u[1] = above[0];
    for (int64_t i = 0; i + 1 < n; ++i) {
      T* const row = u.data() + 3 * i;
      T* const next = row + 3;
      T* const x_row = x + i * k;
      T* const x_next = x_row + k;
      const T next_above = i + 2 < n ? above[i + 1] : T(0);
      if (std::abs(row[0]) >= std::abs(below[i + 1])) {
        if (row[0] == T(0)) return NotInvertible();
        const T factor = below[i + 1] / row[0];
        next[0] = main[i + 1] - row[1] * factor;
        next[1] = next_above;
        row[2] = T(0);
        for (int64_t c = 0; c < k; ++c) x_next[c] -= x_row[c] * factor;
      } else {
        const T factor = row[0] / below[i + 1];
        const T second = row[1];
        row[0] = below[i + 1];
        row[1] = main[i + 1];
        row[2] = next_above;
        next[0] = second - main[i + 1] * factor;
        next[1] = -factor * next_above;
        for (int64_t c = 0; c < k; ++c) {
          const T first = x_row[c];
          x_row[c] = x_next[c];
          x_next[c] = first - x_next[c] * factor;
        }
      }
    }
    if (u[3 * (n - 1)] == T(0)) return NotInvertible();
    for (int64_t i = n - 1; i >= 0; --i) {
      const T* const row = u.data() + 3 * i;
      T* const x_row = x + i * k;
      for (int64_t c = 0; c < k; ++c) {
        T rest = x_row[c];
        if (i + 1 < n) rest -= row[1] * x_row[k + c];
        if (i + 2 < n) rest -= row[2] * x_row[2 * k + c];
        x_row[c] = rest / row[0];
      }
    }
    return OkStatus();
  }

  static Status SolveByThomas(const T* diagonals, int64_t n, int64_t k, T* x) {
    const T *above = diagonals, *main = diagonals + n, *below = diagonals + 2 * n;
    const auto failed = [] {
      return InvalidArgument(
          "The first element of diagonals or a pivot is zero: use partial_pivoting");
    };
    if (main[0] == T(0)) return failed();
    std::vector<T> u(n);
    u[0] = n > 1 ? above[0] / main[0] : T(0);
    for (int64_t c = 0; c < k; ++c) x[c] /= main[0];
    for (int64_t i = 1; i < n; ++i) {
      const T pivot = main[i] - below[i] * u[i - 1];
      if (pivot == T(0)) return failed();
      u[i] = i + 1 < n ? above[i] / pivot : T(0);
      T* const row = x + i * k;
      for (int64_t c = 0; c < k; ++c) row[c] = (row[c] - below[i] * row[c - k]) / pivot;
    }
    for (int64_t i = n - 2; i >= 0; --i) {
      T* const row = x + i * k;
      for (int64_t c = 0; c < k; ++c) row[c] -= u[i] * row[k + c];
    }
    return OkStatus();
  }

  bool pivots_ = true;
};

// A matrix of three diagonals, each [..., 1, n], times another matrix.
template <typename T>
class TridiagonalMatMul final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    const Tensor& rhs = ctx.input(3);
    TFLEET_RETURN_IF_ERROR(CheckMatrices(rhs, 3));
    const int64_t n = rhs.dim(-2), k = rhs.dim(-1);
    const Shape outer = rhs.shape().SubShape(0, rhs.rank() - 2);
    for (int i = 0; i < 3; ++i) {
      const Tensor& diagonal = ctx.input(i);
      TFLEET_RETURN_IF_ERROR(CheckMatrices(diagonal, i));
      if (diagonal.shape().SubShape(0, diagonal.rank() - 2) != outer) {
        return InvalidArgument("All input tensors must have the same outer dimensions; got ",
                               diagonal.shape().ToString(), " and ", rhs.shape().ToString());
      }
      if (diagonal.dim(-2) != 1 || diagonal.dim(-1) != n) {
        return InvalidArgument("Input ", i, " must be a row of ", n, " elements, got ",
                               diagonal.shape().ToString());
      }
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(rhs.dtype(), rhs.shape()));
    const T* const above = ctx.input(0).values<T>().data();
    const T* const main = ctx.input(1).values<T>().data();
    const T* const below = ctx.input(2).values<T>().data();
    const T* const x = rhs.values<T>().data();
    T* const to = out.template mutable_values<T>().data();
    if (out.num_elements() > 0) {
      ParallelFor(ctx, outer.num_elements() * n, 1 + k, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
          const int64_t i = row % n;
          const T* const own = x + row * k;
          for (int64_t c = 0; c < k; ++c) {
            T sum = main[row] * own[c];
            if (i + 1 < n) sum += above[row] * own[c + k];
            if (i > 0) sum += below[row] * own[c - k];
            to[row * k + c] = sum;
          }
        }
      });
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }
};

}  // namespace

void RegisterSolverKernels(KernelRegistry& r) {
  using All = Concat<FullFloats, Complexes>;
  AddForTypes<MatrixSolveLs>(r, "MatrixSolveLs", All());
  AddForTypes<MatrixSolveLs>(r, "BatchMatrixSolveLs", FullFloats());
  AddForTypes<BandedTriangularSolve>(r, "BandedTriangularSolve", All());
  AddForTypes<TridiagonalSolve>(r, "TridiagonalSolve", All());
  AddForTypes<TridiagonalMatMul>(r, "TridiagonalMatMul", All());
}

}  // namespace tensorfleet::cpu
