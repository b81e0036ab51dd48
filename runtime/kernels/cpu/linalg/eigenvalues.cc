// Eigenvalues and eigenvectors, by Eigen's decompositions as TensorFlow's kernels use them.
// Schemas: runtime/ops/linalg/decomposition_ops.cc.
#include <complex>

#include <Eigen/Eigenvalues>

#include "runtime/kernels/cpu/linalg/each_matrix.h"
#include "runtime/kernels/types.h"

namespace tensorfleet::cpu {
namespace {

Status NoEigenvalues() {
  return InvalidArgument(
      "Self-adjoint eigen decomposition was not successful. The input might not be valid.");
}

// The first version has one output: the eigenvalues as a row above the vectors.
template <typename T>
class SelfAdjointEig final : public Kernel {
 public:
  explicit SelfAdjointEig(KernelInit& init) { init.Get("compute_v", &computes_v_); }
  bool IsExpensive() const override { return true; }

  Status Compute(KernelContext& ctx) const override {
    const Tensor& in = ctx.input(0);
    TFLEET_RETURN_IF_ERROR(CheckSquareMatrices(in));
    const int64_t n = in.dim(-1);
    TFLEET_ASSIGN_OR_RETURN(const Shape e_shape, WithMatrixShape(in, {n}));
    TFLEET_ASSIGN_OR_RETURN(const Shape v_shape, computes_v_ ? in.shape() : Shape::Make({0}));
    TFLEET_ASSIGN_OR_RETURN(Tensor e, ctx.Allocate(in.dtype(), e_shape));
    TFLEET_ASSIGN_OR_RETURN(Tensor v, ctx.Allocate(in.dtype(), v_shape));
    const T* const from = in.values<T>().data();
    T* const e_to = e.template mutable_values<T>().data();
    T* const v_to = v.template mutable_values<T>().data();
    if (in.num_elements() > 0) {
      TFLEET_RETURN_IF_ERROR(
          ForEachMatrix(ctx, CountMatrices(in), 8 * CubicCost(n, n), [&](int64_t i) {
            const Eigen::SelfAdjointEigenSolver<GemmMatrix<T>> eig(
                ConstMatrixMap<T>(from + i * n * n, n, n),
                computes_v_ ? Eigen::ComputeEigenvectors : Eigen::EigenvaluesOnly);
            if (eig.info() != Eigen::Success) return NoEigenvalues();
            for (int64_t k = 0; k < n; ++k) e_to[i * n + k] = static_cast<T>(eig.eigenvalues()[k]);
            if (computes_v_) MatrixMap<T>(v_to + i * n * n, n, n) = eig.eigenvectors();
            return OkStatus();
          }));
    }
    ctx.SetOutput(0, std::move(e));
    ctx.SetOutput(1, std::move(v));
    return OkStatus();
  }

 private:
  bool computes_v_ = true;
};

template <typename T>
class SelfAdjointEigV1 final : public Kernel {
 public:
  bool IsExpensive() const override { return true; }

  Status Compute(KernelContext& ctx) const override {
    const Tensor& in = ctx.input(0);
    TFLEET_RETURN_IF_ERROR(CheckSquareMatrices(in));
    const int64_t n = in.dim(-1);
    TFLEET_ASSIGN_OR_RETURN(const Shape shape, WithMatrixShape(in, {n + 1, n}));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(in.dtype(), shape));
    const T* const from = in.values<T>().data();
    T* const to = out.template mutable_values<T>().data();
    if (in.num_elements() > 0) {
      TFLEET_RETURN_IF_ERROR(
          ForEachMatrix(ctx, CountMatrices(in), 8 * CubicCost(n, n), [&](int64_t i) {
            const Eigen::SelfAdjointEigenSolver<GemmMatrix<T>> eig(
                ConstMatrixMap<T>(from + i * n * n, n, n));
            if (eig.info() != Eigen::Success) return NoEigenvalues();
            MatrixMap<T> both(to + i * (n + 1) * n, n + 1, n);
            both.row(0) = eig.eigenvalues().transpose();
            both.bottomRows(n) = eig.eigenvectors();
            return OkStatus();
          }));
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }
};

template <typename T, typename C>
class Eig final : public Kernel {
 public:
  explicit Eig(KernelInit& init) { init.Get("compute_v", &computes_v_); }
  bool IsExpensive() const override { return true; }

  Status Compute(KernelContext& ctx) const override {
    const Tensor& in = ctx.input(0);
    TFLEET_RETURN_IF_ERROR(CheckSquareMatrices(in));
    const int64_t n = in.dim(-1);
    TFLEET_ASSIGN_OR_RETURN(const Shape e_shape, WithMatrixShape(in, {n}));
    TFLEET_ASSIGN_OR_RETURN(const Shape v_shape, computes_v_ ? in.shape() : Shape::Make({0}));
    TFLEET_ASSIGN_OR_RETURN(Tensor e, ctx.Allocate(kDTypeOf<C>, e_shape));
    TFLEET_ASSIGN_OR_RETURN(Tensor v, ctx.Allocate(kDTypeOf<C>, v_shape));
    const T* const from = in.values<T>().data();
    C* const e_to = e.mutable_values<C>().data();
    C* const v_to = v.mutable_values<C>().data();
    if (in.num_elements() > 0) {
      TFLEET_RETURN_IF_ERROR(
          ForEachMatrix(ctx, CountMatrices(in), 20 * CubicCost(n, n), [&](int64_t i) {
            const ConstMatrixMap<T> matrix(from + i * n * n, n, n);
            const Eigen::ComplexEigenSolver<GemmMatrix<C>> eig(matrix.template cast<C>(),
                                                               computes_v_);
            if (eig.info() != Eigen::Success) {
              return InvalidArgument(
                  "Eigen decomposition was not successful. The input might not be valid.");
            }
            for (int64_t k = 0; k < n; ++k) e_to[i * n + k] = eig.eigenvalues()[k];
            if (computes_v_) MatrixMap<C>(v_to + i * n * n, n, n) = eig.eigenvectors();
            return OkStatus();
          }));
    }
    ctx.SetOutput(0, std::move(e));
    ctx.SetOutput(1, std::move(v));
    return OkStatus();
  }

 private:
  bool computes_v_ = true;
};

template <typename T, typename C>
void AddEig(KernelRegistry& r) {
  r.Add<Eig<T, C>>("Eig", kCpu, {{"T", kDTypeOf<T>}, {"Tout", kDTypeOf<C>}});
}

}  // namespace

void RegisterEigenvalueKernels(KernelRegistry& r) {
  AddForTypes<SelfAdjointEig>(r, "SelfAdjointEigV2", Concat<FullFloats, Complexes>());
  AddForTypes<SelfAdjointEig>(r, "BatchSelfAdjointEigV2", FullFloats());
  for (const char* op : {"SelfAdjointEig", "BatchSelfAdjointEig"}) {
    AddForTypes<SelfAdjointEigV1>(r, op, FullFloats());
  }
  AddEig<float, std::complex<float>>(r);
  AddEig<double, std::complex<double>>(r);
  AddEig<std::complex<float>, std::complex<float>>(r);
  AddEig<std::complex<double>, std::complex<double>>(r);
}

}  // namespace tensorfleet::cpu
