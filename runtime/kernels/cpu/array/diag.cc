// Kernels about diagonals and bands of matrices: Diag, DiagPart, MatrixDiag*, MatrixDiagPart*,
// MatrixSetDiag*, MatrixBandPart. Schemas and shape rules: runtime/ops/array/diag_ops.cc.
#include <string>

#include "runtime/kernels/cpu/elements.h"
#include "runtime/kernels/cpu/index_input.h"
#include "runtime/kernels/cpu/strided_copy.h"
#include "runtime/kernels/kernel_registry.h"
#include "runtime/tensor/diagonals.h"

namespace tensorfleet::cpu {
namespace {

// [d...] to [d..., d...] with zeros off the diagonal.
class Diag final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    const Tensor& diagonal = ctx.input(0);
    if (diagonal.rank() < 1) return InvalidArgument("Input must be at least rank 1, got 0");
    TFLEET_ASSIGN_OR_RETURN(const Shape shape, diagonal.shape().Concatenated(diagonal.shape()));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, Tensor::Zeros(diagonal.dtype(), shape));
    const int64_t n = diagonal.num_elements();
    StridedCopy(diagonal.dtype(), {{n, 1, n + 1}}, diagonal.raw(), out.mutable_raw(), nullptr);
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }
};

class DiagPart final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    const Tensor& value = ctx.input(0);
    const int rank = value.rank();
    if (rank == 0 || rank % 2 != 0) {
      return InvalidArgument("The rank of the tensor should be even and positive, got shape ",
                             value.shape().ToString());
    }
    for (int i = 0; i < rank / 2; ++i) {
      if (value.dim(i) != value.dim(i + rank / 2)) {
        return InvalidArgument("Invalid shape ", value.shape().ToString(), ": dimensions ", i,
                               " and ", i + rank / 2, " do not match.");
      }
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor out,
                            ctx.Allocate(value.dtype(), value.shape().SubShape(0, rank / 2)));
    const int64_t n = out.num_elements();
    StridedCopy(value.dtype(), {{n, n + 1, 1}}, value.raw(), out.mutable_raw(), nullptr);
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }
};

DiagonalAlignment AlignmentOf(KernelInit& init) {
  StatusOr<std::string> align = GetAttrOr<std::string>(init.def(), "align", "LEFT_LEFT");
  if (!align.ok()) {
    init.Fail(align.status());
    return {};
  }
  // Only the V3 ops have the attribute; those before them align to the left.
  return {.superdiagonals_right = absl::string_view(*align).substr(0, 5) == "RIGHT",
          .subdiagonals_right =
              align->size() > 5 && align->compare(align->size() - 5, 5, "RIGHT") == 0};
}

// Copies the band between `diagonals` ([batch, (count,) length], as in the packed format) and
// `matrices`
// ([batch, rows, cols]); both hold E. What is not in the matrix stays untouched in the packed side.
template <bool kPack, typename E, typename Diagonals, typename Matrices>
void CopyBand(const DiagonalBand& band, DiagonalAlignment align, int64_t batch, Diagonals diagonals,
              Matrices matrices) {
  const int64_t longest = band.longest();
  if (longest == 0) return;  // and there may be any number of matrices
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t k = band.upper; k >= band.lower; --k) {
      const int64_t length = band.LengthOf(k);
      auto packed =
          diagonals + (b * band.count() + band.upper - k) * longest + band.PaddingBefore(k, align);
      auto in_matrix = matrices + b * band.rows * band.cols + (k < 0 ? -k * band.cols : k);
      for (int64_t i = 0; i < length; ++i) {
        if constexpr (kPack) {
          packed[i] = in_matrix[i * (band.cols + 1)];
        } else {
          in_matrix[i * (band.cols + 1)] = packed[i];
        }
      }
    }
  }
}

