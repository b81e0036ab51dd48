// Kernels that look entries up by index: Gather, GatherV2, GatherNd.
// Schemas and shape rules: runtime/ops/array/gather_ops.cc.
#include "runtime/kernels/cpu/array/gather.h"

#include <cstring>
#include <vector>

#include "absl/strings/str_join.h"
#include "runtime/kernels/cpu/elements.h"
#include "runtime/kernels/cpu/index_input.h"
#include "runtime/kernels/kernel_registry.h"
#include "runtime/kernels/row_loop.h"

namespace tensorfleet::cpu {
namespace {

// The first position whose index is outside [0, limit), or -1.
template <typename Index>
int64_t FirstBad(absl::Span<const Index> indices, int64_t limit) {
  for (size_t i = 0; i < indices.size(); ++i) {
    if (static_cast<uint64_t>(static_cast<int64_t>(indices[i])) >= static_cast<uint64_t>(limit)) {
      return static_cast<int64_t>(i);
    }
  }
  return -1;
}

// params [batch, outer, limit, inner], indices [batch, count], out [batch, outer, count, inner].
struct Extents {
  int64_t batch, outer, limit, count, inner;
};

// Rows [begin, end) of batch * outer * count.
template <typename E, typename Index>
void CopyPicked(const Extents& x, const E* params, const Index* indices, E* out, int64_t begin,
                int64_t end) {
  int64_t group = begin / x.count;  // batch * outer
  int64_t i = begin % x.count;
  for (int64_t row = begin; row < end; ++row) {
    const Index* index = indices + group / x.outer * x.count + i;
    const E* from = params + (group * x.limit + *index) * x.inner;
    if (x.inner > 1 && i + kRowsAhead < x.count) {
      PrefetchRow(params + (group * x.limit + index[kRowsAhead]) * x.inner, x.inner * sizeof(E));
    }
    if (x.inner == 1) {
      out[row] = *from;
    } else {
      std::copy_n(from, x.inner, out + row * x.inner);
    }
    if (++i == x.count) {
      i = 0;
      ++group;
    }
  }
}

template <typename Index>
Status Pick(const KernelContext& ctx, const Extents& x, const Tensor& params, const Tensor& indices,
            absl::Span<const Index> values, Tensor* out) {
  const int64_t bad = FirstBad(values, x.limit);
  if (bad >= 0) {
    return InvalidArgument("indices", PositionText(indices.shape(), bad), " = ", values[bad],
                           " is not in [0, ", x.limit, ")");
  }
  const int64_t rows = x.batch * x.outer * x.count;
  if (rows == 0 || x.inner == 0) return OkStatus();
  VisitElement(params.dtype(), [&](auto tag) {
    using E = typename decltype(tag)::Type;
    const int64_t cost = 5 + x.inner * MoveCost(params.dtype()) * sizeof(E) / 16;
    ParallelFor(ctx, rows, cost, [&](int64_t begin, int64_t end) {
      CopyPicked(x, ElementsOf<E>(params), values.data(), MutableElementsOf<E>(*out), begin, end);
    });
  });
  return OkStatus();
}

// Gather (axis 0) and GatherV2.
class Gather final : public Kernel {
 public:
  explicit Gather(KernelInit& init) : has_axis_(init.def().op() == "GatherV2") {
    if (has_axis_) init.Get("batch_dims", &batch_dims_);
  }
  Status Compute(KernelContext& ctx) const override {
    const Tensor& params = ctx.input(0);
    const Tensor& indices = ctx.input(1);
    if (params.rank() == 0) return InvalidArgument("params must be at least 1 dimensional");
    int64_t wanted = 0;
    if (has_axis_) {
      if (!ctx.input(2).shape().is_scalar()) return InvalidArgument("axis must be scalar");
      wanted = IntegerAt(ctx.input(2), 0);
    }
    const int64_t axis = NormalizedAxis(wanted, params.rank());
    if (axis < 0) {
      return InvalidArgument("Expected axis in the range [", -params.rank(), ", ", params.rank(),
                             "), but got ", wanted);
    }
    int64_t batch_dims = batch_dims_;
    if (batch_dims != 0) {
      if (batch_dims < -indices.rank() || batch_dims > indices.rank()) {
        return InvalidArgument("Expected batch_dims in the range [", -indices.rank(), ", ",
                               indices.rank(), "], but got ", batch_dims);
      }
      if (batch_dims < 0) batch_dims += indices.rank();
      if (batch_dims >= params.rank()) {
        return InvalidArgument("batch_dims (", batch_dims, ") must be less than rank(params) (",
                               params.rank(), ").");
      }
      if (axis < batch_dims) {
        return InvalidArgument("batch_dims (", batch_dims, ") must be less than or equal to axis (",
                               axis, ").");
      }
      for (int i = 0; i < batch_dims; ++i) {
        if (params.dim(i) != indices.dim(i)) {
          return InvalidArgument("params.shape[", i, "]: ", params.dim(i),
                                 " should be equal to indices.shape[", i, "]: ", indices.dim(i));
        }
      }
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor out, GatherAlong(ctx, params, indices, static_cast<int>(axis),
                                                    static_cast<int>(batch_dims)));
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  const bool has_axis_;
  int64_t batch_dims_ = 0;
};

class GatherNd final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(Tensor out, GatherSlices(ctx, ctx.input(0), ctx.input(1)));
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }
};

}  // namespace

