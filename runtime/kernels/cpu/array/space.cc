// Kernels that exchange blocks of space for depth or batch: SpaceToDepth, DepthToSpace,
// SpaceToBatchND, BatchToSpaceND. Schemas and shape rules: runtime/ops/array/space_ops.cc.
#include <string>

#include "runtime/kernels/cpu/elements.h"
#include "runtime/kernels/cpu/index_input.h"
#include "runtime/kernels/cpu/strided_copy.h"
#include "runtime/kernels/kernel_registry.h"

namespace tensorfleet::cpu {
namespace {

// SpaceToDepth and, with the two sides exchanged, DepthToSpace.
template <bool kToDepth>
class SpaceDepth final : public Kernel {
 public:
  explicit SpaceDepth(KernelInit& init) {
    std::string format;
    init.Get("block_size", &block_);
    init.Get("data_format", &format);
    channels_last_ = format == "NHWC";
    if (format == "NCHW_VECT_C") {
      init.Fail(Unimplemented(init.def().op(),
                              " has no kernel for data format NCHW_VECT_C on a CPU; "
                              "use NHWC or NCHW"));
    }
  }
  Status Compute(KernelContext& ctx) const override {
    const Tensor& in = ctx.input(0);
    if (in.rank() != 4) return InvalidArgument("Input rank should be: 4 instead of: ", in.rank());
    const int h = channels_last_ ? 1 : 2;
    const int c = channels_last_ ? 3 : 1;
    Integers dims(in.shape().dims().begin(), in.shape().dims().end());
    if (kToDepth) {
      if (dims[h] % block_ != 0 || dims[h + 1] % block_ != 0) {
        return InvalidArgument("Image width ", dims[h + 1], " and height ", dims[h],
                               " should be divisible by block_size: ", block_);
      }
      dims[h] /= block_;
      dims[h + 1] /= block_;
      // Without overflow: as many elements as the input, or none.
      TFLEET_RETURN_IF_ERROR(Multiply(&dims[c], block_));
      TFLEET_RETURN_IF_ERROR(Multiply(&dims[c], block_));
    } else {
      if (dims[c] % block_ != 0 || dims[c] / block_ % block_ != 0) {
        return InvalidArgument("Input depth dimension ", dims[c],
                               " should be divisible by: ", block_, " * ", block_);
      }
      dims[c] = dims[c] / block_ / block_;
      TFLEET_RETURN_IF_ERROR(Multiply(&dims[h], block_));
      TFLEET_RETURN_IF_ERROR(Multiply(&dims[h + 1], block_));
    }
    TFLEET_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(in.dtype(), shape));
    if (shape.num_elements() > 0) {
      const Shape& space = kToDepth ? in.shape() : shape;
      const Shape& depth = kToDepth ? shape : in.shape();
      const auto s = DenseStrides(space.dims());
      const auto d = DenseStrides(depth.dims());
      const int64_t channels = space.dim(c);
      // Depth counts the row in the block, then the column, then the channel.
      CopyAxes axes = {{space.dim(0), s[0], d[0]},
                       {depth.dim(h), s[h] * block_, d[h]},
                       {depth.dim(h + 1), s[h + 1] * block_, d[h + 1]},
                       {block_, s[h], d[c] * block_ * channels},
                       {block_, s[h + 1], d[c] * channels},
                       {channels, s[c], d[c]}};
      if (!kToDepth) {
        for (CopyAxis& axis : axes) std::swap(axis.from, axis.to);
      }
      StridedCopy(in.dtype(), axes, in.raw(), out.mutable_raw(), &ctx.pool());
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  static Status Multiply(int64_t* dim, int64_t by) {
    if (__builtin_mul_overflow(*dim, by, dim))
      return InvalidArgument("block_size ", by, " is too large");
    return OkStatus();
  }

  int64_t block_ = 2;
  bool channels_last_ = true;
};

// SpaceToBatchND and, with the two sides exchanged, BatchToSpaceND; also their first versions,
// whose blocks are squares of images, as an attribute says.
template <bool kToBatch>
class SpaceBatch final : public Kernel {
 public:
  explicit SpaceBatch(KernelInit& init) : is_first_version_(init.node().num_inputs() == 2) {
    if (!is_first_version_) return;
    int64_t size = 0;
    init.Get("block_size", &size);
    if (size < 2) init.Fail(InvalidArgument("Block size should be > 1: ", size));
    square_ = Tensor::Vector<int64_t>({size, size});
  }
  Status Compute(KernelContext& ctx) const override {
    const Tensor& in = ctx.input(0);
    const Tensor& block_input = is_first_version_ ? square_ : ctx.input(1);
    const Tensor& margin_input = ctx.input(is_first_version_ ? 1 : 2);
    if (is_first_version_ && in.rank() != 4) {
      return InvalidArgument("Input rank should be: 4 instead of: ", in.rank());
    }
    const char* margin_name = kToBatch ? "paddings" : "crops";
    if (block_input.rank() != 1) {
      return InvalidArgument("block_shape rank should be 1 instead of ", block_input.rank());
    }
    const int spatial = static_cast<int>(block_input.num_elements());
    if (in.rank() < 1 + spatial) {
      return InvalidArgument("input rank should be >= ", 1 + spatial, " instead of ", in.rank());
    }
    if (margin_input.rank() != 2 || margin_input.dim(0) != spatial || margin_input.dim(1) != 2) {
      return InvalidArgument(margin_name, " should have shape [", spatial, ", 2] instead of ",
                             margin_input.shape().ToString());
    }
    const Integers block = IntegersOf(block_input);
    const Integers margins = IntegersOf(margin_input);
    Integers dims(in.shape().dims().begin(), in.shape().dims().end());
    int64_t blocks = 1;
    for (int i = 0; i < spatial; ++i) {
      if (block[i] < 1)
        return InvalidArgument("All values in block_shape must be positive, got value, ", block[i],
                               " at index ", i, ".");
      if (margins[2 * i] < 0 || margins[2 * i + 1] < 0) {
        return InvalidArgument(margin_name, " must be non-negative");
      }
      if (__builtin_mul_overflow(blocks, block[i], &blocks) || blocks > kMaxBlocks) {
        return InvalidArgument("block_shape has more than ", kMaxBlocks, " elements in a block");
      }
    }
    if (!kToBatch && dims[0] % blocks != 0) {
      return InvalidArgument("Input batch dimension (", dims[0],
                             ") is not divisible by product of block sizes (", blocks, ")");
    }
    int64_t batch = dims[0];
    if (kToBatch ? __builtin_mul_overflow(dims[0], blocks, &dims[0])
                 : (batch = dims[0] /= blocks, false)) {
      return InvalidArgument("block_shape is too large for the batch");
    }
    for (int i = 0; i < spatial; ++i) {
      TFLEET_ASSIGN_OR_RETURN(
          dims[1 + i], SpatialSize(dims[1 + i], block[i], margins[2 * i], margins[2 * i + 1], i));
    }
    TFLEET_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, Tensor::Zeros(in.dtype(), shape));
    if (shape.num_elements() > 0 && in.num_elements() > 0) {
      CopyBlocks(ctx, in, block, margins, batch, blocks, &out);
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  static constexpr int64_t kMaxBlocks = 1 << 24;
  const bool is_first_version_;
  Tensor square_;

  static StatusOr<int64_t> SpatialSize(int64_t dim, int64_t block, int64_t before, int64_t after,
                                       int i) {
    int64_t size;
    if (kToBatch) {
      if (__builtin_add_overflow(dim, before, &size) ||
          __builtin_add_overflow(size, after, &size)) {
        return InvalidArgument("paddings of dimension ", i, " are too large");
      }
      if (size % block != 0) {
        return InvalidArgument("padded_shape[", i, "]=", size, " is not divisible by block_shape[",
                               i, "]=", block);
      }
      return size / block;
    }
    if (__builtin_mul_overflow(dim, block, &size) || before > size || after > size - before) {
      return InvalidArgument("cropped_shape[", i, "] must be non-negative: ", dim, " * ", block,
                             " less ", before, " and ", after);
    }
    return size - before - after;
  }

  // For every place in a block, the elements of the space that lie there are a regular grid on both
  // sides.
  static void CopyBlocks(const KernelContext& ctx, const Tensor& in, const Integers& block,
                         const Integers& margins, int64_t batch, int64_t blocks, Tensor* out) {
    const Shape& space = kToBatch ? in.shape() : out->shape();
    const Shape& packed = kToBatch ? out->shape() : in.shape();
    const auto s = DenseStrides(space.dims());
    const auto p = DenseStrides(packed.dims());
    const int spatial = static_cast<int>(block.size());
    for (int64_t place = 0; place < blocks; ++place) {
      CopyAxes axes = {{batch, s[0], p[0]}};
      int64_t from = 0, to = place * batch * p[0];
      int64_t rest = place;
      Integers offset(spatial);
      for (int i = spatial - 1; i >= 0; --i) {
        offset[i] = rest % block[i];
        rest /= block[i];
      }
      for (int i = 0; i < spatial; ++i) {
        // Packed position j is position j * block + offset - before of the space.
        const int64_t first = offset[i] - margins[2 * i];
        const int64_t begin = first >= 0 ? 0 : (-first + block[i] - 1) / block[i];
        const int64_t behind = space.dim(1 + i) - first;
        const int64_t end =
            behind <= 0 ? 0 : std::min(packed.dim(1 + i), (behind + block[i] - 1) / block[i]);
        axes.push_back({std::max<int64_t>(0, end - begin), s[1 + i] * block[i], p[1 + i]});
        from += (begin * block[i] + first) * s[1 + i];
        to += begin * p[1 + i];
      }
      for (int i = 1 + spatial; i < space.rank(); ++i) axes.push_back({space.dim(i), s[i], p[i]});
      bool is_empty = false;
      for (const CopyAxis& axis : axes) is_empty |= axis.size == 0;
      if (is_empty) continue;
      if (!kToBatch) {
        for (CopyAxis& axis : axes) std::swap(axis.from, axis.to);
        std::swap(from, to);
      }
      StridedCopy(in.dtype(), axes, ElementAt(in, from), MutableElementAt(*out, to), &ctx.pool());
    }
  }
};

}  // namespace

void RegisterSpaceKernels(KernelRegistry& kernels) {
  kernels.Add<SpaceDepth<true>>("SpaceToDepth", kCpu);
  kernels.Add<SpaceDepth<false>>("DepthToSpace", kCpu);
  kernels.Add<SpaceBatch<true>>("SpaceToBatchND", kCpu);
  kernels.Add<SpaceBatch<true>>("SpaceToBatch", kCpu);
  kernels.Add<SpaceBatch<false>>("BatchToSpaceND", kCpu);
  kernels.Add<SpaceBatch<false>>("BatchToSpace", kCpu);
}

}  // namespace tensorfleet::cpu
