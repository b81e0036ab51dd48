// The operator as a process: everything put together, from the cluster's configuration to an
// orderly exit.
#pragma once

#include "operator/main/flags.h"

namespace tensorfleet::operator_main {

// Runs until SIGTERM or SIGINT, or until leadership is lost. Returns the exit status. Must be
// called before other threads are started.
int RunOperator(const Flags& flags);

}  // namespace tensorfleet::operator_main
