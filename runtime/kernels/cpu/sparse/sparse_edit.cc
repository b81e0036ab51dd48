// Sparse tensors taken apart and put together: SparseReshape, SparseReorder, SparseConcat and
// SparseSlice. Schemas and shape rules: runtime/ops/sparse/sparse_ops.cc.
#include <string>
#include <vector>

#include "runtime/kernels/cpu/elements.h"
#include "runtime/kernels/cpu/index_input.h"
#include "runtime/kernels/cpu/sparse/sparse_input.h"
#include "runtime/kernels/kernel.h"
#include "runtime/kernels/types.h"

namespace tensorfleet::cpu {
namespace {

// The shape that `wanted` asks for, with its -1 filled in, for as many elements as `from` has.
StatusOr<Shape> Reshaped(const Shape& from, absl::Span<const int64_t> wanted) {
  std::vector<int64_t> dims(wanted.begin(), wanted.end());
  int open = -1;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] != -1) continue;
    if (open >= 0) {
      return InvalidArgument("only one output dimension may be -1, not both ", open, " and ", i);
    }
    open = static_cast<int>(i);
    dims[i] = 1;
  }
  TFLEET_ASSIGN_OR_RETURN(Shape shape, Shape::Make(dims));
  if (open >= 0) {
    if (shape.num_elements() == 0) {
      return InvalidArgument("reshape cannot infer the missing input size for an empty tensor ",
                             "unless all specified input sizes are non-zero");
    }
    if (from.num_elements() % shape.num_elements() != 0) {
      return InvalidArgument("Input to reshape is a SparseTensor with ", from.num_elements(),
                             " dense values, but the requested shape requires a multiple of ",
                             shape.num_elements());
    }
    TFLEET_ASSIGN_OR_RETURN(shape, shape.WithDim(open, from.num_elements() / shape.num_elements()));
  }
  if (shape.num_elements() != from.num_elements()) {
    return InvalidArgument("Input to reshape is a tensor with ", from.num_elements(),
                           " dense values, but the requested shape has ", shape.num_elements());
  }
  return shape;
}

class SparseReshape final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    const Tensor& indices = ctx.input(0);
    if (indices.rank() != 2) {
      return InvalidArgument("Input indices should be a matrix but received shape ",
                             indices.shape().ToString());
    }
    for (const int i : {1, 2}) {
      if (ctx.input(i).rank() != 1) {
        return InvalidArgument(i == 1 ? "Input" : "Target",
                               " shape should be a vector but received ", "shape ",
                               ctx.input(i).shape().ToString());
      }
    }
    TFLEET_ASSIGN_OR_RETURN(const Shape from, Shape::Make(ctx.input(1).values<int64_t>()));
    if (indices.dim(1) != from.rank()) {
      return InvalidArgument("Input tensor rank must match input shape length: ", indices.dim(1),
                             " and ", from.rank());
    }
    TFLEET_ASSIGN_OR_RETURN(const Shape to, Reshaped(from, ctx.input(2).values<int64_t>()));
    const int64_t n = indices.dim(0);
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DType::kInt64, {n, to.rank()}));
    const absl::Span<const int64_t> in = indices.values<int64_t>();
    const absl::Span<int64_t> moved = out.mutable_values<int64_t>();
    for (int64_t i = 0; i < n; ++i) {
      int64_t offset = 0;
      for (int d = 0; d < from.rank(); ++d) {
        const int64_t at = in[i * from.rank() + d];
        if (at < 0 || at >= from.dim(d)) {
          return InvalidArgument("input_indices[", i, ",", d, "] = ", at, " is not in [0, ",
                                 from.dim(d), ")");
        }
        offset = offset * from.dim(d) + at;
      }
      for (int d = to.rank() - 1; d >= 0; --d) {
        moved[i * to.rank() + d] = offset % to.dim(d);
        offset /= to.dim(d);
      }
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor shape, IntegerVector(DType::kInt64, to.dims()));
    ctx.SetOutput(0, std::move(out));
    ctx.SetOutput(1, std::move(shape));
    return OkStatus();
  }
};

// Sets outputs 0 and 1 to the indices and values of entries `picked`.
Status SetEntries(KernelContext& ctx, const SparseInput& sparse, absl::Span<const int64_t> picked) {
  std::vector<int64_t> coordinates;
  for (const int64_t i : picked) {
    coordinates.insert(coordinates.end(), sparse.At(i).begin(), sparse.At(i).end());
  }
  TFLEET_ASSIGN_OR_RETURN(
      Tensor indices, IndexMatrix(coordinates, static_cast<int64_t>(picked.size()), sparse.rank()));
  TFLEET_ASSIGN_OR_RETURN(Tensor values, PickEntries(*sparse.values, picked));
  ctx.SetOutput(0, std::move(indices));
  ctx.SetOutput(1, std::move(values));
  return OkStatus();
}

class SparseReorder final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const SparseInput sparse, ReadSparse(ctx, 0));
    TFLEET_RETURN_IF_ERROR(CheckInBounds(sparse));
    return SetEntries(ctx, sparse, SortedEntries(sparse));
  }
};

