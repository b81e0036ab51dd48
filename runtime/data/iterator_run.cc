#include "runtime/data/iterator_run.h"

#include <algorithm>
#include <utility>

#include "runtime/base/contain.h"
#include "runtime/base/thread_pool.h"
#include "runtime/data/dataset_options.h"
#include "runtime/data/scope_work.h"

namespace tensorfleet::data {
namespace {

Status Stopped() {
  return Cancelled("the iterator was destroyed or initialized anew while an element was awaited");
}

}  // namespace

IteratorRun::IteratorRun(DatasetRef dataset, ThreadPool* pool, std::string what)
    : dataset_(std::move(dataset)),
      pool_(pool),
      scope_(std::make_unique<IteratorScope>(pool, /*parent=*/nullptr, std::move(what))) {}

IteratorRun::~IteratorRun() { Stop(); }

StatusOr<std::shared_ptr<IteratorRun>> IteratorRun::Start(DatasetRef dataset, ThreadPool* pool,
                                                          std::string what,
                                                          const IteratorState* state,
                                                          CancellationManager* step) {
  std::shared_ptr<IteratorRun> run(new IteratorRun(std::move(dataset), pool, std::move(what)));
  CancellationManager& cancellation = run->scope_->cancellation();
  // While it is made the run is part of the step.
  CancellationManager::Token token = -1;
  if (step != nullptr) {
    token = step->Register([&] { cancellation.StartCancel(step->status()); });
    if (token < 0) return step->status();
  }
  Status status = Contained([&] { return run->Open(state); });
  if (step != nullptr && !step->Deregister(token) && status.ok()) status = step->status();
  TFLEET_RETURN_IF_ERROR(status);
  return run;
}

Status IteratorRun::Open(const IteratorState* state) {
  ApplyOptions(*dataset_, *scope_);
  const IteratorScope::Work mine(*scope_);
  TFLEET_ASSIGN_OR_RETURN(root_, dataset_->NewIterator(*scope_, 0));
  return state == nullptr ? OkStatus() : Restore(*state);
}

bool IteratorRun::Owns(const FunctionRunner* runner) {
  MutexLock lock(&mu_);
  return !stopped_ && scope_->Owns(runner);
}

IteratorRun::Result IteratorRun::Compute() {
  const IteratorScope::Work mine(*scope_);
  return Contained([&]() -> Result {
    Element element;
    TFLEET_ASSIGN_OR_RETURN(const bool more, root_->Next(&element));
    if (!more) return std::optional<Element>();
    return std::optional<Element>(std::move(element));
  });
}

std::optional<IteratorRun::Result> IteratorRun::ComputeAtOnce() {
  if (!root_->MayWait()) return Compute();
  Element element;
  StatusOr<bool> more = false;
  if (!root_->TryNext(&element, &more)) return std::nullopt;
  if (!more.ok()) return Result(more.status());
  return Result(*more ? std::optional<Element>(std::move(element)) : std::nullopt);
}

void IteratorRun::Next(CancellationManager* step, Done done) {
  std::optional<Result> result;
  {
    MutexLock lock(&mu_);
    if (stopped_) {
      result = Stopped();
    } else if (kept_.has_value()) {
      result = std::exchange(kept_, std::nullopt);
    } else if (busy_) {
      if (GetInLine(step, &done)) return;
      result = step->status();
    } else {
      busy_ = true;
    }
  }
  if (!result.has_value()) {
    result = ComputeAtOnce();
    if (result.has_value()) {
      Release();
    } else {
      bool in_line = false;
      {
        MutexLock lock(&mu_);
        in_line = !stopped_ && GetInLine(step, &done);
        if (!in_line) result = stopped_ ? Stopped() : step->status();
      }
      if (in_line) return StartServing();
      Release();
    }
  }
  done(*std::move(result));
}

bool IteratorRun::GetInLine(CancellationManager* step, Done* done) {
  waiters_.push_back({next_id_++, step, -1, std::move(*done)});
  Waiter& waiter = waiters_.back();
  if (step == nullptr) return true;
  waiter.token = step->Register([self = shared_from_this(), id = waiter.id] { self->Abandon(id); });
  if (waiter.token >= 0) return true;
  *done = std::move(waiter.done);
  waiters_.pop_back();
  return false;
}

void IteratorRun::Abandon(int64_t id) {
  Waiter left;
  {
    MutexLock lock(&mu_);
    const auto it = std::find_if(waiters_.begin(), waiters_.end(),
                                 [&](const Waiter& waiter) { return waiter.id == id; });
    if (it == waiters_.end()) return;
    left = std::move(*it);
    waiters_.erase(it);
  }
  left.done(left.step->status());
}

void IteratorRun::Release() {
  {
    MutexLock lock(&mu_);
    if (waiters_.empty()) {
      busy_ = false;
      idle_.NotifyAll();
      return;
    }
  }
  StartServing();
}

void IteratorRun::StartServing() {
  const Status started = RunOnDataThread([self = shared_from_this()] { self->Serve(); });
  if (started.ok()) return;
  std::deque<Waiter> waiters;
  {
    MutexLock lock(&mu_);
    waiters.swap(waiters_);
    busy_ = false;
    idle_.NotifyAll();
  }
  for (Waiter& waiter : waiters) {
    if (waiter.token >= 0) waiter.step->Deregister(waiter.token);
    waiter.done(started);
  }
}

void IteratorRun::Serve() {
  bool is_last = false;
  while (!is_last) {
    Result result = Compute();
    Waiter waiter;
    {
      MutexLock lock(&mu_);
      if (waiters_.empty()) {
        if (!stopped_) kept_ = std::move(result);
        busy_ = false;
        idle_.NotifyAll();
        return;
      }
      waiter = std::move(waiters_.front());
      waiters_.pop_front();
      is_last = waiters_.empty();
      if (is_last) {
        busy_ = false;
        idle_.NotifyAll();
      }
    }
    if (waiter.token >= 0) waiter.step->Deregister(waiter.token);
    if (is_last) {
      waiter.done(std::move(result));
    } else {
      pool_->Schedule([done = std::move(waiter.done), result = std::move(result)]() mutable {
        done(std::move(result));
      });
    }
  }
}

void IteratorRun::Stop() {
  std::deque<Waiter> waiters;
  {
    MutexLock lock(&mu_);
    stopped_ = true;
    waiters.swap(waiters_);
    kept_.reset();
  }
  if (scope_ != nullptr) scope_->cancellation().StartCancel(Stopped());
  for (Waiter& waiter : waiters) {
    if (waiter.token >= 0) waiter.step->Deregister(waiter.token);
    waiter.done(Stopped());
  }
  {
    MutexLock lock(&mu_);
    while (busy_) idle_.Wait(&mu_);
    busy_ = true;
  }
  root_.reset();
  scope_.reset();
  MutexLock lock(&mu_);
  busy_ = false;
  idle_.NotifyAll();
}

Status IteratorRun::Save(IteratorState* state, CancellationManager* step) {
  StateWriter writer(state, step);
  {
    MutexLock lock(&mu_);
    while (busy_) {
      TFLEET_RETURN_IF_ERROR(writer.CheckCancelled());
      idle_.WaitFor(&mu_, StateWriter::kMoment);
    }
    if (stopped_) return Stopped();
    busy_ = true;
    writer.PutInt("kept", kept_.has_value());
    if (kept_.has_value()) {
      writer.PutStatus("kept", kept_->status());
      const bool has_element = kept_->ok() && (*kept_)->has_value();
      writer.PutInt("kept_element", has_element);
      if (has_element) writer.PutElement("kept_element", ***kept_);
    }
  }
  Status status;
  {
    const IteratorScope::Work mine(*scope_);
    const StateWriter::Child child(writer, "root");
    status = Contained([&] { return root_->Save(writer); });
  }
  Release();
  return status;
}

Status IteratorRun::Restore(const IteratorState& state) {
  StateReader reader(&state);
  TFLEET_ASSIGN_OR_RETURN(const int64_t was_kept, reader.GetInt("kept"));
  if (was_kept != 0) {
    Status status;
    TFLEET_RETURN_IF_ERROR(reader.GetStatus("kept", &status));
    Result result = status.ok() ? Result(std::optional<Element>()) : Result(status);
    TFLEET_ASSIGN_OR_RETURN(const int64_t has_element, reader.GetInt("kept_element"));
    if (status.ok() && has_element != 0) {
      TFLEET_ASSIGN_OR_RETURN(*result, reader.GetElement("kept_element", dataset_->type().types));
    }
    MutexLock lock(&mu_);
    kept_ = std::move(result);
  }
  const StateReader::Child child(reader, "root");
  return Contained([&] { return root_->Restore(reader); });
}

}  // namespace tensorfleet::data
