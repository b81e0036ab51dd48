// The rendezvous of one step on one worker: what is made here is kept in a local table, what is
// made on another task is fetched from that task's worker when a kernel asks for it. Peers may ask
// before the step's graph has begun to run here, so the table exists first and learns the session
// later. Thread-safe.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "runtime/base/cancellation.h"
#include "runtime/execute/local_rendezvous.h"
#include "runtime/kernels/rendezvous.h"
#include "runtime/session/worker/transfer_log.h"
#include "runtime/session/worker/worker_interface.h"

namespace tensorfleet {

// "/job:ps/replica:0/task:0" of "/job:ps/replica:0/task:0/device:CPU:0".
absl::string_view TaskOf(absl::string_view device);

// What the pieces of collectives are called among the tensors that graphs send: no node's name can
// begin like that.
std::string PieceName(absl::string_view buf_key);

class StepStatsCollector;

class StepRendezvous final : public Rendezvous {
 public:
  // Finds the worker of a task by name ("/job:ps/replica:0/task:0").
  using FindPeer =
      std::function<StatusOr<std::shared_ptr<WorkerInterface>>(absl::string_view task)>;

  // `log` gets the transfers while it is on, instead of the trace of the step; it may be null.
  explicit StepRendezvous(int64_t step_id, TransferLog* log = nullptr)
      : step_id_(step_id), log_(log) {}

  // Tells which task this is and how others are reached. To be called, like Await, before kernels
  // run.
  void Bind(std::string task, FindPeer find_peer);
  // Values of other tasks that will be given to Send by the caller of the step: not to be fetched.
  void Await(const std::vector<std::string>& keys);
  // Where transfers are recorded; null: nowhere.
  void set_stats(StepStatsCollector* stats) { stats_.store(stats, std::memory_order_release); }

  Status Send(const RendezvousKey& key, Tensor tensor, bool is_dead) override;
  void RecvAsync(const RendezvousKey& key, RecvDone done) override;
  // For a peer or a caller: only what is made here. Gives up when `cancellation` (may be null) says
  // so.
  void RecvLocalAsync(const RendezvousKey& key, CancellationManager* cancellation, RecvDone done);
  // Takes what is there without waiting. Errors: NotFound.
  Status TryRecv(const RendezvousKey& key, Tensor* tensor, bool* is_dead) {
    return local_.TryRecv(key, tensor, is_dead);
  }
  // A piece of a collective, from a device of `task`. TensorFlow's servers are asked in their way.
  void RecvBuf(RecvBufArgs args, const std::string& task, RecvDone done);
  // What collective ops of the step find; must outlive them. Before kernels run, like Bind.
  void set_collectives(StepCollectives* collectives) { collectives_ = collectives; }
  StepCollectives* collectives() override { return collectives_; }
  bool IsEmpty() { return local_.IsEmpty(); }
  // Those who wait get `why` marked as derived: the piece that failed reports the cause itself.
  void StartAbort(const Status& why) override;

 private:
  bool IsLocal(const RendezvousKey& key) const;
  void RecvRemote(const RendezvousKey& key, RecvDone done);

  const int64_t step_id_;
  TransferLog* const log_;
  LocalRendezvous local_;
  CancellationManager fetches_;  // cancelled with the step
  std::atomic<StepStatsCollector*> stats_{nullptr};
  // Set before kernels run, then only read.
  std::string task_;
  FindPeer find_peer_;
  absl::flat_hash_set<std::string> awaited_;
  StepCollectives* collectives_ = nullptr;
};

}  // namespace tensorfleet
