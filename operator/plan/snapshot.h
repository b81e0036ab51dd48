// What is seen of one job at one instant: all that a plan may depend on.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "operator/api/objects/pod.h"
#include "operator/api/objects/pod_group.h"
#include "operator/api/objects/service.h"
#include "operator/api/tfjob.h"

namespace tensorfleet::plan {

// Shares its objects with the caches; nothing here is ever changed.
struct Snapshot {
  std::shared_ptr<const api::TFJob> job;  // never null
  // Everything in the job's namespace whose label names the job, whoever owns it: what belongs to
  // another owner is left alone, but blocks its name.
  std::vector<std::shared_ptr<const api::Pod>> pods;
  std::vector<std::shared_ptr<const api::Service>> services;
  std::shared_ptr<const api::PodGroup> pod_group;  // of the job's name; null when there is none
  absl::Time now;
};

// Settings of the operator's process.
struct Options {
  std::string cluster_domain;       // CUSTOM_CLUSTER_DOMAIN
  std::string gang_scheduler_name;  // empty: no gang scheduling
  // Replica services resolve before their pods are ready, so that peers find each other at start.
  bool publish_not_ready_addresses = true;
  // Progress alone is not written to status more often than this.
  absl::Duration progress_interval = absl::Seconds(10);
  // When a name is held by an object that is not ours, look again after this.
  absl::Duration name_taken_retry = absl::Seconds(10);
};

}  // namespace tensorfleet::plan
