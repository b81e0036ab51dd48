// Resources whose ops exist in two forms: the present one names its resource by a handle, the one
// of the first version by a reference to a vector of two strings, container and name.
#pragma once

#include <string>

#include "runtime/kernels/kernel_context.h"
#include "runtime/kernels/private_resource.h"

namespace tensorfleet {

// What an op of the first version gives for a resource.
ResourceRef<Variable> MakeNameReference(absl::string_view container, absl::string_view name);

// Container and name of the resource that reference input `i` speaks of. Errors: InvalidArgument.
struct ResourceName {
  std::string container;
  std::string name;
};
StatusOr<ResourceName> NameFromReference(const KernelContext& ctx, int i);

// The resource behind input `i`, of either form. Errors: as LookupResource's, and InvalidArgument.
template <typename T>
StatusOr<ResourceRef<T>> LookupNamedResource(KernelContext& ctx, int i) {
  if (!ctx.ref_input_ptr(i)) return LookupResource<T>(ctx, i);
  TFLEET_ASSIGN_OR_RETURN(const ResourceName name, NameFromReference(ctx, i));
  return ctx.step().resources->Find<T>(name.container, name.name);
}

// A node's own resource (private_resource.h) that it hands out in the form of its output.
template <typename T>
class NamedResource {
 public:
  explicit NamedResource(KernelInit& init)
      : owned_(init),
        by_handle_(init.node().output_type(0) == DType::kResource),
        reference_(MakeNameReference(owned_.container(), owned_.name())) {}

  const std::string& name() const { return owned_.name(); }

  // `make` is StatusOr<ResourceRef<T>>().
  template <typename Make>
  StatusOr<ResourceRef<T>> FindOrMake(KernelContext& ctx, const Make& make) const {
    return owned_.FindOrMake(ctx, make);
  }

  // Sets output 0.
  void SetOutput(KernelContext& ctx, const char* type_name) const {
    if (by_handle_) {
      ctx.SetOutput(0, owned_.Handle(ctx, type_name));
    } else {
      ctx.SetRefOutput(0, reference_);
    }
  }

 private:
  const OwnedResource<T> owned_;
  const bool by_handle_;
  const ResourceRef<Variable> reference_;
};

}  // namespace tensorfleet
