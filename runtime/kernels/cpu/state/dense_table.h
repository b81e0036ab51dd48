// The dense lookup table: keys and values in arrays of a power of two of places, which an export
// shows as they are. Two keys of its own mark free places: one those that were never used, one
// those whose key was removed; neither can be a key of a pair. Thread-safe.
#pragma once

#include "runtime/base/mutex.h"
#include "runtime/kernels/cpu/state/lookup_table.h"

namespace tensorfleet::cpu {

class DenseTable final : public LookupTable {
 public:
  struct Options {
    Tensor empty_key;
    Tensor deleted_key;  // invalid: nothing can be removed
    int64_t places = 0;
    float max_load = 0;  // the part of the places that may be taken before there are more
  };
  // `type.key_shape` is the empty key's. Errors: InvalidArgument; Unimplemented for keys that are
  // not int32, int64 or strings and for values that are not plain; ResourceExhausted.
  static StatusOr<ResourceRef<LookupTable>> Make(const Type& type, const Options& options);

  int64_t size() const override;
  StatusOr<Tensor> Find(const Tensor& keys, const Tensor& fallback) const override;
  Status Insert(const Tensor& keys, const Tensor& values) override;
  Status Remove(const Tensor& keys) override;
  Status Initialize(const Tensor& keys, const Tensor& values) override;
  // Takes what Export gives, too: free places are left out.
  Status Import(const Tensor& keys, const Tensor& values) override;
  // All places, with a dimension of 1 for keys or values that are scalars.
  Status Export(Tensor* keys, Tensor* values) const override;

 private:
  struct Places {
    Tensor keys;    // [places, elements of a key]
    Tensor values;  // [places, elements of a value]
    int64_t count() const { return keys.dim(0); }
  };

  DenseTable(const Type& type, const Options& options);
  StatusOr<Places> MakePlaces(int64_t count) const;
  // How many keys there are in a tensor of them. Errors: InvalidArgument.
  StatusOr<int64_t> CountKeys(const Tensor& keys) const;
  Status CheckPairs(const Tensor& keys, const Tensor& values, int64_t count) const;
  uint64_t HashOf(const Tensor& keys, int64_t i) const;
  bool SameKey(const Tensor& a, int64_t i, const Tensor& b, int64_t j) const;
  bool IsEmpty(const Tensor& keys, int64_t i) const;
  bool IsDeleted(const Tensor& keys, int64_t i) const;
  Status CheckUsable(const Tensor& keys, int64_t i) const;
  // Where key `i` is, or else the place it should take, with `*is_there` false.
  int64_t PlaceOf(const Places& places, const Tensor& keys, int64_t i, bool* is_there) const;
  // Puts pair `i` into `places`, which has room.
  void Put(const Tensor& keys, const Tensor& values, int64_t i, Places* places,
           int64_t* taken) const;
  StatusOr<int64_t> PlacesFor(int64_t keys, int64_t least) const;
  Status MakeRoom(int64_t more) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Options options_;
  const int64_t key_elements_, value_elements_;
  mutable Mutex mu_;
  Places places_ ABSL_GUARDED_BY(mu_);
  int64_t taken_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace tensorfleet::cpu
