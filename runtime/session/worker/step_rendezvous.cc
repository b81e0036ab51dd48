#include "runtime/session/worker/step_rendezvous.h"

#include <chrono>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/base/random_id.h"
#include "runtime/execute/step_stats.h"
#include "runtime/session/metrics.h"

namespace tensorfleet {
namespace {

int64_t NowNanos() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// `[24B] [0.2Mb/s] edge_6_v/read from A to B`: the label that timelines show for a transfer.
std::string TransferLabel(const RendezvousKey& key, int64_t bytes, int64_t nanos) {
  const double mbits =
      nanos > 0 ? static_cast<double>(bytes) * 8e3 / static_cast<double>(nanos) : 0;
  return absl::StrCat("[", bytes, "B] [", absl::StrFormat("%g", mbits), "Mb/s] ", key.tensor_name,
                      " from ", key.src_device, " to ", key.dst_device);
}

// One transfer from a peer; deletes itself when it is over.
struct Fetch {
  RendezvousKey key;
  RecvTensorArgs args;
  RecvTensorResult result;
  Rendezvous::RecvDone done;
  int64_t start_nanos = 0;

  void Record(StepStatsCollector* stats, TransferLog* log) const {
    const int64_t bytes = static_cast<int64_t>(result.tensor.total_bytes());
    EdgeBytes(TaskOf(key.src_device), TaskOf(key.dst_device), bytes);
    const bool is_logged = log != nullptr && log->is_on();
    if (stats == nullptr && !is_logged) return;
    const int64_t end = NowNanos();
    const int64_t sent = result.send_start_micros * 1000;
    // The two machines' clocks may disagree: the time of sending counts only when it can be true.
    const int64_t from = sent >= start_nanos && sent <= end ? sent : start_nanos;
    const std::string label = TransferLabel(key, bytes, end - from);
    const StepStatsCollector::Times times{start_nanos, from, end, end};
    if (is_logged) {
      log->Record(args.step_id, key.dst_device, label, times, bytes);
    } else {
      stats->AddRpc(key.dst_device, "RecvTensor", label, times, bytes);
    }
  }
};

}  // namespace

absl::string_view TaskOf(absl::string_view device) {
  const size_t end = device.rfind("/device:");
  return end == absl::string_view::npos ? device : device.substr(0, end);
}

std::string PieceName(absl::string_view buf_key) { return absl::StrCat("^collective ", buf_key); }

void StepRendezvous::Bind(std::string task, FindPeer find_peer) {
  task_ = std::move(task);
  find_peer_ = std::move(find_peer);
}

void StepRendezvous::Await(const std::vector<std::string>& keys) {
  awaited_.insert(keys.begin(), keys.end());
}

bool StepRendezvous::IsLocal(const RendezvousKey& key) const {
  if (task_.empty()) return true;
  if (absl::StartsWith(key.src_device, task_) && key.src_device.size() > task_.size() &&
      key.src_device[task_.size()] == '/') {
    return true;
  }
  return !awaited_.empty() && awaited_.contains(key.text);
}

Status StepRendezvous::Send(const RendezvousKey& key, Tensor tensor, bool is_dead) {
  return local_.Send(key, std::move(tensor), is_dead);
}

void StepRendezvous::RecvAsync(const RendezvousKey& key, RecvDone done) {
  if (IsLocal(key)) {
    local_.RecvAsync(key, std::move(done));
  } else {
    RecvRemote(key, std::move(done));
  }
}

void StepRendezvous::RecvRemote(const RendezvousKey& key, RecvDone done) {
  StatusOr<std::shared_ptr<WorkerInterface>> peer = find_peer_(TaskOf(key.src_device));
  if (!peer.ok()) {
    done(peer.status(), Tensor(), false);
    return;
  }
  auto* fetch = new Fetch{key, {}, {}, std::move(done), NowNanos()};
  fetch->args = {step_id_, static_cast<int64_t>(RandomNonZero64()), key.text};
  CallOptions options;
  options.cancellation = &fetches_;
  (*peer)->RecvTensor(
      options, fetch->args, &fetch->result, [this, fetch, peer = *peer](const Status& status) {
        std::unique_ptr<Fetch> owned(fetch);
        if (!status.ok()) {
          const absl::string_view from = TaskOf(owned->key.src_device);
          if (fetches_.is_cancelled()) {
            owned->done(MarkDerived(fetches_.status()), Tensor(), false);
            return;
          }
          const Status named = absl::IsUnavailable(status)
                                   ? Prefixed(absl::StrCat("receiving from ", from, ": "), status)
                                   : status;
          owned->done(named, Tensor(), false);
          return;
        }
        owned->Record(stats_.load(std::memory_order_acquire), log_);
        owned->done(status, std::move(owned->result.tensor), owned->result.is_dead);
      });
}

void StepRendezvous::RecvBuf(RecvBufArgs args, const std::string& task, RecvDone done) {
  if (task == task_) {
    local_.RecvAsync(args.key, std::move(done));
    return;
  }
  StatusOr<std::shared_ptr<WorkerInterface>> peer = find_peer_(task);
  if (!peer.ok()) return done(peer.status(), Tensor(), false);
  struct Call {
    RecvBufArgs args;
    RecvTensorResult result;
    RecvDone done;
  };
  auto call = std::make_shared<Call>(Call{std::move(args), {}, std::move(done)});
  call->args.step_id = step_id_;
  call->args.request_id = static_cast<int64_t>(RandomNonZero64());
  CallOptions options;
  options.cancellation = &fetches_;
  (*peer)->RecvBuf(
      options, call->args, &call->result, [this, call, peer = *peer](const Status& status) {
        if (status.ok()) {
          EdgeBytes(TaskOf(call->args.key.src_device), TaskOf(call->args.key.dst_device),
                    static_cast<int64_t>(call->result.tensor.total_bytes()));
          call->done(status, std::move(call->result.tensor), false);
        } else {
          call->done(fetches_.is_cancelled() ? MarkDerived(fetches_.status()) : status, Tensor(),
                     false);
        }
      });
}

void StepRendezvous::RecvLocalAsync(const RendezvousKey& key, CancellationManager* cancellation,
                                    RecvDone done) {
  if (cancellation == nullptr) {
    local_.RecvAsync(key, std::move(done));
    return;
  }
  // The value's sender and the cancellation may come at once: whoever takes the waiting receiver
  // out of the table calls `done`. `done` keeps this rendezvous alive, and the callback keeps
  // `done`.
  struct Waiter {
    RecvDone done;
    std::atomic<bool> cancelled{false};
  };
  auto waiter = std::make_shared<Waiter>();
  waiter->done = std::move(done);
  const auto give_up = [this, key, waiter, cancellation] {
    if (!local_.Withdraw(key, waiter.get())) return;
    waiter->done(cancellation->status(), {}, false);
  };
  const CancellationManager::Token token = cancellation->Register([waiter, give_up] {
    waiter->cancelled = true;
    give_up();
  });
  if (token < 0) {
    waiter->done(cancellation->status(), {}, false);
    return;
  }
  local_.RecvAsync(key, waiter.get(),
                   [waiter, cancellation, token](const Status& status, Tensor tensor, bool dead) {
                     cancellation->TryDeregister(token);
                     waiter->done(status, std::move(tensor), dead);
                   });
  if (waiter->cancelled) give_up();  // the callback came before the receiver waited
}

void StepRendezvous::StartAbort(const Status& why) {
  local_.StartAbort(MarkDerived(why));
  fetches_.StartCancel(why);
}

}  // namespace tensorfleet
