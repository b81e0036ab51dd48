#include "runtime/session/cluster/cluster_json.h"

#include <nlohmann/json.hpp>

#include "absl/strings/numbers.h"

namespace tensorfleet {
namespace {

using Json = nlohmann::ordered_json;  // the order of the jobs counts

StatusOr<Json> ParseObject(absl::string_view text, absl::string_view what) {
  Json json = Json::parse(text.begin(), text.end(), /*cb=*/nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded())
    return InvalidArgument(what, " is not valid JSON: ", text.substr(0, 200));
  if (!json.is_object())
    return InvalidArgument(what, " must be a JSON object, not ", json.type_name());
  return json;
}

StatusOr<std::string> AddressOf(const Json& value, const std::string& job,
                                absl::string_view index) {
  if (!value.is_string()) {
    return InvalidArgument("job '", job, "', task ", index, ": the address must be a string, not ",
                           value.type_name());
  }
  return value.get<std::string>();
}

// A list of addresses, an object of index to address, or null for a job without tasks.
StatusOr<ClusterSpec::Job> JobFromJson(const std::string& name, const Json& value) {
  ClusterSpec::Job job{name, {}};
  if (value.is_null()) return job;
  if (value.is_array()) {
    for (size_t i = 0; i < value.size(); ++i) {
      TFLEET_ASSIGN_OR_RETURN(job.tasks[static_cast<int>(i)],
                              AddressOf(value[i], name, std::to_string(i)));
    }
    return job;
  }
  if (!value.is_object()) {
    return InvalidArgument("job '", name, "' must be a list of addresses or an object of index to ",
                           "address, not ", value.type_name());
  }
  for (const auto& [key, address] : value.items()) {
    int index = 0;
    if (key.find_first_not_of("0123456789") != std::string::npos ||
        !absl::SimpleAtoi(key, &index)) {
      return InvalidArgument("job '", name, "': '", key, "' is not a task index");
    }
    if (job.tasks.count(index) > 0) {
      return InvalidArgument("job '", name, "': task index ", index, " is listed twice");
    }
    TFLEET_ASSIGN_OR_RETURN(job.tasks[index], AddressOf(address, name, key));
  }
  return job;
}

StatusOr<std::vector<ClusterSpec::Job>> JobsFromJson(const Json& cluster) {
  std::vector<ClusterSpec::Job> jobs;
  for (const auto& [name, value] : cluster.items()) {
    TFLEET_ASSIGN_OR_RETURN(ClusterSpec::Job job, JobFromJson(name, value));
    jobs.push_back(std::move(job));
  }
  return jobs;
}

StatusOr<int> IndexFromJson(const Json& index) {
  if (index.is_number_integer() && index.get<int64_t>() >= 0 && index.get<int64_t>() < (1 << 24)) {
    return index.get<int>();
  }
  int value = 0;
  if (index.is_string() && absl::SimpleAtoi(index.get<std::string>(), &value) && value >= 0) {
    return value;
  }
  return InvalidArgument("TF_CONFIG: task.index must be a number from 0, not ", index.dump());
}

}  // namespace

StatusOr<ClusterSpec> ClusterSpec::FromJson(absl::string_view text) {
  TFLEET_ASSIGN_OR_RETURN(Json json, ParseObject(text, "the cluster"));
  // The whole TF_CONFIG is understood where only its cluster is asked for.
  if (json.contains("cluster") && json["cluster"].is_object()) json = Json(json["cluster"]);
  TFLEET_ASSIGN_OR_RETURN(std::vector<Job> jobs, JobsFromJson(json));
  return Make(std::move(jobs));
}

std::string ClusterSpec::ToJson() const {
  Json json = Json::object();
  for (const Job& job : jobs_) {
    const bool dense =
        job.tasks.empty() || (job.tasks.begin()->first == 0 &&
                              job.tasks.rbegin()->first + 1 == static_cast<int>(job.tasks.size()));
    Json value = dense ? Json::array() : Json::object();
    for (const auto& [index, address] : job.tasks) {
      if (dense) {
        value.push_back(address);
      } else {
        value[std::to_string(index)] = address;
      }
    }
    json[job.name] = std::move(value);
  }
  return json.dump();
}

StatusOr<TfConfig> TfConfig::Parse(absl::string_view text) {
  TFLEET_ASSIGN_OR_RETURN(const Json json, ParseObject(text, "TF_CONFIG"));
  TfConfig config;
  config.rpc_layer = "grpc";
  if (json.contains("rpc_layer") && json["rpc_layer"].is_string()) {
    config.rpc_layer = json["rpc_layer"].get<std::string>();
  }
  if (!json.contains("task") || !json["task"].is_object()) {
    return InvalidArgument(
        "TF_CONFIG: there is no task object that says which entry this process is");
  }
  const Json& task = json["task"];
  if (!task.contains("type") || !task["type"].is_string()) {
    return InvalidArgument("TF_CONFIG: task.type must be the name of a job");
  }
  config.job = task["type"].get<std::string>();
  if (task.contains("index")) {
    TFLEET_ASSIGN_OR_RETURN(config.task, IndexFromJson(task["index"]));
  }
  const char* const key = json.contains("cluster") ? "cluster" : "sparseCluster";
  if (!json.contains(key) || !json[key].is_object()) {
    return InvalidArgument("TF_CONFIG: there is no cluster object");
  }
  StatusOr<std::vector<ClusterSpec::Job>> jobs = JobsFromJson(json[key]);
  if (!jobs.ok()) return Prefixed("TF_CONFIG: ", jobs.status());
  bool is_listed = false;
  for (ClusterSpec::Job& job : *jobs) {
    if (job.name != config.job) continue;
    // An operator's sparse form gives a parameter server only its own address, yet its true index.
    if (job.tasks.size() == 1 && job.tasks.count(config.task) == 0 &&
        json[key][job.name].is_array()) {
      std::string address = job.tasks.begin()->second;
      job.tasks = {{config.task, std::move(address)}};
    }
    is_listed = job.tasks.count(config.task) > 0;
  }
  // An evaluator talks to nobody; most clusters do not list it.
  if (!is_listed && config.job != "evaluator") {
    return InvalidArgument("TF_CONFIG: the cluster has no entry for this task, '", config.job, "' ",
                           config.task, "; a task that serves nobody needs no server");
  }
  StatusOr<ClusterSpec> cluster = ClusterSpec::Make(*std::move(jobs));
  if (!cluster.ok()) return Prefixed("TF_CONFIG: ", cluster.status());
  config.cluster = *std::move(cluster);
  return config;
}

}  // namespace tensorfleet
