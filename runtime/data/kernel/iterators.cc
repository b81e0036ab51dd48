// Iterators: making, naming, initializing and deleting them. What asks them for elements:
// next.cc; one-shot iterators: one_shot.cc.
#include "proto/tensor.pb.h"
#include "runtime/data/anonymous.h"
#include "runtime/data/dataset_kernel.h"
#include "runtime/data/families.h"
#include "runtime/data/iterator_resource.h"
#include "runtime/kernels/private_resource.h"
#include "runtime/tensor/tensor_proto.h"

namespace tensorfleet::data {
namespace {

ElementType DeclaredType(KernelInit& init) {
  ElementType type;
  init.Get("output_types", &type.types);
  init.Get("output_shapes", &type.shapes);
  if (init.status().ok() && !type.shapes.empty() && type.types.size() != type.shapes.size()) {
    init.Fail(InvalidArgument("'output_types' and 'output_shapes' must have the same length: ",
                              type.types.size(), " vs. ", type.shapes.size()));
  }
  return type;
}

// Iterator, IteratorV2.
class IteratorKernel final : public Kernel {
 public:
  explicit IteratorKernel(KernelInit& init) : resource_(init), type_(DeclaredType(init)) {}
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const DisposalRef disposal, DisposalOf(*ctx.step().resources));
    TFLEET_ASSIGN_OR_RETURN(
        const ResourceRef<IteratorResource> iterator,
        resource_.FindOrMake(ctx, [&]() -> StatusOr<ResourceRef<IteratorResource>> {
          return ResourceRef<IteratorResource>::Adopt(new IteratorResource(type_, disposal));
        }));
    TFLEET_RETURN_IF_ERROR(CheckCompatible(type_, iterator->declared()));
    ctx.SetOutput(0, resource_.Handle(ctx, kIteratorTypeName));
    return OkStatus();
  }

 private:
  const OwnedResource<IteratorResource> resource_;
  const ElementType type_;
};

// AnonymousIterator and its later versions, whose second output deletes it.
class AnonymousIteratorKernel final : public Kernel {
 public:
  explicit AnonymousIteratorKernel(KernelInit& init) : type_(DeclaredType(init)) {}
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(DisposalRef disposal, DisposalOf(*ctx.step().resources));
    return SetAnonymous(
        ctx, ResourceRef<IteratorResource>::Adopt(new IteratorResource(type_, std::move(disposal))),
        kIteratorTypeName);
  }

 private:
  const ElementType type_;
};

class MakeIteratorKernel final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(DatasetRef dataset, DatasetInput(ctx, 0));
    TFLEET_ASSIGN_OR_RETURN(const ResourceRef<IteratorResource> iterator, IteratorInput(ctx, 1));
    return iterator->Initialize(std::move(dataset), &ctx.pool(), HandleFromInput(ctx, 1)->name);
  }
};

class ToStringHandleKernel final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    TFLEET_RETURN_IF_ERROR(LookupResource<IteratorResource>(ctx, 0).status());
    tensorflow::ResourceHandleProto proto;
    ResourceHandleToProto(*HandleFromInput(ctx, 0), &proto);
    ctx.SetOutput(0, Tensor::Scalar(proto.SerializeAsString()));
    return OkStatus();
  }
};

class FromStringHandleKernel final : public Kernel {
 public:
  explicit FromStringHandleKernel(KernelInit& init) : type_(DeclaredType(init)) {}
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const std::string text,
                            ScalarInput<std::string>(ctx, 0, "string_handle"));
    tensorflow::ResourceHandleProto proto;
    if (!proto.ParseFromString(text)) {
      return InvalidArgument(
          "Could not parse string_handle as a valid ResourceHandle: feed what "
          "Iterator.string_handle() gives");
    }
    TFLEET_ASSIGN_OR_RETURN(ResourceHandle handle, ResourceHandleFromProto(proto));
    if (handle.device != ctx.step().device->name()) {
      return InvalidArgument("Attempted create an iterator on device \"", ctx.step().device->name(),
                             "\" from handle defined on device \"", handle.device, "\"");
    }
    TFLEET_ASSIGN_OR_RETURN(
        const ResourceRef<IteratorResource> iterator,
        ctx.step().resources->Find<IteratorResource>(handle.container, handle.name));
    if (!type_.types.empty()) {
      TFLEET_RETURN_IF_ERROR(CheckCompatible(type_, iterator->declared()));
    }
    ctx.SetOutput(0, Tensor::Scalar(std::move(handle)));
    return OkStatus();
  }

 private:
  const ElementType type_;
};

class GetDeviceKernel final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    const ResourceHandle* const handle = HandleFromInput(ctx, 0);
    if (handle == nullptr) return InvalidArgument("input 0 is not a scalar resource handle");
    ctx.SetOutput(0, Tensor::Scalar(handle->device));
    return OkStatus();
  }
};

}  // namespace

void RegisterIteratorKernels(KernelRegistry& kernels) {
  kernels.Add<IteratorKernel>("Iterator", kCpu);
  kernels.Add<IteratorKernel>("IteratorV2", kCpu);
  for (const char* op : {"AnonymousIterator", "AnonymousIteratorV2", "AnonymousIteratorV3"}) {
    kernels.Add<AnonymousIteratorKernel>(op, kCpu);
  }
  kernels.Add<MakeIteratorKernel>("MakeIterator", kCpu);
  kernels.Add<DeleteAnonymousKernel<IteratorResource>>("DeleteIterator", kCpu);
  kernels.Add<ToStringHandleKernel>("IteratorToStringHandle", kCpu);
  kernels.Add<FromStringHandleKernel>("IteratorFromStringHandle", kCpu);
  kernels.Add<FromStringHandleKernel>("IteratorFromStringHandleV2", kCpu);
  kernels.Add<GetDeviceKernel>("IteratorGetDevice", kCpu);
  kernels.Add<GetDeviceKernel>("ExperimentalIteratorGetDevice", kCpu);
}

}  // namespace tensorfleet::data
