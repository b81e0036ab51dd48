// Functions of square matrices: exponential, logarithm, square root.
// Schemas: runtime/ops/linalg/decomposition_ops.cc.
#include <complex>

#include <unsupported/Eigen/MatrixFunctions>

#include "runtime/kernels/cpu/linalg/each_matrix.h"
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

}  // namespace

void RegisterMatrixFunctionKernels(KernelRegistry& r) {
  using All = Concat<FullFloats, Complexes>;
  AddForTypes<MatrixExponential>(r, "MatrixExponential", All());
  AddForTypes<MatrixLogarithm>(r, "MatrixLogarithm", Complexes());
  AddForTypes<MatrixSquareRoot>(r, "MatrixSquareRoot", All());
}

}  // namespace tensorfleet::cpu
