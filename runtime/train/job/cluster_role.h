// What a task of a job does, by the names that TF_CONFIG uses.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/session/cluster/cluster_spec.h"

namespace tensorfleet::train {

enum class Role { kChief, kWorker, kParameterServer, kEvaluator };

// "chief" and "master" lead; where a cluster has neither, worker 0 does. Errors: InvalidArgument
// for a job of another name (a cluster of one task leads itself, whatever its name).
StatusOr<Role> RoleOf(const ClusterSpec& cluster, const std::string& job, int task);

// The task that leads: "/job:chief/replica:0/task:0". Errors: InvalidArgument when there is none.
StatusOr<std::string> ChiefOf(const ClusterSpec& cluster);

// Where shared state goes: the parameter servers, or the chief where there are none.
StatusOr<std::vector<std::string>> StateTasks(const ClusterSpec& cluster);

}  // namespace tensorfleet::train
