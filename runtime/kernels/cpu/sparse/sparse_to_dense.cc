// Sparse tensors made dense, and multiplied with dense ones: SparseToDense,
// SparseTensorDenseMatMul, SparseMatMul. Schemas and shape rules: runtime/ops/sparse/sparse_ops.cc.
#include <complex>
#include <vector>

#include "absl/strings/str_join.h"
#include "runtime/kernels/cpu/elements.h"
#include "runtime/kernels/cpu/float_view.h"
#include "runtime/kernels/cpu/index_input.h"
#include "runtime/kernels/cpu/linalg/gemm.h"
#include "runtime/kernels/cpu/linalg/matmul.h"
#include "runtime/kernels/row_indices.h"
#include "runtime/kernels/types.h"
#include "runtime/kernels/wrapping.h"

namespace tensorfleet::cpu {
namespace {

class SparseToDense final : public Kernel {
 public:
  explicit SparseToDense(KernelInit& init) { init.Get("validate_indices", &wants_order_); }

  Status Compute(KernelContext& ctx) const override {
    const Tensor& indices = ctx.input(0);
    const Tensor& values = ctx.input(2);
    const Tensor& fallback = ctx.input(3);
    if (indices.rank() > 2) {
      return InvalidArgument("sparse_indices should be a scalar, vector, or matrix, got shape ",
                             indices.shape().ToString());
    }
    const int64_t count = indices.rank() == 0 ? 1 : indices.dim(0);
    const int64_t depth = indices.rank() == 2 ? indices.dim(1) : 1;
    TFLEET_ASSIGN_OR_RETURN(const Shape shape, ShapeFromInput(ctx.input(1)));
    if (shape.rank() != depth) {
      return InvalidArgument("output_shape has incorrect number of elements: ", shape.rank(),
                             " should be: ", depth);
    }
    if (values.rank() > 1 || (values.rank() == 1 && values.dim(0) != count)) {
      return InvalidArgument("sparse_values has incorrect shape ", values.shape().ToString(),
                             ", should be [] or [", count, "]");
    }
    if (!fallback.shape().is_scalar()) {
      return InvalidArgument("default_value should be a scalar, got shape ",
                             fallback.shape().ToString());
    }
    std::vector<int64_t> storage;
    const absl::Span<const int64_t> flat = WidenedIntegers(indices, &storage);
    TFLEET_RETURN_IF_ERROR(Check(flat, count, depth, shape));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(values.dtype(), shape));
    if (out.num_elements() > 0) {
      FillElements(out.dtype(), out.mutable_raw(), fallback.raw(), out.num_elements());
      for (int64_t i = 0; i < count; ++i) {
        int64_t at = 0;
        for (int64_t d = 0; d < depth; ++d) at = at * shape.dim(d) + flat[i * depth + d];
        CopyElements(out.dtype(), MutableElementAt(out, at),
                     ElementAt(values, values.rank() == 0 ? 0 : i), 1);
      }
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  Status Check(absl::Span<const int64_t> flat, int64_t count, int64_t depth,
               const Shape& shape) const {
    for (int64_t i = 0; i < count; ++i) {
      const absl::Span<const int64_t> at = flat.subspan(i * depth, depth);
      const auto name = [&] {
        return absl::StrCat("indices[", i, "] = [", absl::StrJoin(at, ","), "]");
      };
      for (int64_t d = 0; d < depth; ++d) {
        if (at[d] < 0 || at[d] >= shape.dim(d)) {
          return InvalidArgument(name(), " is out of bounds: need 0 <= index < ", shape.ToString());
        }
      }
      if (!wants_order_ || i == 0) continue;
      const absl::Span<const int64_t> before = flat.subspan((i - 1) * depth, depth);
      if (before == at) return InvalidArgument(name(), " is repeated");
      if (at < before) {
        return InvalidArgument(name(), " is out of order. Many sparse ops require sorted indices.");
      }
    }
    return OkStatus();
  }

  bool wants_order_ = true;
};

// conj(m)^T, for a matrix.
template <typename T>
StatusOr<Tensor> Adjoint(const Tensor& m) {
  TFLEET_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(m.dtype(), {m.dim(1), m.dim(0)}));
  const T* from = m.values<T>().data();
  T* to = out.template mutable_values<T>().data();
  for (int64_t i = 0; i < m.dim(0); ++i) {
    for (int64_t j = 0; j < m.dim(1); ++j) {
      to[j * m.dim(0) + i] = Eigen::numext::conj(from[i * m.dim(1) + j]);
    }
  }
  return out;
}

template <typename T>
class SparseTensorDenseMatMul final : public Kernel {
 public:
  explicit SparseTensorDenseMatMul(KernelInit& init) {
    init.Get("adjoint_a", &adjoint_a_);
    init.Get("adjoint_b", &adjoint_b_);
  }
  bool IsExpensive() const override { return true; }

