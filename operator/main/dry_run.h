// --dry-run: what the operator would do for the jobs in a file, without a cluster.
#pragma once

#include <string>

#include "absl/time/time.h"
#include "operator/plan/snapshot.h"
#include "runtime/base/status.h"

namespace tensorfleet::operator_main {

// `text` holds TFJobs as YAML documents or JSON. Returns the actions of a first pass over each as
// if it had just been created, as YAML-readable JSON documents with a heading each; what admission
// would refuse is said instead. Fails when the text is no TFJob at all.
StatusOr<std::string> DryRun(const std::string& text, const plan::Options& options, absl::Time now);

}  // namespace tensorfleet::operator_main
