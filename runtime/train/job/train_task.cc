#include "runtime/train/job/train_task.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "runtime/base/log.h"
#include "runtime/device/device_name.h"
#include "runtime/rpc/services/control_service.h"
#include "runtime/session/master/master_client.h"
#include "runtime/train/checkpoint/add_saver.h"
#include "runtime/train/checkpoint/checkpoint_hook.h"
#include "runtime/train/checkpoint/saver.h"
#include "runtime/train/job/cluster_role.h"
#include "runtime/train/job/graph_nodes.h"
#include "runtime/train/session/basic_hooks.h"

namespace tensorfleet::train {
namespace {

constexpr char kFinished[] = "the job has finished";
constexpr auto kDrainTimeout = std::chrono::seconds(5);
constexpr auto kStepsMayFinish = std::chrono::seconds(5);
// What a worker still does once the job has finished is of no use to anybody, and a synchronous one
// waits for a token that nobody hands out.
constexpr auto kLastStep = std::chrono::seconds(1);

std::string OwnTask(const TrainOptions& options) {
  return DeviceName::Task(options.server.job, options.server.task).TaskString();
}

StatusOr<std::unique_ptr<rpc::Server>> StartServer(const TrainOptions& options,
                                                   CancellationManager* stop) {
  rpc::ServerOptions server = options.server;
  server.on_drain = [stop](const std::string& from, const std::string& reason) {
    LogInfo("Asked to leave", {{"by", from}, {"why", reason}});
    stop->StartCancel(JobHasFinished(from));
  };
  return rpc::Server::Start(std::move(server));
}

// Which state is where, a line for each task that holds some.
void LogPlacement(const TrainGraph& graph) {
  std::map<std::string, const std::string*> device;
  for (const auto& node : graph.graph.node()) device[node.name()] = &node.device();
  std::map<std::string, std::vector<std::string>> held;
  for (const auto& variable : graph.variables) {
    const std::string name = NodeOf(variable.variable_name());
    held[*device[name]].push_back(name);
  }
  for (const auto& [where, names] : held) {
    LogInfo("Variables are placed", {{"on", where}, {"variables", absl::StrJoin(names, ",")}});
  }
}

// What a step needs and nobody feeds. Found before servers are waited for and variables restored.
Status CheckFeeds(const TrainGraph& graph, const TrainOptions& options) {
  if (options.next_batch != nullptr) return OkStatus();
  std::vector<std::string> run = graph.train_ops;
  run.insert(run.end(), {graph.global_step, graph.loss});
  if (!options.checkpoint_dir.empty() && options.summary_steps > 0) {
    run.insert(run.end(), graph.summaries.begin(), graph.summaries.end());
  }
  const auto behind = NodesBehind(graph.graph, run);
  for (const auto& node : graph.graph.node()) {
    const bool is_fed = node.op() == "Placeholder" || node.op() == "PlaceholderV2";
    if (!is_fed || !behind.contains(node.name())) continue;
    return InvalidArgument(
        "a training step needs the placeholder '", node.name(),
        "', and nothing feeds it: let the graph read its own input before the export (queues with "
        "queue runners, constants, random numbers; tf.compat.v1.placeholder_with_default where "
        "there is a default), or train it by a program that gives TrainOptions::next_batch");
  }
  return OkStatus();
}

// The graph as this task runs it.
StatusOr<TrainGraph> ReplicaGraph(const tensorflow::MetaGraphDef& meta, const TrainOptions& options,
                                  bool is_chief) {
  TFLEET_ASSIGN_OR_RETURN(TrainGraph graph, TrainGraphFrom(meta, options.graph));
  TFLEET_RETURN_IF_ERROR(FindSyncLoop(&graph));
  TFLEET_RETURN_IF_ERROR(CheckFeeds(graph, options));
  ReplicaPlacement placement;
  placement.own_task = OwnTask(options);
  TFLEET_ASSIGN_OR_RETURN(placement.state_tasks, StateTasks(options.server.cluster));
  placement.spread_by = options.spread_by;
  placement.replica_device = options.replica_device;
  for (const auto& variable : graph.local_variables) {
    placement.local.insert(NodeOf(variable.variable_name()));
  }
  TFLEET_RETURN_IF_ERROR(PlaceReplica(placement, &graph.graph));
  if (graph.saver.save_tensor_name().empty() && !options.checkpoint_dir.empty()) {
    TFLEET_ASSIGN_OR_RETURN(graph.saver, AddSaver(graph.variables, &graph.graph));
  }
  if (is_chief && !options.checkpoint_dir.empty()) {
    TFLEET_ASSIGN_OR_RETURN(graph.save,
                            AddSaveGraph(graph.saver, graph.train_ops, graph.global_step_node,
                                         NewStemForParts(options.checkpoint_dir), &graph.graph));
  }
  return graph;
}

// Sessions see the parameter servers and this task only: another worker's death is its own.
tensorflow::ConfigProto SessionConfig(const TrainOptions& options,
                                      const std::vector<std::string>& state_tasks) {
  tensorflow::ConfigProto config = options.server.default_session_config;
  config.set_allow_soft_placement(true);
  config.add_device_filters(OwnTask(options));
  for (const std::string& task : state_tasks) config.add_device_filters(task);
  return config;
}

// Tells every other task that the job is over; the workers first, so that they stop before the
// parameter servers go.
void EndJob(const TrainOptions& options) {
  const std::string own = OwnTask(options);
  for (const bool servers : {false, true}) {
    std::vector<std::string> names, addresses;
    for (const auto& [task, address] : options.server.cluster.Tasks()) {
      if (task == own || absl::StartsWith(task, "/job:ps/") != servers) continue;
      names.push_back(task);
      addresses.push_back(address);
    }
    const std::vector<Status> answers = rpc::RequestDrain(addresses, own, kFinished, kDrainTimeout);
    for (size_t i = 0; i < answers.size(); ++i) {
      // A worker or an evaluator may well have left on its own.
      if (answers[i].ok() || (!servers && absl::IsUnavailable(answers[i]))) continue;
      LogWarning("A task was not told that the job has finished",
                 {{"task", names[i]}, {"why", answers[i].message()}});
    }
  }
}

// Once the task is told to stop, gives what runs in the session some time, then takes the server
// away from under it: whatever waits for lost peers ends with an error.
class Breaker {
 public:
  Breaker(rpc::Server* server, const MonitoredSession* session, std::chrono::milliseconds grace,
          CancellationManager* stop)
      : stop_(stop), token_(stop->Register([this] { woken_.Notify(); })) {
    if (token_ < 0) woken_.Notify();
    thread_ = std::thread([=] {
      woken_.Wait();
      auto time = session->is_open() ? grace : std::chrono::milliseconds(0);
      if (IsJobFinished(stop->status()))
        time = std::min<std::chrono::milliseconds>(time, kLastStep);
      if (ended_.WaitFor(time)) return;
      server->Stop(std::chrono::milliseconds(0));
    });
  }
  ~Breaker() {
    if (token_ >= 0) stop_->Deregister(token_);
    ended_.Notify();
    woken_.Notify();
    thread_.join();
  }
  Breaker(const Breaker&) = delete;
  Breaker& operator=(const Breaker&) = delete;

