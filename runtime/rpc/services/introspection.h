// Health checks (grpc.health.v1.Health) and server reflection, on the server's own completion
// queue. gRPC's ready-made services are not used because they slow every call: they bring two
// threads that take turns with ours in polling. An empty unary call to a server with one polling
// thread took 75 us (median of 6,000, 10th percentile 72) without them and 95 us (80) with
// EnableDefaultHealthCheckService and InitProtoReflectionServerBuilderPlugin, in turns with gRPC
// 1.51 on two cores.
#pragma once

#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/async_generic_service.h>

#include <atomic>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "runtime/rpc/server_call.h"

namespace tensorfleet::rpc {

// "SERVING" until told otherwise.
class Health {
 public:
  void set_serving(bool serving) { serving_ = serving; }
  // A HealthCheckRequest's answer. Errors: NotFound for a service that is not here.
  StatusOr<std::string> Check(absl::string_view request) const;

 private:
  std::atomic<bool> serving_{true};
};

// Health.Check; `health` must outlive it.
std::unique_ptr<RawService> MakeHealthService(const Health* health);

// The answer to one ServerReflectionRequest.
std::string Reflect(absl::string_view request);

// Takes the calls of all methods that no other service lists: Health.Watch and ServerReflectionInfo
// are streams; anything else is refused as Unimplemented.
class StreamMethods {
 public:
  explicit StreamMethods(const Health* health) : health_(health) {}
  grpc::AsyncGenericService* service() { return &service_; }
  // Asks for calls. After the server was started.
  void Start(grpc::ServerCompletionQueue* queue);

 private:
  friend class StreamCall;
  const Health* const health_;
  grpc::AsyncGenericService service_;
};

}  // namespace tensorfleet::rpc
