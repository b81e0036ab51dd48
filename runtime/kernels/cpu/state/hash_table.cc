#include "runtime/kernels/cpu/state/hash_table.h"

#include <cstring>

#include "runtime/kernels/cpu/elements.h"
#include "runtime/kernels/cpu/index_input.h"

namespace tensorfleet::cpu {

StatusOr<ResourceRef<LookupTable>> HashTable::Make(const Type& type) {
  // Integers of half a byte have no arithmetic here.
  const bool is_whole =
      IsInteger(type.key) && type.key != DType::kInt4 && type.key != DType::kUInt4;
  if (!is_whole && type.key != DType::kString) {
    return Unimplemented("tables with keys of type ", DTypeName(type.key),
                         " are not supported; use integers or strings");
  }
  if (!IsPlainData(type.value) && type.value != DType::kString) {
    return Unimplemented("tables with values of type ", DTypeName(type.value),
                         " are not supported; use numbers or strings");
  }
  return ResourceRef<LookupTable>::Adopt(new HashTable(type));
}

HashTable::HashTable(const Type& type)
    : LookupTable(type),
      row_elements_(type.value_shape.num_elements()),
      row_bytes_(type.value == DType::kString ? 0 : row_elements_ * ElementSize(type.value)),
      is_filled_(type.kind == Kind::kMutable) {}

int64_t HashTable::size() const {
  MutexLock lock(&mu_);
  return static_cast<int64_t>(by_integer_.size() + by_string_.size());
}

Status HashTable::CheckKeys(const Tensor& keys) const {
  if (keys.dtype() == type().key) return OkStatus();
  return InvalidArgument("Key must be type ", DTypeName(type().key), " but got ",
                         DTypeName(keys.dtype()));
}

Status HashTable::CheckPairs(const Tensor& keys, const Tensor& values) const {
  TFLEET_RETURN_IF_ERROR(CheckKeys(keys));
  if (values.dtype() != type().value) {
    return InvalidArgument("Value must be type ", DTypeName(type().value), " but got ",
                           DTypeName(values.dtype()));
  }
  TFLEET_ASSIGN_OR_RETURN(const Shape expected, keys.shape().Concatenated(type().value_shape));
  if (values.shape() == expected) return OkStatus();
  return InvalidArgument("Expected shape ", expected.ToString(), " for value, got ",
                         values.shape().ToString());
}

int64_t HashTable::SlotOf(const Tensor& keys, int64_t i) const {
  if (type().key == DType::kString) {
    const auto it = by_string_.find(keys.values<std::string>()[i]);
    return it == by_string_.end() ? -1 : it->second;
  }
  const auto it = by_integer_.find(IntegerAt(keys, i));
  return it == by_integer_.end() ? -1 : it->second;
}

void HashTable::CopyOut(int64_t slot, Tensor* out, int64_t i) const {
  if (type().value == DType::kString) {
    std::copy_n(string_rows_.begin() + slot * row_elements_, row_elements_,
                out->mutable_values<std::string>().begin() + i * row_elements_);
  } else if (row_bytes_ > 0) {
    std::memcpy(MutableElementAt(*out, i * row_elements_), plain_rows_.data() + slot * row_bytes_,
                row_bytes_);
  }
}

void HashTable::CopyIn(const Tensor& values, int64_t i, int64_t slot) {
  if (type().value == DType::kString) {
    std::copy_n(values.values<std::string>().begin() + i * row_elements_, row_elements_,
                string_rows_.begin() + slot * row_elements_);
  } else if (row_bytes_ > 0) {
    std::memcpy(plain_rows_.data() + slot * row_bytes_, ElementAt(values, i * row_elements_),
                row_bytes_);
  }
}

bool HashTable::HasRow(int64_t slot, const Tensor& values, int64_t i) const {
  if (type().value == DType::kString) {
    return std::equal(string_rows_.begin() + slot * row_elements_,
                      string_rows_.begin() + (slot + 1) * row_elements_,
                      values.values<std::string>().begin() + i * row_elements_);
  }
  return row_bytes_ == 0 || std::memcmp(plain_rows_.data() + slot * row_bytes_,
                                        ElementAt(values, i * row_elements_), row_bytes_) == 0;
}

void HashTable::Put(const Tensor& keys, const Tensor& values, int64_t i) {
  int64_t slot = SlotOf(keys, i);
  if (slot < 0) {
    slot = static_cast<int64_t>(by_integer_.size() + by_string_.size());
    if (type().key == DType::kString) {
      string_keys_.push_back(keys.values<std::string>()[i]);
      by_string_.emplace(string_keys_.back(), slot);
    } else {
      integer_keys_.push_back(IntegerAt(keys, i));
      by_integer_.emplace(integer_keys_.back(), slot);
    }
    if (type().value == DType::kString) {
      string_rows_.resize((slot + 1) * row_elements_);
    } else {
      plain_rows_.resize((slot + 1) * row_bytes_);
    }
  }
  CopyIn(values, i, slot);
}

// The last slot takes the place of the one that goes.
void HashTable::RemoveSlot(int64_t slot) {
  const int64_t last = static_cast<int64_t>(by_integer_.size() + by_string_.size()) - 1;
  if (type().key == DType::kString) {
    by_string_.erase(string_keys_[slot]);
    if (slot != last) by_string_[string_keys_[slot] = std::move(string_keys_[last])] = slot;
    string_keys_.pop_back();
  } else {
    by_integer_.erase(integer_keys_[slot]);
    if (slot != last) by_integer_[integer_keys_[slot] = integer_keys_[last]] = slot;
    integer_keys_.pop_back();
  }
  if (type().value == DType::kString) {
    for (int64_t k = 0; slot != last && k < row_elements_; ++k) {
      string_rows_[slot * row_elements_ + k] = std::move(string_rows_[last * row_elements_ + k]);
    }
    string_rows_.resize(last * row_elements_);
  } else {
    if (slot != last && row_bytes_ > 0) {
      std::memcpy(plain_rows_.data() + slot * row_bytes_, plain_rows_.data() + last * row_bytes_,
                  row_bytes_);
    }
    plain_rows_.resize(last * row_bytes_);
  }
}

StatusOr<Tensor> HashTable::Find(const Tensor& keys, const Tensor& fallback) const {
  TFLEET_RETURN_IF_ERROR(CheckKeys(keys));
  if (fallback.dtype() != type().value) {
    return InvalidArgument("Default value must be type ", DTypeName(type().value), " but got ",
                           DTypeName(fallback.dtype()));
  }
  TFLEET_ASSIGN_OR_RETURN(const Shape shape, keys.shape().Concatenated(type().value_shape));
  const bool has_own_rows = is_mutable() && fallback.shape() == shape;
  if (!has_own_rows && fallback.shape() != type().value_shape) {
    return InvalidArgument("Expected shape ", type().value_shape.ToString(),
                           " for default value, got ", fallback.shape().ToString());
  }
  TFLEET_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(type().value, shape));
  MutexLock lock(&mu_);
  if (!is_filled_) return FailedPrecondition("Table not initialized.");
  for (int64_t i = 0; i < keys.num_elements(); ++i) {
    const int64_t slot = SlotOf(keys, i);
    if (slot >= 0) {
      CopyOut(slot, &out, i);
    } else if (row_elements_ > 0) {
      CopyElements(type().value, MutableElementAt(out, i * row_elements_),
                   ElementAt(fallback, has_own_rows ? i * row_elements_ : 0), row_elements_);
    }
  }
  return out;
}

