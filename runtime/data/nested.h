// The iterator of a data set that a function makes of an element.
#pragma once

#include "runtime/data/iterator.h"
#include "runtime/data/predicate.h"

namespace tensorfleet::data {

// Each level of functions within functions takes far more of the stack than one of data sets on
// data sets.
inline constexpr int kDepthOfCall = 20;

class NestedIterator {
 public:
  // Calls `function` with `args` and begins to iterate over what it makes, whose elements must be
  // like `type`. `depth` is that of the iterator that this one is part of.
  static StatusOr<NestedIterator> Open(const BoundFunction& function, Element args,
                                       const ElementType& type, IteratorScope& scope, int depth);
  NestedIterator() = default;

  bool is_open() const { return iterator_ != nullptr; }
  Iterator& iterator() { return *iterator_; }
  void Close() { *this = NestedIterator(); }

  // The arguments and the place: Restore calls the function again.
  Status Save(StateWriter& to, absl::string_view name);
  static StatusOr<NestedIterator> Restore(StateReader& from, absl::string_view name,
                                          const BoundFunction& function,
                                          const std::vector<DType>& arg_types,
                                          const ElementType& type, IteratorScope& scope, int depth);

 private:
  Element args_;
  IteratorPtr iterator_;
};

}  // namespace tensorfleet::data
