// Resources that a node makes and names by a handle: queues, accumulators, tables.
#pragma once

#include <string>
#include <utility>

#include "runtime/base/mutex.h"
#include "runtime/kernels/kernel.h"
#include "runtime/tensor/resource_handle.h"

namespace tensorfleet {

// What may stand in a node's attributes `container` and `shared_name`. Errors: InvalidArgument, in
// TensorFlow's words.
Status CheckResourceNames(const std::string& container, const std::string& shared_name);

// Where a node's resource lives, by its attributes `container` and `shared_name`: with a shared
// name anybody may share it; without one it belongs to the node's kernel, is called "_<n>_<node>"
// and goes with it. Keeps the manager's address: a kernel goes before the manager that it was made
// with.
template <typename T>
class OwnedResource {
 public:
  explicit OwnedResource(KernelInit& init) : resources_(init.resources()) {
    init.Get("container", &container_);
    init.Get("shared_name", &name_);
    init.Fail(CheckResourceNames(container_, name_));
    if (container_.empty()) container_ = resources_->default_container();
    // Tables may ask to be shared under their node's name.
    if (const StatusOr<bool> shares = GetAttrOr(init.def(), "use_node_name_sharing", false);
        shares.ok() && *shares && name_.empty()) {
      name_ = init.node().name();
    }
    is_private_ = name_.empty();
    if (is_private_) {
      name_ = absl::StrCat("_", resources_->NextPrivateId(), "_", init.node().name());
    }
  }
  ~OwnedResource() {
    if (is_private_) resources_->Remove<T>(container_, name_).IgnoreError();
  }
  OwnedResource(const OwnedResource&) = delete;
  OwnedResource& operator=(const OwnedResource&) = delete;

  const std::string& container() const { return container_; }
  const std::string& name() const { return name_; }

  // `make` is StatusOr<ResourceRef<T>>().
  template <typename Make>
  StatusOr<ResourceRef<T>> FindOrMake(KernelContext& ctx, const Make& make) const {
    return ctx.step().resources->FindOrMake<T>(container_, name_, make);
  }

  // The handle's tensor.
  Tensor Handle(const KernelContext& ctx, const char* type_name) const {
    ResourceHandle handle;
    handle.device = ctx.step().device->name();
    handle.container = container_;
    handle.name = name_;
    handle.type_name = type_name;
    return Tensor::Scalar<ResourceHandle>(std::move(handle));
  }

 private:
  ResourceManager* const resources_;
  std::string container_, name_;
  bool is_private_ = false;
};

}  // namespace tensorfleet