 private:
  CancellationManager* const stop_;
  Notification woken_, ended_;
  const CancellationManager::Token token_;
  std::thread thread_;
};

class Trainer {
 public:
  Trainer(const tensorflow::MetaGraphDef& meta, const TrainOptions& options, bool is_chief,
          CancellationManager* stop)
      : meta_(meta), options_(options), is_chief_(is_chief), stop_(stop) {}

  Status Run() {
    TFLEET_ASSIGN_OR_RETURN(graph_, ReplicaGraph(meta_, options_, is_chief_));
    TFLEET_ASSIGN_OR_RETURN(const std::unique_ptr<rpc::Server> server,
                            StartServer(options_, stop_));
    if (is_chief_) {
      LogPlacement(graph_);
      TFLEET_RETURN_IF_ERROR(OpenFiles());
    }
    Status trained = Train(server.get());
    if (events_ != nullptr) {
      const Status closed = events_->Close();
      if (trained.ok()) trained = closed;
    }
    // The chief has said that it is over: whatever broke off meanwhile is a consequence.
    if (stop_->is_cancelled() && IsJobFinished(stop_->status())) trained = OkStatus();
    if (trained.ok() && is_chief_) EndJob(options_);
    server->Stop(std::chrono::milliseconds(0));
    return trained;
  }

