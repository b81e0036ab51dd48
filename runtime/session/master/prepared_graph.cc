#include "runtime/session/master/prepared_graph.h"

namespace tensorfleet {

bool PreparedGraph::Join() {
  // A graph that could not be prepared for want of a worker is prepared anew when it is asked for
  // again.
  if (is_ready()) return !absl::IsUnavailable(status_) && !absl::IsCancelled(status_);
  MutexLock lock(&mu_);
  if (was_given_up_) return false;
  ++waiters_;
  return true;
}

void PreparedGraph::Leave() {
  if (is_ready()) return;
  {
    MutexLock lock(&mu_);
    if (--waiters_ > 0) return;
    was_given_up_ = true;
  }
  cancellation_.StartCancel(Cancelled("nobody waits any more for the graph to be prepared"));
}

void PreparedGraph::WhenReady(std::function<void()> callback) {
  if (!is_ready()) {
    MutexLock lock(&mu_);
    if (!is_ready()) {
      waiting_.push_back(std::move(callback));
      return;
    }
  }
  callback();
}

void PreparedGraph::SetReady(Status status, Contents contents) {
  status_ = std::move(status);
  if (status_.ok()) {  // otherwise what was registered goes with `contents`
    feed_types_ = std::move(contents.feed_types);
    fetch_types_ = std::move(contents.fetch_types);
    parts_ = std::move(contents.parts);
    fetch_needs_ = std::move(contents.fetch_needs);
    bytes_ = contents.bytes;
    collective_graph_key_ = contents.collective_graph_key;
  }
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
