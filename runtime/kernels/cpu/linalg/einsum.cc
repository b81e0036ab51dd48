// Einsum of one or two tensors: dimensions that are only summed go first, then the labels are put
// into the order [batch, free, contracted], and a product of matrices does the rest. Schema:
// runtime/ops/linalg/einsum_ops.cc.
#include <algorithm>
#include <complex>
#include <string>
#include <vector>

#include "runtime/kernels/cpu/float_view.h"
#include "runtime/kernels/cpu/linalg/gemm.h"
#include "runtime/kernels/cpu/strided_copy.h"
#include "runtime/kernels/kernel.h"
#include "runtime/kernels/types.h"
#include "runtime/tensor/einsum.h"

namespace tensorfleet::cpu {
namespace {

using Labels = std::vector<int>;

bool Has(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

int64_t Product(const Labels& labels, const std::vector<int64_t>& sizes) {
  int64_t product = 1;
  for (const int label : labels) product *= sizes[label];
  return product;
}

// Errors: InvalidArgument when a tensor of these dimensions would not fit.
Status CheckExtent(const Labels& labels, const std::vector<int64_t>& sizes) {
  absl::InlinedVector<int64_t, 8> dims;
  for (const int label : labels) dims.push_back(sizes[label]);
  return Shape::Make(dims).status();
}

// An operand: where each label's elements lie. Labels are distinct; strides are in elements, 0
// where a dimension is broadcast, the sum of several where a label stood more than once.
template <typename W>
struct Operand {
  Labels labels;
  std::vector<int64_t> strides;
  const W* data = nullptr;
  BufferRef own;  // where `data` is a copy

  int64_t StrideOf(int label) const {
    return strides[std::find(labels.begin(), labels.end(), label) - labels.begin()];
  }
  // Whether the elements lie densely in this order.
  bool IsDense(const Labels& order, const std::vector<int64_t>& sizes) const {
    int64_t stride = 1;
    for (auto label = order.rbegin(); label != order.rend(); ++label) {
      if (sizes[*label] != 1 && StrideOf(*label) != stride) return false;
      stride *= sizes[*label];
    }
    return true;
  }
};

template <typename W>
Operand<W> ViewOf(const Labels& labels, const Shape& shape, const W* data) {
  Operand<W> operand;
  operand.data = data;
  const auto dense = DenseStrides(shape.dims());
  for (size_t d = 0; d < labels.size(); ++d) {
    const int64_t stride = shape.dim(static_cast<int>(d)) == 1 ? 0 : dense[d];
    const auto at = std::find(operand.labels.begin(), operand.labels.end(), labels[d]);
    if (at == operand.labels.end()) {
      operand.labels.push_back(labels[d]);
      operand.strides.push_back(stride);
    } else {
      operand.strides[at - operand.labels.begin()] += stride;
    }
  }
  return operand;
}

template <typename W>
Status Arrange(const KernelContext& ctx, const std::vector<int64_t>& sizes, const Labels& order,
               Operand<W>* operand) {
  TFLEET_RETURN_IF_ERROR(CheckExtent(order, sizes));
  const int64_t count = Product(order, sizes);
  if (count == 0 || operand->IsDense(order, sizes)) {
    // Strides of single elements may be anything.
  } else {
    TFLEET_ASSIGN_OR_RETURN(BufferRef buffer, AllocateHostBuffer(count * sizeof(W)));
    CopyAxes axes;
    int64_t stride = count;
    for (const int label : order) {
      stride /= sizes[label];
      axes.push_back({sizes[label], operand->StrideOf(label), stride});
    }
    StridedCopy(kDTypeOf<W>, axes, operand->data, buffer->data(), &ctx.pool());
    operand->data = static_cast<const W*>(buffer->data());
    operand->own = std::move(buffer);
  }
  operand->labels = order;
  operand->strides.assign(order.size(), 0);
  int64_t stride = 1;
  for (int d = static_cast<int>(order.size()) - 1; d >= 0; --d) {
    operand->strides[d] = stride;
    stride *= sizes[order[d]];
  }
  return OkStatus();
}

// Sums over the labels that `keeps` says no to.
template <typename W, typename Keeps>
Status SumOut(const KernelContext& ctx, const std::vector<int64_t>& sizes, const Keeps& keeps,
              Operand<W>* operand) {
  Labels kept, summed;
  for (const int label : operand->labels) (keeps(label) ? kept : summed).push_back(label);
  if (summed.empty()) return OkStatus();
  Labels order = kept;
  order.insert(order.end(), summed.begin(), summed.end());
  TFLEET_RETURN_IF_ERROR(Arrange(ctx, sizes, order, operand));
  const int64_t rows = Product(kept, sizes), width = Product(summed, sizes);
  TFLEET_ASSIGN_OR_RETURN(BufferRef buffer, AllocateHostBuffer(rows * sizeof(W)));
  W* const to = static_cast<W*>(buffer->data());
  const W* const from = operand->data;
  ParallelFor(ctx, rows, 1 + width, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      to[row] =
          Eigen::Map<const Eigen::Array<W, Eigen::Dynamic, 1>>(from + row * width, width).sum();
    }
  });
  operand->data = to;
  operand->own = std::move(buffer);
  operand->labels = kept;
  operand->strides.resize(kept.size());
  int64_t stride = 1;
  for (int d = static_cast<int>(kept.size()) - 1; d >= 0; --d) {
    operand->strides[d] = stride;
    stride *= sizes[kept[d]];
  }
  return OkStatus();
}

Labels Joined(std::initializer_list<const Labels*> parts) {
  Labels joined;
  for (const Labels* part : parts) joined.insert(joined.end(), part->begin(), part->end());
  return joined;
}

// The product of two operands, whose labels are all in the other one or in the output.
template <typename W>
StatusOr<Operand<W>> Multiply(KernelContext& ctx, const std::vector<int64_t>& sizes,
                              const Labels& output, Operand<W> a, Operand<W> b) {
  Labels batch, contracted, free_a, free_b;
  for (const int label : a.labels) {
    (!Has(b.labels, label) ? free_a : Has(output, label) ? batch : contracted).push_back(label);
  }
  for (const int label : b.labels) {
    if (!Has(a.labels, label)) free_b.push_back(label);
  }
  // As in the output where possible: then the result needs no reordering.
  Labels wanted;
  for (const int label : output) {
    if (!Has(wanted, label)) wanted.push_back(label);
  }
  if (wanted == Joined({&batch, &free_b, &free_a})) {
    std::swap(a, b);
    std::swap(free_a, free_b);
  }
  GemmShape shape;
  shape.m = Product(free_a, sizes);
  shape.n = Product(free_b, sizes);
  shape.k = Product(contracted, sizes);
  const Labels a_plain = Joined({&batch, &free_a, &contracted});
  const Labels a_turned = Joined({&batch, &contracted, &free_a});
  const Labels b_plain = Joined({&batch, &contracted, &free_b});
  const Labels b_turned = Joined({&batch, &free_b, &contracted});
  shape.transpose_a = !a.IsDense(a_plain, sizes) && a.IsDense(a_turned, sizes);
  shape.transpose_b = !b.IsDense(b_plain, sizes) && b.IsDense(b_turned, sizes);
  TFLEET_RETURN_IF_ERROR(Arrange(ctx, sizes, shape.transpose_a ? a_turned : a_plain, &a));
  TFLEET_RETURN_IF_ERROR(Arrange(ctx, sizes, shape.transpose_b ? b_turned : b_plain, &b));
  Operand<W> result;
  result.labels = Joined({&batch, &free_a, &free_b});
  TFLEET_RETURN_IF_ERROR(CheckExtent(result.labels, sizes));
  const int64_t count = Product(batch, sizes), size = shape.m * shape.n;
  TFLEET_ASSIGN_OR_RETURN(result.own, AllocateHostBuffer(count * size * sizeof(W)));
  W* const to = static_cast<W*>(result.own->data());
  const double flops = 2.0 * shape.m * shape.n * shape.k;
  if (count >= 2 * ctx.pool().num_threads() || flops < 1e5) {
    ParallelFor(ctx, count, static_cast<int64_t>(50 + flops / 10), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end && size > 0; ++i) {
        Gemm<W>(nullptr, shape, a.data + i * shape.m * shape.k, b.data + i * shape.k * shape.n,
                to + i * size);
      }
    });
  } else {
    for (int64_t i = 0; i < count && size > 0; ++i) {
      Gemm<W>(&ctx, shape, a.data + i * shape.m * shape.k, b.data + i * shape.k * shape.n,
              to + i * size);
    }
  }
  result.data = to;
  int64_t stride = count * size;
  for (const int label : result.labels) {
    stride = sizes[label] == 0 ? 0 : stride / sizes[label];
    result.strides.push_back(stride);
  }
  return result;
}

