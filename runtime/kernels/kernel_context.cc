#include "runtime/kernels/kernel_context.h"

#include "runtime/tensor/resource_handle.h"

namespace tensorfleet {

StatusOr<Tensor> KernelContext::ForwardOrAllocate(int i, DType dtype, const Shape& shape) {
  const Tensor& have = inputs_[i].tensor;
  // A view of a part of a buffer is never forwarded: its memory belongs to the whole.
  if (have.dtype() == dtype && have.shape() == shape && have.buffer_is_unique() &&
      have.raw() == have.buffer()->data()) {
    return have;
  }
  return Tensor::Allocate(dtype, shape);
}

const ResourceHandle* HandleFromInput(const KernelContext& ctx, int i) {
  const Tensor& handle = ctx.input(i);
  if (handle.dtype() != DType::kResource || handle.num_elements() != 1) return nullptr;
  return &handle.scalar<ResourceHandle>();
}

Status CheckHandleDevice(const KernelContext& ctx, const ResourceHandle& handle) {
  if (handle.device == ctx.step().device->name()) return OkStatus();
  return InvalidArgument("Trying to access resource ", handle.name, " located in device ",
                         handle.device, " from device ", ctx.step().device->name());
}

}  // namespace tensorfleet
