// QR decomposition by Householder reflections.
#include <complex>

#include <Eigen/QR>

#include "runtime/kernels/cpu/float_view.h"
#include "runtime/kernels/cpu/linalg/gemm_eigen.h"
#include "runtime/kernels/kernel.h"
#include "runtime/kernels/types.h"

namespace tensorfleet::cpu {
namespace {

// in[m][n] to q[m][p] and r[p][n].
template <typename W>
void DecomposeQr(const W* in, int64_t m, int64_t n, int64_t p, W* q, W* r) {
  using Matrix = GemmMatrix<W>;
  const Eigen::HouseholderQR<Matrix> qr{Eigen::Map<const Matrix>(in, m, n)};
  Matrix identity = Matrix::Identity(m, p);
  Eigen::Map<Matrix>(q, m, p) = qr.householderQ() * identity;
  Eigen::Map<Matrix> upper(r, p, n);
  upper.setZero();
  const int64_t rows = std::min(m, p);
  upper.topRows(rows) = qr.matrixQR().topRows(rows).template triangularView<Eigen::Upper>();
}

template <typename T>
class Qr final : public Kernel {
 public:
  explicit Qr(KernelInit& init) { init.Get("full_matrices", &full_matrices_); }
  bool IsExpensive() const override { return true; }

  Status Compute(KernelContext& ctx) const override {
    const Tensor& in = ctx.input(0);
    if (in.rank() < 2) {
      return InvalidArgument("Input tensor 0 must have rank >= 2, got ", in.rank());
    }
    const int64_t m = in.dim(-2), n = in.dim(-1);
    const int64_t p = full_matrices_ ? m : std::min(m, n);
    TFLEET_ASSIGN_OR_RETURN(const Shape q_shape, in.shape().WithDim(in.rank() - 1, p));
    TFLEET_ASSIGN_OR_RETURN(const Shape r_shape, in.shape().WithDim(in.rank() - 2, p));
    TFLEET_ASSIGN_OR_RETURN(Tensor q, ctx.Allocate(in.dtype(), q_shape));
    TFLEET_ASSIGN_OR_RETURN(Tensor r, ctx.Allocate(in.dtype(), r_shape));
    TFLEET_ASSIGN_OR_RETURN(const auto wide_in, WideInput<T>::Of(in));
    TFLEET_ASSIGN_OR_RETURN(auto wide_q, WideOutput<T>::For(q));
    TFLEET_ASSIGN_OR_RETURN(auto wide_r, WideOutput<T>::For(r));
    int64_t batch = 1;
    for (int i = 0; i + 2 < in.rank(); ++i) batch *= in.dim(i);
    if (m > 0 && n > 0) {
      for (int64_t i = 0; i < batch; ++i) {
        DecomposeQr<Widened<T>>(wide_in.data() + i * m * n, m, n, p, wide_q.data() + i * m * p,
                                wide_r.data() + i * p * n);
      }
    } else {
      // Only the full q of a matrix without columns has elements: it is the identity.
      for (int64_t i = 0; i < q.num_elements(); ++i) {
        wide_q.data()[i] = Widened<T>(i % (m * p) / p == i % p ? 1 : 0);
      }
    }
    wide_q.Finish();
    wide_r.Finish();
    ctx.SetOutput(0, std::move(q));
    ctx.SetOutput(1, std::move(r));
    return OkStatus();
  }

 private:
  bool full_matrices_ = false;
};

}  // namespace

void RegisterQrKernels(KernelRegistry& r) {
  AddForTypes<Qr>(r, "Qr", Concat<Concat<Types<Eigen::half>, FullFloats>, Complexes>());
}

}  // namespace tensorfleet::cpu
