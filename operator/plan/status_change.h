// How urgent it is to write the new status.
#pragma once

#include "operator/plan/pass.h"

namespace tensorfleet::plan {

// Compares the pass's status with the stored one and completes the plan with both.
void SettleStatus(Pass& pass);

}  // namespace tensorfleet::plan
