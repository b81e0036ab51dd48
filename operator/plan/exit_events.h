// The event that tells with which code a replica ended.
#pragma once

#include "operator/plan/pass.h"

namespace tensorfleet::plan {

// Told when the end is taken note of, not at each pass while it is visible.
void TellExit(Pass& pass, const api::Pod& pod);

}  // namespace tensorfleet::plan
