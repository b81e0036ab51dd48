#include "runtime/session/worker/partial_run.h"

#include <atomic>
#include <utility>

namespace tensorfleet {

Status SendAll(const std::vector<NamedTensor>& sends, WorkerStep* step) {
  for (const NamedTensor& send : sends) {
    TFLEET_ASSIGN_OR_RETURN(const RendezvousKey key, RendezvousKey::Parse(send.name));
    TFLEET_RETURN_IF_ERROR(step->rendezvous.Send(key, send.tensor, /*is_dead=*/false));
  }
  return OkStatus();
}

StatusOr<std::vector<RendezvousKey>> ParseFetchKeys(const std::vector<std::string>& keys,
                                                    int64_t step_id) {
  std::vector<RendezvousKey> parsed;
  for (const std::string& text : keys) {
    StatusOr<RendezvousKey> key = RendezvousKey::Parse(text);
    if (!key.ok()) {
      return Internal("Failed to fetch outputs for step ", step_id,
                      ". (Original error message: ", key.status().message(), ")");
    }
    parsed.push_back(*std::move(key));
  }
  return parsed;
}

// Waits for the values that one call asks for, and for the end of the run when it is the last call
// or when a value cannot come; deletes itself.
struct PartialRun::OneCall {
  std::shared_ptr<PartialRun> run;
  std::shared_ptr<WorkerStep> step;
  RunGraphResult* result;
  bool is_last;
  std::function<void(Status)> done;
  std::atomic<size_t> pending{1};
  Mutex mu;
  Status status ABSL_GUARDED_BY(mu);

  void Received(size_t i, const Status& received, Tensor tensor, bool is_dead) {
    {
      MutexLock lock(&mu);
      if (!received.ok() && (status.ok() || IsDerived(status))) status = received;
      if (received.ok()) {
        result->recvs[i].tensor = std::move(tensor);
        result->recv_is_dead[i] = is_dead;
      }
    }
    Over();
  }
  void Over() {
    if (pending.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    std::unique_ptr<OneCall> owned(this);
    Status own;
    {
      MutexLock lock(&mu);
      own = status;
    }
    if (own.ok() && !is_last) {
      done(OkStatus());
      return;
    }
    // The cause of a value that does not come is the run's own error.
    auto finish = [own, done = std::move(done)](const Status& ended) {
      done(ended.ok() || (!own.ok() && !IsDerived(own)) ? own : ended);
    };
    if (!own.ok()) step->Abort(own);
    run->WhenEnded(std::move(finish));
  }
};

void PartialRun::Start(const GraphRunArgs& args) {
  // The arguments hold session, graph and step while kernels run.
  RunPieces(args,
            [run = shared_from_this(), args](Status status) { run->Ended(std::move(status)); });
}

void PartialRun::Call(std::shared_ptr<WorkerStep> step, const RunGraphArgs* args,
                      RunGraphResult* result, std::function<void(Status)> done) {
  StatusOr<std::vector<RendezvousKey>> keys = ParseFetchKeys(args->recv_keys, args->step_id);
  Status status = keys.ok() ? SendAll(args->sends, step.get()) : keys.status();
  if (!status.ok()) {
    done(std::move(status));
    return;
  }
  result->recvs.resize(keys->size());
  result->recv_is_dead.resize(keys->size());
  auto* call =
      new OneCall{shared_from_this(), std::move(step),    result, args->is_last_partial_run,
                  std::move(done),    {keys->size() + 1}, {},     {}};
  for (size_t i = 0; i < keys->size(); ++i) {
    result->recvs[i].name = (*keys)[i].text;
    call->step->rendezvous.RecvLocalAsync(
        (*keys)[i], nullptr, [call, i](const Status& received, Tensor tensor, bool is_dead) {
          call->Received(i, received, std::move(tensor), is_dead);
        });
  }
  call->Over();
}

void PartialRun::Ended(Status status) {
  std::vector<std::function<void(Status)>> waiting;
  {
    MutexLock lock(&mu_);
    ended_ = true;
    status_ = status;
    waiting.swap(waiting_);
  }
  for (const auto& callback : waiting) callback(status);
}

void PartialRun::WhenEnded(std::function<void(Status)> callback) {
  Status status;
  {
    MutexLock lock(&mu_);
    if (!ended_) {
      waiting_.push_back(std::move(callback));
      return;
    }
    status = status_;
  }
  callback(status);
}

}  // namespace tensorfleet