class SparseConcat final : public Kernel {
 public:
  explicit SparseConcat(KernelInit& init) { init.Get("concat_dim", &axis_); }
  Status Compute(KernelContext& ctx) const override {
    const int parts = ctx.num_inputs() / 3;
    std::vector<int64_t> coordinates, dims;
    int64_t total = 0, axis = 0;
    for (int p = 0; p < parts; ++p) {
      TFLEET_ASSIGN_OR_RETURN(const SparseInput part, MakeSparse(ctx.input(p), ctx.input(parts + p),
                                                                 ctx.input(2 * parts + p)));
      TFLEET_RETURN_IF_ERROR(CheckInBounds(part));
      const absl::Span<const int64_t> shape = part.shape.dims();
      if (p == 0) {
        axis = NormalizedAxis(axis_, part.rank());
        if (axis < 0) {
          return InvalidArgument("Concat dimension must be in range [", -part.rank(), ", ",
                                 part.rank(), "), got ", axis_);
        }
        dims.assign(shape.begin(), shape.end());
        dims[axis] = 0;
      }
      for (size_t d = 0; d < dims.size(); ++d) {
        if (part.rank() == static_cast<int>(dims.size()) &&
            (static_cast<int64_t>(d) == axis || shape[d] == dims[d])) {
          continue;
        }
        return InvalidArgument("Input shapes must match outside of dimension ", axis,
                               ": input 0 and input ", p, ", which has shape ",
                               part.shape.ToString());
      }
      for (int64_t i = 0; i < part.size(); ++i) {
        coordinates.insert(coordinates.end(), part.At(i).begin(), part.At(i).end());
        coordinates[coordinates.size() - dims.size() + axis] += dims[axis];
      }
      if (__builtin_add_overflow(dims[axis], shape[axis], &dims[axis])) {
        return InvalidArgument("the size of dimension ", axis, " does not fit in int64");
      }
      total += part.size();
    }
    return SetSorted(ctx, coordinates, dims, total);
  }

 private:
  Status SetSorted(KernelContext& ctx, absl::Span<const int64_t> coordinates,
                   absl::Span<const int64_t> dims, int64_t total) const {
    const int parts = ctx.num_inputs() / 3;
    TFLEET_ASSIGN_OR_RETURN(const Tensor indices,
                            IndexMatrix(coordinates, total, static_cast<int64_t>(dims.size())));
    TFLEET_ASSIGN_OR_RETURN(Tensor values, ctx.Allocate(ctx.input(parts).dtype(), {total}));
    int64_t at = 0;
    for (int p = parts; p < 2 * parts; ++p) {
      const Tensor& part = ctx.input(p);
      CopyElements(part.dtype(), MutableElementAt(values, at), part.raw(), part.num_elements());
      at += part.num_elements();
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor shape, IntegerVector(DType::kInt64, dims));
    TFLEET_ASSIGN_OR_RETURN(const SparseInput all, MakeSparse(indices, values, shape));
    TFLEET_RETURN_IF_ERROR(SetEntries(ctx, all, SortedEntries(all)));
    ctx.SetOutput(2, std::move(shape));
    return OkStatus();
  }

  int64_t axis_ = 0;
};

class SparseSlice final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const SparseInput sparse, ReadSparse(ctx, 0));
    const Tensor& start = ctx.input(3);
    const Tensor& size = ctx.input(4);
    for (const Tensor* t : {&start, &size}) {
      if (t->rank() != 1 || t->dim(0) != sparse.rank()) {
        return InvalidArgument("start and size must be vectors of ", sparse.rank(),
                               " elements, not of shape ", t->shape().ToString());
      }
    }
    std::vector<int64_t> dims, coordinates, picked;
    for (int d = 0; d < sparse.rank(); ++d) {
      const int64_t from = start.values<int64_t>()[d], wanted = size.values<int64_t>()[d];
      if (from < 0 || wanted < 0) {
        return InvalidArgument("start and size must not be negative, but are ", from, " and ",
                               wanted, " for dimension ", d);
      }
      dims.push_back(std::clamp<int64_t>(sparse.shape.dim(d) - from, 0, wanted));
    }
    for (int64_t i = 0; i < sparse.size(); ++i) {
      bool is_inside = true;
      for (int d = 0; d < sparse.rank(); ++d) {
        const int64_t at = sparse.At(i)[d], from = start.values<int64_t>()[d];
        is_inside = is_inside && at >= from && at - from < dims[d];
      }
      if (!is_inside) continue;
      picked.push_back(i);
      for (int d = 0; d < sparse.rank(); ++d) {
        coordinates.push_back(sparse.At(i)[d] - start.values<int64_t>()[d]);
      }
    }
    TFLEET_ASSIGN_OR_RETURN(
        Tensor indices,
        IndexMatrix(coordinates, static_cast<int64_t>(picked.size()), sparse.rank()));
    TFLEET_ASSIGN_OR_RETURN(Tensor values, PickEntries(*sparse.values, picked));
    TFLEET_ASSIGN_OR_RETURN(Tensor shape, IntegerVector(DType::kInt64, dims));
    ctx.SetOutput(0, std::move(indices));
    ctx.SetOutput(1, std::move(values));
    ctx.SetOutput(2, std::move(shape));
    return OkStatus();
  }
};

}  // namespace

void RegisterSparseEditKernels(KernelRegistry& r) {
  r.Add<SparseReshape>("SparseReshape", kCpu);
  r.Add<SparseReorder>("SparseReorder", kCpu);
  r.Add<SparseConcat>("SparseConcat", kCpu);
  r.Add<SparseSlice>("SparseSlice", kCpu);
}

}  // namespace tensorfleet::cpu
