#include "runtime/kernels/cpu/state/variable_update.h"

#include <algorithm>
#include <chrono>
#include <functional>

#include "runtime/kernels/buffer_snapshot.h"
#include "runtime/kernels/value_readers.h"

namespace tensorfleet::cpu {
namespace {

bool MayOverwrite(const Tensor& value, const RowIndices& rows, int64_t row_bytes) {
  return value.buffer_is_unique() || BufferSnapshot::MayOverwrite(value, rows, row_bytes);
}

// A gather holds the table that it reads for some microseconds. To copy a big table because of one
// would cost far more than waiting for it; nobody can begin to read while the variable is locked.
// So this waits until the last one has left, at most as long as the copy would take.
bool ReadersLeave(const Tensor& value, const RowIndices& rows, int64_t row_bytes) {
  constexpr size_t kBig = 1 << 18;  // less is copied as fast as a reader is waited for
  constexpr double kCopiedPerNano = 4;
  if (value.bytes() < kBig) return false;
  const std::chrono::nanoseconds budget(static_cast<int64_t>(value.bytes() / kCopiedPerNano));
  return ValueReaders::Await([&] { return MayOverwrite(value, rows, row_bytes); }, budget);
}

}  // namespace

// Which locks are held is known at run time only: the analysis is told to look away in this file.

VariableUpdate::~VariableUpdate() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  for (int i = locked_count_; i-- > 0;) locked_[i]->Unlock();
}

Status VariableUpdate::Lock(KernelContext& ctx, const VariableInputs& inputs, int count,
                            DType dtype) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  TFLEET_CHECK(count_ == 0 && count <= kMaxVariables);
  for (int i = 0; i < count; ++i) {
    TFLEET_ASSIGN_OR_RETURN(variables_[i], inputs.Get(ctx, i));
    locked_[i] = &variables_[i]->mu();
  }
  count_ = count;
  std::sort(locked_.begin(), locked_.begin() + count, std::less<Mutex*>());
  const auto end = std::unique(locked_.begin(), locked_.begin() + count);
  for (auto it = locked_.begin(); it != end; ++it) {
    (*it)->Lock();
    ++locked_count_;
  }
  for (int i = 0; i < count; ++i) {
    if (!value(i).is_valid()) return UninitializedVariable(inputs.Name(ctx, i));
    if (value(i).dtype() != dtype) {
      return InvalidArgument("Trying to update variable ", inputs.Name(ctx, i), " of type ",
                             DTypeName(value(i).dtype()), " with values of type ",
                             DTypeName(dtype));
    }
  }
  return OkStatus();
}

const Tensor& VariableUpdate::value(int i) const ABSL_NO_THREAD_SAFETY_ANALYSIS {
  return variables_[i]->tensor();
}

Status VariableUpdate::PrepareElementwise() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  for (int i = 0; i < count_; ++i) {
    if (value(i).num_elements() == 0 || value(i).buffer_is_unique()) continue;
    TFLEET_ASSIGN_OR_RETURN(fresh_[i], Tensor::Allocate(value(i).dtype(), value(i).shape()));
  }
  return OkStatus();
}

Status VariableUpdate::PrepareInPlace(int i) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  if (value(i).num_elements() == 0) return OkStatus();
  return variables_[i]->Writable().status();
}

Status VariableUpdate::PrepareRows(int i, const RowIndices& rows,
                                   int64_t row_bytes) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  if (value(i).num_elements() == 0 || MayOverwrite(value(i), rows, row_bytes) ||
      ReadersLeave(value(i), rows, row_bytes)) {
    return OkStatus();
  }
  return variables_[i]->Writable().status();
}

void* VariableUpdate::raw_target(int i) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  if (fresh_[i].is_valid()) return fresh_[i].mutable_raw();
  return variables_[i]->mutable_tensor().mutable_raw();
}

void VariableUpdate::Commit() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  for (int i = 0; i < count_; ++i) {
    if (fresh_[i].is_valid()) std::swap(variables_[i]->mutable_tensor(), fresh_[i]);
  }
}

StatusOr<Tensor> OwnValue(Tensor value) {
  constexpr size_t kWorthCopying = 4096;
  if (value.buffer() && value.buffer()->size() > kWorthCopying + 2 * value.bytes()) {
    return value.Clone();
  }
  return value;
}

}  // namespace tensorfleet::cpu
