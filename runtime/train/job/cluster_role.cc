#include "runtime/train/job/cluster_role.h"

#include "runtime/device/device_name.h"

namespace tensorfleet::train {

StatusOr<std::string> ChiefOf(const ClusterSpec& cluster) {
  for (const char* job : {"chief", "master", "worker"}) {
    const ClusterSpec::Job* const found = cluster.FindJob(job);
    if (found != nullptr && !found->tasks.empty()) {
      return DeviceName::Task(job, found->tasks.begin()->first).TaskString();
    }
  }
  if (cluster.Tasks().size() == 1) return cluster.Tasks()[0].first;
  return InvalidArgument("the cluster ", cluster.ToJson(),
                         " has no job 'chief', 'master' or 'worker' to lead the training");
}

StatusOr<Role> RoleOf(const ClusterSpec& cluster, const std::string& job, int task) {
  if (job == "ps") return Role::kParameterServer;
  if (job == "evaluator") return Role::kEvaluator;
  if (job == "chief" || job == "master") return Role::kChief;
  TFLEET_ASSIGN_OR_RETURN(const std::string chief, ChiefOf(cluster));
  if (chief == DeviceName::Task(job, task).TaskString()) {
    // A worker that only knows itself and the parameter servers must not take itself for the chief.
    return job == "worker" && task != 0 ? Role::kWorker : Role::kChief;
  }
  if (job == "worker") return Role::kWorker;
  return InvalidArgument("tasks of the job '", job,
                         "' have no part in training; jobs are named chief (or master), worker, "
                         "ps and evaluator");
}

StatusOr<std::vector<std::string>> StateTasks(const ClusterSpec& cluster) {
  std::vector<std::string> tasks;
  if (const ClusterSpec::Job* ps = cluster.FindJob("ps")) {
    for (const auto& [index, address] : ps->tasks) {
      tasks.push_back(DeviceName::Task("ps", index).TaskString());
    }
  }
  if (tasks.empty()) {
    TFLEET_ASSIGN_OR_RETURN(std::string chief, ChiefOf(cluster));
    tasks.push_back(std::move(chief));
  }
  return tasks;
}

}  // namespace tensorfleet::train