// MatrixDiag, MatrixDiagV2 and MatrixDiagV3.
class MatrixDiag final : public Kernel {
 public:
  explicit MatrixDiag(KernelInit& init) : align_(AlignmentOf(init)) {}
  Status Compute(KernelContext& ctx) const override {
    const Tensor& diagonal = ctx.input(0);
    if (diagonal.rank() < 1) {
      return InvalidArgument("diagonal must be at least 1-dim, received shape: ",
                             diagonal.shape().ToString());
    }
    DiagonalRange k;
    int64_t rows = -1, cols = -1;
    if (ctx.num_inputs() > 1) {
      TFLEET_ASSIGN_OR_RETURN(k, ReadDiagonalRange(ctx.input(1)));
      TFLEET_ASSIGN_OR_RETURN(rows, ScalarInteger(ctx.input(2), "num_rows"));
      TFLEET_ASSIGN_OR_RETURN(cols, ScalarInteger(ctx.input(3), "num_cols"));
      if (ctx.input(4).num_elements() != 1) {
        return InvalidArgument("padding_value must be a scalar, received shape: ",
                               ctx.input(4).shape().ToString());
      }
    }
    TFLEET_ASSIGN_OR_RETURN(const DiagonalBand band,
                            BandForDiagonals(diagonal.shape(), k, rows, cols));
    const int outer = diagonal.rank() - (k.is_single() ? 1 : 2);
    const Shape batch = diagonal.shape().SubShape(0, outer);
    TFLEET_ASSIGN_OR_RETURN(const Shape shape, batch.Concatenated({band.rows, band.cols}));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, Tensor::Zeros(diagonal.dtype(), shape));
    if (ctx.num_inputs() > 1) {
      FillElements(out.dtype(), out.mutable_raw(), ctx.input(4).raw(), out.num_elements());
    }
    VisitElement(diagonal.dtype(), [&](auto tag) {
      using E = typename decltype(tag)::Type;
      CopyBand<false, E>(band, align_, batch.num_elements(), ElementsOf<E>(diagonal),
                         MutableElementsOf<E>(out));
    });
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  const DiagonalAlignment align_;
};

Status NeedMatrix(const Tensor& input) {
  if (input.rank() >= 2) return OkStatus();
  return InvalidArgument("input must be at least 2-dim, received shape: ",
                         input.shape().ToString());
}

// MatrixDiagPart, MatrixDiagPartV2 and MatrixDiagPartV3.
class MatrixDiagPart final : public Kernel {
 public:
  explicit MatrixDiagPart(KernelInit& init) : align_(AlignmentOf(init)) {}
  Status Compute(KernelContext& ctx) const override {
    const Tensor& input = ctx.input(0);
    TFLEET_RETURN_IF_ERROR(NeedMatrix(input));
    DiagonalRange k;
    if (ctx.num_inputs() > 1) {
      TFLEET_ASSIGN_OR_RETURN(k, ReadDiagonalRange(ctx.input(1)));
      if (ctx.input(2).num_elements() != 1) {
        return InvalidArgument("padding_value must be a scalar, received shape: ",
                               ctx.input(2).shape().ToString());
      }
    }
    TFLEET_ASSIGN_OR_RETURN(const DiagonalBand band, BandOfMatrix(input.dim(-2), input.dim(-1), k));
    const Shape batch = input.shape().SubShape(0, input.rank() - 2);
    Integers dims(batch.dims().begin(), batch.dims().end());
    if (!k.is_single()) dims.push_back(band.count());
    dims.push_back(band.longest());
    TFLEET_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, Tensor::Zeros(input.dtype(), shape));
    if (ctx.num_inputs() > 1) {
      FillElements(out.dtype(), out.mutable_raw(), ctx.input(2).raw(), out.num_elements());
    }
    VisitElement(input.dtype(), [&](auto tag) {
      using E = typename decltype(tag)::Type;
      CopyBand<true, E>(band, align_, batch.num_elements(), MutableElementsOf<E>(out),
                        ElementsOf<E>(input));
    });
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  const DiagonalAlignment align_;
};

