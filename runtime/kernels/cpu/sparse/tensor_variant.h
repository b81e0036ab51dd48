// A tensor as an element of a variant tensor: how sparse tensors travel through data sets.
#pragma once

#include <utility>

#include "runtime/tensor/variant.h"

namespace tensorfleet::cpu {

class TensorValue final : public VariantValue {
 public:
  static constexpr char kTypeName[] = "tensorflow::Tensor";

  // Not of variants: their values would nest without end.
  explicit TensorValue(Tensor tensor) : tensor_(std::move(tensor)) {}
  std::string TypeName() const override { return kTypeName; }
  StatusOr<VariantData> Encode() const override { return VariantData{kTypeName, "", {tensor_}}; }
  const Tensor& tensor() const { return tensor_; }

 private:
  const Tensor tensor_;
};

inline Variant VariantOf(Tensor tensor) {
  return Variant(std::make_shared<TensorValue>(std::move(tensor)));
}

// The tensor in a variant, also in one that came from the wire; null when it holds something else.
inline const Tensor* TensorIn(const Variant& variant) {
  if (const auto* value = variant.get<TensorValue>()) return &value->tensor();
  const auto* encoded = variant.get<EncodedVariant>();
  if (encoded == nullptr || encoded->data().type_name != TensorValue::kTypeName ||
      encoded->data().tensors.size() != 1) {
    return nullptr;
  }
  return &encoded->data().tensors[0];
}

}  // namespace tensorfleet::cpu
