#include "runtime/train/job/evaluator.h"

#include <memory>
#include <optional>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "runtime/base/log.h"
#include "runtime/client/session.h"
#include "runtime/train/checkpoint/add_saver.h"
#include "runtime/train/checkpoint/saver.h"
#include "runtime/train/job/replica_placement.h"
#include "runtime/train/session/event_writer.h"
#include "runtime/train/session/hooks.h"
#include "runtime/train/session/queue_runners.h"

namespace tensorfleet::train {
namespace {

StatusOr<TrainGraph> LocalGraph(const tensorflow::MetaGraphDef& meta, TrainGraphOptions options) {
  options.only_evaluates = true;
  options.train_ops.clear();
  TFLEET_ASSIGN_OR_RETURN(TrainGraph graph, TrainGraphFrom(meta, options));
  TFLEET_RETURN_IF_ERROR(PlaceHere(&graph.graph));
  if (graph.saver.restore_op_name().empty()) {
    TFLEET_ASSIGN_OR_RETURN(graph.saver, AddSaver(graph.variables, &graph.graph));
  }
  return graph;
}

// Sums or replaces, as the options say, until the steps are done or the input ends.
StatusOr<std::vector<double>> Measure(Session& session, const EvaluationOptions& options) {
  StepRequest request;
  request.feeds = options.feeds;
  for (const auto& [name, tensor] : options.metrics) request.fetches.push_back(tensor);
  std::vector<double> values(options.metrics.size(), 0);
  int64_t steps = 0;
  while (options.steps == 0 || steps < options.steps) {
    const StatusOr<std::vector<Tensor>> fetched = session.Run(request);
    if (absl::IsOutOfRange(fetched.status()) && steps > 0) break;
    TFLEET_RETURN_IF_ERROR(fetched.status());
    for (size_t i = 0; i < values.size(); ++i) {
      StatusOr<double> value = ToDouble((*fetched)[i]);
      if (!value.ok()) {
        return Prefixed(absl::StrCat("metric ", options.metrics[i].first, ": "), value.status());
      }
      values[i] = options.takes_last ? *value : values[i] + *value;
    }
    ++steps;
  }
  if (!options.takes_last) {
    for (double& value : values) value /= static_cast<double>(steps);
  }
  return values;
}

Status Write(const Evaluation& evaluation, EventWriter& events) {
  std::vector<std::string> shown;
  for (const auto& [name, value] : evaluation.metrics) {
    TFLEET_RETURN_IF_ERROR(events.AddScalar(name, static_cast<float>(value), evaluation.step));
    shown.push_back(absl::StrFormat("%s=%.4f", name, value));
  }
  LogInfo("Evaluated", {{"step", evaluation.step}, {"metrics", absl::StrJoin(shown, " ")}});
  return events.Flush();
}

}  // namespace

StatusOr<Evaluation> EvaluateOnce(const TrainGraph& graph, const std::string& checkpoint,
                                  const EvaluationOptions& options) {
  TFLEET_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, Session::Open(""));
  TFLEET_RETURN_IF_ERROR(session->Extend(graph.graph));
  TFLEET_RETURN_IF_ERROR(Restore(graph.saver, checkpoint, {}, *session));
  if (!graph.local_init_ops.empty()) {
    StepRequest init;
    init.targets = graph.local_init_ops;
    TFLEET_RETURN_IF_ERROR(session->Run(init).status());
  }
  StatusOr<std::vector<double>> values;
  {
    QueueRunners runners(graph.queue_runners, session.get());
    values = Measure(*session, options);
    // A step that found a queue closed is the consequence of what closed it.
    if (!values.ok() && !runners.status().ok()) values = runners.status();
    runners.Stop();
    session->Close().IgnoreError();
  }
  TFLEET_RETURN_IF_ERROR(values.status());
  Evaluation out;
  out.step = StepOfCheckpoint(checkpoint);
  for (size_t i = 0; i < values->size(); ++i) {
    out.metrics.emplace_back(options.metrics[i].first, (*values)[i]);
  }
  return out;
}

Status EvaluateCheckpoints(const tensorflow::MetaGraphDef& meta, TrainGraphOptions graph_options,
                           const EvaluationOptions& options, CancellationManager* stop) {
  if (options.checkpoint_dir.empty()) {
    return InvalidArgument("an evaluator needs the directory of the checkpoints");
  }
  if (options.metrics.empty()) {
    return InvalidArgument("an evaluator needs metrics: name=tensor");
  }
  TFLEET_ASSIGN_OR_RETURN(const TrainGraph graph, LocalGraph(meta, std::move(graph_options)));
  TFLEET_ASSIGN_OR_RETURN(
      const std::unique_ptr<EventWriter> events,
      EventWriter::Open(JoinPath(options.checkpoint_dir, "eval"), options.clock));
  LogInfo("Waiting for checkpoints to evaluate", {{"in", options.checkpoint_dir}});

  Notification stopped;
  const CancellationManager::Token token = stop->Register([&stopped] { stopped.Notify(); });
  struct Guard {
    CancellationManager* stop;
    CancellationManager::Token token;
    ~Guard() {
      if (token >= 0) stop->Deregister(token);
    }
  } guard{stop, token};

  std::string evaluated;
  for (;;) {
    // Asked before the directory is read: what was saved before the end is then seen.
    const bool is_last_look = stop->is_cancelled();
    if (is_last_look && !(options.job_has_finished && options.job_has_finished(stop->status()))) {
      return stop->status();
    }
    TFLEET_ASSIGN_OR_RETURN(const std::optional<std::string> latest,
                            LatestCheckpoint(options.checkpoint_dir));
    if (latest && *latest != evaluated) {
      const StatusOr<Evaluation> evaluation = EvaluateOnce(graph, *latest, options);
      if (absl::IsNotFound(evaluation.status()) &&
          LatestCheckpoint(options.checkpoint_dir).value_or(std::nullopt) != latest) {
        LogInfo("A checkpoint was deleted while it was read; taking the next",
                {{"checkpoint", *latest}});
        continue;
      }
      TFLEET_RETURN_IF_ERROR(evaluation.status());
      TFLEET_RETURN_IF_ERROR(Write(*evaluation, *events));
      evaluated = *latest;
      if (options.last_step > 0 && evaluation->step >= options.last_step) break;
      continue;
    }
    if (is_last_look) break;
    stopped.WaitFor(options.poll_period);
  }
  return events->Close();
}

}  // namespace tensorfleet::train
