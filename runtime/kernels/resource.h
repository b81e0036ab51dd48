// State that outlives a step: variables, queues, accumulators, tables. Held by a ResourceManager
// under (container, name), and by intrusive references while kernels use it.
#pragma once

#include <atomic>
#include <string>
#include <utility>

#include "runtime/base/mutex.h"
#include "runtime/tensor/tensor.h"

namespace tensorfleet {

class Resource {
 public:
  Resource() = default;
  Resource(const Resource&) = delete;
  Resource& operator=(const Resource&) = delete;
  // For messages: "Variable float [3,2]".
  virtual std::string DebugString() const = 0;

  void Ref() const { refs_.fetch_add(1, std::memory_order_relaxed); }
  void Unref() const {
    if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

 protected:
  virtual ~Resource() = default;

 private:
  mutable std::atomic<int32_t> refs_{1};
};

// An owning pointer to a Resource.
template <typename T>
class ResourceRef {
 public:
  ResourceRef() = default;
  // Takes over the reference that `new` or a release gave.
  static ResourceRef Adopt(T* resource) {
    ResourceRef ref;
    ref.ptr_ = resource;
    return ref;
  }
  explicit ResourceRef(T* resource) : ptr_(resource) {
    if (ptr_ != nullptr) ptr_->Ref();
  }
  ResourceRef(const ResourceRef& other) : ResourceRef(other.ptr_) {}
  ResourceRef(ResourceRef&& other) noexcept : ptr_(std::exchange(other.ptr_, nullptr)) {}
  ResourceRef& operator=(ResourceRef other) noexcept {
    std::swap(ptr_, other.ptr_);
    return *this;
  }
  ~ResourceRef() {
    if (ptr_ != nullptr) ptr_->Unref();
  }
  T* get() const { return ptr_; }
  T* operator->() const { return ptr_; }
  T& operator*() const { return *ptr_; }
  explicit operator bool() const { return ptr_ != nullptr; }

 private:
  T* ptr_ = nullptr;
};

// A variable, of either kind: what VariableV2 hands out by reference edge and what VarHandleOp
// names. Updates write in place when the buffer has no other holder and into a new buffer
// otherwise, so a value that was read never changes under its reader.
class Variable final : public Resource {
 public:
  explicit Variable(DType dtype, PartialShape declared_shape = PartialShape::Unknown())
      : dtype_(dtype), declared_shape_(std::move(declared_shape)) {}
  std::string DebugString() const override;
  DType dtype() const { return dtype_; }
  // What a VariableV2 node says; a checked assignment must fit it while there is no value yet.
  const PartialShape& declared_shape() const { return declared_shape_; }

  Mutex& mu() const ABSL_LOCK_RETURNED(mu_) { return mu_; }
  // Invalid until the variable is first assigned.
  const Tensor& tensor() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return tensor_; }
  Tensor& mutable_tensor() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return tensor_; }

  // A handle to the present value; invalid when uninitialised.
  Tensor Read() const {
    MutexLock lock(&mu_);
    return tensor_;
  }
  bool is_initialized() const {
    MutexLock lock(&mu_);
    return tensor_.is_valid();
  }
  // The tensor, made safe to write in place: copied first when its buffer has other holders.
  // Errors: FailedPrecondition when uninitialised; ResourceExhausted.
  StatusOr<Tensor*> Writable() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

 private:
  const DType dtype_;
  const PartialShape declared_shape_;
  mutable Mutex mu_;
  Tensor tensor_ ABSL_GUARDED_BY(mu_);
};

}  // namespace tensorfleet
