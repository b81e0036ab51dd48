// The contract's algorithm for conditions: which entry replaces, drops or turns which.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "operator/api/tfjob_status.h"

namespace tensorfleet::plan {

// Returns true when `status` changed. A job that has ended (Succeeded or Failed is True) keeps its
// conditions, so that exactly one of the two is ever True. `now` in whole seconds.
bool SetCondition(api::TFJobStatus& status, absl::string_view type, bool is_true,
                  absl::string_view reason, std::string message, absl::Time now);

}  // namespace tensorfleet::plan
