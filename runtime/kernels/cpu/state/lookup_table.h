// What the lookup table ops do with a table: from keys to rows of values. Tables are found among a
// device's resources as LookupTable, whatever their class. Thread-safe.
#pragma once

#include <string>

#include "runtime/kernels/resource.h"

namespace tensorfleet::cpu {

class LookupTable : public Resource {
 public:
  // kStatic: filled once; kMutable: can be changed; kDense: can be changed, in an array with free
  // places between the keys.
  enum class Kind { kStatic, kMutable, kDense };
  struct Type {
    DType key = DType::kInvalid;
    DType value = DType::kInvalid;
    Shape key_shape;    // of one key; a scalar but in dense tables
    Shape value_shape;  // of the value of one key
    Kind kind = Kind::kStatic;
    friend bool operator==(const Type& a, const Type& b) {
      return a.key == b.key && a.value == b.value && a.key_shape == b.key_shape &&
             a.value_shape == b.value_shape && a.kind == b.kind;
    }
  };

  std::string DebugString() const final { return absl::StrCat("A lookup table of size: ", size()); }
  const Type& type() const { return type_; }
  virtual int64_t size() const = 0;

  // A value for each key; `fallback`, of shape value_shape or, in mutable tables, a row for each
  // key, is given for keys that are not there. Errors: InvalidArgument for other dtypes or shapes;
  // FailedPrecondition for a static table before it was filled.
  virtual StatusOr<Tensor> Find(const Tensor& keys, const Tensor& fallback) const = 0;
  // Adds or replaces. Errors: InvalidArgument; FailedPrecondition for a static table.
  virtual Status Insert(const Tensor& keys, const Tensor& values) = 0;
  // Keys that are not there are fine. Errors: as Insert.
  virtual Status Remove(const Tensor& keys) = 0;
  // The first contents. A static table may be told them again, without effect, with as many keys.
  // Errors: InvalidArgument; FailedPrecondition for a static table's key with two values, and for
  // more or fewer keys than it has.
  virtual Status Initialize(const Tensor& keys, const Tensor& values) = 0;
  // These contents in place of what there was. Errors: as Initialize.
  virtual Status Import(const Tensor& keys, const Tensor& values) = 0;
  // All keys, and their values in the same order. Errors: as Find; ResourceExhausted.
  virtual Status Export(Tensor* keys, Tensor* values) const = 0;

 protected:
  explicit LookupTable(const Type& type) : type_(type) {}

 private:
  const Type type_;
};

}  // namespace tensorfleet::cpu
