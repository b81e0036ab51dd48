#include "operator/view/job_facts.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "operator/view/json_path.h"
#include "operator/view/metrics_text.h"

namespace tensorfleet::view {
namespace {

using nlohmann::json;

constexpr int kImagesMetricsPort = 9464;

// The condition that says how a job is: the last one that is true.
const json* CurrentCondition(const json& job) {
  const json* current = nullptr;
  for (const json& condition : ListAt(job, {"status", "conditions"})) {
    if (TextAt(condition, {"status"}) == "True") current = &condition;
  }
  return current;
}

std::string LastEnd(const json& container) {
  for (const char* when : {"state", "lastState"}) {
    const json* const ended = Find(container, {when, "terminated"});
    if (ended == nullptr || !ended->is_object()) continue;
    const std::string reason = TextAt(*ended, {"reason"});
    return absl::StrCat("exit code ", IntegerAt(*ended, {"exitCode"}), reason.empty() ? "" : ", ",
                        reason);
  }
  return "";
}

// Of the port that a container names "metrics", else the one that images of servers have.
int MetricsPort(const json& pod) {
  for (const json& container : ListAt(pod, {"spec", "containers"})) {
    for (const json& port : ListAt(container, {"ports"})) {
      const int64_t number = IntegerAt(port, {"containerPort"});
      if (TextAt(port, {"name"}) == "metrics" && number > 0 && number < 65536) {
        return static_cast<int>(number);
      }
    }
  }
  return kImagesMetricsPort;
}

Task TaskOf(const json& pod) {
  Task task;
  task.pod = TextAt(pod, {"metadata", "name"});
  task.job = TextAt(pod, {"metadata", "labels", "training.kubeflow.org/replica-type"});
  const std::string index =
      TextAt(pod, {"metadata", "labels", "training.kubeflow.org/replica-index"});
  if (!absl::SimpleAtoi(index, &task.index)) task.index = 0;
  task.name = absl::StrCat(task.job, "-", index);
  task.node = TextAt(pod, {"spec", "nodeName"});
  task.started = TextAt(pod, {"status", "startTime"});
  task.state = TextAt(pod, {"status", "phase"});
  task.is_running = task.state == "Running";
  for (const json& container : ListAt(pod, {"status", "containerStatuses"})) {
    task.restarts += IntegerAt(container, {"restartCount"});
    if (task.last_end.empty()) task.last_end = LastEnd(container);
    const std::string waiting = TextAt(container, {"state", "waiting", "reason"});
    if (!waiting.empty()) task.state = waiting;
  }
  if (Find(pod, {"metadata", "deletionTimestamp"}) != nullptr) task.state = "Terminating";
  if (task.is_running) task.metrics_port = MetricsPort(pod);
  return task;
}

// As TensorFlow's names of tasks go: the chief's job is "chief", also where the type is "Master".
bool Before(const Task& a, const Task& b) {
  static constexpr const char* kOrder[] = {"chief", "master", "ps", "worker", "evaluator"};
  const auto rank = [](const std::string& job) {
    return std::find(std::begin(kOrder), std::end(kOrder), job) - std::begin(kOrder);
  };
  return std::pair(rank(a.job), a.index) < std::pair(rank(b.job), b.index);
}

std::vector<Moment> MomentsOf(const json& job, const json& events) {
  std::vector<Moment> moments;
  const auto add = [&](std::string time, std::string what, std::string text) {
    if (!time.empty()) moments.push_back({std::move(time), std::move(what), std::move(text)});
  };
  add(TextAt(job, {"metadata", "creationTimestamp"}), "Submitted", "");
  for (const json& condition : ListAt(job, {"status", "conditions"})) {
    const std::string type = TextAt(condition, {"type"});
    if (TextAt(condition, {"status"}) == "True") {
      add(TextAt(condition, {"lastTransitionTime"}), type, TextAt(condition, {"message"}));
    }
  }
  for (const json& event : ListAt(events, {"items"})) {
    std::string time = TextAt(event, {"lastTimestamp"});
    if (time.empty()) time = TextAt(event, {"eventTime"});
    const bool is_warning = TextAt(event, {"type"}) == "Warning";
    add(time, absl::StrCat(is_warning ? "Warning " : "", TextAt(event, {"reason"})),
        TextAt(event, {"message"}));
  }
  std::stable_sort(moments.begin(), moments.end(),
                   [](const Moment& a, const Moment& b) { return a.time < b.time; });
  return moments;
}

// "worker:3" of "/job:worker/replica:0/task:3"; "" of anything else.
std::string ShortTask(absl::string_view name) {
  if (!absl::ConsumePrefix(&name, "/job:")) return "";
  const size_t slash = name.find('/'), task = name.find("/task:");
  if (slash == absl::string_view::npos || task == absl::string_view::npos) return "";
  absl::string_view index = name.substr(task + 6);
  index = index.substr(0, index.find('/'));
  return absl::StrCat(name.substr(0, slash), ":", index);
}

}  // namespace

JobRow RowOf(const json& job) {
  JobRow row;
  row.ns = TextAt(job, {"metadata", "namespace"});
  row.name = TextAt(job, {"metadata", "name"});
  row.created = TextAt(job, {"metadata", "creationTimestamp"});
  const json* const condition = CurrentCondition(job);
  row.state = condition == nullptr ? "Submitted" : TextAt(*condition, {"type"});
  const json* const specs = Find(job, {"spec", "tfReplicaSpecs"});
  if (specs != nullptr && specs->is_object()) {
    for (const auto& [type, spec] : specs->items()) {
      const json* const count = Find(spec, {"replicas"});
      absl::StrAppend(
          &row.replicas, row.replicas.empty() ? "" : ", ", absl::AsciiStrToLower(type), " ",
          count != nullptr && count->is_number_integer() ? count->get<int64_t>() : int64_t{1});
    }
  }
  return row;
}

JobFacts FactsOf(const json& job, const json& pods, const json& events) {
  JobFacts facts;
  facts.row = RowOf(job);
  facts.uid = TextAt(job, {"metadata", "uid"});
  facts.started = TextAt(job, {"status", "startTime"});
  facts.ended = TextAt(job, {"status", "completionTime"});
  if (const json* const condition = CurrentCondition(job)) {
    facts.reason = TextAt(*condition, {"message"});
  }
  for (const json& pod : ListAt(pods, {"items"})) {
    facts.tasks.push_back(TaskOf(pod));
    const std::string progress =
        TextAt(pod, {"metadata", "annotations", "tensorfleet.dev/progress"});
    if (facts.progress.empty()) facts.progress = progress;
  }
  std::sort(facts.tasks.begin(), facts.tasks.end(), Before);
  facts.moments = MomentsOf(job, events);
  return facts;
}

TaskMetrics ReadTaskMetrics(const std::string& text) {
  TaskMetrics metrics;
  double own_steps = 0, pieces = 0;
  for (const Sample& sample : ParseMetrics(text)) {
    if (sample.name == "tensorfleet_step_seconds_count") {
      own_steps = sample.value;
    } else if (sample.name == "tensorfleet_run_graph_seconds_count") {
      pieces = sample.value;
    } else if (sample.name == "tensorfleet_recv_tensor_waiting") {
      metrics.numbers.waiting = sample.value;
    } else if (sample.name == "process_resident_memory_bytes") {
      metrics.numbers.resident = sample.value;
    } else if (sample.name == "tensorfleet_received_bytes_total") {
      const auto src = sample.labels.find("src"), dst = sample.labels.find("dst");
      if (src == sample.labels.end() || dst == sample.labels.end()) continue;
      metrics.edges[{ShortTask(src->second), ShortTask(dst->second)}] += sample.value;
    }
  }
  metrics.numbers.steps = own_steps > 0 ? own_steps : pieces;
  return metrics;
}

}  // namespace tensorfleet::view
