#include "runtime/session/master/create_session.h"

#include <algorithm>
#include <chrono>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "runtime/base/contain.h"
#include "runtime/base/log.h"
#include "runtime/base/random_id.h"
#include "runtime/session/cluster/device_attributes.h"

namespace tensorfleet {
namespace {

constexpr auto kFirstReminder = std::chrono::milliseconds(500);
constexpr auto kReminderPeriod = std::chrono::seconds(10);
constexpr auto kPauseBeforeAskingAgain = std::chrono::milliseconds(50);

// As in TensorFlow, what a client says of devices changes nothing at a server that runs.
void WarnOfDeviceCount(const tensorflow::ConfigProto& config, size_t num_devices) {
  const auto asked = config.device_count().find("CPU");
  if (asked == config.device_count().end() || asked->second <= static_cast<int>(num_devices)) {
    return;
  }
  LogWarning("A session asks for more CPU devices than this server made when it started",
             {{"asked", asked->second}, {"has", static_cast<int64_t>(num_devices)}});
}

}  // namespace

StatusOr<bool> PassesFilters(const std::string& task,
                             const google::protobuf::RepeatedPtrField<std::string>& filters) {
  if (filters.empty()) return true;
  TFLEET_ASSIGN_OR_RETURN(const DeviceName name, DeviceName::Parse(task));
  for (const std::string& filter : filters) {
    const StatusOr<DeviceName> wanted = DeviceName::Parse(filter);
    if (!wanted.ok()) return Prefixed("Invalid device filter: ", wanted.status());
    if (wanted->IsCompatibleWith(name)) return true;
  }
  return false;
}

SessionCreation::SessionCreation(Master* master,
                                 std::shared_ptr<const tensorflow::CreateSessionRequest> request,
                                 Done done)
    : master_(master),
      request_(std::move(request)),
      done_(std::move(done)),
      config_(master->options().default_session_config),
      handle_(absl::StrCat(absl::Hex(RandomNonZero64(), absl::kZeroPad16))) {
  config_.MergeFrom(request_->config());
}

void SessionCreation::Start(const CallOptions& call) {
  WarnOfDeviceCount(request_->config(), master_->options().worker->devices().size());
  if (Status status = ChooseTasks(); !status.ok()) {
    done_(std::move(status));
    return;
  }
  caller_ = call.cancellation;
  if (caller_ != nullptr) {
    caller_token_ = caller_->Register([self = shared_from_this()] {
      self->errors_.Add(self->caller_->status());
      self->calls_.StartCancel(self->caller_->status());
    });
  }
  AskAll(call);
}

Status SessionCreation::UseClientsCluster() {
  TFLEET_ASSIGN_OR_RETURN(cluster_, ClusterSpec::FromProto(config_.cluster_def()));
  is_clients_cluster_ = true;
  const absl::string_view target = absl::StripPrefix(request_->target(), "grpc://");
  own_task_.clear();
  for (const auto& [task, address] : cluster_.Tasks()) {
    if (address != target) continue;
    if (!own_task_.empty()) {
      return InvalidArgument("The ClusterSpec lists the address of the master, ", target,
                             ", more than once: for ", own_task_, " and for ", task);
    }
    own_task_ = task;
  }
  if (own_task_.empty()) {
    return InvalidArgument("The ClusterSpec does not list the address of the master, ", target,
                           "; one of its tasks must have the address that the session dials");
  }
  if (own_task_ == master_->options().worker->task()) {
    const DeviceName name = DeviceName::Parse(own_task_).value();
    return InvalidArgument(
        "The ClusterSpec names the job and task index to be the same names that were provided when "
        "the server booted. This is currently not allowed. Job: ",
        *name.job, ", task index: ", *name.task);
  }
  isolate_ = config_.isolate_session_state() ||
             !config_.experimental().share_session_state_in_clusterspec_propagation();
  return OkStatus();
}

// Outlives the sessions.
std::shared_ptr<WorkerInterface> SessionCreation::OwnWorker() const {
  return {std::shared_ptr<void>(), master_->options().worker};
}

Status SessionCreation::ChooseTasks() {
  const Master::Options& options = master_->options();
  cluster_ = options.cluster;
  own_task_ = options.worker->task();
  isolate_ = config_.isolate_session_state();
  if (config_.cluster_def().job_size() > 0) TFLEET_RETURN_IF_ERROR(UseClientsCluster());
  bool has_own = false;
  for (const auto& [task, address] : cluster_.Tasks()) {
    const bool is_own = task == own_task_;
    TFLEET_ASSIGN_OR_RETURN(const bool passes, PassesFilters(task, config_.device_filters()));
    if (!is_own && !passes) continue;
    has_own |= is_own;
    SessionTask use;
    use.name = task;
    use.is_local = is_own;
    use.worker = is_own ? OwnWorker() : options.peers->Worker(address);
    tasks_.push_back(std::move(use));
    addresses_.push_back(address);
  }
  if (!has_own) {
    SessionTask own;
    own.name = own_task_;
    own.is_local = true;
    own.worker = OwnWorker();
    tasks_.push_back(std::move(own));
    addresses_.push_back("this process");
  }
  return OkStatus();
}

void SessionCreation::AskAll(const CallOptions& call) {
  answered_ = std::make_unique<std::atomic<bool>[]>(tasks_.size());
  pending_ = tasks_.size() + 1;
  if (call.timeout.count() > 0) deadline_ = std::chrono::steady_clock::now() + call.timeout;
  for (size_t i = 0; i < tasks_.size(); ++i) Ask(i);
  Remind(/*is_first=*/true);
  OneLess();
}

void SessionCreation::Ask(size_t i) {
  CallOptions options;
  options.cancellation = &calls_;
  options.wait_for_ready = true;
  if (master_->options().timers != nullptr) options.timeout = master_->options().peer_answer;
  if (deadline_.has_value()) {
    const auto left = std::max(
        std::chrono::ceil<std::chrono::milliseconds>(*deadline_ - std::chrono::steady_clock::now()),
        std::chrono::milliseconds(1));
    options.timeout = options.timeout.count() > 0 ? std::min(options.timeout, left) : left;
  }
  tasks_[i].worker->GetStatus(
      options, [self = shared_from_this(), i](StatusOr<std::vector<DeviceAttributes>> devices) {
        self->Answered(i, std::move(devices));
      });
}

bool SessionCreation::MayAskAgain() const {
  return master_->options().timers != nullptr && !calls_.is_cancelled() &&
         (!deadline_.has_value() || std::chrono::steady_clock::now() < *deadline_);
}

void SessionCreation::Remind(bool is_first) {
  if (pending_.load() == 0) return;
  if (!is_first) {
    for (size_t i = 0; i < tasks_.size(); ++i) {
      if (!answered_[i]) {
        LogInfo(
            absl::StrCat("CreateSession still waiting for response from worker: ", tasks_[i].name),
            {{"address", addresses_[i]}});
      }
    }
  }
  if (master_->options().timers == nullptr) return;
  master_->options().timers->RunAfter(is_first ? std::chrono::nanoseconds(kFirstReminder)
                                               : std::chrono::nanoseconds(kReminderPeriod),
                                      [weak = weak_from_this()] {
                                        if (const auto self = weak.lock())
                                          self->Remind(/*is_first=*/false);
                                      });
}

void SessionCreation::Answered(size_t i, StatusOr<std::vector<DeviceAttributes>> devices) {
  // The peer is not up yet, or its connection is of no use: it was given up.
  if (absl::IsDeadlineExceeded(devices.status()) && MayAskAgain()) {
    master_->options().timers->RunAfter(kPauseBeforeAskingAgain,
                                        [self = shared_from_this(), i] { self->Ask(i); });
    return;
  }
  answered_[i] = true;
  SessionTask& task = tasks_[i];
  Status status = devices.status();
  if (devices.ok()) {
    task.is_ours = IsOurServer(*devices);
    for (DeviceAttributes& device : *devices) {
      if (device.name ==
          absl::StrCat(task.name, "/device:", device.type, ":", device.parsed.id.value_or(0))) {
        task.devices.push_back(std::move(device));
      } else if (is_clients_cluster_) {
        task.devices.push_back(Renamed(device, task.name));
      } else {
        status = InvalidArgument("the server at ", addresses_[i], " should be ", task.name,
                                 " but says it has ", device.name,
                                 ": are all servers given the same cluster?");
      }
    }
  }
  if (errors_.Add(std::move(status))) calls_.StartCancel(MarkDerived(Cancelled("no session")));
  OneLess();
}

void SessionCreation::OneLess() {
  if (pending_.fetch_sub(1) != 1) return;
  if (!errors_.ok()) {
    Fail(errors_.Merged());
    return;
  }
  master_->options().compile_pool->Schedule([self = shared_from_this()] { self->Build(); });
}

MasterSession::Options SessionCreation::SessionOptions() const {
  const Master::Options& options = master_->options();
  MasterSession::Options session;
  session.handle = handle_;
  session.worker = options.worker;
  session.timers = options.timers;
  session.compile_pool = options.compile_pool;
  session.cached_graphs = options.cached_graphs;
  session.config = config_;
  session.tasks = tasks_;
  session.name_tasks_in_errors = options.name_tasks_in_errors;
  const std::string leader = CollectiveLeader(config_, cluster_, own_task_);
  if (leader != own_task_) {
    session.collective_leader = leader;
    for (const auto& [task, address] : cluster_.Tasks()) {
      if (task != leader) continue;
      session.find_collective_leader = [peers = options.peers, address = address] {
        return peers->Worker(address);
      };
    }
  }
  SessionGraph::Options& graph = session.graph;
  graph.ops = &options.worker->ops();
  graph.cpu = options.worker->cpu();
  graph.limits = &options.worker->limits();
  graph.graph_options = config_.graph_options();
  graph.dump_dir = options.dump_dir;
  graph.name = handle_;
  PlacementOptions& placement = graph.placement;
  for (const SessionTask& task : tasks_) {
    placement.devices.insert(placement.devices.end(), task.devices.begin(), task.devices.end());
    if (!task.is_local) continue;
    placement.client_device = task.devices[0].name;
    graph.client_incarnation = task.devices[0].incarnation;
  }
  placement.default_placement = options.default_placement;
  placement.first_job =
      cluster_.empty() ? *DeviceName::Parse(own_task_).value().job : cluster_.jobs()[0].name;
  placement.allow_soft_placement = config_.allow_soft_placement();
  placement.kernels = &options.worker->kernels();
  placement.calls_are_expanded = true;
  if (config_.log_device_placement()) {
    placement.log = [](const std::string& line) { LogInfo(line); };
  }
  return session;
}

void SessionCreation::Build() {
  session_ = std::make_shared<MasterSession>(SessionOptions());
  Status status = Contained([&] { return session_->InitGraph(request_->graph_def()); });
  if (status.ok()) {
    // Before workers may ask whether this master has the session.
    const int64_t most = master_->options().worker->limits().sessions;
    MutexLock lock(&master_->mu_);
    if (most > 0 && static_cast<int64_t>(master_->sessions_.size()) >= most) {
      status = OverLimit("the sessions of clients", most, "max_sessions");
    } else {
      master_->sessions_[handle_] = session_;
    }
  }
  if (!status.ok()) {
    Fail(std::move(status));
    return;
  }
  OpenAtWorkers();
}

void SessionCreation::OpenAtWorkers() {
  tensorflow::CreateWorkerSessionRequest open;
  open.set_session_handle(handle_);
  open.set_isolate_session_state(isolate_);
  open.set_master_task(own_task_);
  for (const SessionTask& task : tasks_) {
    if (task.is_local) {
      open.set_master_incarnation(static_cast<int64_t>(task.devices[0].incarnation));
    }
    if (!config_.share_cluster_devices_in_session() &&
        !config_.experimental().share_cluster_devices_in_session()) {
      continue;
    }
    for (const DeviceAttributes& device : task.devices) {
      DeviceAttributesToProto(device, open.add_cluster_device_attributes());
    }
  }
  tensorflow::ServerDef& server = *open.mutable_server_def();
  server.set_protocol("grpc");
  if (is_clients_cluster_) cluster_.ToProto(server.mutable_cluster());
  auto* coordination = server.mutable_default_session_config()
                           ->mutable_experimental()
                           ->mutable_coordination_config();
  coordination->set_service_type("standalone");
  coordination->set_service_leader(own_task_);

  pending_ = tasks_.size() + 1;
  const auto one_less = [self = shared_from_this()](Status status) {
    self->errors_.Add(std::move(status));
    if (self->pending_.fetch_sub(1) == 1) self->Opened();
  };
  CallOptions options;
  options.cancellation = &calls_;
  for (const SessionTask& task : tasks_) {
    const DeviceName name = DeviceName::Parse(task.name).value();
    server.set_job_name(*name.job);
    server.set_task_index(*name.task);
    task.worker->CreateWorkerSession(options, open, one_less);
  }
  one_less(OkStatus());
}

void SessionCreation::Opened() {
  if (!errors_.ok()) {
    Fail(errors_.Merged());
    return;
  }
  if (caller_token_ >= 0) caller_->TryDeregister(caller_token_);
  LogInfo(absl::StrCat("Start master session ", handle_), {{"workers", tasks_.size()}});
  tensorflow::CreateSessionResponse response;
  response.set_session_handle(handle_);
  done_(std::move(response));
}

void SessionCreation::Fail(Status status) {
  if (caller_token_ >= 0) caller_->TryDeregister(caller_token_);
  if (session_ == nullptr) {
    done_(std::move(status));
    return;
  }
  {
    MutexLock lock(&master_->mu_);
    master_->sessions_.erase(handle_);
  }
  // Workers may have opened it already.
  session_->Close([done = done_, status](Status) { done(status); });
}

}  // namespace tensorfleet