 private:
  Status OpenFiles() {
    if (options_.checkpoint_dir.empty()) return OkStatus();
    SaverOptions saver;
    saver.directory = options_.checkpoint_dir;
    saver.max_to_keep =
        options_.max_to_keep >= 0 ? options_.max_to_keep : graph_.saver.max_to_keep();
    saver.keep_every_n_hours = options_.keep_every_n_hours >= 0
                                   ? options_.keep_every_n_hours
                                   : graph_.saver.keep_checkpoint_every_n_hours();
    saver.clock = options_.clock;
    tensorflow::MetaGraphDef described = meta_;
    *described.mutable_saver_def() = graph_.saver;
    saver.meta_graph = described.SerializeAsString();
    TFLEET_ASSIGN_OR_RETURN(Saver opened, Saver::Open(graph_.saver, std::move(saver)));
    saver_ = std::make_unique<Saver>(std::move(opened));
    TFLEET_ASSIGN_OR_RETURN(events_, EventWriter::Open(options_.checkpoint_dir, options_.clock));
    LogInfo("Writing event files; see them with: tensorboard --logdir",
            {{"logdir", options_.checkpoint_dir}});
    TFLEET_RETURN_IF_ERROR(events_->AddGraph(meta_, graph_.graph));
    return events_->Flush();
  }

  std::vector<std::unique_ptr<Hook>> Hooks() const {
    std::vector<std::unique_ptr<Hook>> hooks;
    if (!graph_.loss.empty()) {
      hooks.push_back(std::make_unique<NanGuard>(graph_.loss, options_.nan_is_error));
    }
    if (options_.max_steps > 0) {
      hooks.push_back(std::make_unique<StopAtStep>(options_.max_steps, graph_.global_step));
    }
    if (options_.log_steps > 0) {
      hooks.push_back(std::make_unique<Progress>(options_.log_steps, graph_.loss, events_.get(),
                                                 options_.clock));
    }
    if (events_ != nullptr && options_.summary_steps > 0) {
      hooks.push_back(std::make_unique<WriteSummaries>(graph_.summaries, options_.summary_steps,
                                                       events_.get(), options_.clock));
    }
    if (saver_ != nullptr) {
      hooks.push_back(std::make_unique<SaveCheckpoints>(
          saver_.get(), graph_.save, graph_.global_step, options_.save_steps,
          options_.save_steps > 0 ? 0 : options_.save_seconds, events_.get(), options_.clock));
    }
    return hooks;
  }

  Status Train(rpc::Server* server) {
    MonitoredSessionOptions session;
    session.graph = &graph_;
    session.is_chief = is_chief_;
    session.stop = stop_;
    session.give_up_after = options_.give_up_after;
    TFLEET_ASSIGN_OR_RETURN(const std::vector<std::string> state_tasks,
                            StateTasks(options_.server.cluster));
    session.open = [this, server, state_tasks] {
      return Session::On(server->NewClient(SessionConfig(options_, state_tasks)));
    };
    if (saver_ != nullptr) {
      session.latest_checkpoint = [this] { return LatestCheckpoint(options_.checkpoint_dir); };
    }
    MonitoredSession training(std::move(session), Hooks());
    const Breaker breaker(server, &training, options_.grace, stop_);
    TFLEET_RETURN_IF_ERROR(training.Start());
    LogInfo("Training begins", {{"task", OwnTask(options_)},
                                {"step", training.global_step()},
                                {"last_step", options_.max_steps}});
    for (bool has_finished = false; !has_finished;) {
      TFLEET_RETURN_IF_ERROR(MakeSteps(training));
      if (stop_->is_cancelled() && IsJobFinished(stop_->status())) break;
      TFLEET_ASSIGN_OR_RETURN(has_finished, training.Finish());
    }
    LogInfo("Training ends", {{"task", OwnTask(options_)},
                              {"step", training.global_step()},
                              {"recoveries", training.recoveries()}});
    return stop_->is_cancelled() ? stop_->status() : OkStatus();
  }

