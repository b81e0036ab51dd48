// Square matrices in the last two dimensions, by Eigen's decompositions. Schemas:
// runtime/ops/linalg/linear_algebra_ops.cc.
#include <complex>
#include <limits>

#include <Eigen/Cholesky>
#include <Eigen/LU>

#include "runtime/kernels/cpu/float_view.h"
#include "runtime/kernels/cpu/linalg/gemm_eigen.h"
#include "runtime/kernels/kernel.h"
#include "runtime/kernels/types.h"

namespace tensorfleet::cpu {
namespace {

template <typename W>
using ConstMap = Eigen::Map<const GemmMatrix<W>>;
template <typename W>
using MutableMap = Eigen::Map<GemmMatrix<W>>;

// How many matrices a tensor holds.
int64_t CountMatrices(const Tensor& tensor) {
  int64_t count = 1;
  for (int i = 0; i + 2 < tensor.rank(); ++i) count *= tensor.dim(i);
  return count;
}

Status CheckSquare(const Tensor& in) {
  if (in.rank() < 2) {
    return InvalidArgument("Input tensor 0 must have rank >= 2, got ", in.rank());
  }
  if (in.dim(-1) != in.dim(-2)) {
    return InvalidArgument("Input matrices must be squares, got ", in.dim(-2), " != ", in.dim(-1));
  }
  return OkStatus();
}

template <typename W>
bool IsInvertible(const Eigen::PartialPivLU<GemmMatrix<W>>& lu) {
  return lu.matrixLU().diagonal().cwiseAbs().minCoeff() > 0;
}

// A matrix from each matrix. `Of` has Status Apply(in, out) for the type that is computed in.
template <typename T, template <typename> class Of>
class FromEachMatrix final : public Kernel {
 public:
  explicit FromEachMatrix(KernelInit& init) : of_(init) {}
  bool IsExpensive() const override { return true; }

  Status Compute(KernelContext& ctx) const override {
    using W = Widened<T>;
    const Tensor& in = ctx.input(0);
    TFLEET_RETURN_IF_ERROR(CheckSquare(in));
    const int64_t n = in.dim(-1);
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(in.dtype(), in.shape()));
    TFLEET_ASSIGN_OR_RETURN(const auto wide_in, WideInput<T>::Of(in));
    TFLEET_ASSIGN_OR_RETURN(auto wide_out, WideOutput<T>::For(out));
    for (int64_t i = 0; n > 0 && i < CountMatrices(in); ++i) {
      TFLEET_RETURN_IF_ERROR(of_.Apply(ConstMap<W>(wide_in.data() + i * n * n, n, n),
                                       MutableMap<W>(wide_out.data() + i * n * n, n, n)));
    }
    wide_out.Finish();
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  const Of<Widened<T>> of_;
};

template <typename W>
struct CholeskyOf {
  explicit CholeskyOf(KernelInit&) {}
  Status Apply(const ConstMap<W>& in, MutableMap<W> out) const {
    const Eigen::LLT<GemmMatrix<W>> llt(in);
    // As in TensorFlow, a matrix that has no such triangle is no error.
    if (llt.info() == Eigen::Success) {
      out = llt.matrixL();
    } else {
      out.setZero();
      out.template triangularView<Eigen::Lower>().setConstant(
          W(std::numeric_limits<float>::quiet_NaN()));
    }
    return OkStatus();
  }
};

template <typename W>
struct InverseOf {
  explicit InverseOf(KernelInit& init) { init.Get("adjoint", &adjoint); }
  Status Apply(const ConstMap<W>& in, MutableMap<W> out) const {
    const Eigen::PartialPivLU<GemmMatrix<W>> lu(adjoint ? GemmMatrix<W>(in.adjoint())
                                                        : GemmMatrix<W>(in));
    if (!IsInvertible<W>(lu)) return InvalidArgument("Input is not invertible.");
    out = lu.inverse();
    return OkStatus();
  }
  bool adjoint = false;
};

template <typename T>
using Cholesky = FromEachMatrix<T, CholeskyOf>;
template <typename T>
using MatrixInverse = FromEachMatrix<T, InverseOf>;

template <typename T>
class MatrixDeterminant final : public Kernel {
 public:
  bool IsExpensive() const override { return true; }

  Status Compute(KernelContext& ctx) const override {
    const Tensor& in = ctx.input(0);
    TFLEET_RETURN_IF_ERROR(CheckSquare(in));
    const int64_t n = in.dim(-1);
    TFLEET_ASSIGN_OR_RETURN(Tensor out,
                            ctx.Allocate(in.dtype(), in.shape().SubShape(0, in.rank() - 2)));
    TFLEET_ASSIGN_OR_RETURN(const auto wide_in, WideInput<T>::Of(in));
    TFLEET_ASSIGN_OR_RETURN(auto wide_out, WideOutput<T>::For(out));
    for (int64_t i = 0; i < out.num_elements(); ++i) {
      const ConstMap<Widened<T>> matrix(wide_in.data() + i * n * n, n, n);
      wide_out.data()[i] = n == 0 ? Widened<T>(1) : matrix.determinant();
    }
    wide_out.Finish();
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }
};

// x of matrix x = rhs for each pair. `Of` has Status Apply(matrix, rhs, x).
template <typename T, template <typename> class Of>
class SolveEach final : public Kernel {
 public:
  explicit SolveEach(KernelInit& init) : of_(init) {}
  bool IsExpensive() const override { return true; }

