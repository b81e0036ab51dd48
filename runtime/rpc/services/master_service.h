// The MasterService of a server: turns calls into calls of a Master. Thread-safe.
#pragma once

#include <memory>

#include "runtime/rpc/poll_set.h"
#include "runtime/rpc/server_call.h"
#include "runtime/session/master/master.h"

namespace tensorfleet::rpc {

// The methods' handlers refer to `master` and `*polls`, which must outlive the service's calls.
// `*polls` may be set after this, before the first call.
std::unique_ptr<RawService> MakeMasterService(Master* master, std::unique_ptr<PollSet>* polls);

}  // namespace tensorfleet::rpc
