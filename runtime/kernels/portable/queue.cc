#include "runtime/kernels/portable/queue.h"

#include <algorithm>
#include <utility>

#include "runtime/kernels/stack_rows.h"
#include "runtime/tensor/memory_account.h"

namespace tensorfleet::portable {
namespace {

constexpr char kEnqueueCancelled[] = "Enqueue operation was cancelled";
constexpr char kDequeueCancelled[] = "Dequeue operation was cancelled";

}  // namespace

Queue::Queue(QueueSpec spec, std::unique_ptr<QueueStore> store)
    : spec_(std::move(spec)), store_(std::move(store)) {
  QueueLevels::All().Add(this, [this] { return Level(); });
}

Queue::~Queue() { QueueLevels::All().Remove(this); }

QueueLevel Queue::Level() const {
  MutexLock lock(&mu_);
  return {spec_.name,
          spec_.kind,
          store_->size(),
          spec_.capacity,
          static_cast<int64_t>(enqueues_.size()),
          static_cast<int64_t>(dequeues_.size())};
}

std::string Queue::DebugString() const {
  return absl::StrCat(spec_.kind, " '", spec_.name, "' with ", size(), " elements");
}

int64_t Queue::size() const {
  MutexLock lock(&mu_);
  return store_->size();
}

bool Queue::is_closed() const {
  MutexLock lock(&mu_);
  return closed_;
}

Status Queue::ClosedError() const {
  return Cancelled(spec_.kind, " '", spec_.name, "' is closed.");
}

Status Queue::CheckElement(const QueueTuple& element, bool is_batch) const {
  if (element.size() != spec_.types.size()) {
    return InvalidArgument("Wrong number of components in tuple. Expected ", spec_.types.size(),
                           ", got ", element.size());
  }
  for (size_t i = 0; i < element.size(); ++i) {
    if (element[i].dtype() != spec_.types[i]) {
      return InvalidArgument("Type mismatch in tuple component ", i, ". Expected ",
                             DTypeName(spec_.types[i]), ", got ", DTypeName(element[i].dtype()));
    }
    if (is_batch && element[i].rank() < 1) {
      return InvalidArgument("Shape mismatch in tuple component ", i,
                             ": a batch needs a first dimension, got ",
                             element[i].shape().ToString());
    }
    if (is_batch && element[i].dim(0) != element[0].dim(0)) {
      return InvalidArgument("Shape mismatch in tuple component ", i, ". Expected [",
                             element[0].dim(0), "], got [", element[i].dim(0), "]");
    }
    if (spec_.shapes.empty()) continue;
    PartialShape expected = spec_.shapes[i];
    if (is_batch && expected.has_rank()) {
      expected = PartialShape({element[0].dim(0)});
      for (const int64_t dim : spec_.shapes[i].dims()) expected.AddDim(dim);
    }
    if (!expected.IsCompatibleWith(element[i].shape())) {
      return InvalidArgument("Shape mismatch in tuple component ", i, ". Expected ",
                             expected.ToString(), ", got ", element[i].shape().ToString());
    }
  }
  return OkStatus();
}

void Queue::Enqueue(QueueTuple element, const Caller& caller, EnqueueDone done) {
  if (Status checked = CheckElement(element, /*is_batch=*/false); !checked.ok())
    return done(checked);
  EnqueueAttempt attempt;
  attempt.caller = caller;
  attempt.elements.push_back(std::move(element));
  attempt.done = std::move(done);
  AddEnqueue(std::move(attempt));
}

void Queue::EnqueueMany(QueueTuple batch, const Caller& caller, EnqueueDone done) {
  if (Status checked = CheckElement(batch, /*is_batch=*/true); !checked.ok()) return done(checked);
  EnqueueAttempt attempt;
  attempt.caller = caller;
  const int64_t rows = batch[0].dim(0);
  // Even a row without elements takes some memory of its own.
  const size_t row_bytes = sizeof(QueueTuple) + batch.size() * (sizeof(Tensor) + kBufferAlignment);
  if (Status checked = CheckWorkSpace(rows, row_bytes); !checked.ok()) return done(checked);
  for (int64_t row = 0; row < rows; ++row) {
    if (row % 1024 == 0 && caller.cancellation != nullptr && caller.cancellation->is_cancelled()) {
      return done(Cancelled(kEnqueueCancelled));
    }
    QueueTuple element;
    for (const Tensor& component : batch) {
      // Copies: a row that stays in the queue must not keep the whole batch in memory.
      StatusOr<Tensor> copy = component.Rows(row, row + 1)
                                  .Reshaped(component.shape().SubShape(1, component.rank()))
                                  .Clone();
      if (!copy.ok()) return done(copy.status());
      element.push_back(*std::move(copy));
    }
    attempt.elements.push_back(std::move(element));
  }
  attempt.done = std::move(done);
  AddEnqueue(std::move(attempt));
}

void Queue::Close(bool cancel_pending, const Caller& caller, EnqueueDone done) {
  if (!cancel_pending) {
    EnqueueAttempt attempt;
    attempt.caller = caller;
    attempt.closes = true;
    attempt.done = std::move(done);
    return AddEnqueue(std::move(attempt));
  }
  std::vector<Finished> finished;
  {
    MutexLock lock(&mu_);
    closed_ = true;
    for (EnqueueAttempt& attempt : enqueues_) {
      FinishEnqueue(std::move(attempt), Cancelled(kEnqueueCancelled), &finished);
    }
    enqueues_.clear();
    Flush(&finished);
  }
  CallFinished(std::move(finished), /*own=*/0);
  done(OkStatus());
}

void Queue::Dequeue(const Caller& caller, DequeueDone done) {
  DequeueAttempt attempt;
  attempt.caller = caller;
  attempt.single = true;
  attempt.wanted = 1;
  attempt.done = std::move(done);
  AddDequeue(std::move(attempt));
}

void Queue::DequeueMany(int64_t n, bool up_to, const Caller& caller, DequeueDone done) {
  if (spec_.shapes.empty()) {
    return done(InvalidArgument(spec_.kind,
                                "'s DequeueMany and DequeueUpTo require the components to "
                                "have specified shapes."),
                {});
  }
  if (n == 0) {
    StatusOr<QueueTuple> empty = Batch({});
    if (!empty.ok()) return done(empty.status(), {});
    return done(OkStatus(), *std::move(empty));
  }
  DequeueAttempt attempt;
  attempt.caller = caller;
  attempt.up_to = up_to;
  attempt.wanted = n;
  attempt.done = std::move(done);
  AddDequeue(std::move(attempt));
}

bool Queue::WatchCancellation(Attempt* waiting) {
  if (waiting->caller.cancellation == nullptr) return true;
  waiting->token = waiting->caller.cancellation->Register(
      [self = ResourceRef<Queue>(this), id = waiting->id] { self->Cancel(id); });
  return waiting->token >= 0;
}

// An attempt that cannot be finished at once is the last of its line while the lock is held.
void Queue::AddEnqueue(EnqueueAttempt attempt) {
  const ResourceRef<Queue> self(this);  // a callback may drop the last other reference
  uint64_t id = 0;
  std::vector<Finished> finished;
  {
    MutexLock lock(&mu_);
    id = attempt.id = next_id_++;
    enqueues_.push_back(std::move(attempt));
    Flush(&finished);
    if (!enqueues_.empty() && enqueues_.back().id == id && !WatchCancellation(&enqueues_.back())) {
      FinishEnqueue(std::move(enqueues_.back()), Cancelled(kEnqueueCancelled), &finished);
      enqueues_.pop_back();
    }
  }
  CallFinished(std::move(finished), id);
}

void Queue::AddDequeue(DequeueAttempt attempt) {
  const ResourceRef<Queue> self(this);
  uint64_t id = 0;
  std::vector<Finished> finished;
  {
    MutexLock lock(&mu_);
    id = attempt.id = next_id_++;
    dequeues_.push_back(std::move(attempt));
    Flush(&finished);
    if (!dequeues_.empty() && dequeues_.back().id == id && !WatchCancellation(&dequeues_.back())) {
      PutBackTaken(&dequeues_.back());
      FinishDequeue(std::move(dequeues_.back()), Cancelled(kDequeueCancelled), &finished);
      dequeues_.pop_back();
      Flush(&finished);
    }
  }
  CallFinished(std::move(finished), id);
}

void Queue::Cancel(uint64_t id) {
  std::vector<Finished> finished;
  {
    MutexLock lock(&mu_);
    const auto has_id = [id](const Attempt& attempt) { return attempt.id == id; };
    const auto enqueue = std::find_if(enqueues_.begin(), enqueues_.end(), has_id);
    const auto dequeue = std::find_if(dequeues_.begin(), dequeues_.end(), has_id);
    if (enqueue != enqueues_.end()) {
      EnqueueAttempt attempt = std::move(*enqueue);
      enqueues_.erase(enqueue);
      FinishEnqueue(std::move(attempt), Cancelled(kEnqueueCancelled), &finished);
    } else if (dequeue != dequeues_.end()) {
      DequeueAttempt attempt = std::move(*dequeue);
      dequeues_.erase(dequeue);
      PutBackTaken(&attempt);
      FinishDequeue(std::move(attempt), Cancelled(kDequeueCancelled), &finished);
    } else {
      return;
    }
    // What waited behind it, or for what it held, may go on.
    Flush(&finished);
  }
  CallFinished(std::move(finished), id);
}

void Queue::Flush(std::vector<Finished>* finished) {
  while (FlushEnqueues(finished) || FlushDequeues(finished)) {
  }
}

bool Queue::FlushEnqueues(std::vector<Finished>* finished) {
  bool progress = false;
  while (!enqueues_.empty()) {
    EnqueueAttempt& front = enqueues_.front();
    Status status;
    if (front.closes) {
      if (closed_) status = Cancelled("Queue '", spec_.name, "' is already closed.");
      closed_ = true;
    } else if (closed_) {
      status = ClosedError();
    } else {
      while (!front.elements.empty() && (spec_.capacity < 0 || store_->size() < spec_.capacity)) {
        store_->Push(std::move(front.elements.front()));
        front.elements.pop_front();
        progress = true;
      }
      if (!front.elements.empty()) return progress;
    }
    FinishEnqueue(std::move(front), std::move(status), finished);
    enqueues_.pop_front();
    progress = true;
  }
  return progress;
}

bool Queue::FlushDequeues(std::vector<Finished>* finished) {
  bool progress = false;
  while (!dequeues_.empty()) {
    DequeueAttempt& front = dequeues_.front();
    const int64_t held = store_->size();
    Status status;
    if (closed_ && held < front.wanted) {
      const int64_t left = held + static_cast<int64_t>(front.taken.size());
      if (front.up_to && left > 0) {
        front.wanted = held;
      } else {
        status = OutOfRange(spec_.kind, " '", spec_.name,
                            "' is closed and has insufficient elements (requested ", front.wanted,
                            ", current size ", held, ")");
        PutBackTaken(&front);
      }
    }
    if (status.ok()) {
      const int64_t kept_back = closed_ ? 0 : spec_.min_after_dequeue;
      while (front.wanted > 0 && store_->size() > kept_back) {
        front.taken.push_back(store_->Pop());
        --front.wanted;
        progress = true;
      }
      if (front.wanted > 0) return progress;
    }
    FinishDequeue(std::move(front), std::move(status), finished);
    dequeues_.pop_front();
    progress = true;
  }
  return progress;
}

void Queue::PutBackTaken(DequeueAttempt* attempt) {
  while (!attempt->taken.empty()) {
    store_->PutBack(std::move(attempt->taken.back()));
    attempt->taken.pop_back();
  }
}

void Queue::FinishEnqueue(EnqueueAttempt attempt, Status status, std::vector<Finished>* finished) {
  finished->push_back(
      {attempt.id, attempt.caller, attempt.token,
       [done = std::move(attempt.done), status = std::move(status)] { done(status); }});
}

void Queue::FinishDequeue(DequeueAttempt attempt, Status status,
                          std::vector<Finished>* finished) const {
  // Batching copies, and is done after the lock.
  auto call = [this, self = ResourceRef<const Queue>(this), single = attempt.single,
               taken = std::move(attempt.taken), done = std::move(attempt.done),
               status = std::move(status)]() mutable {
    if (!status.ok()) return done(status, {});
    if (single) return done(OkStatus(), std::move(taken[0]));
    StatusOr<QueueTuple> batch = Batch(std::move(taken));
    if (!batch.ok()) return done(batch.status(), {});
    done(OkStatus(), *std::move(batch));
  };
  finished->push_back({attempt.id, attempt.caller, attempt.token, std::move(call)});
}

void Queue::CallFinished(std::vector<Finished> finished, uint64_t own) {
  for (Finished& f : finished) {
    if (f.token >= 0) f.caller.cancellation->TryDeregister(f.token);
  }
  // Others' steps go on elsewhere: here they could nest without end, each one's progress within
  // another's.
  Finished* mine = nullptr;
  for (Finished& f : finished) {
    if (f.id == own) {
      mine = &f;
    } else if (f.caller.pool != nullptr) {
      f.caller.pool->Schedule(std::move(f.call));
    } else {
      f.call();
    }
  }
  if (mine != nullptr) mine->call();
}

StatusOr<QueueTuple> Queue::Batch(std::vector<QueueTuple> elements) const {
  QueueTuple batch;
  for (size_t c = 0; c < spec_.types.size(); ++c) {
    std::vector<Tensor> rows;
    for (QueueTuple& element : elements) rows.push_back(std::move(element[c]));
    TFLEET_ASSIGN_OR_RETURN(Tensor stacked,
                            StackRows(spec_.types[c], spec_.shapes[c], rows, spec_.pads));
    batch.push_back(std::move(stacked));
  }
  return batch;
}

}  // namespace tensorfleet::portable
