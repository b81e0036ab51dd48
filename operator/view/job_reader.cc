#include "operator/view/job_reader.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "operator/view/json_path.h"

namespace tensorfleet::view {
namespace {

using nlohmann::json;

constexpr char kGroup[] = "kubeflow.org/v1";
constexpr std::chrono::seconds kMetricsTime{2};
constexpr std::chrono::minutes kForgottenAfter{10};
constexpr std::chrono::milliseconds kShortestForRate{200};

StatusOr<json> Parsed(const StatusOr<std::string>& text) {
  TFLEET_RETURN_IF_ERROR(text.status());
  json parsed = json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_object()) return Unavailable("the API server's answer is no JSON object");
  return parsed;
}

// Names go into paths: what is no name of Kubernetes' is refused.
Status CheckName(const std::string& name) {
  const auto is_good = [](char c) {
    return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '-' || c == '.';
  };
  if (!name.empty() && name.size() <= 253 && std::all_of(name.begin(), name.end(), is_good) &&
      !absl::StrContains(name, "..")) {
    return OkStatus();
  }
  return InvalidArgument("'", name, "' is no name of an object");
}

}  // namespace

StatusOr<JobPage> JobReader::List(const std::string& ns, int limit, const std::string& from) {
  if (!ns.empty()) TFLEET_RETURN_IF_ERROR(CheckName(ns));
  std::string path = absl::StrCat(k8s::CollectionPath(kGroup, ns, "tfjobs"), "?limit=", limit);
  if (!from.empty()) absl::StrAppend(&path, "&continue=", k8s::QueryEscape(from));
  TFLEET_ASSIGN_OR_RETURN(const json list, Parsed(client_->Get(path)));
  JobPage page;
  for (const json& job : ListAt(list, {"items"})) page.jobs.push_back(RowOf(job));
  page.next = TextAt(list, {"metadata", "continue"});
  return page;
}

StatusOr<JobFacts> JobReader::Read(const std::string& ns, const std::string& name) {
  TFLEET_RETURN_IF_ERROR(CheckName(ns));
  TFLEET_RETURN_IF_ERROR(CheckName(name));
  TFLEET_ASSIGN_OR_RETURN(const json job,
                          Parsed(client_->Get(k8s::ObjectPath(kGroup, ns, "tfjobs", name))));
  const std::string selector =
      k8s::QueryEscape(absl::StrCat("training.kubeflow.org/job-name=", name));
  TFLEET_ASSIGN_OR_RETURN(const json pods,
                          Parsed(client_->Get(absl::StrCat(k8s::CollectionPath("v1", ns, "pods"),
                                                           "?labelSelector=", selector))));
  // Whoever may not read events sees the rest.
  const std::string field =
      k8s::QueryEscape(absl::StrCat("involvedObject.kind=TFJob,involvedObject.name=", name));
  const StatusOr<json> events = Parsed(client_->Get(
      absl::StrCat(k8s::CollectionPath("v1", ns, "events"), "?limit=200&fieldSelector=", field)));
  JobFacts facts = FactsOf(job, pods, events.ok() ? *events : json());
  AddNumbers(&facts);
  return facts;
}

StatusOr<std::string> JobReader::Log(const std::string& ns, const std::string& pod) {
  TFLEET_RETURN_IF_ERROR(CheckName(ns));
  TFLEET_RETURN_IF_ERROR(CheckName(pod));
  return client_->Get(absl::StrCat(k8s::ObjectPath("v1", ns, "pods", pod),
                                   "/log?limitBytes=", kLogBytes, "&tailLines=", kLogLines));
}

void JobReader::AddNumbers(JobFacts* facts) {
  std::map<std::pair<std::string, std::string>, double> edges;
  size_t asked = 0;
  for (Task& task : facts->tasks) {
    if (!task.is_running || asked == kMostTasksAsked) continue;
    ++asked;
    k8s::Client client =
        client_->Until(http::Deadline(std::chrono::steady_clock::now() + kMetricsTime));
    const StatusOr<std::string> text =
        client.Get(absl::StrCat(k8s::ObjectPath("v1", facts->row.ns, "pods",
                                                absl::StrCat(task.pod, ":", task.metrics_port)),
                                "/proxy/metrics"));
    if (!text.ok()) continue;
    TaskMetrics metrics = ReadTaskMetrics(*text);
    task.numbers = metrics.numbers;
    for (const auto& [edge, bytes] : metrics.edges) edges[edge] = std::max(edges[edge], bytes);
  }
  for (Task& task : facts->tasks) {
    if (!task.numbers) continue;
    const std::string name = absl::StrCat(task.job, ":", task.index);
    for (const auto& [edge, bytes] : edges) {
      if (edge.first == name) task.numbers->sent += bytes;
      if (edge.second == name) task.numbers->received += bytes;
    }
    AddRates(facts->uid, &task);
  }
}

void JobReader::AddRates(const std::string& uid, Task* task) {
  const auto now = std::chrono::steady_clock::now();
  MutexLock lock(&mu_);
  for (auto it = before_.begin(); it != before_.end();) {
    it = now - it->second.when > kForgottenAfter ? before_.erase(it) : std::next(it);
  }
  const auto [found, is_new] = before_.try_emplace({uid, task->pod});
  Before& before = found->second;
  TaskNumbers& numbers = *task->numbers;
  // A count that goes back is another process.
  if (!is_new && numbers.steps >= before.steps && numbers.sent >= before.sent) {
    if (now - before.when < kShortestForRate) return;
    const double seconds = std::chrono::duration<double>(now - before.when).count();
    numbers.steps_per_second = (numbers.steps - before.steps) / seconds;
    numbers.sent_per_second = (numbers.sent - before.sent) / seconds;
  }
  before = {now, numbers.steps, numbers.sent};
}

}  // namespace tensorfleet::view
