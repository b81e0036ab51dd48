// Kernels that write slices at given positions: ScatterNd, TensorScatterUpdate, TensorScatterAdd,
// TensorScatterSub, TensorScatterMax, TensorScatterMin. Schemas and shape rules:
// runtime/ops/array/gather_ops.cc.
#include <complex>
#include <string>
#include <vector>

#include <Eigen/Core>

#include "absl/strings/str_join.h"
#include "runtime/kernels/cpu/array/gather.h"
#include "runtime/kernels/cpu/elements.h"
#include "runtime/kernels/cpu/index_input.h"
#include "runtime/kernels/kernel_registry.h"
#include "runtime/kernels/types.h"

namespace tensorfleet::cpu {
namespace {

// For each update, the number of the slice of `shape` it goes to, and how many elements a slice
// has.
struct Targets {
  std::vector<int64_t> slices;
  int64_t slice_elements = 0;
};

StatusOr<Targets> FindTargets(const Shape& shape, const Tensor& indices, const Tensor& updates) {
  if (shape.rank() < 1) return InvalidArgument("Output must be at least 1-D, got shape: []");
  if (indices.rank() < 1) {
    return InvalidArgument("Indices shape must have rank at least one. Found:",
                           indices.shape().ToString());
  }
  const int64_t depth = indices.dim(-1);
  const int outer_rank = indices.rank() - 1;
  if (depth > shape.rank()) {
    return InvalidArgument("Indices last dimension ", depth, " is larger than the rank of ",
                           shape.ToString());
  }
  const Shape outer = indices.shape().SubShape(0, outer_rank);
  if (updates.rank() < outer_rank || updates.shape().SubShape(0, outer_rank) != outer) {
    return InvalidArgument("Dimensions [0,", outer_rank,
                           ") of indices[shape=", indices.shape().ToString(),
                           "] must match dimensions [0,", outer_rank,
                           ") of updates[shape=", updates.shape().ToString(), "]");
  }
  const Shape slice = shape.SubShape(static_cast<int>(depth), shape.rank());
  if (updates.shape().SubShape(outer_rank, updates.rank()) != slice) {
    return InvalidArgument("Dimensions [", depth, ",", shape.rank(),
                           ") of input[shape=", shape.ToString(), "] must match dimensions [",
                           outer_rank, ",", updates.rank(),
                           ") of updates[shape=", updates.shape().ToString(), "]");
  }
  Targets targets;
  targets.slice_elements = slice.num_elements();
  // Indices without elements are all good, and there may be any number of them.
  if (depth == 0 && targets.slice_elements == 0) return targets;
  targets.slices.resize(outer.num_elements());
  std::vector<int64_t> storage;
  const absl::Span<const int64_t> flat = WidenedIntegers(indices, &storage);
  for (int64_t i = 0; i < outer.num_elements(); ++i) {
    int64_t number = 0;
    for (int d = 0; d < depth; ++d) {
      const int64_t index = flat[i * depth + d];
      if (index < 0 || index >= shape.dim(d)) {
        return InvalidArgument("indices", PositionText(outer, i), " = [",
                               absl::StrJoin(flat.subspan(i * depth, depth), ", "),
                               "] does not index into shape ", shape.ToString());
      }
      number = number * shape.dim(d) + index;
    }
    targets.slices[i] = number;
  }
  return targets;
}

// In the order of the updates, so that repeated positions add up the same way every time.
template <typename T, bool kSubtract>
void AddSlices(const Targets& targets, const Tensor& updates, Tensor* out) {
  const T* from = ElementsOf<T>(updates);
  T* to = MutableElementsOf<T>(*out);
  const int64_t n = targets.slice_elements;
  for (const int64_t slice : targets.slices) {
    T* row = to + slice * n;
    for (int64_t i = 0; i < n; ++i) {
      if constexpr (std::is_same_v<T, std::string>) {
        row[i] += from[i];
      } else if constexpr (std::is_same_v<T, bool>) {
        row[i] = row[i] || from[i];
      } else if constexpr (kSubtract) {
        row[i] = static_cast<T>(row[i] - from[i]);
      } else {
        row[i] = static_cast<T>(row[i] + from[i]);
      }
    }
    from += n;
  }
}

// Integers add alike whether signed or not. False for a type without addition.
template <bool kSubtract>
bool AddSlicesOf(const Targets& targets, const Tensor& updates, Tensor* out) {
  const auto add = [&](auto zero) {
    AddSlices<decltype(zero), kSubtract>(targets, updates, out);
    return true;
  };
  switch (out->dtype()) {
    case DType::kFloat:
      return add(float());
    case DType::kDouble:
      return add(double());
    case DType::kHalf:
      return add(Eigen::half());
    case DType::kBFloat16:
      return add(Eigen::bfloat16());
    case DType::kComplex64:
      return add(std::complex<float>());
    case DType::kComplex128:
      return add(std::complex<double>());
    case DType::kInt8:
    case DType::kUInt8:
      return add(uint8_t());
    case DType::kInt16:
    case DType::kUInt16:
      return add(uint16_t());
    case DType::kInt32:
    case DType::kUInt32:
      return add(uint32_t());
    case DType::kInt64:
    case DType::kUInt64:
      return add(uint64_t());
    case DType::kBool:
      if (!kSubtract) return add(bool());
      return false;
    case DType::kString:
      if (!kSubtract) return add(std::string());
      return false;
    default:
      return false;
  }
}

Status NoArithmetic(const KernelContext& ctx, DType dtype) {
  return Unimplemented(ctx.node().op(), " is not available for type ", DTypeName(dtype));
}

class ScatterNd final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    const Tensor& updates = ctx.input(1);
    TFLEET_ASSIGN_OR_RETURN(const Shape shape, ShapeFromInput(ctx.input(2)));
    if (shape.num_elements() == 0 &&
        (ctx.input(0).num_elements() > 0 && updates.num_elements() > 0)) {
      return InvalidArgument("Indices and updates specified for empty output");
    }
    TFLEET_ASSIGN_OR_RETURN(const Targets targets, FindTargets(shape, ctx.input(0), updates));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, Tensor::Zeros(updates.dtype(), shape));
    if (!AddSlicesOf<false>(targets, updates, &out)) return NoArithmetic(ctx, updates.dtype());
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }
};

