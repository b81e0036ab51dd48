// Changing variables under their locks without changing any value that somebody has read: an update
// works in place while nobody else holds the value and into new memory otherwise.
#pragma once

#include <array>

#include "runtime/kernels/cpu/state/variable_lookup.h"
#include "runtime/kernels/row_indices.h"

namespace tensorfleet::cpu {

// The variables of one update, locked from Lock until the object goes. Locks are taken in the order
// of their addresses, so that updates that share variables cannot wait for each other in a circle.
class VariableUpdate {
 public:
  static constexpr int kMaxVariables = 4;

  VariableUpdate() = default;
  ~VariableUpdate();
  VariableUpdate(const VariableUpdate&) = delete;
  VariableUpdate& operator=(const VariableUpdate&) = delete;

  // Locks the variables behind inputs [0, count) of the node.
  // Errors: those of VariableInputs::Get; FailedPrecondition when one is uninitialised;
  // InvalidArgument when one does not hold `dtype`.
  Status Lock(KernelContext& ctx, const VariableInputs& inputs, int count, DType dtype);

  const Tensor& value(int i) const;

  // Gets every variable ready for writing each of its elements once, from the same element of its
  // value: target(i) is then value(i)'s own memory or new memory of its size. Errors:
  // ResourceExhausted.
  Status PrepareElementwise();
  // Gets variable `i` ready for writing some of its elements: target(i) holds its value.
  Status PrepareInPlace(int i);
  // The same for these rows only, `row_bytes` each, of what may be a big table: one that is being
  // saved is not copied, and readers that are about to be done with it are waited for.
  Status PrepareRows(int i, const RowIndices& rows, int64_t row_bytes);

  template <typename T>
  const T* source(int i) const {
    return static_cast<const T*>(value(i).raw());
  }
  template <typename T>
  T* target(int i) {
    return static_cast<T*>(raw_target(i));
  }
  void* raw_target(int i);

  // Makes what was written the variables' values. Without it an update that failed half way leaves
  // them as they were, as far as it wrote to new memory.
  void Commit();

 private:
  int count_ = 0;
  std::array<ResourceRef<Variable>, kMaxVariables> variables_;
  std::array<Tensor, kMaxVariables> fresh_;  // valid where new memory was needed
  int locked_count_ = 0;
  std::array<Mutex*, kMaxVariables> locked_{};
};

// `value` as a variable should hold it: shared when that costs little, copied when it is a small
// part of a big buffer that it would keep alive. Errors: ResourceExhausted.
StatusOr<Tensor> OwnValue(Tensor value);

}  // namespace tensorfleet::cpu
