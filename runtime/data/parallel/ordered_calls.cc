#include "runtime/data/parallel/ordered_calls.h"

#include <algorithm>
#include <utility>

#include "runtime/base/contain.h"

namespace tensorfleet::data {

OrderedCalls::OrderedCalls(IteratorScope* scope, IteratorPtr input, Options options)
    : scope_(scope),
      options_(std::move(options)),
      limit_(options_.parallelism == kAutotune ? 2 * scope->processors() : options_.parallelism),
      input_(std::move(input)),
      wake_(*scope, &mu_, &changed_) {}

OrderedCalls::~OrderedCalls() {
  scope_->cancellation().StartCancel(Cancelled("the iterator is gone"));
  threads_.clear();
}

Status OrderedCalls::StartThreads() {
  const int64_t wanted =
      options_.parallelism == kAutotune ? scope_->processors() : options_.parallelism;
  const int64_t most = std::max<int64_t>(1, std::min(wanted, kMaxCallThreads));
  while (static_cast<int64_t>(threads_.size()) < most) {
    auto thread = std::make_unique<Background>();
    const Status started = scope_->StartWork(thread.get(), [this] { Work(); });
    // One is enough to go on.
    if (!started.ok()) return threads_.empty() ? started : OkStatus();
    threads_.push_back(std::move(thread));
  }
  return OkStatus();
}

OrderedCalls::Slot* OrderedCalls::Take(Element* element) {
  {
    MutexLock lock(&mu_);
    while (!scope_->cancellation().is_cancelled() && !is_over_ &&
           (is_taking_ || is_saving_ || static_cast<int64_t>(slots_.size()) >= limit_)) {
      changed_.Wait(&mu_);
    }
    if (scope_->cancellation().is_cancelled() || is_over_) return nullptr;
    is_taking_ = true;
  }
  const StatusOr<bool> more = Contained([&]() -> StatusOr<bool> {
    if (input_ == nullptr) return false;
    return input_->Next(element);
  });
  MutexLock lock(&mu_);
  is_taking_ = false;
  changed_.NotifyAll();
  if (more.ok() && !*more) {
    is_over_ = true;
    input_.reset();
    return nullptr;
  }
  slots_.push_back(std::make_unique<Slot>());
  Slot* const slot = slots_.back().get();
  if (!more.ok()) {
    slot->result.status = more.status();
    slot->is_done = true;
  }
  return slot;
}

void OrderedCalls::Work() {
  Element element;
  while (Slot* const slot = Take(&element)) {
    if (!slot->result.status.ok()) continue;
    Result result;
    const Status thrown = Contained([&] { options_.call(std::move(element), &result); });
    if (!thrown.ok()) result.status = thrown;
    element.clear();
    MutexLock lock(&mu_);
    slot->result = std::move(result);
    slot->is_done = true;
    changed_.NotifyAll();
  }
}

OrderedCalls::Slots::iterator OrderedCalls::FindDone() {
  if (slots_.empty() || slots_.front()->is_done) return slots_.begin();
  if (options_.is_ordered) return slots_.end();
  return std::find_if(slots_.begin(), slots_.end(), [](const auto& slot) { return slot->is_done; });
}

StatusOr<bool> OrderedCalls::Next(Element* out) {
  while (true) {
    Result result;
    {
      MutexLock lock(&mu_);
      if (threads_.empty()) TFLEET_RETURN_IF_ERROR(StartThreads());
      auto found = FindDone();
      while (found == slots_.end()) {
        if (slots_.empty() && is_over_ && !is_taking_) return false;
        TFLEET_RETURN_IF_ERROR(scope_->CheckCancelled());
        changed_.Wait(&mu_);
        found = FindDone();
      }
      result = std::move((*found)->result);
      slots_.erase(found);
      changed_.NotifyAll();
    }
    TFLEET_RETURN_IF_ERROR(result.status);
    if (result.is_left_out) continue;
    *out = std::move(result.element);
    return true;
  }
}

bool OrderedCalls::TryNext(Element* out, StatusOr<bool>* result) {
  MutexLock lock(&mu_);
  const auto found = FindDone();
  if (found == slots_.end() || (*found)->result.is_left_out) return false;
  Result taken = std::move((*found)->result);
  slots_.erase(found);
  changed_.NotifyAll();
  if (taken.status.ok()) {
    *out = std::move(taken.element);
    *result = true;
  } else {
    *result = taken.status;
  }
  return true;
}

Status OrderedCalls::Save(StateWriter& to) {
  MutexLock lock(&mu_);
  is_saving_ = true;
  Status status;
  while (status.ok() && IsBusy()) {
    changed_.WaitFor(&mu_, StateWriter::kMoment);
    status = to.CheckCancelled();
  }
  if (status.ok()) status = SaveAll(to);
  is_saving_ = false;
  changed_.NotifyAll();
  return status;
}

bool OrderedCalls::IsBusy() const {
  return is_taking_ ||
         std::any_of(slots_.begin(), slots_.end(), [](const auto& slot) { return !slot->is_done; });
}

Status OrderedCalls::SaveAll(StateWriter& to) {
  to.PutInt("results_count", static_cast<int64_t>(slots_.size()));
  for (size_t i = 0; i < slots_.size(); ++i) {
    const Result& result = slots_[i]->result;
    const std::string name = absl::StrCat("results", i);
    to.PutStatus(name, result.status);
    to.PutInt(name + "_left_out", result.is_left_out);
    if (result.status.ok() && !result.is_left_out) to.PutElement(name, result.element);
  }
  return SaveInput(to, "input", input_.get());
}

Status OrderedCalls::Restore(StateReader& from, const DatasetRef& dataset, IteratorScope& scope,
                             int depth) {
  MutexLock lock(&mu_);
  TFLEET_ASSIGN_OR_RETURN(const int64_t count, from.GetCount("results_count"));
  slots_.clear();
  for (int64_t i = 0; i < count; ++i) {
    auto slot = std::make_unique<Slot>();
    const std::string name = absl::StrCat("results", i);
    TFLEET_RETURN_IF_ERROR(from.GetStatus(name, &slot->result.status));
    TFLEET_ASSIGN_OR_RETURN(slot->result.is_left_out, from.GetInt(name + "_left_out"));
    if (slot->result.status.ok() && !slot->result.is_left_out) {
      TFLEET_ASSIGN_OR_RETURN(slot->result.element, from.GetElement(name, options_.types));
    }
    slot->is_done = true;
    slots_.push_back(std::move(slot));
  }
  return RestoreInput(from, "input", dataset, scope, depth, &input_);
}

}  // namespace tensorfleet::data
