// The state behind the lookup table ops: from keys (integers or strings) to rows of values. A
// static table is filled once, a mutable one changes. Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "runtime/base/mutex.h"
#include "runtime/kernels/resource.h"

namespace tensorfleet::cpu {

class LookupTable final : public Resource {
 public:
  struct Type {
    DType key = DType::kInvalid;
    DType value = DType::kInvalid;
    Shape value_shape;  // of the value of one key
    bool is_mutable = false;
    friend bool operator==(const Type& a, const Type& b) {
      return a.key == b.key && a.value == b.value && a.value_shape == b.value_shape &&
             a.is_mutable == b.is_mutable;
    }
  };
  // Errors: Unimplemented for keys that are neither integers nor strings, and values that are
  // handles or variants.
  static StatusOr<ResourceRef<LookupTable>> Make(const Type& type);

  std::string DebugString() const override;
  const Type& type() const { return type_; }
  int64_t size() const;

  // keys.shape + value_shape; `fallback`, of shape value_shape or one row for each key, is given
  // for keys that are not there. Errors: InvalidArgument for other dtypes or shapes;
  // FailedPrecondition for a static table before it was filled.
  StatusOr<Tensor> Find(const Tensor& keys, const Tensor& fallback) const;
  // Adds or replaces. Errors: InvalidArgument; FailedPrecondition for a static table.
  Status Insert(const Tensor& keys, const Tensor& values);
  // Keys that are not there are fine. Errors: as Insert.
  Status Remove(const Tensor& keys);
  // Everything anew; for a static table its only filling, which may be repeated, without effect,
  // with as many keys. Errors: InvalidArgument; FailedPrecondition for a static table's key with
  // two values, and for more or fewer keys than it has.
  Status Fill(const Tensor& keys, const Tensor& values);
  // All keys, and their values in the same order. Errors: as Find; ResourceExhausted.
  Status Export(Tensor* keys, Tensor* values) const;

 private:
  explicit LookupTable(const Type& type);
  Status CheckKeys(const Tensor& keys) const;
  Status CheckPairs(const Tensor& keys, const Tensor& values) const;
  int64_t SlotOf(const Tensor& keys, int64_t i) const ABSL_SHARED_LOCKS_REQUIRED(mu_);
  void Put(const Tensor& keys, const Tensor& values, int64_t i) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void RemoveSlot(int64_t slot) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool HasRow(int64_t slot, const Tensor& values, int64_t i) const ABSL_SHARED_LOCKS_REQUIRED(mu_);
  // Copies the row in `slot` to row `i` of `out`, and back.
  void CopyOut(int64_t slot, Tensor* out, int64_t i) const ABSL_SHARED_LOCKS_REQUIRED(mu_);
  void CopyIn(const Tensor& values, int64_t i, int64_t slot) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Type type_;
  const int64_t row_elements_;
  const size_t row_bytes_;  // 0 for strings
  mutable Mutex mu_;
  bool is_filled_ ABSL_GUARDED_BY(mu_) = false;
  // Keys by slot and slots by key; only one pair is used.
  std::vector<int64_t> integer_keys_ ABSL_GUARDED_BY(mu_);
  std::vector<std::string> string_keys_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<int64_t, int64_t> by_integer_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<std::string, int64_t> by_string_ ABSL_GUARDED_BY(mu_);
  // Rows by slot; only one is used.
  std::vector<char> plain_rows_ ABSL_GUARDED_BY(mu_);
  std::vector<std::string> string_rows_ ABSL_GUARDED_BY(mu_);
};

}  // namespace tensorfleet::cpu
