#include "runtime/session/compiled_step.h"

namespace tensorfleet {

void CompiledStep::WhenReady(std::function<void()> callback) {
  if (!is_ready()) {
    MutexLock lock(&mu_);
    if (!is_ready()) {
      waiting_.push_back(std::move(callback));
      return;
    }
  }
  callback();
}

void CompiledStep::SetReady(Status status, Contents contents) {
  status_ = std::move(status);
  feed_types_ = std::move(contents.feed_types);
  fetch_types_ = std::move(contents.fetch_types);
  parts_ = std::move(contents.parts);
  fetch_needs_ = std::move(contents.fetch_needs);
  for (const Part& part : parts_) {
    awaited_keys_.insert(awaited_keys_.end(), part.reply_keys.begin(), part.reply_keys.end());
  }
  std::vector<std::function<void()>> waiting;
  {
    MutexLock lock(&mu_);
    ready_.store(true, std::memory_order_release);
    waiting.swap(waiting_);
  }
  for (const auto& callback : waiting) callback();
}

}  // namespace tensorfleet
