// Kernels that only change the order of axes or elements: Transpose, ConjugateTranspose, ReverseV2,
// Reverse, Roll, ReverseSequence, InvertPermutation. Schemas and shape rules:
// runtime/ops/array/rearrange_ops.cc.
#include <complex>
#include <numeric>
#include <vector>

#include "absl/strings/str_join.h"
#include "runtime/kernels/cpu/elements.h"
#include "runtime/kernels/cpu/index_input.h"
#include "runtime/kernels/cpu/strided_copy.h"
#include "runtime/kernels/kernel_registry.h"

namespace tensorfleet::cpu {
namespace {

template <typename T>
void Conjugate(Tensor* t) {
  for (T& x : t->mutable_values<T>()) x = std::conj(x);
}

// Transpose and ConjugateTranspose.
class Transpose final : public Kernel {
 public:
  explicit Transpose(KernelInit& init) : conjugate_(init.def().op() == "ConjugateTranspose") {}
  Status Compute(KernelContext& ctx) const override {
    const Tensor& value = ctx.input(0);
    const Tensor& perm_input = ctx.input(1);
    const int rank = value.rank();
    if (perm_input.rank() != 1) {
      return InvalidArgument("perm must be rank 1, got shape ", perm_input.shape().ToString());
    }
    if (perm_input.num_elements() != rank) {
      return InvalidArgument("transpose expects a vector of size ", rank,
                             ". But input(1) is a vector of size ", perm_input.num_elements());
    }
    Integers perm = IntegersOf(perm_input);
    absl::InlinedVector<bool, 8> seen(rank, false);
    for (int64_t& axis : perm) {
      const int64_t wanted = axis;
      axis = NormalizedAxis(wanted, rank);
      if (axis < 0) return InvalidArgument(wanted, " is out of range [0 .. ", rank, ")");
      seen[axis] = true;
    }
    for (int i = 0; i < rank; ++i) {
      if (!seen[i]) {
        return InvalidArgument(i, " is missing from {", absl::StrJoin(IntegersOf(perm_input), ","),
                               "}.");
      }
    }
    Integers dims;
    for (const int64_t axis : perm) dims.push_back(value.dim(axis));
    TFLEET_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    const bool conjugates = conjugate_ && IsComplex(value.dtype());
    if (KeepsOrder(value.shape(), perm) && !conjugates) {
      ctx.SetOutput(0, ctx.TakeInput(0).Reshaped(shape));
      return OkStatus();
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(value.dtype(), shape));
    if (shape.num_elements() > 0) {
      const auto from = DenseStrides(value.shape().dims());
      const auto to = DenseStrides(dims);
      CopyAxes axes;
      for (int i = 0; i < rank; ++i) axes.push_back({dims[i], from[perm[i]], to[i]});
      StridedCopy(value.dtype(), axes, value.raw(), out.mutable_raw(), &ctx.pool());
    }
    if (conjugates) {
      value.dtype() == DType::kComplex64 ? Conjugate<std::complex<float>>(&out)
                                         : Conjugate<std::complex<double>>(&out);
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  // Whether the axes of more than one element stay in order: then the elements do.
  static bool KeepsOrder(const Shape& shape, const Integers& perm) {
    int64_t last = -1;
    for (const int64_t axis : perm) {
      if (shape.dim(axis) == 1) continue;
      if (axis < last) return false;
      last = axis;
    }
    return true;
  }

  const bool conjugate_;
};

StatusOr<Tensor> Reversed(const KernelContext& ctx, Tensor value,
                          const absl::InlinedVector<bool, 8>& along) {
  const Shape shape = value.shape();
  bool changes = false;
  for (int i = 0; i < shape.rank(); ++i) changes |= along[i] && shape.dim(i) > 1;
  if (!changes || shape.num_elements() == 0) return value;
  TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(value.dtype(), shape));
  const auto strides = DenseStrides(shape.dims());
  CopyAxes axes;
  int64_t offset = 0;
  for (int i = 0; i < shape.rank(); ++i) {
    axes.push_back({shape.dim(i), along[i] ? -strides[i] : strides[i], strides[i]});
    if (along[i]) offset += (shape.dim(i) - 1) * strides[i];
  }
  StridedCopy(value.dtype(), axes, ElementAt(value, offset), out.mutable_raw(), &ctx.pool());
  return out;
}

class ReverseV2 final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    const Tensor& axis_input = ctx.input(1);
    const int rank = ctx.input(0).rank();
    if (axis_input.rank() != 1) {
      return InvalidArgument("'dims' must be 1-dimension, not ", axis_input.rank());
    }
    absl::InlinedVector<bool, 8> along(rank, false);
    const Integers wanted = IntegersOf(axis_input);
    for (size_t i = 0; i < wanted.size(); ++i) {
      const int64_t axis = NormalizedAxis(wanted[i], rank);
      if (axis < 0) {
        return InvalidArgument("'axis'[", i, "] = ", wanted[i], " is out of valid range [", 0, ", ",
                               rank - 1);
      }
      if (along[axis]) return InvalidArgument("axis ", axis, " specified more than once.");
      along[axis] = true;
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor out, Reversed(ctx, ctx.TakeInput(0), along));
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }
};

class Reverse final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    const Tensor& dims = ctx.input(1);
    const int rank = ctx.input(0).rank();
    if (dims.rank() != 1 || dims.num_elements() != rank) {
      return InvalidArgument(
          "'dims' must have the same number of values as 'input' has dimensions. "
          "'input' has ",
          rank, "'dims' has ", dims.num_elements(), " values");
    }
    absl::InlinedVector<bool, 8> along;
    for (const bool reverses : dims.values<bool>()) along.push_back(reverses);
    TFLEET_ASSIGN_OR_RETURN(Tensor out, Reversed(ctx, ctx.TakeInput(0), along));
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }
};