class MatrixSetDiag final : public Kernel {
 public:
  explicit MatrixSetDiag(KernelInit& init) : align_(AlignmentOf(init)) {}
  Status Compute(KernelContext& ctx) const override {
    TFLEET_RETURN_IF_ERROR(NeedMatrix(ctx.input(0)));
    DiagonalRange k;
    if (ctx.num_inputs() > 2) {
      TFLEET_ASSIGN_OR_RETURN(k, ReadDiagonalRange(ctx.input(2)));
    }
    Tensor out = ctx.TakeInput(0);
    const Tensor& diagonal = ctx.input(1);
    TFLEET_ASSIGN_OR_RETURN(const DiagonalBand band, BandOfMatrix(out.dim(-2), out.dim(-1), k));
    const Shape batch = out.shape().SubShape(0, out.rank() - 2);
    Integers dims(batch.dims().begin(), batch.dims().end());
    if (!k.is_single()) dims.push_back(band.count());
    dims.push_back(band.longest());
    if (diagonal.shape().dims() != absl::MakeConstSpan(dims)) {
      TFLEET_ASSIGN_OR_RETURN(const Shape want, Shape::Make(dims));
      return InvalidArgument(
          "Either first dimensions of diagonal don't match input.shape[:-2], or "
          "diagonal.shape[-1] is not equal to the longests diagonal in range [",
          k.lower, ":", k.upper, "].\nInput shape: ", out.shape().ToString(),
          "\nDiagonal shape: ", diagonal.shape().ToString(),
          "\nExpected diagonal shape: ", want.ToString());
    }
    if (!out.buffer_is_unique()) {
      TFLEET_ASSIGN_OR_RETURN(out, out.Clone());
    }
    VisitElement(out.dtype(), [&](auto tag) {
      using E = typename decltype(tag)::Type;
      CopyBand<false, E>(band, align_, batch.num_elements(), ElementsOf<E>(diagonal),
                         MutableElementsOf<E>(out));
    });
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  const DiagonalAlignment align_;
};

// Keeps num_lower diagonals below and num_upper above the main one (all when negative), zeros
// elsewhere.
class MatrixBandPart final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    TFLEET_RETURN_IF_ERROR(NeedMatrix(ctx.input(0)));
    const Shape shape = ctx.input(0).shape();
    const int64_t rows = shape.dim(-2);
    const int64_t cols = shape.dim(-1);
    TFLEET_ASSIGN_OR_RETURN(const int64_t lower, ScalarInteger(ctx.input(1), "num_lower"));
    TFLEET_ASSIGN_OR_RETURN(const int64_t upper, ScalarInteger(ctx.input(2), "num_upper"));
    if (lower > rows) {
      return InvalidArgument("num_lower must be negative or less or equal to number of rows (",
                             rows, ") got: ", lower);
    }
    if (upper > cols) {
      return InvalidArgument("num_upper must be negative or less or equal to number of columns (",
                             cols, ") got: ", upper);
    }
    Tensor out = ctx.TakeInput(0);
    if (!out.buffer_is_unique()) {
      TFLEET_ASSIGN_OR_RETURN(out, out.Clone());
    }
    if (out.num_elements() > 0) {
      VisitElement(out.dtype(), [&](auto tag) {
        using E = typename decltype(tag)::Type;
        E* row = MutableElementsOf<E>(out);
        for (int64_t r = 0; r < out.num_elements() / cols; ++r, row += cols) {
          const int64_t i = r % rows;
          const int64_t begin = lower < 0 ? 0 : std::min(cols, std::max<int64_t>(0, i - lower));
          const int64_t end = upper < 0 ? cols : std::min(cols, i + upper + 1);
          std::fill(row, row + begin, E());
          std::fill(row + std::max(begin, end), row + cols, E());
        }
      });
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }
};

}  // namespace

void RegisterDiagKernels(KernelRegistry& kernels) {
  kernels.Add<Diag>("Diag", kCpu);
  kernels.Add<DiagPart>("DiagPart", kCpu);
  for (const char* op : {"MatrixDiag", "MatrixDiagV2", "MatrixDiagV3", "BatchMatrixDiag"}) {
    kernels.Add<MatrixDiag>(op, kCpu);
  }
  for (const char* op :
       {"MatrixDiagPart", "MatrixDiagPartV2", "MatrixDiagPartV3", "BatchMatrixDiagPart"}) {
    kernels.Add<MatrixDiagPart>(op, kCpu);
  }
  for (const char* op :
       {"MatrixSetDiag", "MatrixSetDiagV2", "MatrixSetDiagV3", "BatchMatrixSetDiag"}) {
    kernels.Add<MatrixSetDiag>(op, kCpu);
  }
  kernels.Add<MatrixBandPart>("MatrixBandPart", kCpu);
  kernels.Add<MatrixBandPart>("BatchMatrixBandPart", kCpu);
}

}  // namespace tensorfleet::cpu
