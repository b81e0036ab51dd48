// Kernels that deal rows out by number and put them back: DynamicPartition, DynamicStitch,
// ParallelDynamicStitch. Schemas and shape rules: runtime/ops/array/gather_ops.cc.
#include <vector>

#include "runtime/kernels/cpu/array/gather.h"
#include "runtime/kernels/cpu/elements.h"
#include "runtime/kernels/cpu/index_input.h"
#include "runtime/kernels/kernel_registry.h"

namespace tensorfleet::cpu {
namespace {

bool StartsWith(const Shape& shape, const Shape& prefix) {
  return shape.rank() >= prefix.rank() && shape.SubShape(0, prefix.rank()) == prefix;
}

class DynamicPartition final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    const Tensor& data = ctx.input(0);
    const Tensor& partitions = ctx.input(1);
    const int count = ctx.num_outputs();
    if (!StartsWith(data.shape(), partitions.shape())) {
      return InvalidArgument(
          "data.shape must start with partitions.shape, got data.shape = ", data.shape().ToString(),
          ", partitions.shape = ", partitions.shape().ToString());
    }
    const auto part_of = partitions.values<int32_t>();
    std::vector<int64_t> sizes(count, 0);
    for (size_t i = 0; i < part_of.size(); ++i) {
      if (part_of[i] < 0 || part_of[i] >= count) {
        return InvalidArgument("partitions", PositionText(partitions.shape(), i), " = ", part_of[i],
                               " is not in [0, ", count, ")");
      }
      ++sizes[part_of[i]];
    }
    const Shape row = data.shape().SubShape(partitions.rank(), data.rank());
    std::vector<Tensor> parts;
    std::vector<char*> next;
    for (int i = 0; i < count; ++i) {
      TFLEET_ASSIGN_OR_RETURN(const Shape shape, row.Stacked(sizes[i]));
      TFLEET_ASSIGN_OR_RETURN(Tensor part, ctx.Allocate(data.dtype(), shape));
      next.push_back(static_cast<char*>(part.mutable_raw()));
      parts.push_back(std::move(part));
    }
    const int64_t width = row.num_elements();
    const int64_t bytes = width * static_cast<int64_t>(ElementSize(data.dtype()));
    if (width > 0) {
      for (size_t i = 0; i < part_of.size(); ++i) {
        char*& to = next[part_of[i]];
        CopyElements(data.dtype(), to, ElementAt(data, i * width), width);
        to += bytes;
      }
    }
    for (int i = 0; i < count; ++i) ctx.SetOutput(i, std::move(parts[i]));
    return OkStatus();
  }
};

// DynamicStitch and ParallelDynamicStitch: merged[indices[m][i]] = data[m][i], later ones winning.
class DynamicStitch final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    const int count = ctx.num_inputs() / 2;
    const Tensor& first_data = ctx.input(count);
    const Shape row = first_data.rank() >= ctx.input(0).rank()
                          ? first_data.shape().SubShape(ctx.input(0).rank(), first_data.rank())
                          : Shape();
    int64_t size = 0;
    int64_t given = 0;
    for (int m = 0; m < count; ++m) {
      const Tensor& indices = ctx.input(m);
      const Tensor& data = ctx.input(count + m);
      if (!StartsWith(data.shape(), indices.shape())) {
        return InvalidArgument("data[", m, "].shape = ", data.shape().ToString(),
                               " does not start with indices[", m,
                               "].shape = ", indices.shape().ToString());
      }
      if (data.shape().SubShape(indices.rank(), data.rank()) != row) {
        return InvalidArgument("Need data[0].shape[", ctx.input(0).rank(), ":] = data[", m,
                               "].shape[", indices.rank(),
                               ":], got data[0].shape = ", first_data.shape().ToString(), ", data[",
                               m, "].shape = ", data.shape().ToString(),
                               ", indices[0].shape = ", ctx.input(0).shape().ToString(),
                               ", indices[", m, "].shape = ", indices.shape().ToString());
      }
      const auto values = indices.values<int32_t>();
      for (size_t i = 0; i < values.size(); ++i) {
        if (values[i] < 0) {
          return InvalidArgument("indices", PositionText(indices.shape(), i), " is out of range");
        }
        size = std::max<int64_t>(size, int64_t{values[i]} + 1);
      }
      given += values.size();
    }
    TFLEET_ASSIGN_OR_RETURN(const Shape shape, row.Stacked(size));
    const DType dtype = first_data.dtype();
    // Rows that nothing is given for must not show old memory.
    TFLEET_ASSIGN_OR_RETURN(
        Tensor merged, given < size ? Tensor::Zeros(dtype, shape) : ctx.Allocate(dtype, shape));
    if (given >= size && given > 0 && IsPlainData(dtype)) {
      // Repeated numbers may leave gaps even so.
      std::vector<char> covered(size, 0);
      int64_t distinct = 0;
      for (int m = 0; m < count; ++m) {
        for (const int32_t i : ctx.input(m).values<int32_t>()) {
          distinct += covered[i] == 0;
          covered[i] = 1;
        }
      }
      if (distinct < size) std::memset(merged.mutable_raw(), 0, merged.bytes());
    }
    const int64_t width = row.num_elements();
    VisitElement(dtype, [&](auto tag) {
      using E = typename decltype(tag)::Type;
      E* const to = MutableElementsOf<E>(merged);
      for (int m = 0; m < count && width > 0; ++m) {
        const E* from = ElementsOf<E>(ctx.input(count + m));
        for (const int32_t i : ctx.input(m).values<int32_t>()) {
          std::copy_n(from, width, to + i * width);
          from += width;
        }
      }
    });
    ctx.SetOutput(0, std::move(merged));
    return OkStatus();
  }
};

}  // namespace

void RegisterPartitionKernels(KernelRegistry& kernels) {
  kernels.Add<DynamicPartition>("DynamicPartition", kCpu);
  kernels.Add<DynamicStitch>("DynamicStitch", kCpu);
  kernels.Add<DynamicStitch>("ParallelDynamicStitch", kCpu);
}

}  // namespace tensorfleet::cpu
