// An element of a `variant` tensor: any value of a class derived from VariantValue, shared and
// immutable (whoever changes one makes a new value).
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/tensor/tensor.h"

namespace tensorfleet {

// What a variant is on the wire (tensorflow.VariantTensorDataProto).
struct VariantData {
  std::string type_name;
  std::string metadata;
  std::vector<Tensor> tensors;
};

class VariantValue {
 public:
  virtual ~VariantValue() = default;
  // The name under which the value travels, for example "tensorflow::TensorList".
  virtual std::string TypeName() const = 0;
  // Errors: Unimplemented for values that cannot leave their process.
  virtual StatusOr<VariantData> Encode() const = 0;
};

class Variant {
 public:
  Variant() = default;
  explicit Variant(std::shared_ptr<const VariantValue> value) : value_(std::move(value)) {}
  bool is_empty() const { return value_ == nullptr; }
  // The value as a T, or null when it is something else.
  template <typename T>
  const T* get() const {
    return dynamic_cast<const T*>(value_.get());
  }
  const VariantValue* value() const { return value_.get(); }

 private:
  std::shared_ptr<const VariantValue> value_;
};

// A value that came from the wire and whose type nobody has asked for yet: keeps the data as it is,
// so that it can be moved on unchanged.
class EncodedVariant final : public VariantValue {
 public:
  explicit EncodedVariant(VariantData data) : data_(std::move(data)) {}
  std::string TypeName() const override { return data_.type_name; }
  StatusOr<VariantData> Encode() const override { return data_; }
  const VariantData& data() const { return data_; }

 private:
  VariantData data_;
};

}  // namespace tensorfleet