  Status Compute(KernelContext& ctx) const override {
    using W = Widened<T>;
    const Tensor &matrix = ctx.input(0), &rhs = ctx.input(1);
    TFLEET_RETURN_IF_ERROR(CheckSquare(matrix));
    if (rhs.rank() < 2) {
      return InvalidArgument("Input tensor 1 must have rank >= 2, got ", rhs.rank());
    }
    const int64_t n = matrix.dim(-1), columns = rhs.dim(-1);
    if (rhs.dim(-2) != n) {
      return InvalidArgument("Input matrix and rhs are incompatible: ", matrix.shape().ToString(),
                             " and ", rhs.shape().ToString());
    }
    if (matrix.shape().SubShape(0, matrix.rank() - 2) != rhs.shape().SubShape(0, rhs.rank() - 2)) {
      return Of<W>::WrongBatch(matrix, rhs);
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(rhs.dtype(), rhs.shape()));
    TFLEET_ASSIGN_OR_RETURN(const auto wide_matrix, WideInput<T>::Of(matrix));
    TFLEET_ASSIGN_OR_RETURN(const auto wide_rhs, WideInput<T>::Of(rhs));
    TFLEET_ASSIGN_OR_RETURN(auto wide_out, WideOutput<T>::For(out));
    for (int64_t i = 0; out.num_elements() > 0 && i < CountMatrices(matrix); ++i) {
      const int64_t at = i * n * columns;
      TFLEET_RETURN_IF_ERROR(of_.Apply(ConstMap<W>(wide_matrix.data() + i * n * n, n, n),
                                       ConstMap<W>(wide_rhs.data() + at, n, columns),
                                       MutableMap<W>(wide_out.data() + at, n, columns)));
    }
    wide_out.Finish();
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  const Of<Widened<T>> of_;
};

template <typename W>
struct SolveOf {
  explicit SolveOf(KernelInit& init) { init.Get("adjoint", &adjoint); }
  static Status WrongBatch(const Tensor& matrix, const Tensor& rhs) {
    return InvalidArgument("All input tensors must have the same outer dimensions; got ",
                           matrix.shape().ToString(), " and ", rhs.shape().ToString());
  }
  Status Apply(const ConstMap<W>& matrix, const ConstMap<W>& rhs, MutableMap<W> x) const {
    const Eigen::PartialPivLU<GemmMatrix<W>> lu(adjoint ? GemmMatrix<W>(matrix.adjoint())
                                                        : GemmMatrix<W>(matrix));
    if (!IsInvertible<W>(lu)) return InvalidArgument("Input matrix is not invertible.");
    x = lu.solve(rhs);
    return OkStatus();
  }
  bool adjoint = false;
};

template <typename W>
struct TriangularSolveOf {
  explicit TriangularSolveOf(KernelInit& init) {
    init.Get("adjoint", &adjoint);
    init.Get("lower", &lower);
  }
  static Status WrongBatch(const Tensor& matrix, const Tensor& rhs) {
    return Unimplemented("MatrixTriangularSolve does not broadcast outer dimensions; got ",
                         matrix.shape().ToString(), " and ", rhs.shape().ToString());
  }
  Status Apply(const ConstMap<W>& matrix, const ConstMap<W>& rhs, MutableMap<W> x) const {
    // As in TensorFlow, a zero on the diagonal gives infinities, not an error.
    if (lower && !adjoint) {
      x = matrix.template triangularView<Eigen::Lower>().solve(rhs);
    } else if (lower) {
      x = matrix.adjoint().template triangularView<Eigen::Upper>().solve(rhs);
    } else if (!adjoint) {
      x = matrix.template triangularView<Eigen::Upper>().solve(rhs);
    } else {
      x = matrix.adjoint().template triangularView<Eigen::Lower>().solve(rhs);
    }
    return OkStatus();
  }
  bool adjoint = false, lower = true;
};

template <typename T>
using MatrixSolve = SolveEach<T, SolveOf>;
template <typename T>
using MatrixTriangularSolve = SolveEach<T, TriangularSolveOf>;

}  // namespace

void RegisterLinearAlgebraKernels(KernelRegistry& r) {
  using All = Concat<FullFloats, Complexes>;
  AddForTypes<Cholesky>(r, "Cholesky", All());
  AddForTypes<MatrixInverse>(r, "MatrixInverse", Concat<Types<Eigen::half>, All>());
  AddForTypes<MatrixDeterminant>(r, "MatrixDeterminant", All());
  AddForTypes<MatrixSolve>(r, "MatrixSolve", All());
  AddForTypes<MatrixTriangularSolve>(r, "MatrixTriangularSolve", All());
  // The names from before there were batches of everything.
  AddForTypes<Cholesky>(r, "BatchCholesky", FullFloats());
  AddForTypes<MatrixInverse>(r, "BatchMatrixInverse", FullFloats());
  AddForTypes<MatrixDeterminant>(r, "BatchMatrixDeterminant", All());
  AddForTypes<MatrixSolve>(r, "BatchMatrixSolve", FullFloats());
  AddForTypes<MatrixTriangularSolve>(r, "BatchMatrixTriangularSolve", FullFloats());
}

}  // namespace tensorfleet::cpu
