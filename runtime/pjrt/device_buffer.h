// A tensor's memory on a device. It has no address on the host: a Tensor over it has a type, a
// shape and handles that count, and data() is null, so that code which takes its elements for host
// memory stops at once instead of reading something else. Client::ToHost makes a copy that can be
// read.
#pragma once

#include "runtime/pjrt/plugin.h"
#include "runtime/tensor/tensor.h"

namespace tensorfleet::pjrt {

class Client;

class DeviceBuffer final : public Buffer {
 public:
  // Takes over `buffer`, which `client` made on its device number `device`.
  static Tensor Wrap(const Client* client, int device, c::Buffer* buffer, DType dtype,
                     const Shape& shape);

  const Client* client() const { return client_; }
  int device() const { return device_; }
  c::Buffer* get() const { return buffer_; }

 private:
  DeviceBuffer(const Client* client, int device, c::Buffer* buffer, size_t size)
      : Buffer(nullptr, size), client_(client), device_(device), buffer_(buffer) {}
  void Destroy() override;

  const Client* const client_;
  const int device_;
  c::Buffer* const buffer_;
};

// Null for a tensor on the host, and for an invalid one.
const DeviceBuffer* DeviceBufferOf(const Tensor& tensor);

// Bytes in live device buffers of this process.
int64_t DeviceBytesInUse();

}  // namespace tensorfleet::pjrt