Status HashTable::Insert(const Tensor& keys, const Tensor& values) {
  if (!is_mutable()) return FailedPrecondition("a static table cannot be changed");
  TFLEET_RETURN_IF_ERROR(CheckPairs(keys, values));
  MutexLock lock(&mu_);
  for (int64_t i = 0; i < keys.num_elements(); ++i) Put(keys, values, i);
  return OkStatus();
}

Status HashTable::Remove(const Tensor& keys) {
  if (!is_mutable()) return FailedPrecondition("a static table cannot be changed");
  TFLEET_RETURN_IF_ERROR(CheckKeys(keys));
  MutexLock lock(&mu_);
  for (int64_t i = 0; i < keys.num_elements(); ++i) {
    if (const int64_t slot = SlotOf(keys, i); slot >= 0) RemoveSlot(slot);
  }
  return OkStatus();
}

Status HashTable::Initialize(const Tensor& keys, const Tensor& values) {
  if (is_mutable()) return InvalidArgument("a mutable table is not initializable");
  return Import(keys, values);
}

Status HashTable::Import(const Tensor& keys, const Tensor& values) {
  TFLEET_RETURN_IF_ERROR(CheckPairs(keys, values));
  MutexLock lock(&mu_);
  if (!is_mutable()) {
    // A table of its own first: nothing of a bad filling is seen.
    HashTable filled(type());
    MutexLock own(&filled.mu_);
    for (int64_t i = 0; i < keys.num_elements(); ++i) {
      const int64_t slot = filled.SlotOf(keys, i);
      if (slot >= 0 && !filled.HasRow(slot, values, i)) {
        return FailedPrecondition("HashTable has different value for same key. Key ",
                                  type().key == DType::kString ? keys.values<std::string>()[i]
                                                               : absl::StrCat(IntegerAt(keys, i)),
                                  " is there already");
      }
      if (slot < 0) filled.Put(keys, values, i);
    }
    if (is_filled_) {
      // Like TensorFlow, which compares sizes alone: the first contents stay.
      if (filled.by_integer_.size() != by_integer_.size() ||
          filled.by_string_.size() != by_string_.size()) {
        return FailedPrecondition("Table was already initialized with different data.");
      }
      return OkStatus();
    }
    std::swap(integer_keys_, filled.integer_keys_);
    std::swap(string_keys_, filled.string_keys_);
    std::swap(by_integer_, filled.by_integer_);
    std::swap(by_string_, filled.by_string_);
    std::swap(plain_rows_, filled.plain_rows_);
    std::swap(string_rows_, filled.string_rows_);
    is_filled_ = true;
    return OkStatus();
  }
  integer_keys_.clear();
  string_keys_.clear();
  by_integer_.clear();
  by_string_.clear();
  plain_rows_.clear();
  string_rows_.clear();
  for (int64_t i = 0; i < keys.num_elements(); ++i) Put(keys, values, i);
  return OkStatus();
}

Status HashTable::Export(Tensor* keys, Tensor* values) const {
  MutexLock lock(&mu_);
  if (!is_filled_) return FailedPrecondition("Table not initialized.");
  const auto size = static_cast<int64_t>(by_integer_.size() + by_string_.size());
  TFLEET_ASSIGN_OR_RETURN(const Shape value_shape, type().value_shape.Stacked(size));
  TFLEET_ASSIGN_OR_RETURN(*keys, Tensor::Allocate(type().key, {size}));
  TFLEET_ASSIGN_OR_RETURN(*values, Tensor::Allocate(type().value, value_shape));
  for (int64_t slot = 0; slot < size; ++slot) {
    if (type().key == DType::kString) {
      keys->mutable_values<std::string>()[slot] = string_keys_[slot];
    } else {
      // Little-endian: the low bytes come first, whatever the integer's size.
      std::memcpy(MutableElementAt(*keys, slot), &integer_keys_[slot], ElementSize(type().key));
    }
    CopyOut(slot, values, slot);
  }
  return OkStatus();
}

}  // namespace tensorfleet::cpu
