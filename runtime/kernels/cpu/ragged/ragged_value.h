// A ragged tensor as an element of a variant tensor.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/tensor/variant.h"

namespace tensorfleet::cpu {

// Tensors: the splits, outermost first, then the values.
class RaggedValue final : public VariantValue {
 public:
  static constexpr char kTypeName[] = "RaggedTensorVariant";

  explicit RaggedValue(std::vector<Tensor> parts) : parts_(std::move(parts)) {}
  std::string TypeName() const override { return kTypeName; }
  StatusOr<VariantData> Encode() const override { return VariantData{kTypeName, "", parts_}; }
  const std::vector<Tensor>& parts() const { return parts_; }

 private:
  const std::vector<Tensor> parts_;
};

inline Variant RaggedVariantOf(std::vector<Tensor> parts) {
  return Variant(std::make_shared<RaggedValue>(std::move(parts)));
}

// The parts of the ragged tensor in a variant, also in one that came from the wire; at least one.
// Null when it holds something else.
inline const std::vector<Tensor>* RaggedPartsIn(const Variant& variant) {
  if (const auto* value = variant.get<RaggedValue>()) return &value->parts();
  const auto* encoded = variant.get<EncodedVariant>();
  if (encoded == nullptr || encoded->data().type_name != RaggedValue::kTypeName ||
      encoded->data().tensors.empty()) {
    return nullptr;
  }
  return &encoded->data().tensors;
}

}  // namespace tensorfleet::cpu