template <typename T>
class Einsum final : public Kernel {
 public:
  explicit Einsum(KernelInit& init) {
    std::string equation;
    init.Get("equation", &equation);
    StatusOr<EinsumEquation> parsed = ParseEinsum(equation);
    if (!parsed.ok()) {
      init.Fail(parsed.status());
      return;
    }
    equation_ = *std::move(parsed);
    if (static_cast<int>(equation_.inputs.size()) != init.node().num_inputs()) {
      init.Fail(InvalidArgument("Expected ", equation_.inputs.size(), " inputs in equation '",
                                equation, "' but got: ", init.node().num_inputs()));
    }
  }
  bool IsExpensive() const override { return true; }

  Status Compute(KernelContext& ctx) const override {
    std::vector<absl::Span<const int64_t>> shapes;
    for (int i = 0; i < ctx.num_inputs(); ++i) shapes.push_back(ctx.input(i).shape().dims());
    TFLEET_ASSIGN_OR_RETURN(const EinsumLabels labels, LabelDimensions(equation_, shapes));
    absl::InlinedVector<int64_t, 8> dims;
    for (const int label : labels.output) dims.push_back(labels.sizes[label]);
    TFLEET_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, Tensor::Zeros(kDTypeOf<T>, shape));
    if (out.num_elements() > 0) TFLEET_RETURN_IF_ERROR(Evaluate(ctx, labels, out));
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  using W = Widened<T>;

