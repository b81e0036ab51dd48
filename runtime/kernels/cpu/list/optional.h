// A value that may be there or not, as functional conditionals hand values to their gradients: what
// a variant of type "tensorflow::OptionalVariant" holds.
#pragma once

#include <memory>
#include <vector>

#include "runtime/tensor/variant.h"

namespace tensorfleet::cpu {

class Optional final : public VariantValue {
 public:
  Optional() = default;  // none
  // `depth`: 1, raised by NestWithin for each component.
  Optional(std::vector<Tensor> components, int depth)
      : has_value_(true), components_(std::move(components)), depth_(depth) {}

  std::string TypeName() const override { return kTypeName; }
  StatusOr<VariantData> Encode() const override;
  static constexpr char kTypeName[] = "tensorflow::OptionalVariant";

  bool has_value() const { return has_value_; }
  const std::vector<Tensor>& components() const { return components_; }
  int depth() const { return depth_; }

 private:
  bool has_value_ = false;
  std::vector<Tensor> components_;
  int depth_ = 1;
};

// Errors: InvalidArgument when the variant holds something else.
StatusOr<std::shared_ptr<const Optional>> OptionalFromVariant(const Variant& variant);

}  // namespace tensorfleet::cpu
