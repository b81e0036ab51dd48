// Resources without a name that others could know: they go with the step that made them.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "runtime/kernels/kernel.h"
#include "runtime/tensor/resource_handle.h"
#include "runtime/tensor/variant.h"

namespace tensorfleet::data {

// What the outputs called "deleter" hold; whoever has one may delete the resource.
class AnonymousDeleter final : public VariantValue {
 public:
  std::string TypeName() const override { return "tensorflow::ResourceDeleter"; }
  StatusOr<VariantData> Encode() const override {
    return Unimplemented("the right to delete a resource cannot leave its task");
  }
};

// Removes a resource when the step that made it ends, if it is there still.
template <typename T>
class AnonymousHold final : public Resource {
 public:
  AnonymousHold(ResourceManager* resources, std::string name)
      : resources_(resources), name_(std::move(name)) {}
  std::string DebugString() const override { return "anonymous resource"; }

 private:
  ~AnonymousHold() override { resources_->Remove<T>("", name_).IgnoreError(); }
  ResourceManager* const resources_;
  const std::string name_;
};

// Output 0 becomes a handle to `resource`, output 1, where there is one, its deleter.
template <typename T>
Status SetAnonymous(KernelContext& ctx, ResourceRef<T> resource, const char* type_name) {
  ResourceManager* const resources = ctx.step().resources;
  ResourceHandle handle;
  handle.device = ctx.step().device->name();
  handle.container = resources->default_container();
  handle.name = absl::StrCat("_anonymous_", resources->NextPrivateId());
  handle.type_name = type_name;
  TFLEET_RETURN_IF_ERROR(resources->Add<T>("", handle.name, std::move(resource)));
  TFLEET_RETURN_IF_ERROR(ctx.step().step_resources->Add<AnonymousHold<T>>(
      "", handle.name,
      ResourceRef<AnonymousHold<T>>::Adopt(new AnonymousHold<T>(resources, handle.name))));
  ctx.SetOutput(0, Tensor::Scalar(std::move(handle)));
  if (ctx.num_outputs() > 1) {
    ctx.SetOutput(1, Tensor::Scalar(Variant(std::make_shared<AnonymousDeleter>())));
  }
  return OkStatus();
}

// DeleteIterator and its like: handle, deleter.
template <typename T>
class DeleteAnonymousKernel final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    const ResourceHandle* const handle = HandleFromInput(ctx, 0);
    if (handle == nullptr) return InvalidArgument("input 0 is not a scalar resource handle");
    TFLEET_RETURN_IF_ERROR(CheckHandleDevice(ctx, *handle));
    return ctx.step().resources->Remove<T>(handle->container, handle->name);
  }
};

}  // namespace tensorfleet::data