  static Status Evaluate(KernelContext& ctx, const EinsumLabels& labels, Tensor& out) {
    std::vector<WideInput<T>> wide;
    std::vector<Operand<W>> operands;
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      TFLEET_ASSIGN_OR_RETURN(auto values, WideInput<T>::Of(ctx.input(i)));
      wide.push_back(std::move(values));
      operands.push_back(ViewOf<W>(labels.inputs[i], ctx.input(i).shape(), wide.back().data()));
      const Labels* const other = ctx.num_inputs() == 2 ? &labels.inputs[1 - i] : nullptr;
      TFLEET_RETURN_IF_ERROR(SumOut(
          ctx, labels.sizes,
          [&](int label) {
            return Has(labels.output, label) || (other != nullptr && Has(*other, label));
          },
          &operands[i]));
    }
    if (operands.size() == 2) {
      TFLEET_ASSIGN_OR_RETURN(operands[0],
                              Multiply<W>(ctx, labels.sizes, labels.output, std::move(operands[0]),
                                          std::move(operands[1])));
    }
    TFLEET_ASSIGN_OR_RETURN(auto to, WideOutput<T>::For(out));
    std::fill_n(to.data(), out.num_elements(), W(0));
    Place(ctx, labels, operands[0], out.shape(), to.data());
    to.Finish();
    return OkStatus();
  }

  // Into the output, where a label that stands there more than once means a diagonal.
  static void Place(const KernelContext& ctx, const EinsumLabels& labels, const Operand<W>& result,
                    const Shape& shape, W* to) {
    const auto dense = DenseStrides(shape.dims());
    Labels placed;
    CopyAxes axes;
    for (size_t d = 0; d < labels.output.size(); ++d) {
      const int label = labels.output[d];
      const auto at = std::find(placed.begin(), placed.end(), label);
      if (at != placed.end()) {
        axes[at - placed.begin()].to += dense[d];
        continue;
      }
      placed.push_back(label);
      axes.push_back({labels.sizes[label], result.StrideOf(label), dense[d]});
    }
    StridedCopy(kDTypeOf<W>, axes, result.data, to, &ctx.pool());
  }

  EinsumEquation equation_;
};

}  // namespace

void RegisterEinsumKernels(KernelRegistry& r) {
  AddForTypes<Einsum>(r, "Einsum", Concat<FloatsAndComplexes, Types<int32_t, int64_t>>());
}

}  // namespace tensorfleet::cpu