  Status Compute(KernelContext& ctx) const override {
    using W = Widened<T>;
    const Tensor& indices = ctx.input(0);
    const Tensor& values = ctx.input(1);
    const Tensor& b = ctx.input(3);
    if (b.rank() != 2) {
      return InvalidArgument("Tensor 'b' is not a matrix, but has shape ", b.shape().ToString());
    }
    if (ctx.input(2).rank() != 1 || ctx.input(2).num_elements() != 2) {
      return InvalidArgument("Tensor 'a_shape' must have 2 elements");
    }
    if (values.rank() != 1) return InvalidArgument("Tensor 'a_values' is not a vector");
    if (indices.rank() != 2 || indices.dim(1) != 2) {
      return InvalidArgument("Tensor 'a_indices' must be a matrix of two columns, but has shape ",
                             indices.shape().ToString());
    }
    if (indices.dim(0) != values.dim(0)) {
      return InvalidArgument("Number of rows of a_indices does not match number of entries in ",
                             "a_values: ", indices.dim(0), " and ", values.dim(0));
    }
    TFLEET_ASSIGN_OR_RETURN(const Shape a, ShapeFromInput(ctx.input(2)));
    const int64_t rows = a.dim(adjoint_a_ ? 1 : 0), inner = a.dim(adjoint_a_ ? 0 : 1);
    const int64_t columns = b.dim(adjoint_b_ ? 0 : 1);
    if (b.dim(adjoint_b_ ? 1 : 0) != inner) {
      return InvalidArgument("Cannot multiply A and B because inner dimension does not match: ",
                             inner, " vs. ", b.dim(adjoint_b_ ? 1 : 0),
                             ".  Did you forget a transpose?  Dimensions of A: ", a.ToString(),
                             ".  Dimensions of B: ", b.shape().ToString());
    }
    std::vector<int64_t> storage, to_rows(values.dim(0)), from_rows(values.dim(0));
    const absl::Span<const int64_t> flat = WidenedIntegers(indices, &storage);
    for (int64_t i = 0; i < values.dim(0); ++i) {
      const int64_t m = flat[2 * i + (adjoint_a_ ? 1 : 0)], k = flat[2 * i + (adjoint_a_ ? 0 : 1)];
      if (m < 0 || m >= rows || k < 0 || k >= inner) {
        return InvalidArgument("index[", i, "] = [", flat[2 * i], ",", flat[2 * i + 1],
                               "] out of bounds of A, which is ", a.ToString());
      }
      to_rows[i] = m;
      from_rows[i] = k;
    }
    TFLEET_ASSIGN_OR_RETURN(const Shape shape, Shape::Make({rows, columns}));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(kDTypeOf<T>, shape));
    if (out.num_elements() > 0) {
      TFLEET_ASSIGN_OR_RETURN(const Tensor factor,
                              adjoint_b_ ? Adjoint<T>(b) : StatusOr<Tensor>(b));
      TFLEET_ASSIGN_OR_RETURN(const auto wide_values, WideInput<T>::Of(values));
      TFLEET_ASSIGN_OR_RETURN(const auto wide_b, WideInput<T>::Of(factor));
      TFLEET_ASSIGN_OR_RETURN(auto wide_out, WideOutput<T>::For(out));
      std::fill_n(wide_out.data(), out.num_elements(), W(0));
      const auto add = [&](int64_t i, int64_t row) {
        const W value =
            adjoint_a_ ? Eigen::numext::conj(wide_values.data()[i]) : wide_values.data()[i];
        const W* from = wide_b.data() + from_rows[i] * columns;
        W* to = wide_out.data() + row * columns;
        TFLEET_VECTORIZE_ROW
        for (int64_t c = 0; c < columns; ++c) to[c] = WrapAdd<W>(to[c], WrapMul<W>(value, from[c]));
      };
      const auto prefetch = [&](int64_t i, int64_t row) {
        PrefetchRow(wide_b.data() + from_rows[i] * columns, columns * sizeof(W));
        PrefetchRow(wide_out.data() + row * columns, columns * sizeof(W));
      };
      ForEachRow(ctx, to_rows, 5 + columns / 8, add, prefetch);
      wide_out.Finish();
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  bool adjoint_a_ = false, adjoint_b_ = false;
};

// A product of dense matrices of which one may have many zeros; they are multiplied like any other.
template <typename A, typename B>
class SparseMatMul final : public Kernel {
 public:
  explicit SparseMatMul(KernelInit& init) {
    init.Get("transpose_a", &transpose_a_);
    init.Get("transpose_b", &transpose_b_);
  }
  bool IsExpensive() const override { return true; }
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const GemmShape shape,
                            MatMulShape(ctx.input(0), ctx.input(1), transpose_a_, transpose_b_));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DType::kFloat, {shape.m, shape.n}));
    if (out.num_elements() > 0) {
      TFLEET_ASSIGN_OR_RETURN(const auto a, WideInput<A>::Of(ctx.input(0)));
      TFLEET_ASSIGN_OR_RETURN(const auto b, WideInput<B>::Of(ctx.input(1)));
      Gemm<float>(&ctx, shape, a.data(), b.data(), out.mutable_values<float>().data());
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  bool transpose_a_ = false, transpose_b_ = false;
};

}  // namespace

void RegisterSparseToDenseKernels(KernelRegistry& r) {
  r.Add<SparseToDense>("SparseToDense", kCpu);
  AddForTypes<SparseTensorDenseMatMul>(r, "SparseTensorDenseMatMul",
                                       Concat<FloatsAndComplexes, Types<int32_t>>());
  using Small = Eigen::bfloat16;
  const auto types = [](DType a, DType b) { return TypeConstraints{{"Ta", a}, {"Tb", b}}; };
  r.Add<SparseMatMul<float, float>>("SparseMatMul", kCpu, types(DType::kFloat, DType::kFloat));
  r.Add<SparseMatMul<Small, float>>("SparseMatMul", kCpu, types(DType::kBFloat16, DType::kFloat));
  r.Add<SparseMatMul<float, Small>>("SparseMatMul", kCpu, types(DType::kFloat, DType::kBFloat16));
  r.Add<SparseMatMul<Small, Small>>("SparseMatMul", kCpu,
                                    types(DType::kBFloat16, DType::kBFloat16));
}

}  // namespace tensorfleet::cpu
