// The whole decision about a job: pure and total. No I/O, no clock, no waiting, no randomness: the
// same snapshot gives the same plan, and any snapshot gives one.
#pragma once

#include <vector>

#include "absl/strings/string_view.h"
#include "operator/plan/actions.h"
#include "operator/plan/snapshot.h"

namespace tensorfleet::plan {

// Safe to call from any number of threads.
Plan Reconcile(const Snapshot& snapshot, const Options& options = {});

// Names of the steps in their order, for documentation and metrics.
std::vector<absl::string_view> StepNames();

}  // namespace tensorfleet::plan
