// A run through a data set. Used by one thread at a time; whoever needs several threads has its own
// lock and joins its threads when it goes.
#pragma once

#include <memory>

#include "runtime/data/dataset.h"
#include "runtime/data/iterator_scope.h"
#include "runtime/data/iterator_state.h"

namespace tensorfleet::data {

class Iterator {
 public:
  virtual ~Iterator() = default;

  // The next element in `*out`; false at the end, and every time after it. After an error the next
  // call goes on behind it, as far as the data set can. Ends with Cancelled when the scope does.
  virtual StatusOr<bool> Next(Element* out) = 0;
  // Whether Next may wait, for anything but memory: functions, files and threads do.
  virtual bool MayWait() const = 0;
  // For who must not wait: the next element, its error or the end in `*result` if they are there
  // already.
  virtual bool TryNext(Element* out, StatusOr<bool>* result) { return false; }
  // Leaves out up to `n` elements. Fewer only at the end, which is then said by false.
  virtual StatusOr<bool> Skip(int64_t n);

  // Where it stands, so that an iterator of an equal data set can go on from there.
  virtual Status Save(StateWriter& to) = 0;
  // Errors: InvalidArgument for a state of another data set.
  virtual Status Restore(StateReader& from) = 0;
};

// An iterator of `input`, at `*depth` + 1.
inline StatusOr<IteratorPtr> InputIterator(const DatasetRef& input, IteratorScope& scope,
                                           int depth) {
  return input->NewIterator(scope, depth + 1);
}

// Saves an iterator that may be gone already (null), and makes it again.
Status SaveInput(StateWriter& to, absl::string_view name, Iterator* input);
Status RestoreInput(StateReader& from, absl::string_view name, const DatasetRef& dataset,
                    IteratorScope& scope, int depth, IteratorPtr* input);

}  // namespace tensorfleet::data