std::string PositionText(const Shape& shape, int64_t i) {
  if (shape.rank() == 0) return "";
  Integers position(shape.rank());
  for (int d = shape.rank() - 1; d >= 0; --d) {
    position[d] = i % shape.dim(d);
    i /= shape.dim(d);
  }
  return absl::StrCat("[", absl::StrJoin(position, ","), "]");
}

StatusOr<Tensor> GatherAlong(const KernelContext& ctx, const Tensor& params, const Tensor& indices,
                             int axis, int batch_dims) {
  const Shape& from = params.shape();
  const Shape& by = indices.shape();
  TFLEET_ASSIGN_OR_RETURN(const Shape head,
                          from.SubShape(0, axis).Concatenated(by.SubShape(batch_dims, by.rank())));
  TFLEET_ASSIGN_OR_RETURN(const Shape shape,
                          head.Concatenated(from.SubShape(axis + 1, from.rank())));
  TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(params.dtype(), shape));
  const Extents x = {from.SubShape(0, batch_dims).num_elements(),
                     from.SubShape(batch_dims, axis).num_elements(), from.dim(axis),
                     by.SubShape(batch_dims, by.rank()).num_elements(),
                     from.SubShape(axis + 1, from.rank()).num_elements()};
  if (indices.dtype() == DType::kInt32) {
    TFLEET_RETURN_IF_ERROR(Pick(ctx, x, params, indices, indices.values<int32_t>(), &out));
  } else {
    std::vector<int64_t> storage;
    TFLEET_RETURN_IF_ERROR(Pick(ctx, x, params, indices, WidenedIntegers(indices, &storage), &out));
  }
  return out;
}

StatusOr<Tensor> GatherSlices(const KernelContext& ctx, const Tensor& params,
                              const Tensor& indices) {
  if (params.rank() < 1) return InvalidArgument("params must be at least a vector");
  if (indices.rank() < 1) return InvalidArgument("indices must be at least a vector");
  const int64_t depth = indices.dim(-1);
  if (depth > params.rank()) {
    return InvalidArgument("index innermost dimension length must be <= params rank; saw: ", depth,
                           " vs. ", params.rank());
  }
  const Shape outer = indices.shape().SubShape(0, indices.rank() - 1);
  const Shape slice = params.shape().SubShape(static_cast<int>(depth), params.rank());
  TFLEET_ASSIGN_OR_RETURN(const Shape shape, outer.Concatenated(slice));
  if (params.num_elements() == 0 && shape.num_elements() > 0) {
    return InvalidArgument("Requested more than 0 entries, but params is empty.  Params shape: ",
                           params.shape().ToString());
  }
  TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(params.dtype(), shape));
  // Indices without elements are all good, and there may be any number of them.
  if (depth == 0 && shape.num_elements() == 0) return out;
  std::vector<int64_t> storage;
  const absl::Span<const int64_t> flat = WidenedIntegers(indices, &storage);
  const int64_t count = outer.num_elements();
  std::vector<int64_t> rows(count, 0);
  for (int64_t i = 0; i < count; ++i) {
    for (int d = 0; d < depth; ++d) {
      const int64_t index = flat[i * depth + d];
      if (index < 0 || index >= params.dim(d)) {
        return InvalidArgument("indices", PositionText(outer, i), " = [",
                               absl::StrJoin(flat.subspan(i * depth, depth), ", "),
                               "] does not index into param shape ", params.shape().ToString(),
                               ", node name: ", ctx.node().name());
      }
      rows[i] = rows[i] * params.dim(d) + index;
    }
  }
  const Extents x = {1, 1, params.shape().SubShape(0, static_cast<int>(depth)).num_elements(),
                     count, slice.num_elements()};
  TFLEET_RETURN_IF_ERROR(Pick<int64_t>(ctx, x, params, indices, absl::MakeConstSpan(rows), &out));
  return out;
}

void RegisterGatherKernels(KernelRegistry& kernels) {
  kernels.Add<Gather>("Gather", kCpu);
  kernels.Add<Gather>("GatherV2", kCpu);
  kernels.Add<GatherNd>("GatherNd", kCpu);
}

}  // namespace tensorfleet::cpu
