// The places where a session's graph may run. Private to runtime/client.
#pragma once

#include <memory>
#include <string>

#include "proto/config.pb.h"
#include "runtime/client/session.h"

namespace tensorfleet {

// A master and a worker inside this process.
StatusOr<std::unique_ptr<SessionBackend>> MakeLocalBackend(const tensorflow::ConfigProto& config);

// A master inside this process, by the client that its server has given.
std::unique_ptr<SessionBackend> MakeMasterBackend(std::unique_ptr<MasterClient> client);

// The server at "HOST:PORT". Calls wait until it is up, up to operation_timeout_in_ms when the
// config sets one.
std::unique_ptr<SessionBackend> MakeGrpcBackend(const std::string& address,
                                                const tensorflow::ConfigProto& config);

}  // namespace tensorfleet