// Element i of an axis goes to (i + shift) mod its size; several shifts of one axis add up.
class Roll final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    const Tensor& shift_input = ctx.input(1);
    const Tensor& axis_input = ctx.input(2);
    const Shape shape = ctx.input(0).shape();
    const int rank = shape.rank();
    if (rank < 1) return InvalidArgument("input must be 1-D or higher");
    if (shift_input.rank() > 1 || axis_input.rank() > 1) {
      return InvalidArgument(
          shift_input.rank() > 1 ? "shift" : "axis", " must be a scalar or a 1-D vector. Found: ",
          (shift_input.rank() > 1 ? shift_input : axis_input).shape().ToString());
    }
    if (shift_input.shape() != axis_input.shape()) {
      return InvalidArgument("shift and axis must have the same size");
    }
    const Integers shifts = IntegersOf(shift_input);
    const Integers axes = IntegersOf(axis_input);
    Integers by(rank, 0);
    for (size_t i = 0; i < axes.size(); ++i) {
      const int64_t axis = NormalizedAxis(axes[i], rank);
      if (axis < 0) return InvalidArgument("axis ", axes[i], " is out of range");
      const int64_t dim = std::max<int64_t>(shape.dim(axis), 1);
      by[axis] = (by[axis] + shifts[i] % dim + dim) % dim;
    }
    Tensor value = ctx.TakeInput(0);
    if (shape.num_elements() > 0) {
      // One axis at a time: the two blocks of every row change places.
      for (int axis = 0; axis < rank; ++axis) {
        if (by[axis] == 0) continue;
        TFLEET_ASSIGN_OR_RETURN(value, Rotated(ctx, value, axis, by[axis]));
      }
    }
    ctx.SetOutput(0, std::move(value));
    return OkStatus();
  }

 private:
  static StatusOr<Tensor> Rotated(const KernelContext& ctx, const Tensor& value, int axis,
                                  int64_t by) {
    const Shape& shape = value.shape();
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(value.dtype(), shape));
    const int64_t rows = shape.SubShape(0, axis).num_elements();
    const int64_t inner = shape.SubShape(axis + 1, shape.rank()).num_elements();
    const int64_t row = shape.dim(axis) * inner;
    const int64_t head = by * inner;  // elements that come around to the front
    StridedCopy(value.dtype(), {{rows, row, row}, {row - head, 1, 1}}, value.raw(),
                MutableElementAt(out, head), &ctx.pool());
    StridedCopy(value.dtype(), {{rows, row, row}, {head, 1, 1}}, ElementAt(value, row - head),
                out.mutable_raw(), &ctx.pool());
    return out;
  }
};

