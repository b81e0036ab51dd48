// The WorkerService of a server: turns calls into calls of a Worker. Thread-safe.
#pragma once

#include <memory>

#include "runtime/rpc/outgoing_tensors.h"
#include "runtime/rpc/poll_set.h"
#include "runtime/rpc/server_call.h"
#include "runtime/session/worker.h"

namespace tensorfleet::rpc {

// As MakeMasterService. Large tensors go to `outgoing`, for those who can fetch them in pieces.
std::unique_ptr<RawService> MakeWorkerService(Worker* worker, std::unique_ptr<PollSet>* polls,
                                              OutgoingTensors* outgoing);

}  // namespace tensorfleet::rpc