  // Until training is to stop, or was stopped.
  Status MakeSteps(MonitoredSession& training) {
    // A job that was restarted after its last step has nothing left to do.
    if (options_.max_steps > 0 && training.global_step() >= options_.max_steps) return OkStatus();
    while (!training.should_stop() && !stop_->is_cancelled()) {
      MonitoredSession::Feeds feeds;
      if (options_.next_batch != nullptr) {
        TFLEET_ASSIGN_OR_RETURN(feeds, options_.next_batch());
      }
      const Status stepped = training.Step(feeds);
      if (!stepped.ok()) return stop_->is_cancelled() ? OkStatus() : stepped;
    }
    return OkStatus();
  }

  const tensorflow::MetaGraphDef& meta_;
  const TrainOptions& options_;
  const bool is_chief_;
  CancellationManager* const stop_;
  TrainGraph graph_;
  std::unique_ptr<Saver> saver_;
  std::unique_ptr<EventWriter> events_;
};

void WaitUntilCancelled(CancellationManager* stop) {
  Notification stopped;
  const CancellationManager::Token token = stop->Register([&stopped] { stopped.Notify(); });
  if (token < 0) return;
  stopped.Wait();
  stop->Deregister(token);
}

Status Serve(const TrainOptions& options, CancellationManager* stop) {
  TFLEET_ASSIGN_OR_RETURN(const std::unique_ptr<rpc::Server> server, StartServer(options, stop));
  WaitUntilCancelled(stop);
  server->Stop(std::min<std::chrono::milliseconds>(options.grace, kStepsMayFinish));
  return IsJobFinished(stop->status()) ? OkStatus() : stop->status();
}

Status Evaluate(const tensorflow::MetaGraphDef& meta, const TrainOptions& options,
                CancellationManager* stop) {
  // An evaluator that the cluster lists can be told that the job is over.
  std::unique_ptr<rpc::Server> server;
  if (options.server.cluster.Address(options.server.job, options.server.task).ok()) {
    TFLEET_ASSIGN_OR_RETURN(server, StartServer(options, stop));
  }
  EvaluationOptions evaluation = options.evaluation;
  evaluation.checkpoint_dir = options.checkpoint_dir;
  evaluation.last_step = options.max_steps;
  evaluation.clock = options.clock;
  evaluation.job_has_finished = &IsJobFinished;
  return EvaluateCheckpoints(meta, options.graph, evaluation, stop);
}

}  // namespace

Status JobHasFinished(const std::string& by) { return Cancelled(kFinished, ", says ", by); }

bool IsJobFinished(const Status& status) {
  return absl::IsCancelled(status) && absl::StartsWith(status.message(), kFinished);
}

Status RunTrainTask(const tensorflow::MetaGraphDef* meta, const TrainOptions& options,
                    CancellationManager* stop) {
  TFLEET_ASSIGN_OR_RETURN(const Role role,
                          RoleOf(options.server.cluster, options.server.job, options.server.task));
  if (role == Role::kParameterServer) return Serve(options, stop);
  if (meta == nullptr) return InvalidArgument("this task needs a meta graph to run");
  if (role == Role::kEvaluator) return Evaluate(*meta, options, stop);
  return Trainer(*meta, options, role == Role::kChief, stop).Run();
}

}  // namespace tensorfleet::train
