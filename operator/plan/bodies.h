// The objects that are created, as JSON.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "operator/api/tf_config.h"
#include "operator/api/tfjob.h"
#include "operator/plan/snapshot.h"

namespace tensorfleet::plan {

// metadata.ownerReferences of all that belongs to `job`.
nlohmann::json OwnerReferences(const api::TFJob& job);

// The four labels by which a replica's pod and service are known.
nlohmann::json ReplicaLabels(const api::TFJob& job, api::ReplicaId replica);

// True for the pod whose log and success stand for the job.
bool IsMaster(const api::TFJob& job, api::ReplicaId replica);

// Makes the pods of one replica type: the template is read once, then filled in for each replica.
class PodMaker {
 public:
  PodMaker(const api::TFJob& job, api::ReplicaType type, const Options& options);
  PodMaker(const PodMaker&) = delete;
  PodMaker& operator=(const PodMaker&) = delete;

  // `attempt` and `job_attempt` as in the annotations of that name.
  std::string Make(int index, int attempt, int job_attempt);

 private:
  void PrepareContainer();
  void MarkForGang();

  const api::TFJob& job_;
  const api::ReplicaType type_;
  const Options& options_;
  const api::TfConfigWriter tf_config_;
  nlohmann::json pod_;
  nlohmann::json* container_ = nullptr;  // `tensorflow`, inside pod_; null when there is none
  size_t env_size_ = 0;                  // the user's variables
};

// The headless service that gives the replica its name; ports as in the replica's template.
std::string ServiceBody(const api::TFJob& job, api::ReplicaId replica, const Options& options);

}  // namespace tensorfleet::plan
