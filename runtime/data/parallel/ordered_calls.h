// A function of each element of an input, of several at once, with the results in the order of the
// elements or as they come. Threads of their own take elements and call; results wait for whoever
// takes them, no more than asked for.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/data/iterator.h"

namespace tensorfleet::data {

// More calls at once than this are not made, though as many results may wait.
inline constexpr int64_t kMaxCallThreads = 32;

class OrderedCalls {
 public:
  // What becomes of one element.
  struct Result {
    Status status;
    Element element;
    bool is_left_out = false;
  };
  struct Options {
    int64_t parallelism = 1;  // kAutotune: as many as are worth while
    bool is_ordered = true;
    // Runs on several threads at once. What it throws is its status.
    std::function<void(Element element, Result* result)> call;
    std::vector<DType> types;  // of the results
  };

  // `scope` is the owner's own: it is cancelled when this goes.
  OrderedCalls(IteratorScope* scope, IteratorPtr input, Options options);
  ~OrderedCalls();

  // The next result that is not left out; false at the end.
  StatusOr<bool> Next(Element* out);
  bool TryNext(Element* out, StatusOr<bool>* result);
  // When the calls that have begun are over.
  Status Save(StateWriter& to);
  // Before the first Next; `open` makes the input anew.
  Status Restore(StateReader& from, const DatasetRef& dataset, IteratorScope& scope, int depth);

 private:
  struct Slot {
    bool is_done = false;
    Result result;
  };
  using Slots = std::deque<std::unique_ptr<Slot>>;

  bool IsBusy() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Status SaveAll(StateWriter& to) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Status StartThreads() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Work();
  // Takes an element and a slot for its result; null at the end.
  Slot* Take(Element* element);
  Slots::iterator FindDone() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  IteratorScope* const scope_;
  const Options options_;
  const int64_t limit_;  // of slots
  IteratorPtr input_;    // used by whoever is taking
  Mutex mu_;
  CondVar changed_;
  const WakeOnCancel wake_;
  bool is_taking_ ABSL_GUARDED_BY(mu_) = false;
  bool is_saving_ ABSL_GUARDED_BY(mu_) = false;
  bool is_over_ ABSL_GUARDED_BY(mu_) = false;
  Slots slots_ ABSL_GUARDED_BY(mu_);                  // in the order of the elements
  std::vector<std::unique_ptr<Background>> threads_;  // joined before anything else goes
};

}  // namespace tensorfleet::data
