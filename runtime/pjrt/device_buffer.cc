#include "runtime/pjrt/device_buffer.h"

#include <atomic>

#include "runtime/pjrt/client.h"

namespace tensorfleet::pjrt {
namespace {

std::atomic<int64_t> bytes_in_use{0};

}  // namespace

Tensor DeviceBuffer::Wrap(const Client* client, int device, c::Buffer* buffer, DType dtype,
                          const Shape& shape) {
  const size_t size = ElementSize(dtype) * shape.num_elements();
  bytes_in_use.fetch_add(static_cast<int64_t>(size), std::memory_order_relaxed);
  return Tensor::FromBuffer(dtype, shape,
                            BufferRef::Adopt(new DeviceBuffer(client, device, buffer, size)));
}

void DeviceBuffer::Destroy() {
  bytes_in_use.fetch_sub(static_cast<int64_t>(size()), std::memory_order_relaxed);
  client_->plugin().Destroy(buffer_);
  delete this;
}

const DeviceBuffer* DeviceBufferOf(const Tensor& tensor) {
  Buffer* const buffer = tensor.buffer().get();
  if (buffer == nullptr || buffer->data() != nullptr) return nullptr;
  return dynamic_cast<const DeviceBuffer*>(buffer);
}

int64_t DeviceBytesInUse() { return bytes_in_use.load(std::memory_order_relaxed); }

}  // namespace tensorfleet::pjrt
