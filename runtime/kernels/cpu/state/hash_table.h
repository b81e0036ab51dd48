// The lookup tables that keep their pairs in a hash map: static ones, which are filled once, and
// mutable ones. Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "runtime/base/mutex.h"
#include "runtime/kernels/cpu/state/lookup_table.h"

namespace tensorfleet::cpu {

class HashTable final : public LookupTable {
 public:
  // Errors: Unimplemented for keys that are neither integers nor strings, and values that are
  // handles or variants.
  static StatusOr<ResourceRef<LookupTable>> Make(const Type& type);

  int64_t size() const override;
  StatusOr<Tensor> Find(const Tensor& keys, const Tensor& fallback) const override;
  Status Insert(const Tensor& keys, const Tensor& values) override;
  Status Remove(const Tensor& keys) override;
  Status Initialize(const Tensor& keys, const Tensor& values) override;
  Status Import(const Tensor& keys, const Tensor& values) override;
  Status Export(Tensor* keys, Tensor* values) const override;

 private:
  explicit HashTable(const Type& type);
  Status CheckKeys(const Tensor& keys) const;
  Status CheckPairs(const Tensor& keys, const Tensor& values) const;
  int64_t SlotOf(const Tensor& keys, int64_t i) const ABSL_SHARED_LOCKS_REQUIRED(mu_);
  void Put(const Tensor& keys, const Tensor& values, int64_t i) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void RemoveSlot(int64_t slot) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool HasRow(int64_t slot, const Tensor& values, int64_t i) const ABSL_SHARED_LOCKS_REQUIRED(mu_);
  // Copies the row in `slot` to row `i` of `out`, and back.
  void CopyOut(int64_t slot, Tensor* out, int64_t i) const ABSL_SHARED_LOCKS_REQUIRED(mu_);
  void CopyIn(const Tensor& values, int64_t i, int64_t slot) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  bool is_mutable() const { return type().kind == Kind::kMutable; }

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
