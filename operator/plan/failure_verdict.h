// What becomes of one failed pod, by failurePolicy's rules and then by restartPolicy.
#pragma once

#include "operator/plan/pass.h"

namespace tensorfleet::plan {

// True when the pod did not fail by itself: it was evicted, drained, preempted or deleted, or its
// node is gone.
bool IsDisrupted(const api::Pod& pod);

// `pod` failed, or is going away though nobody here asked it to. Tolerance for lost workers is not
// considered: that depends on how many there are.
Verdict JudgePod(const Pass& pass, const api::ReplicaSpec& spec, const api::Pod& pod);

// True when a rule of failurePolicy says that this failure fails the job, whatever is tolerated.
bool IsFailedByRule(const Pass& pass, const api::Pod& pod);

}  // namespace tensorfleet::plan
