#include "runtime/kernels/cpu/state/dense_table.h"

#include <algorithm>
#include <cstring>

#include "runtime/kernels/cpu/elements.h"
#include "runtime/kernels/cpu/index_input.h"
#include "runtime/kernels/cpu/string/hash64.h"

namespace tensorfleet::cpu {

StatusOr<ResourceRef<LookupTable>> DenseTable::Make(const Type& type, const Options& options) {
  if (type.key != DType::kInt32 && type.key != DType::kInt64 && type.key != DType::kString) {
    return Unimplemented("dense tables with keys of type ", DTypeName(type.key),
                         " are not supported; use int32, int64 or string");
  }
  if (!IsPlainData(type.value)) {
    return Unimplemented("dense tables with values of type ", DTypeName(type.value),
                         " are not supported; use numbers");
  }
  if (type.value_shape.rank() > 1) {
    return InvalidArgument("Empty value must be a scalar or a vector, got shape ",
                           type.value_shape.ToString());
  }
  if (options.deleted_key.is_valid()) {
    if (options.deleted_key.shape() != options.empty_key.shape()) {
      return InvalidArgument("Empty and deleted keys must have same shape, got shapes: ",
                             options.empty_key.shape().ToString(), " and ",
                             options.deleted_key.shape().ToString());
    }
  }
  constexpr int64_t kFewest = 4;
  if (options.places < kFewest || (options.places & (options.places - 1)) != 0) {
    return InvalidArgument("Number of buckets must be at least 4 and a power of 2, got: ",
                           options.places);
  }
  if (!(options.max_load > 0) || !(options.max_load < 1)) {
    return InvalidArgument("max_load_factor must be between 0 and 1, got: ", options.max_load);
  }
  auto* const table = new DenseTable(type, options);
  auto owned = ResourceRef<LookupTable>::Adopt(table);
  if (options.deleted_key.is_valid() &&
      table->SameKey(options.empty_key, 0, options.deleted_key, 0)) {
    return InvalidArgument("Empty and deleted keys cannot be equal");
  }
  TFLEET_ASSIGN_OR_RETURN(Places places, table->MakePlaces(options.places));
  MutexLock lock(&table->mu_);
  table->places_ = std::move(places);
  return owned;
}

DenseTable::DenseTable(const Type& type, const Options& options)
    : LookupTable(type),
      options_(options),
      key_elements_(type.key_shape.num_elements()),
      value_elements_(type.value_shape.num_elements()) {}

StatusOr<DenseTable::Places> DenseTable::MakePlaces(int64_t count) const {
  Places places;
  TFLEET_ASSIGN_OR_RETURN(places.keys, Tensor::Allocate(type().key, {count, key_elements_}));
  TFLEET_ASSIGN_OR_RETURN(places.values, Tensor::Zeros(type().value, {count, value_elements_}));
  for (int64_t i = 0; i < count; ++i) {
    CopyElements(type().key, MutableElementAt(places.keys, i * key_elements_),
                 options_.empty_key.raw(), key_elements_);
  }
  return places;
}

int64_t DenseTable::size() const {
  MutexLock lock(&mu_);
  return taken_;
}

StatusOr<int64_t> DenseTable::CountKeys(const Tensor& keys) const {
  if (keys.dtype() != type().key) {
    return InvalidArgument("Key must be type ", DTypeName(type().key), " but got ",
                           DTypeName(keys.dtype()));
  }
  const int rank = type().key_shape.rank(), batch = keys.rank() - rank;
  if (batch < 0 || (rank > 0 && batch == 0) ||
      keys.shape().SubShape(batch, keys.rank()) != type().key_shape) {
    return InvalidArgument("Input key shape ", keys.shape().ToString(),
                           " must end with the table's key shape ", type().key_shape.ToString());
  }
  return keys.shape().SubShape(0, batch).num_elements();
}

Status DenseTable::CheckPairs(const Tensor& keys, const Tensor& values, int64_t count) const {
  if (values.dtype() != type().value) {
    return InvalidArgument("Value must be type ", DTypeName(type().value), " but got ",
                           DTypeName(values.dtype()));
  }
  const Shape batch = keys.shape().SubShape(0, keys.rank() - type().key_shape.rank());
  TFLEET_ASSIGN_OR_RETURN(const Shape expected, batch.Concatenated(type().value_shape));
  if (values.shape() == expected) return OkStatus();
  return InvalidArgument("Expected shape ", expected.ToString(), " for value, got ",
                         values.shape().ToString());
}

uint64_t DenseTable::HashOf(const Tensor& keys, int64_t i) const {
  const auto element = [&](int64_t at) {
    return type().key == DType::kString ? Hash64(keys.values<std::string>()[at])
                                        : static_cast<uint64_t>(IntegerAt(keys, at));
  };
  if (key_elements_ == 1) return element(i);
  uint64_t hash = 0;
  for (int64_t k = 0; k < key_elements_; ++k) {
    hash ^= element(i * key_elements_ + k) + 0x9e3779b97f4a7800 + (hash << 10) + (hash >> 4);
  }
  return hash;
}

bool DenseTable::SameKey(const Tensor& a, int64_t i, const Tensor& b, int64_t j) const {
  if (type().key == DType::kString) {
    const auto first = a.values<std::string>().subspan(i * key_elements_, key_elements_);
    return std::equal(first.begin(), first.end(),
                      b.values<std::string>().begin() + j * key_elements_);
  }
  return std::memcmp(ElementAt(a, i * key_elements_), ElementAt(b, j * key_elements_),
                     key_elements_ * ElementSize(type().key)) == 0;
}

bool DenseTable::IsEmpty(const Tensor& keys, int64_t i) const {
  return SameKey(keys, i, options_.empty_key, 0);
}

bool DenseTable::IsDeleted(const Tensor& keys, int64_t i) const {
  return options_.deleted_key.is_valid() && SameKey(keys, i, options_.deleted_key, 0);
}

Status DenseTable::CheckUsable(const Tensor& keys, int64_t i) const {
  if (IsEmpty(keys, i)) {
    return InvalidArgument("Using the empty_key as a table key is not allowed");
  }
  if (IsDeleted(keys, i)) {
    return InvalidArgument("Using the deleted_key as a table key is not allowed");
  }
  return OkStatus();
}

int64_t DenseTable::PlaceOf(const Places& places, const Tensor& keys, int64_t i,
                            bool* is_there) const {
  const int64_t mask = places.count() - 1;
  int64_t free = -1;
  int64_t at = static_cast<int64_t>(HashOf(keys, i) & static_cast<uint64_t>(mask));
  // Steps of rising length come to every place of a power of two.
  for (int64_t step = 1; step <= places.count(); ++step) {
    if (SameKey(places.keys, at, keys, i)) {
      *is_there = true;
      return at;
    }
    const bool is_empty = IsEmpty(places.keys, at);
    if (free < 0 && (is_empty || IsDeleted(places.keys, at))) free = at;
    if (is_empty) break;
    at = (at + step) & mask;
  }
  *is_there = false;
  return free;
}

void DenseTable::Put(const Tensor& keys, const Tensor& values, int64_t i, Places* places,
                     int64_t* taken) const {
  bool is_there = false;
  const int64_t at = PlaceOf(*places, keys, i, &is_there);
  if (!is_there) {
    ++*taken;
    CopyElements(type().key, MutableElementAt(places->keys, at * key_elements_),
                 ElementAt(keys, i * key_elements_), key_elements_);
  }
  CopyElements(type().value, MutableElementAt(places->values, at * value_elements_),
               ElementAt(values, i * value_elements_), value_elements_);
}

// How many places `keys` need, at least `least`. Errors: ResourceExhausted.
StatusOr<int64_t> DenseTable::PlacesFor(int64_t keys, int64_t least) const {
  constexpr int64_t kMost = int64_t{1} << 40;
  int64_t count = least;
  while (static_cast<double>(keys) > static_cast<double>(count) * options_.max_load) {
    if (count >= kMost) {
      return ResourceExhausted("a dense table can't hold ", keys,
                               " keys with a max_load_factor of ", options_.max_load);
    }
    count *= 2;
  }
  return count;
}

Status DenseTable::MakeRoom(int64_t more) {
  TFLEET_ASSIGN_OR_RETURN(const int64_t count, PlacesFor(taken_ + more, places_.count()));
  if (count == places_.count()) return OkStatus();
  TFLEET_ASSIGN_OR_RETURN(Places larger, MakePlaces(count));
  int64_t taken = 0;
  for (int64_t i = 0; i < places_.count(); ++i) {
    if (IsEmpty(places_.keys, i) || IsDeleted(places_.keys, i)) continue;
    Put(places_.keys, places_.values, i, &larger, &taken);
  }
  places_ = std::move(larger);
  taken_ = taken;
  return OkStatus();
}

StatusOr<Tensor> DenseTable::Find(const Tensor& keys, const Tensor& fallback) const {
  TFLEET_ASSIGN_OR_RETURN(const int64_t count, CountKeys(keys));
  const Shape batch = keys.shape().SubShape(0, keys.rank() - type().key_shape.rank());
  TFLEET_ASSIGN_OR_RETURN(const Shape shape, batch.Concatenated(type().value_shape));
  if (fallback.dtype() != type().value) {
    return InvalidArgument("Default value must be type ", DTypeName(type().value), " but got ",
                           DTypeName(fallback.dtype()));
  }
  // Of a row for each key the first serves all, as in TensorFlow.
  if (fallback.shape() != type().value_shape && fallback.shape() != shape) {
    return InvalidArgument("Expected shape ", type().value_shape.ToString(),
                           " for default value, got ", fallback.shape().ToString());
  }
  TFLEET_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(type().value, shape));
  MutexLock lock(&mu_);
  for (int64_t i = 0; i < count; ++i) {
    TFLEET_RETURN_IF_ERROR(CheckUsable(keys, i));
    bool is_there = false;
    const int64_t at = PlaceOf(places_, keys, i, &is_there);
    CopyElements(type().value, MutableElementAt(out, i * value_elements_),
                 is_there ? ElementAt(places_.values, at * value_elements_) : fallback.raw(),
                 value_elements_);
  }
  return out;
}