// What a TensorScatter changes: its first input, or a copy when others hold that too.
struct Changed {
  Targets targets;
  Tensor out;
};

StatusOr<Changed> BeginTensorScatter(KernelContext& ctx) {
  const Tensor& indices = ctx.input(1);
  const Tensor& updates = ctx.input(2);
  if (ctx.input(0).num_elements() == 0 && indices.num_elements() > 0 &&
      updates.num_elements() > 0) {
    return InvalidArgument("Indices and updates specified for empty output shape");
  }
  Changed changed;
  TFLEET_ASSIGN_OR_RETURN(changed.targets, FindTargets(ctx.input(0).shape(), indices, updates));
  changed.out = ctx.TakeInput(0);
  if (!changed.out.buffer_is_unique()) {
    TFLEET_ASSIGN_OR_RETURN(changed.out, changed.out.Clone());
  }
  return changed;
}

enum class Change { kUpdate, kAdd, kSubtract };

template <Change kChange>
class TensorScatter final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(Changed changed, BeginTensorScatter(ctx));
    auto& [targets, out] = changed;
    const Tensor& updates = ctx.input(2);
    if (kChange == Change::kUpdate) {
      for (size_t i = 0; i < targets.slices.size(); ++i) {
        CopyElements(out.dtype(), MutableElementAt(out, targets.slices[i] * targets.slice_elements),
                     ElementAt(updates, i * targets.slice_elements), targets.slice_elements);
      }
    } else if (!AddSlicesOf<kChange == Change::kSubtract>(targets, updates, &out)) {
      return NoArithmetic(ctx, out.dtype());
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }
};

struct Larger {
  template <typename T>
  bool operator()(const T& update, const T& old) const {
    return update > old;
  }
};
struct Smaller {
  template <typename T>
  bool operator()(const T& update, const T& old) const {
    return update < old;
  }
};

// Each element of the slices becomes the update where `Wins` says so.
template <typename T, typename Wins>
class TensorScatterChoice final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(Changed changed, BeginTensorScatter(ctx));
    auto& [targets, out] = changed;
    const Tensor& updates = ctx.input(2);
    const T* from = ElementsOf<T>(updates);
    T* const to = MutableElementsOf<T>(out);
    for (const int64_t slice : targets.slices) {
      T* const row = to + slice * targets.slice_elements;
      for (int64_t i = 0; i < targets.slice_elements; ++i) {
        if (Wins()(from[i], row[i])) row[i] = from[i];
      }
      from += targets.slice_elements;
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }
};
template <typename T>
using TensorScatterMax = TensorScatterChoice<T, Larger>;
template <typename T>
using TensorScatterMin = TensorScatterChoice<T, Smaller>;

}  // namespace

void RegisterScatterNdKernels(KernelRegistry& kernels) {
  kernels.Add<ScatterNd>("ScatterNd", kCpu);
  kernels.Add<TensorScatter<Change::kUpdate>>("TensorScatterUpdate", kCpu);
  kernels.Add<TensorScatter<Change::kAdd>>("TensorScatterAdd", kCpu);
  kernels.Add<TensorScatter<Change::kAdd>>("ScatterNdNonAliasingAdd", kCpu);
  kernels.Add<TensorScatter<Change::kSubtract>>("TensorScatterSub", kCpu);
  AddForTypes<TensorScatterMax>(kernels, "TensorScatterMax", Reals());
  AddForTypes<TensorScatterMin>(kernels, "TensorScatterMin", Reals());
}

}  // namespace tensorfleet::cpu
