// Reference-counted memory under tensors. Buffers are aligned to 64 bytes, so that any vector
// instruction may be used and the network can receive straight into them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "runtime/base/status.h"

namespace tensorfleet {

inline constexpr size_t kBufferAlignment = 64;

class Buffer {
 public:
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  void* data() const { return data_; }
  size_t size() const { return size_; }  // bytes

  void Ref() { refs_.fetch_add(1, std::memory_order_relaxed); }
  void Unref() {
    // The last holder need not pay for a second atomic operation.
    if (refs_.load(std::memory_order_acquire) == 1 ||
        refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      Destroy();
    }
  }
  // True for the only holder: it may write.
  bool unique() const { return refs_.load(std::memory_order_acquire) == 1; }

 protected:
  Buffer(void* data, size_t size) : data_(data), size_(size) {}
  virtual ~Buffer() = default;
  // Frees this object and its memory.
  virtual void Destroy() = 0;

 private:
  void* const data_;
  const size_t size_;
  std::atomic<int32_t> refs_{1};
};

// An owning handle to a Buffer; null by default.
class BufferRef {
 public:
  BufferRef() = default;
  // Takes over one reference.
  static BufferRef Adopt(Buffer* buffer) {
    BufferRef ref;
    ref.buffer_ = buffer;
    return ref;
  }
  BufferRef(const BufferRef& other) : buffer_(other.buffer_) {
    if (buffer_ != nullptr) buffer_->Ref();
  }
  BufferRef(BufferRef&& other) noexcept : buffer_(std::exchange(other.buffer_, nullptr)) {}
  BufferRef& operator=(BufferRef other) noexcept {
    std::swap(buffer_, other.buffer_);
    return *this;
  }
  ~BufferRef() {
    if (buffer_ != nullptr) buffer_->Unref();
  }
  Buffer* get() const { return buffer_; }
  Buffer* operator->() const { return buffer_; }
  explicit operator bool() const { return buffer_ != nullptr; }

 private:
  Buffer* buffer_ = nullptr;
};

// Host memory of `size` bytes, uninitialised. Small sizes come from a per-thread cache and cost no
// call into the system's allocator. Errors: ResourceExhausted, also for sizes over the process-wide
// limit.
StatusOr<BufferRef> AllocateHostBuffer(size_t size);

// Memory that somebody else owns; `release` is called once when the last reference goes.
BufferRef WrapHostBuffer(void* data, size_t size, std::function<void()> release);

// The largest single host buffer that may be allocated, in bytes; 64 GiB unless set.
void SetMaxHostBufferBytes(size_t bytes);
size_t MaxHostBufferBytes();

// Bytes in live host buffers of over 1 KiB.
int64_t HostBytesInUse();

}  // namespace tensorfleet
