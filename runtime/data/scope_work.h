// A thread's work for a scope.
#pragma once

#include "runtime/data/iterator_scope.h"
#include "runtime/io/io_interest.h"
#include "runtime/tensor/memory_account.h"

namespace tensorfleet::data {

class IteratorScope::Work {
 public:
  explicit Work(IteratorScope& scope);

 private:
  const MemoryAccount::Scope memory_;
  const ScopedIoInterest interest_;
};

}  // namespace tensorfleet::data
