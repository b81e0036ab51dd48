// Singular values, eigenvalues and triangular factors, by Eigen's decompositions as TensorFlow's
// kernels use them. Schemas: runtime/ops/linalg/decomposition_ops.cc.
#include <complex>

#include <Eigen/Eigenvalues>
#include <Eigen/LU>
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

template <typename T, typename C>
void AddEig(KernelRegistry& r) {
  r.Add<Eig<T, C>>("Eig", kCpu, {{"T", kDTypeOf<T>}, {"Tout", kDTypeOf<C>}});
}

}  // namespace

void RegisterDecompositionKernels(KernelRegistry& r) {
  using All = Concat<FullFloats, Complexes>;
  for (const char* op : {"Svd", "BatchSvd"}) AddForTypes<Svd>(r, op, All());
  AddForTypes<SelfAdjointEig>(r, "SelfAdjointEigV2", All());
  AddForTypes<SelfAdjointEig>(r, "BatchSelfAdjointEigV2", FullFloats());
  for (const char* op : {"SelfAdjointEig", "BatchSelfAdjointEig"}) {
    AddForTypes<SelfAdjointEigV1>(r, op, FullFloats());
  }
  AddEig<float, std::complex<float>>(r);
  AddEig<double, std::complex<double>>(r);
  AddEig<std::complex<float>, std::complex<float>>(r);
  AddEig<std::complex<double>, std::complex<double>>(r);
  ForEachType(All(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    r.Add<Lu<T, int32_t>>("Lu", kCpu, {{"T", kDTypeOf<T>}, {"output_idx_type", DType::kInt32}});
    r.Add<Lu<T, int64_t>>("Lu", kCpu, {{"T", kDTypeOf<T>}, {"output_idx_type", DType::kInt64}});
  });
}

}  // namespace tensorfleet::cpu
