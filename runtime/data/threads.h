// Threads for work on data sets, which may wait: for files, for queues that functions read, for
// other elements. The device's threads never do. A thread is made when all are busy and goes when
// it has had nothing to do for a few seconds. Thread-safe.
#pragma once

#include <functional>
#include <memory>

#include "runtime/base/mutex.h"
#include "runtime/base/status.h"

namespace tensorfleet::data {

// Runs `work` soon, on a thread of its own until it returns. Errors: ResourceExhausted when the
// system gives no thread; `work` is then not run.
Status RunOnDataThread(std::function<void()> work);

// Data threads that exist, busy or not; for tests.
int64_t NumDataThreads();

// A piece of work beside its owner's, which waits for it when it goes.
class Background {
 public:
  Background() = default;
  ~Background() { Join(); }
  Background(Background&&) = default;
  Background& operator=(Background&&) = delete;

  // Once. Errors: as RunOnDataThread.
  Status Start(std::function<void()> work);
  // Waits for the work, which its owner has told to end.
  void Join();

 private:
  std::shared_ptr<Notification> over_;  // null until started
};

}  // namespace tensorfleet::data
