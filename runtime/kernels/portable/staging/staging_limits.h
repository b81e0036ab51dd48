// How much a staging area may hold, and what it gives out.
#pragma once

#include <vector>

#include "runtime/kernels/kernel.h"

namespace tensorfleet::portable {

// Attributes `capacity`, tuples, and `memory_limit`, bytes; 0: any number.
class StagingLimits {
 public:
  explicit StagingLimits(KernelInit& init) {
    init.Get("capacity", &capacity_);
    init.Get("memory_limit", &bytes_);
  }
  bool MayEverHold(int64_t bytes) const { return bytes_ == 0 || bytes <= bytes_; }
  Status TooLarge(int64_t bytes) const {
    return ResourceExhausted("Attempted to insert tensors with combined size of '", bytes,
                             "' bytes into Staging Area with a memory limit of '", bytes_, "'.");
  }
  // For `more` bytes beside what is there.
  bool HasRoom(int64_t tuples, int64_t bytes, int64_t more) const {
    return (capacity_ == 0 || tuples < capacity_) && (bytes_ == 0 || bytes + more <= bytes_);
  }

 private:
  int64_t capacity_ = 0, bytes_ = 0;
};

inline int64_t BytesOf(const std::vector<Tensor>& tuple) {
  int64_t bytes = 0;
  for (const Tensor& tensor : tuple) {
    if (tensor.is_valid()) bytes += static_cast<int64_t>(tensor.total_bytes());
  }
  return bytes;
}

// Whether a tuple is what a node gives out. Errors: InvalidArgument.
inline Status CheckTuple(absl::Span<const DType> types, const std::vector<Tensor>& tuple) {
  if (tuple.size() != types.size()) {
    return InvalidArgument("Mismatch stage/unstage: ", tuple.size(), " vs. ", types.size());
  }
  for (size_t i = 0; i < types.size(); ++i) {
    if (tuple[i].dtype() == types[i]) continue;
    return InvalidArgument("Mismatch stage/unstage: tensor ", i, " is of type ",
                           DTypeName(tuple[i].dtype()), ", not ", DTypeName(types[i]));
  }
  return OkStatus();
}

}  // namespace tensorfleet::portable
