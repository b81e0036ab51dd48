// The WorkerService of a server: turns calls into calls of a Worker. Thread-safe.
#pragma once

#include <memory>

#include "runtime/rpc/poll_set.h"
#include "runtime/rpc/server_call.h"
#include "runtime/session/worker/worker.h"

namespace tensorfleet::rpc {

// As MakeMasterService.
std::unique_ptr<RawService> MakeWorkerService(Worker* worker, std::unique_ptr<PollSet>* polls);

}  // namespace tensorfleet::rpc
