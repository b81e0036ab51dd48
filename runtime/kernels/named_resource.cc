#include "runtime/kernels/named_resource.h"

namespace tensorfleet {

ResourceRef<Variable> MakeNameReference(absl::string_view container, absl::string_view name) {
  auto reference = ResourceRef<Variable>::Adopt(new Variable(DType::kString));
  MutexLock lock(&reference->mu());
  reference->mutable_tensor() =
      Tensor::Vector<std::string>({std::string(container), std::string(name)});
  return reference;
}

StatusOr<ResourceName> NameFromReference(const KernelContext& ctx, int i) {
  const Tensor name = ctx.ref_input(i).Read();
  if (!name.is_valid() || name.dtype() != DType::kString || name.num_elements() != 2) {
    return InvalidArgument("Resource handle must have two elements, container and name, but had ",
                           name.is_valid() ? name.shape().ToString() : "none");
  }
  const auto parts = name.values<std::string>();
  return ResourceName{parts[0], parts[1]};
}

}  // namespace tensorfleet