Status DenseTable::Insert(const Tensor& keys, const Tensor& values) {
  TFLEET_ASSIGN_OR_RETURN(const int64_t count, CountKeys(keys));
  TFLEET_RETURN_IF_ERROR(CheckPairs(keys, values, count));
  MutexLock lock(&mu_);
  TFLEET_RETURN_IF_ERROR(MakeRoom(count));
  for (int64_t i = 0; i < count; ++i) {
    TFLEET_RETURN_IF_ERROR(CheckUsable(keys, i));
    Put(keys, values, i, &places_, &taken_);
  }
  return OkStatus();
}

Status DenseTable::Remove(const Tensor& keys) {
  TFLEET_ASSIGN_OR_RETURN(const int64_t count, CountKeys(keys));
  if (!options_.deleted_key.is_valid()) {
    return FailedPrecondition("a dense table without a deleted_key can't remove keys");
  }
  MutexLock lock(&mu_);
  for (int64_t i = 0; i < count; ++i) {
    TFLEET_RETURN_IF_ERROR(CheckUsable(keys, i));
    bool is_there = false;
    const int64_t at = PlaceOf(places_, keys, i, &is_there);
    if (!is_there) continue;
    --taken_;
    CopyElements(type().key, MutableElementAt(places_.keys, at * key_elements_),
                 options_.deleted_key.raw(), key_elements_);
  }
  return OkStatus();
}

