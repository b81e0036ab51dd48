// Gang scheduling: a pod group makes a scheduler start all of a job's pods or none.
#pragma once

#include <string>

#include "operator/api/objects/pod_group.h"
#include "operator/api/tfjob.h"
#include "operator/plan/snapshot.h"

namespace tensorfleet::plan {

bool IsVolcano(const Options& options);
// What pods carry as schedulerName.
std::string GangSchedulerName(const Options& options);

// The group that `job` wants. The queue of an existing group is kept, since Volcano moves groups.
api::PodGroup WantedPodGroup(const api::TFJob& job, const api::PodGroup* existing,
                             const Options& options);
bool SpecsDiffer(const api::PodGroup& a, const api::PodGroup& b);

std::string PodGroupBody(const api::TFJob& job, const api::PodGroup& group, const Options& options);
// A merge patch that turns the spec of `from` into that of `to`.
std::string PodGroupPatch(const api::PodGroup& from, const api::PodGroup& to,
                          const Options& options);

}  // namespace tensorfleet::plan
