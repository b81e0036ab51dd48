// The hot half of the worker: RunGraph and RecvTensor.

#include <chrono>

#include "absl/strings/cord.h"
#include "runtime/graph/graph_import.h"
#include "runtime/session/metrics.h"
#include "runtime/session/worker/collective/step_collectives.h"
#include "runtime/session/worker/graph_run.h"
#include "runtime/session/worker/partial_run.h"
#include "runtime/session/worker/worker.h"

namespace tensorfleet {
namespace {

int64_t NowNanos() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// The calls that are under way, for the leases of what they use.
void CallBegins(const GraphRunArgs& run) {
  run.session->calls().Enter();
  run.step->calls.Enter();
  run.graph->runs().Enter();
}
void CallEnds(const GraphRunArgs& run) {
  run.session->calls().Leave();
  run.step->calls.Leave();
  run.graph->runs().Leave();
}

// One call of RunGraph that is not partial; deletes itself when it has answered.
struct RunGraphCall {
  StepTable* steps;  // null when the step has no place in it
  GraphRunArgs run;
  RunGraphArgs* args;
  RunGraphResult* result;
  WorkerInterface::Done done;
  CancellationManager* cancellation;
  CancellationManager::Token token = -1;
  int64_t start_nanos = 0;
  std::vector<RendezvousKey> recv_keys;
  std::unique_ptr<StepStatsCollector> stats;

  void Finish(Status status) {
    std::unique_ptr<RunGraphCall> owned(this);
    CallEnds(run);
    // Without waiting: this may run inside the callback.
    if (token >= 0) cancellation->TryDeregister(token);
    if (stats != nullptr) {
      run.step->rendezvous.set_stats(nullptr);
      stats->Finish(&result->step_stats);
    }
    // What was broken off because a task goes down is a consequence; an error of its own is not.
    if ((IsDerived(status) || absl::IsCancelled(status)) && cancellation != nullptr &&
        absl::IsUnavailable(cancellation->status())) {
      status = cancellation->status();
    }
    if (status.ok()) status = Collect();
    if (args->record_partition_graphs) ExportPieces();
    if (steps == nullptr) {
      result->step_is_over = true;
    } else if (status.ok() && args->frame == nullptr && run.step->rendezvous.IsEmpty()) {
      // The master of this process ends the step itself, when all pieces have.
      steps->Remove(run.step->id);
      result->step_is_over = true;
    }
    ServerMetrics().run_graph_seconds.Observe(NowNanos() - start_nanos);
    done(std::move(status));
  }

  Status Collect() {
    for (const RendezvousKey& key : recv_keys) {
      NamedTensor recv{key.text, {}};
      bool is_dead = false;
      TFLEET_RETURN_IF_ERROR(run.step->rendezvous.TryRecv(key, &recv.tensor, &is_dead));
      if (is_dead) {
        return InvalidArgument("The tensor returned for ", key.tensor_name, " was not valid.");
      }
      result->recvs.push_back(std::move(recv));
    }
    return OkStatus();
  }

