// Kernels that put tensors together: Concat, ConcatV2, Pack, ParallelConcat. All are copies of rows
// into one output. Schemas and shape rules: runtime/ops/array/join_ops.cc.
#include <algorithm>
#include <vector>

#include "runtime/kernels/cpu/elements.h"
#include "runtime/kernels/cpu/index_input.h"
#include "runtime/kernels/cpu/strided_copy.h"
#include "runtime/kernels/kernel_registry.h"

namespace tensorfleet::cpu {
namespace {

// Copies `pieces`, each [rows, widths[i]], side by side into `out`, [rows, sum of widths].
void JoinColumns(const KernelContext& ctx, absl::Span<const Tensor* const> pieces,
                 absl::Span<const int64_t> widths, int64_t rows, Tensor* out) {
  const DType dtype = out->dtype();
  int64_t total = 0;
  for (const int64_t width : widths) total += width;
  if (rows == 1 || out->num_elements() > (1 << 15)) {
    int64_t at = 0;
    for (size_t i = 0; i < pieces.size(); ++i) {
      StridedCopy(dtype, {{rows, widths[i], total}, {widths[i], 1, 1}}, pieces[i]->raw(),
                  MutableElementAt(*out, at), &ctx.pool());
      at += widths[i];
    }
    return;
  }
  const int64_t size = ElementSize(dtype);
  char* to = static_cast<char*>(out->mutable_raw());
  for (int64_t row = 0; row < rows; ++row) {
    for (size_t i = 0; i < pieces.size(); ++i) {
      CopyElements(dtype, to, ElementAt(*pieces[i], row * widths[i]), widths[i]);
      to += widths[i] * size;
    }
  }
}

class Concat final : public Kernel {
 public:
  explicit Concat(KernelInit& init)
      : axis_is_first_(init.def().op() == "Concat"), values_begin_(axis_is_first_ ? 1 : 0) {}
  Status Compute(KernelContext& ctx) const override {
    const int count = ctx.num_inputs() - 1;
    const Tensor& axis_input = ctx.input(axis_is_first_ ? 0 : count);
    if (axis_input.num_elements() != 1) {
      return InvalidArgument("ConcatOp : axis must be a single number, but got shape ",
                             axis_input.shape().ToString());
    }
    const Tensor& first = ctx.input(values_begin_);
    const int64_t wanted = IntegerAt(axis_input, 0);
    if (first.rank() == 0) {
      return InvalidArgument("ConcatOp : Can't concatenate scalars (use tf.stack instead)");
    }
    const int64_t axis = NormalizedAxis(wanted, first.rank());
    if (axis < 0) {
      return InvalidArgument("ConcatOp : Expected concatenating dimensions in the range [",
                             -first.rank(), ", ", first.rank(), "), but got ", wanted);
    }
    absl::InlinedVector<const Tensor*, 8> pieces;
    absl::InlinedVector<int64_t, 8> widths;
    int64_t along = 0;
    const int64_t rows = first.shape().SubShape(0, axis).num_elements();
    for (int i = 0; i < count; ++i) {
      const Tensor& value = ctx.input(values_begin_ + i);
      TFLEET_RETURN_IF_ERROR(CheckFits(first.shape(), value.shape(), i, axis));
      if (__builtin_add_overflow(along, value.dim(axis), &along)) {
        return InvalidArgument("ConcatOp : the size along dimension ", axis, " is too large");
      }
      if (value.num_elements() == 0) continue;
      pieces.push_back(&value);
      widths.push_back(value.num_elements() / rows);
    }
    TFLEET_ASSIGN_OR_RETURN(const Shape shape, first.shape().WithDim(axis, along));
    // All elements are in one of them: it is the result.
    if (pieces.size() == 1) {
      ctx.SetOutput(0, pieces[0]->Reshaped(shape));
      return OkStatus();
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(first.dtype(), shape));
    if (!pieces.empty()) JoinColumns(ctx, pieces, widths, rows, &out);
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  static Status CheckFits(const Shape& first, const Shape& other, int index, int64_t axis) {
    if (other.rank() != first.rank()) {
      return InvalidArgument("ConcatOp : Ranks of all input tensors should match: shape[0] = ",
                             first.ToString(), " vs. shape[", index, "] = ", other.ToString());
    }
    for (int d = 0; d < first.rank(); ++d) {
      if (d != axis && first.dim(d) != other.dim(d)) {
        return InvalidArgument("ConcatOp : Dimension ", d,
                               " in both shapes must be equal: shape[0] = ", first.ToString(),
                               " vs. shape[", index, "] = ", other.ToString());
      }
    }
    return OkStatus();
  }

  const bool axis_is_first_;
  const int values_begin_;
};

class Pack final : public Kernel {
 public:
  explicit Pack(KernelInit& init) { init.Get("axis", &axis_); }
  Status Compute(KernelContext& ctx) const override {
    const Shape& each = ctx.input(0).shape();
    const int count = ctx.num_inputs();
    const int64_t axis = NormalizedAxis(axis_, each.rank() + 1);
    if (axis < 0) {
      return InvalidArgument("axis = ", axis_, " not in [", -(each.rank() + 1), ", ",
                             each.rank() + 1, ")");
    }
    absl::InlinedVector<const Tensor*, 8> pieces;
    for (int i = 0; i < count; ++i) {
      if (ctx.input(i).shape() != each) {
        return InvalidArgument(
            "Shapes of all inputs must match: values[0].shape = ", each.ToString(), " != values[",
            i, "].shape = ", ctx.input(i).shape().ToString());
      }
      pieces.push_back(&ctx.input(i));
    }
    Integers dims(each.dims().begin(), each.dims().end());
    dims.insert(dims.begin() + axis, count);
    TFLEET_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    if (count == 1) {
      ctx.SetOutput(0, ctx.TakeInput(0).Reshaped(shape));
      return OkStatus();
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(ctx.input(0).dtype(), shape));
    if (shape.num_elements() > 0) {
      const int64_t rows = each.SubShape(0, axis).num_elements();
      const absl::InlinedVector<int64_t, 8> widths(count, each.num_elements() / rows);
      JoinColumns(ctx, pieces, widths, rows, &out);
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  int64_t axis_ = 0;
};

// Rows, each of first dimension 1, one under the other.
class ParallelConcat final : public Kernel {
 public:
  explicit ParallelConcat(KernelInit& init) { init.Get("shape", &expected_); }
  Status Compute(KernelContext& ctx) const override {
    const Shape& each = ctx.input(0).shape();
    if (each.rank() == 0 || each.dim(0) != 1) {
      return InvalidArgument("each value must have a first dimension of 1, got shape ",
                             each.ToString());
    }
    absl::InlinedVector<const Tensor*, 8> pieces;
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      if (ctx.input(i).shape() != each) {
        return InvalidArgument(
            "Shapes of all inputs must match: values[0].shape = ", each.ToString(), " != values[",
            i, "].shape = ", ctx.input(i).shape().ToString());
      }
      pieces.push_back(&ctx.input(i));
    }
    TFLEET_ASSIGN_OR_RETURN(const Shape shape, each.WithDim(0, ctx.num_inputs()));
    if (!expected_.IsCompatibleWith(shape)) {
      return InvalidArgument("the values make shape ", shape.ToString(), ", not ",
                             expected_.ToString());
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(ctx.input(0).dtype(), shape));
    if (shape.num_elements() > 0) {
      const absl::InlinedVector<int64_t, 8> widths(ctx.num_inputs(), each.num_elements());
      JoinColumns(ctx, pieces, widths, 1, &out);
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  PartialShape expected_;
};

}  // namespace

void RegisterJoinKernels(KernelRegistry& kernels) {
  kernels.Add<Concat>("Concat", kCpu);
  kernels.Add<Concat>("ConcatV2", kCpu);
  kernels.Add<Pack>("Pack", kCpu);
  kernels.Add<ParallelConcat>("ParallelConcat", kCpu);
}

}  // namespace tensorfleet::cpu
