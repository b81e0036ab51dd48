// A queue of tuples of tensors, shared by steps and sessions: what FIFOQueueV2 and its kin make.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/cancellation.h"
#include "runtime/base/thread_pool.h"
#include "runtime/kernels/portable/queue_store.h"
#include "runtime/kernels/queue_levels.h"
#include "runtime/kernels/resource.h"

namespace tensorfleet::portable {

struct QueueSpec {
  std::string kind;  // "FIFOQueue"; what messages call it
  std::string name;
  std::vector<DType> types;
  std::vector<PartialShape> shapes;  // one per component, or none: then any
  int64_t capacity = -1;             // below 0: no limit
  int64_t min_after_dequeue = 0;     // what is kept back until the queue is closed
  bool pads = false;  // smaller elements are filled up when several are taken at once
};

// Operations that cannot be done yet wait in line, enqueues and dequeues each in the order they
// came, and end with Cancelled when their step does. Thread-safe.
class Queue final : public Resource {
 public:
  using EnqueueDone = std::function<void(Status)>;
  using DequeueDone = std::function<void(Status, QueueTuple)>;
  // Where an operation comes from: it ends when `cancellation` says so, and when another operation
  // gets it going it is finished on `pool`. Both may be null (never cancelled; finished on the
  // other's thread).
  struct Caller {
    CancellationManager* cancellation = nullptr;
    ThreadPool* pool = nullptr;
  };

  Queue(QueueSpec spec, std::unique_ptr<QueueStore> store);
  const QueueSpec& spec() const { return spec_; }
  std::string DebugString() const override;

  // One element. Errors (by `done`): InvalidArgument for shapes that do not fit; Cancelled once
  // closed.
  void Enqueue(QueueTuple element, const Caller& caller, EnqueueDone done);
  // The rows of `batch`, one element each. Those that fit now are in the queue at once.
  void EnqueueMany(QueueTuple batch, const Caller& caller, EnqueueDone done);

  // One element. Errors: OutOfRange once closed and drained.
  void Dequeue(const Caller& caller, DequeueDone done);
  // `n` elements as the rows of one tuple. With `up_to` a closed queue gives what it has left, if
  // anything.
  void DequeueMany(int64_t n, bool up_to, const Caller& caller, DequeueDone done);

  // No more is let in once the enqueues before it are through; with `cancel_pending` those that
  // wait are cancelled instead, at once. Errors: Cancelled when closed already.
  void Close(bool cancel_pending, const Caller& caller, EnqueueDone done);

  int64_t size() const;
  bool is_closed() const;

 protected:
  ~Queue() override;

 private:
  struct Attempt {
    uint64_t id = 0;
    Caller caller;
    CancellationManager::Token token = -1;
  };
  struct EnqueueAttempt : Attempt {
    bool closes = false;
    std::deque<QueueTuple> elements;  // that are not in yet
    EnqueueDone done;
  };
  struct DequeueAttempt : Attempt {
    bool single = false;
    bool up_to = false;
    int64_t wanted = 0;  // still
    std::vector<QueueTuple> taken;
    DequeueDone done;
  };
  // What is to be called after the lock is let go.
  struct Finished {
    uint64_t id;
    Caller caller;
    CancellationManager::Token token;
    std::function<void()> call;
  };

  QueueLevel Level() const;
  Status CheckElement(const QueueTuple& element, bool is_batch) const;
  void AddEnqueue(EnqueueAttempt attempt);
  void AddDequeue(DequeueAttempt attempt);
  // Has `waiting`, which is in line, cancelled with its step; false when that is over already. The
  // caller cannot be finished meanwhile, so its cancellation manager is still there.
  bool WatchCancellation(Attempt* waiting) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Cancel(uint64_t id);
  // Does all that can be done.
  void Flush(std::vector<Finished>* finished) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool FlushEnqueues(std::vector<Finished>* finished) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool FlushDequeues(std::vector<Finished>* finished) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void PutBackTaken(DequeueAttempt* attempt) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  static void FinishEnqueue(EnqueueAttempt attempt, Status status, std::vector<Finished>* finished);
  void FinishDequeue(DequeueAttempt attempt, Status status, std::vector<Finished>* finished) const;
  // Calls what is finished: `own`, the caller's own attempt, here, others on their pools.
  static void CallFinished(std::vector<Finished> finished, uint64_t own);
  StatusOr<QueueTuple> Batch(std::vector<QueueTuple> elements) const;
  Status ClosedError() const;

  const QueueSpec spec_;
  mutable Mutex mu_;
  const std::unique_ptr<QueueStore> store_ ABSL_PT_GUARDED_BY(mu_);
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  uint64_t next_id_ ABSL_GUARDED_BY(mu_) = 1;
  std::deque<EnqueueAttempt> enqueues_ ABSL_GUARDED_BY(mu_);
  std::deque<DequeueAttempt> dequeues_ ABSL_GUARDED_BY(mu_);
};

}  // namespace tensorfleet::portable
