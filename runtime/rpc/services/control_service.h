// tensorfleet.ControlService, both sides: how the chief of a job tells the others that it is over.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/rpc/server_call.h"

namespace tensorfleet::rpc {

// `on_drain` is called on a polling thread and must not block; null: Drain is refused with
// FailedPrecondition.
std::unique_ptr<RawService> MakeControlService(
    std::string task,
    std::function<void(const std::string& from_task, const std::string& reason)> on_drain);

// Asks the servers at these addresses, all at once, and waits for their answers up to `timeout`.
// Returns one status for each: Unavailable for a server that is gone, Unimplemented for one of
// TensorFlow's, FailedPrecondition for one that does not take such requests.
std::vector<Status> RequestDrain(const std::vector<std::string>& addresses,
                                 const std::string& from_task, const std::string& reason,
                                 std::chrono::milliseconds timeout);

}  // namespace tensorfleet::rpc