// Reverses the first seq_lengths[b] entries of `seq_dim` for each b along `batch_dim`.
class ReverseSequence final : public Kernel {
 public:
  explicit ReverseSequence(KernelInit& init) {
    init.Get("seq_dim", &seq_axis_);
    init.Get("batch_dim", &batch_axis_);
  }
  Status Compute(KernelContext& ctx) const override {
    const Tensor& value = ctx.input(0);
    const Tensor& length_input = ctx.input(1);
    const int rank = value.rank();
    const int64_t seq = NormalizedAxis(seq_axis_, rank);
    const int64_t batch = NormalizedAxis(batch_axis_, rank);
    if (seq < 0 || batch < 0) {
      return InvalidArgument("seq_dim ", seq_axis_, " and batch_dim ", batch_axis_,
                             " must be axes of an input of rank ", rank);
    }
    if (seq == batch) return InvalidArgument("batch_dim == seq_dim == ", seq);
    if (length_input.rank() != 1 || length_input.num_elements() != value.dim(batch)) {
      return InvalidArgument("Length of seq_lengths != input.dims(", batch, "), (",
                             length_input.num_elements(), " vs. ", value.dim(batch), ")");
    }
    const Integers lengths = IntegersOf(length_input);
    for (size_t i = 0; i < lengths.size(); ++i) {
      if (lengths[i] < 0) return InvalidArgument("seq_lens(", i, ") < 0");
      if (lengths[i] > value.dim(seq)) {
        return InvalidArgument("seq_lens(", i, ") > input.dims(", seq, ")");
      }
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(value.dtype(), value.shape()));
    if (value.num_elements() > 0) {
      const auto strides = DenseStrides(value.shape().dims());
      for (int64_t b = 0; b < value.dim(batch); ++b) {
        // The turned part, then the rest as it is.
        for (const bool turned : {true, false}) {
          const int64_t begin = turned ? 0 : lengths[b];
          const int64_t size = turned ? lengths[b] : value.dim(seq) - lengths[b];
          CopyAxes axes;
          for (int i = 0; i < rank; ++i) {
            if (i == batch) continue;
            const int64_t step = i == seq && turned ? -strides[i] : strides[i];
            axes.push_back({i == seq ? size : value.dim(i), step, strides[i]});
          }
          const int64_t to = b * strides[batch] + begin * strides[seq];
          const int64_t from = to + (turned && size > 0 ? (size - 1) * strides[seq] : 0);
          StridedCopy(value.dtype(), axes, ElementAt(value, from), MutableElementAt(out, to),
                      &ctx.pool());
        }
      }
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  int64_t seq_axis_ = 0;
  int64_t batch_axis_ = 0;
};

template <typename T>
class InvertPermutation final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    const Tensor& input = ctx.input(0);
    if (input.rank() != 1) {
      return InvalidArgument("invert_permutation expects a 1D vector.");
    }
    const auto x = input.values<T>();
    const int64_t n = input.num_elements();
    if (n > std::numeric_limits<int32_t>::max()) {
      return InvalidArgument("permutation of nonnegative int32s must have <= int32 max elements");
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(input.dtype(), input.shape()));
    auto y = out.mutable_values<T>();
    std::fill(y.begin(), y.end(), T(-1));
    for (int64_t i = 0; i < n; ++i) {
      if (x[i] < 0 || x[i] >= n) return InvalidArgument(x[i], " is not between 0 and ", n);
      if (y[x[i]] != -1) return InvalidArgument(x[i], " is duplicated in the input.");
      y[x[i]] = static_cast<T>(i);
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }
};

}  // namespace

void RegisterTransposeKernels(KernelRegistry& kernels) {
  kernels.Add<Transpose>("Transpose", kCpu);
  kernels.Add<Transpose>("ConjugateTranspose", kCpu);
  kernels.Add<ReverseV2>("ReverseV2", kCpu);
  kernels.Add<Reverse>("Reverse", kCpu);
  kernels.Add<Roll>("Roll", kCpu);
  kernels.Add<ReverseSequence>("ReverseSequence", kCpu);
  kernels.Add<InvertPermutation<int32_t>>("InvertPermutation", kCpu, {{"T", DType::kInt32}});
  kernels.Add<InvertPermutation<int64_t>>("InvertPermutation", kCpu, {{"T", DType::kInt64}});
}

}  // namespace tensorfleet::cpu