Status DenseTable::Initialize(const Tensor& keys, const Tensor& values) {
  return InvalidArgument("a dense table is not initializable");
}

Status DenseTable::Import(const Tensor& keys, const Tensor& values) {
  if (keys.dtype() != type().key || values.dtype() != type().value) {
    return InvalidArgument("Key and value must be of types ", DTypeName(type().key), " and ",
                           DTypeName(type().value));
  }
  // A row for each pair, as Export gives them, with or without a dimension of 1.
  const auto has_rows = [](const Tensor& t, const Shape& row) {
    if (t.rank() == 0) return false;
    const Shape rest = t.shape().SubShape(1, t.rank());
    return rest == row || (row.rank() == 0 && rest.rank() == 1 && rest.dim(0) == 1);
  };
  if (!has_rows(keys, type().key_shape) || !has_rows(values, type().value_shape) ||
      keys.dim(0) != values.dim(0)) {
    return InvalidArgument("Expected rows of shapes ", type().key_shape.ToString(), " and ",
                           type().value_shape.ToString(), " for keys and values, got ",
                           keys.shape().ToString(), " and ", values.shape().ToString());
  }
  int64_t pairs = 0;
  for (int64_t i = 0; i < keys.dim(0); ++i) pairs += !IsEmpty(keys, i) && !IsDeleted(keys, i);
  // As many places as Export gave, where that is a number of places.
  int64_t count = options_.places;
  if (keys.dim(0) >= count && (keys.dim(0) & (keys.dim(0) - 1)) == 0) count = keys.dim(0);
  TFLEET_ASSIGN_OR_RETURN(count, PlacesFor(pairs, count));
  TFLEET_ASSIGN_OR_RETURN(Places places, MakePlaces(count));
  int64_t taken = 0;
  if (count == keys.dim(0) && pairs < count) {
    // An export, most likely: everything keeps its place if it is found there.
    CopyElements(type().key, places.keys.mutable_raw(), keys.raw(), keys.num_elements());
    CopyElements(type().value, places.values.mutable_raw(), values.raw(), values.num_elements());
    bool is_found = true;
    for (int64_t i = 0; i < count && is_found; ++i) {
      bool is_there = true;
      is_found = IsEmpty(keys, i) || IsDeleted(keys, i) ||
                 (PlaceOf(places, keys, i, &is_there) == i && is_there);
    }
    if (is_found) taken = pairs;
    if (!is_found) {
      TFLEET_ASSIGN_OR_RETURN(places, MakePlaces(count));
    }
  }
  for (int64_t i = 0; taken < pairs && i < keys.dim(0); ++i) {
    if (!IsEmpty(keys, i) && !IsDeleted(keys, i)) Put(keys, values, i, &places, &taken);
  }
  MutexLock lock(&mu_);
  places_ = std::move(places);
  taken_ = taken;
  return OkStatus();
}

Status DenseTable::Export(Tensor* keys, Tensor* values) const {
  MutexLock lock(&mu_);
  TFLEET_ASSIGN_OR_RETURN(*keys, places_.keys.Clone());
  TFLEET_ASSIGN_OR_RETURN(*values, places_.values.Clone());
  if (type().key_shape.rank() > 1) {
    TFLEET_ASSIGN_OR_RETURN(const Shape shape, type().key_shape.Stacked(places_.count()));
    *keys = keys->Reshaped(shape);
  }
  return OkStatus();
}

}  // namespace tensorfleet::cpu
