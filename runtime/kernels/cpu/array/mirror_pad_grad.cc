// The gradient of MirrorPad: what the mirror images got goes back to the elements that they are
// images of. Schema and shape rule: runtime/ops/array/rearrange_ops.cc.
#include <vector>

#include "runtime/kernels/cpu/float_view.h"
#include "runtime/kernels/cpu/index_input.h"
#include "runtime/kernels/kernel.h"
#include "runtime/kernels/types.h"
#include "runtime/kernels/wrapping.h"

namespace tensorfleet::cpu {
namespace {

template <typename T>
class MirrorPadGrad final : public Kernel {
 public:
  explicit MirrorPadGrad(KernelInit& init) {
    std::string mode;
    init.Get("mode", &mode);
    reflects_ = mode == "REFLECT";
  }

  Status Compute(KernelContext& ctx) const override {
    const Tensor& in = ctx.input(0);
    std::vector<std::vector<int64_t>> origins;
    TFLEET_ASSIGN_OR_RETURN(const Shape shape, FindOrigins(in, ctx.input(1), &origins));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, Tensor::Zeros(kDTypeOf<T>, shape));
    if (out.num_elements() > 0) {
      TFLEET_ASSIGN_OR_RETURN(const auto from, WideInput<T>::Of(in));
      TFLEET_ASSIGN_OR_RETURN(auto to, WideOutput<T>::For(out));
      std::fill_n(to.data(), out.num_elements(), Widened<T>(0));
      Add(in.shape(), origins, from.data(), to.data());
      to.Finish();
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  // The shape without the paddings; and for every axis and position with them, the position without
  // that it is an image of, times the axis' stride.
  StatusOr<Shape> FindOrigins(const Tensor& in, const Tensor& paddings,
                              std::vector<std::vector<int64_t>>* origins) const {
    const int rank = in.rank();
    if (paddings.rank() != 2 || paddings.dim(1) != 2 || paddings.dim(0) != rank) {
      return InvalidArgument("paddings must be a matrix with ", rank, " rows of 2, not ",
                             paddings.shape().ToString());
    }
    const Integers pads = IntegersOf(paddings);
    std::vector<int64_t> dims;
    for (int axis = 0; axis < rank; ++axis) {
      const int64_t before = pads[2 * axis], after = pads[2 * axis + 1];
      if (before < 0 || after < 0) {
        return InvalidArgument("Paddings must be non-negative: ", before, ", ", after);
      }
      const int64_t most = in.dim(axis);
      const int64_t size = before > most || after > most - before ? -1 : most - before - after;
      const int64_t reach = reflects_ ? size - 1 : size;
      if (size < 0 || (before > 0 && before > reach) || (after > 0 && after > reach)) {
        return InvalidArgument("paddings ", before, " and ", after, " of axis ", axis,
                               " must be no greater than the output dimension size, which is ",
                               size, reflects_ ? ", less one" : "");
      }
      dims.push_back(size);
    }
    TFLEET_ASSIGN_OR_RETURN(Shape shape, Shape::Make(dims));
    origins->resize(rank);
    int64_t stride = 1;
    for (int axis = rank - 1; axis >= 0; --axis) {
      for (int64_t i = 0; i < in.dim(axis); ++i) {
        (*origins)[axis].push_back(Origin(i - pads[2 * axis], dims[axis]) * stride);
      }
      stride *= dims[axis];
    }
    return shape;
  }

  int64_t Origin(int64_t i, int64_t size) const {
    const int64_t edge = reflects_ ? 0 : 1;  // a symmetric image repeats the edge itself
    if (i < 0) return -i - edge;
    return i < size ? i : 2 * size - 2 + edge - i;
  }

  template <typename W>
  static void Add(const Shape& shape, const std::vector<std::vector<int64_t>>& origins,
                  const W* from, W* to) {
    const int rank = shape.rank();
    std::vector<int64_t> index(rank, 0);
    for (int64_t i = 0; i < shape.num_elements(); ++i) {
      int64_t at = 0;
      for (int axis = 0; axis < rank; ++axis) at += origins[axis][index[axis]];
      to[at] = WrapAdd(to[at], from[i]);
      for (int axis = rank - 1; axis >= 0; --axis) {
        if (++index[axis] < shape.dim(axis)) break;
        index[axis] = 0;
      }
    }
  }

  bool reflects_ = false;
};

}  // namespace

void RegisterMirrorPadGradKernels(KernelRegistry& r) {
  AddForTypes<MirrorPadGrad>(r, "MirrorPadGrad", Numbers());
}

}  // namespace tensorfleet::cpu
