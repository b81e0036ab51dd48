// Optionals. Schemas: runtime/ops/list/tensor_list_ops.cc.
#include "runtime/kernels/cpu/list/optional.h"

#include "runtime/kernels/cpu/list/nesting.h"
#include "runtime/kernels/kernel_registry.h"

namespace tensorfleet::cpu {

// The metadata are TensorFlow's: one byte that says whether there is a value.
StatusOr<VariantData> Optional::Encode() const {
  VariantData data;
  data.type_name = kTypeName;
  data.metadata.push_back(has_value_ ? 1 : 0);
  data.tensors = components_;
  return data;
}

StatusOr<std::shared_ptr<const Optional>> OptionalFromVariant(const Variant& variant) {
  if (const auto* optional = variant.get<Optional>()) {
    return std::make_shared<const Optional>(*optional);
  }
  if (const auto* encoded = variant.get<EncodedVariant>();
      encoded != nullptr && encoded->data().type_name == Optional::kTypeName) {
    const VariantData& data = encoded->data();
    if (data.metadata.size() != 1) {
      return InvalidArgument("an optional is encoded badly: its metadata has ",
                             data.metadata.size(), " bytes");
    }
    if (data.metadata[0] == 0) return std::make_shared<const Optional>();
    int depth = 1;
    for (const Tensor& component : data.tensors) {
      TFLEET_RETURN_IF_ERROR(NestWithin(component, &depth));
    }
    return std::make_shared<const Optional>(data.tensors, depth);
  }
  return InvalidArgument("expected an optional, found ",
                         variant.is_empty() ? "an empty variant" : variant.value()->TypeName());
}

namespace {

StatusOr<std::shared_ptr<const Optional>> OptionalFromInput(const KernelContext& ctx) {
  const Tensor& input = ctx.input(0);
  if (!input.shape().is_scalar()) {
    return InvalidArgument("Input to ", ctx.node().op(), " must be a scalar, not of shape ",
                           input.shape().ToString());
  }
  return OptionalFromVariant(input.scalar<Variant>());
}

class OptionalNone final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    ctx.SetOutput(0, Tensor::Scalar(Variant(std::make_shared<Optional>())));
    return OkStatus();
  }
};

class OptionalFromValue final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    std::vector<Tensor> components;
    int depth = 1;
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      TFLEET_RETURN_IF_ERROR(NestWithin(ctx.input(i), &depth));
      components.push_back(ctx.TakeInput(i));
    }
    ctx.SetOutput(
        0, Tensor::Scalar(Variant(std::make_shared<Optional>(std::move(components), depth))));
    return OkStatus();
  }
};

class OptionalHasValue final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const auto optional, OptionalFromInput(ctx));
    ctx.SetOutput(0, Tensor::Scalar(optional->has_value()));
    return OkStatus();
  }
};

class OptionalGetValue final : public Kernel {
 public:
  explicit OptionalGetValue(KernelInit& init) {
    init.Get("output_types", &types_);
    init.Get("output_shapes", &shapes_);
    if (init.status().ok() && types_.size() != shapes_.size()) {
      init.Fail(InvalidArgument("output_types and output_shapes have ", types_.size(), " and ",
                                shapes_.size(), " entries"));
    }
  }
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const auto optional, OptionalFromInput(ctx));
    if (!optional->has_value()) {
      return InvalidArgument("The given optional does not have a value.");
    }
    const std::vector<Tensor>& components = optional->components();
    if (components.size() != types_.size()) {
      return InvalidArgument("The given optional has ", components.size(), " components, expected ",
                             types_.size());
    }
    for (size_t i = 0; i < components.size(); ++i) {
      if (components[i].dtype() != types_[i]) {
        return InvalidArgument("The given optional does not match the expected type for component ",
                               i, ". Expected: ", DTypeName(types_[i]),
                               ". Actual: ", DTypeName(components[i].dtype()), ".");
      }
      if (!shapes_[i].IsCompatibleWith(components[i].shape())) {
        return InvalidArgument(
            "The given optional does not match the expected shape for component ", i,
            ". Expected: ", shapes_[i].ToString(), ". Actual: ", components[i].shape().ToString(),
            ".");
      }
      ctx.SetOutput(static_cast<int>(i), components[i]);
    }
    return OkStatus();
  }

 private:
  std::vector<DType> types_;
  std::vector<PartialShape> shapes_;
};

}  // namespace

void RegisterOptionalKernels(KernelRegistry& r) {
  r.Add<OptionalNone>("OptionalNone", kCpu);
  r.Add<OptionalFromValue>("OptionalFromValue", kCpu);
  r.Add<OptionalHasValue>("OptionalHasValue", kCpu);
  r.Add<OptionalGetValue>("OptionalGetValue", kCpu);
}

}  // namespace tensorfleet::cpu