  void ExportPieces() {
    for (const RegisteredGraph::Piece& piece : run.graph->pieces()) {
      ExportGraphDef(piece.executor->graph(), {}, &result->partition_graphs.emplace_back());
    }
  }
};

// Why a call was cancelled: a consequence of what happened elsewhere, which the caller knows, but
// for a task that goes down, which is a cause itself.
Status CauseOf(const CancellationManager& cancellation) {
  Status why = cancellation.status();
  return absl::IsUnavailable(why) ? why : MarkDerived(std::move(why));
}

void LimitMemory(const GraphRunArgs& run, const Limits& limits) {
  MemoryAccount* const session = run.session->memory();
  if (session == nullptr && limits.step_bytes <= 0) return;
  run.step->memory = MemoryAccount::Open(
      absl::StrCat("step ", run.step->id, " on ", run.session->task()), limits.step_bytes, session);
}

}  // namespace

Status Worker::BindStep(const RunGraphArgs& args, const GraphRunArgs& run) {
  MutexLock lock(&run.step->mu);
  if (run.step->session == run.session) return OkStatus();
  if (run.step->session != nullptr) {
    return InvalidArgument("step ", args.step_id, " is one of the session '",
                           run.step->session->handle(), "', not of '", args.session_handle, "'");
  }
  run.step->session = run.session;
  LimitMemory(run, options_.limits);
  if (args.awaited_keys != nullptr) run.step->rendezvous.Await(*args.awaited_keys);
  run.step->rendezvous.Bind(run.session->task(), [session = run.session](absl::string_view task) {
    return session->FindPeer(task);
  });
  run.step->collectives = std::make_unique<SessionStepCollectives>(
      run.step.get(), &collectives_,
      WorkerCollectives::Place{run.session, run.graph->collective_leader(), run.step->id},
      options_.pool);
  run.step->rendezvous.set_collectives(run.step->collectives.get());
  return OkStatus();
}

void Worker::RunGraph(const CallOptions& options, RunGraphArgs* args, RunGraphResult* result,
                      Done done) {
  Status status = run_graph_ids_.Track(args->request_id, "RunGraph (Worker)");
  if (!status.ok()) {
    done(std::move(status));
    return;
  }
  StatusOr<std::shared_ptr<WorkerSession>> session =
      FindSession(args->session_handle, args->create_worker_session_called);
  if (!session.ok()) {
    done(session.status());
    return;
  }
  std::shared_ptr<RegisteredGraph> graph = (*session)->FindGraph(args->graph_handle);
  if (graph == nullptr) {
    done(Aborted("Graph handle is not found: ", args->graph_handle));
    return;
  }
  Run(*std::move(session), std::move(graph), options, args, result, std::move(done));
}

void Worker::Run(std::shared_ptr<WorkerSession> session, std::shared_ptr<RegisteredGraph> graph,
                 const CallOptions& options, RunGraphArgs* args, RunGraphResult* result,
                 Done done) {
  GraphRunArgs run;
  const bool meets_others = graph->has_transfers() || args->is_partial || !args->sends.empty() ||
                            !args->recv_keys.empty();
  run.step = meets_others ? steps_.Begin(args->step_id)
                          : std::make_shared<WorkerStep>(args->step_id, nullptr);
  run.session = std::move(session);
  run.graph = std::move(graph);
  run.frame = args->frame;
  run.caller_may_work = options.caller_waits;
  if (meets_others) {
    Status status = BindStep(*args, run);
    if (!status.ok()) return done(std::move(status));
  } else {
    LimitMemory(run, options_.limits);
  }

  CancellationManager::Token token = -1;
  if (options.cancellation != nullptr) {
    token = options.cancellation->Register(
        [step = run.step, cause = options.cancellation] { step->Abort(CauseOf(*cause)); });
    if (token < 0) {
      done(CauseOf(*options.cancellation));
      return;
    }
  }
  CallBegins(run);

  if (args->is_partial) {
    bool is_first = false;
    std::shared_ptr<PartialRun> partial;
    {
      MutexLock lock(&run.step->mu);
      is_first = run.step->partial == nullptr;
      if (is_first) run.step->partial = std::make_shared<PartialRun>();
      partial = run.step->partial;
    }
    if (is_first) partial->Start(run);
    partial->Call(
        run.step, args, result,
        [run, token, cause = options.cancellation, done = std::move(done)](Status status) {
          if (token >= 0) cause->TryDeregister(token);
          CallEnds(run);
          done(std::move(status));
        });
    return;
  }

  auto* call = new RunGraphCall{meets_others ? &steps_ : nullptr,
                                std::move(run),
                                args,
                                result,
                                std::move(done),
                                options.cancellation,
                                token,
                                NowNanos(),
                                {},
                                nullptr};
  StatusOr<std::vector<RendezvousKey>> keys = ParseFetchKeys(args->recv_keys, args->step_id);
  Status status = keys.ok() ? SendAll(args->sends, call->run.step.get()) : keys.status();
  if (!status.ok()) {
    call->Finish(std::move(status));
    return;
  }
  call->recv_keys = *std::move(keys);
  if (args->record_timeline) {
    call->stats = std::make_unique<StepStatsCollector>();
    call->run.stats = call->stats.get();
    call->run.step->rendezvous.set_stats(call->stats.get());
    for (const RegisteredGraph::Piece& piece : call->run.graph->pieces()) {
      call->stats->AddSource(piece.device->device->name(), call->start_nanos);
    }
  }
  RunPieces(call->run, [call](Status ended) { call->Finish(std::move(ended)); });
}

Status Worker::CheckRecv(const RendezvousKey& key) const {
  // Sessions may know the device by another name; the incarnation tells it whatever it is called.
  for (const LocalDevice& local : devices_) {
    if (local.device->attributes().incarnation == key.src_incarnation) return OkStatus();
  }
  const StatusOr<DeviceName> wanted = DeviceName::Parse(key.src_device);
  for (const LocalDevice& local : devices_) {
    const DeviceAttributes& known = local.device->attributes();
    if (!wanted.ok() || wanted->type != known.parsed.type || wanted->id != known.parsed.id)
      continue;
    Status status = Aborted(
        "RecvTensor expects a different device incarnation: ", key.src_incarnation, " vs. ",
        known.incarnation, ". Your worker job (\"", options_.task,
        "\") was probably restarted. Check your worker job for the reason why it was restarted.");
    status.SetPayload(kWorkerPossiblyRestartedPayload, absl::Cord());
    return status;
  }
  return InvalidArgument(key.src_device, " unknown device.");
}

void Worker::RecvTensor(const CallOptions& options, const RecvTensorArgs& args,
                        RecvTensorResult* result, Done done) {
  Status status = recv_tensor_ids_.Track(args.request_id, "RecvTensor (GrpcWorker)");
  StatusOr<RendezvousKey> key = RendezvousKey::Parse(args.key);
  if (status.ok()) status = key.status();
  if (status.ok()) status = CheckRecv(*key);
  std::shared_ptr<WorkerStep> step;
  if (status.ok()) {
    StatusOr<std::shared_ptr<WorkerStep>> found = steps_.PeerCame(args.step_id);
    status = found.status();
    if (found.ok()) step = *std::move(found);
  }
  if (!status.ok()) {
    done(std::move(status));
    return;
  }
  ++ServerMetrics().recv_tensor_waiting;
  step->calls.Enter();
  WorkerStep* const waiting_in = step.get();
  waiting_in->rendezvous.RecvLocalAsync(
      *key, options.cancellation,
      [this, step = std::move(step), result, done = std::move(done)](const Status& received,
                                                                     Tensor tensor, bool is_dead) {
        --ServerMetrics().recv_tensor_waiting;
        step->calls.Leave();
        steps_.PeerLeft(step.get());
        if (received.ok()) {
          result->tensor = std::move(tensor);
          result->is_dead = is_dead;
          result->send_start_micros = NowNanos() / 1000;
        }
        done(received);
      });
}

}  // namespace tensorfleet
