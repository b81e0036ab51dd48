#include "runtime/session/worker/worker.h"

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/contain.h"
#include "runtime/base/log.h"
#include "runtime/device/cpu_devices.h"
#include "runtime/graph/function_library.h"
#include "runtime/graph/graph_import.h"
#include "runtime/session/cluster/device_attributes.h"
#include "runtime/session/metrics.h"
#include "runtime/session/worker/registered_graph.h"
#include "runtime/session/worker/unfuse.h"

namespace tensorfleet {

Worker::Worker(Options options) : options_(std::move(options)), collectives_(options_.collectives) {
  owned_devices_ = MakeCpuDevices(options_.task, options_.cpu_devices, options_.pool);
  if (options_.more_devices) {
    for (auto& device : options_.more_devices(options_.task, options_.pool)) {
      owned_devices_.push_back(std::move(device));
    }
  }
  for (const auto& device : owned_devices_) {
    resources_.push_back(
        std::make_unique<ResourceManager>(device->attributes().parsed.job.value_or("localhost")));
    devices_.push_back({device.get(), resources_.back().get(), nullptr});
    DeviceAttributes& told = device_attributes_.emplace_back(device->attributes());
    if (told.type == kCpu) told.description = kOurCpu;
  }
  WorkerSession::Options legacy;
  legacy.task = options_.task;
  legacy.boot_devices = devices_;
  legacy.cluster = options_.cluster;
  legacy.peers = options_.peers;
  legacy.ops = options_.ops;
  legacy.kernels = options_.kernels;
  legacy_session_ = std::make_shared<WorkerSession>(std::move(legacy));
}

Worker::~Worker() { steps_.AbortAll(Cancelled("the worker ", options_.task, " is going down")); }

void Worker::GetStatus(const CallOptions&, DoneWith<std::vector<DeviceAttributes>> done) {
  done(device_attributes_);
}

StatusOr<std::shared_ptr<WorkerSession>> Worker::MakeSession(
    const tensorflow::CreateWorkerSessionRequest& request) {
  WorkerSession::Options session;
  session.handle = request.session_handle();
  session.max_bytes = options_.limits.session_bytes;
  session.task = options_.task;
  session.boot_devices = devices_;
  session.isolate = request.isolate_session_state();
  session.cluster = options_.cluster;
  session.peers = options_.peers;
  session.ops = options_.ops;
  session.kernels = options_.kernels;
  session.master_task = request.master_task();
  session.master_incarnation = request.master_incarnation();
  const tensorflow::ServerDef& server = request.server_def();
  if (server.cluster().job_size() > 0) {
    TFLEET_ASSIGN_OR_RETURN(session.cluster, ClusterSpec::FromProto(server.cluster()));
    session.task = DeviceName::Task(server.job_name(), server.task_index()).TaskString();
    TFLEET_ASSIGN_OR_RETURN(const DeviceName task, DeviceName::Parse(session.task));
    if (!(task == DeviceName::Task(server.job_name(), server.task_index()))) {
      return InvalidArgument("'", server.job_name(), "' is not the name of a job");
    }
    session.rename = session.task != options_.task;
  }
  return std::make_shared<WorkerSession>(std::move(session));
}

void Worker::CreateWorkerSession(const CallOptions&,
                                 const tensorflow::CreateWorkerSessionRequest& request, Done done) {
  if (request.session_handle().empty()) {
    done(InvalidArgument("Session must be non-empty."));
    return;
  }
  StatusOr<std::shared_ptr<WorkerSession>> session = MakeSession(request);
  if (!session.ok()) {
    done(session.status());
    return;
  }
  Status status;
  std::vector<std::shared_ptr<WorkerSession>> stale;  // destroyed outside the lock
  {
    MutexLock lock(&mu_);
    for (auto it = sessions_.begin(); it != sessions_.end();) {
      const WorkerSession::Options& known = it->second->options();
      if (!request.master_task().empty() && known.master_task == request.master_task() &&
          known.master_incarnation != request.master_incarnation()) {
        LogInfo("Dropping a session of a master that has restarted",
                {{"session", known.handle}, {"master", known.master_task}});
        stale.push_back(std::move(it->second));
        sessions_.erase(it++);
      } else {
        ++it;
      }
    }
    const int64_t most = options_.limits.sessions;
    if (most > 0 && static_cast<int64_t>(sessions_.size()) >= most) {
      status = OverLimit("the sessions of masters", most, "max_sessions");
    } else {
      // A repeated handle has no effect.
      sessions_.emplace(request.session_handle(), *session);
    }
  }
  EndSessions(stale, "its master has restarted");
  done(std::move(status));
}

void Worker::EndSessions(const std::vector<std::shared_ptr<WorkerSession>>& sessions,
                         absl::string_view why) {
  for (const auto& session : sessions) {
    steps_.EndThoseOf(*session, MarkDerived(Aborted("the session ", session->handle(),
                                                    " has ended on this worker: ", why)));
  }
}

void Worker::DeleteWorkerSession(const CallOptions&, const std::string& session_handle, Done done) {
  std::vector<std::shared_ptr<WorkerSession>> removed;  // destroyed outside the lock
  {
    MutexLock lock(&mu_);
    const auto it = sessions_.find(session_handle);
    if (it != sessions_.end()) {
      removed.push_back(std::move(it->second));
      sessions_.erase(it);
    }
  }
  EndSessions(removed, "its master has closed it");
  removed.clear();
  done(OkStatus());
}

StatusOr<std::shared_ptr<WorkerSession>> Worker::FindSession(const std::string& handle,
                                                             bool was_created) {
  if (!was_created) return legacy_session_;
  {
    MutexLock lock(&mu_);
    const auto it = sessions_.find(handle);
    if (it != sessions_.end()) return it->second;
  }
  Status status = Aborted("Session handle is not found: ", handle, ". Possibly this worker (\"",
                          options_.task, "\") just restarted.");
  status.SetPayload(kWorkerPossiblyRestartedPayload, absl::Cord());
  return status;
}

StatusOr<std::string> Worker::Register(RegisterGraphArgs* args,
                                       const CancellationManager* cancellation) {
  const auto is_cancelled = [&] { return cancellation != nullptr && cancellation->is_cancelled(); };
  TFLEET_ASSIGN_OR_RETURN(const std::shared_ptr<WorkerSession> session,
                          FindSession(args->session_handle, args->create_worker_session_called));
  if (is_cancelled()) return cancellation->status();
  std::unique_ptr<Graph> graph = std::move(args->graph);
  if (graph == nullptr) {
    TFLEET_RETURN_IF_ERROR(Unfuse(*options_.ops, &args->graph_def));
    TFLEET_ASSIGN_OR_RETURN(const std::shared_ptr<const FunctionLibrary> library,
                            FunctionLibrary::FromProto(args->graph_def.library()));
    graph = std::make_unique<Graph>(options_.ops, library);
    TFLEET_RETURN_IF_ERROR(options_.limits.CheckGraph(args->graph_def, /*nodes_before=*/0));
    ImportOptions import;
    import.allow_internal_ops = true;
    TFLEET_RETURN_IF_ERROR(ImportGraphDef(args->graph_def, import, graph.get()));
  }
  if (is_cancelled()) return cancellation->status();
  TFLEET_ASSIGN_OR_RETURN(std::shared_ptr<RegisteredGraph> registered,
                          RegisteredGraph::Make(session.get(), std::move(graph)));
  if (args->config.experimental().collective_group_leader().empty()) {
    args->config.mutable_experimental()->set_collective_group_leader(options_.collectives.leader);
  }
  registered->set_collective_leader(
      CollectiveLeader(args->config, session->options().cluster, session->task()));
  // Nobody would ever ask for the graph to go.
  if (is_cancelled()) return cancellation->status();
  session->calls().Touch();
  return session->AddGraph(std::move(registered));
}

void Worker::RegisterGraph(const CallOptions& options, RegisterGraphArgs args,
                           DoneWith<std::string> done) {
  done(Contained([&] { return Register(&args, options.cancellation); }));
}

void Worker::DeregisterGraph(const CallOptions&, const tensorflow::DeregisterGraphRequest& request,
                             Done done) {
  StatusOr<std::shared_ptr<WorkerSession>> session =
      FindSession(request.session_handle(), request.create_worker_session_called());
  if (!session.ok()) {
    done(session.status());
  } else if (!(*session)->RemoveGraph(request.graph_handle())) {
    done(Aborted("Graph handle is not found: ", request.graph_handle(),
                 ". Possibly, this worker just restarted."));
  } else {
    done(OkStatus());
  }
}

void Worker::CleanupGraph(const CallOptions&, int64_t step_id, Done done) {
  if (const std::shared_ptr<WorkerStep> step = steps_.Remove(step_id)) {
    step->Abort(MarkDerived(Aborted("step ", step_id, " is over")));
  }
  done(OkStatus());
}

void Worker::CleanupAll(const CallOptions&, const std::vector<std::string>& containers, Done done) {
  for (const auto& resources : resources_) {
    if (containers.empty()) resources->Clear("");
    for (const std::string& container : containers) resources->Clear(container);
  }
  done(OkStatus());
}

void Worker::Logging(const CallOptions&, const tensorflow::LoggingRequest& request,
                     DoneWith<tensorflow::LoggingResponse> done) {
  if (request.enable_rpc_logging()) transfers_.Switch(true);
  if (request.disable_rpc_logging()) transfers_.Switch(false);
  tensorflow::LoggingResponse response;
  for (const int64_t step_id : request.fetch_step_id()) transfers_.Fetch(step_id, &response);
  if (request.clear()) transfers_.Clear();
  done(std::move(response));
}

void Worker::DeliverToStep(int64_t step_id, const std::string& key_text, Tensor tensor) {
  const StatusOr<RendezvousKey> key = RendezvousKey::Parse(key_text);
  if (!key.ok()) return;
  EdgeBytes(TaskOf(key->src_device), TaskOf(key->dst_device),
            static_cast<int64_t>(tensor.total_bytes()));
  const std::shared_ptr<WorkerStep> step = steps_.Begin(step_id);
  // An error means that the step was aborted: nobody waits any more.
  (void)step->rendezvous.Send(*key, std::move(tensor), /*is_dead=*/false);
}

}  // namespace tensorfleet
