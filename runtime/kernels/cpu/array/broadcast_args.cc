// Broadcasts worked out on shapes that are tensors.
#include <algorithm>
#include <vector>

#include "runtime/kernels/cpu/broadcast.h"
#include "runtime/kernels/kernel.h"
#include "runtime/kernels/types.h"

namespace tensorfleet::cpu {
namespace {

template <typename T>
StatusOr<Shape> ShapeIn(const KernelContext& ctx, int i) {
  const Tensor& t = ctx.input(i);
  if (t.rank() != 1) {
    return InvalidArgument("In[", i, "] must be a vector.", t.shape().ToString());
  }
  return Shape::Make(std::vector<int64_t>(t.values<T>().begin(), t.values<T>().end()));
}

template <typename T>
void SetVector(KernelContext& ctx, int i, const std::vector<T>& values) {
  ctx.SetOutput(i, Tensor::Vector<T>(absl::MakeConstSpan(values)));
}

// The axes over which each operand was repeated. Where both have 1, both are listed, unless the
// shapes are equal as a whole.
template <typename T>
class BroadcastGradientArgs final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const Shape a, ShapeIn<T>(ctx, 0));
    TFLEET_ASSIGN_OR_RETURN(const Shape b, ShapeIn<T>(ctx, 1));
    TFLEET_ASSIGN_OR_RETURN(const Shape out, BroadcastShapes(a, b));
    std::vector<T> repeated_a, repeated_b;
    if (a != b) {
      for (int i = 0; i < out.rank(); ++i) {
        const int in_a = i - (out.rank() - a.rank()), in_b = i - (out.rank() - b.rank());
        if (in_a < 0 || a.dim(in_a) == 1) repeated_a.push_back(static_cast<T>(i));
        if (in_b < 0 || b.dim(in_b) == 1) repeated_b.push_back(static_cast<T>(i));
      }
    }
    SetVector(ctx, 0, repeated_a);
    SetVector(ctx, 1, repeated_b);
    return OkStatus();
  }
};

template <typename T>
class BroadcastArgs final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const Shape a, ShapeIn<T>(ctx, 0));
    TFLEET_ASSIGN_OR_RETURN(const Shape b, ShapeIn<T>(ctx, 1));
    TFLEET_ASSIGN_OR_RETURN(const Shape out, BroadcastShapes(a, b));
    SetVector(ctx, 0, std::vector<T>(out.dims().begin(), out.dims().end()));
    return OkStatus();
  }
};

}  // namespace

void RegisterBroadcastArgsKernels(KernelRegistry& r) {
  AddForTypes<BroadcastGradientArgs>(r, "BroadcastGradientArgs", Types<int32_t, int64_t>());
  AddForTypes<BroadcastArgs>(r, "BroadcastArgs", Types<int32_t, int64_t>());
}

}  // namespace tensorfleet::cpu
