// TF_Server: a server of ours inside the program, by TensorFlow's ServerDef.
#include <memory>
#include <string>

#include "absl/strings/str_split.h"
#include "proto/server_def.pb.h"
#include "runtime/base/mutex.h"
#include "runtime/capi/buffer.h"
#include "runtime/kernels/cpu/all.h"
#include "runtime/ops/all.h"
#include "runtime/rpc/server.h"

struct TF_Server {
  std::string target;
  tensorfleet::Mutex mu;
  tensorfleet::CondVar stopped;
  std::unique_ptr<tensorfleet::rpc::Server> server ABSL_GUARDED_BY(mu);  // null once stopped
};

namespace tensorfleet::capi {
namespace {

// How long steps may go on when the server is stopped.
constexpr std::chrono::seconds kStopPatience{5};

StatusOr<TF_Server*> Start(const tensorflow::ServerDef& def) {
  if (def.protocol() != "grpc") {
    return Unimplemented("No server for protocol '", def.protocol(),
                         "' was found; there is \"grpc\"");
  }
  rpc::ServerOptions options;
  TFLEET_ASSIGN_OR_RETURN(options.cluster, ClusterSpec::FromProto(def.cluster()));
  options.ops = &BuiltinOps();
  options.kernels = &CpuKernels();
  options.job = def.job_name();
  options.task = def.task_index();
  options.default_session_config = def.default_session_config();
  if (def.port() != 0) options.bind = absl::StrCat("0.0.0.0:", def.port());
  auto made = std::make_unique<TF_Server>();
  TFLEET_ASSIGN_OR_RETURN(auto server, rpc::Server::Start(std::move(options)));
  made->target = server->target();
  {
    MutexLock lock(&made->mu);
    made->server = std::move(server);
  }
  return made.release();
}

void Stop(TF_Server* server) {
  std::unique_ptr<rpc::Server> going;
  {
    MutexLock lock(&server->mu);
    going = std::move(server->server);
  }
  if (going == nullptr) return;
  going->Stop(kStopPatience);
  going.reset();
  MutexLock lock(&server->mu);
  server->stopped.NotifyAll();
}

}  // namespace
}  // namespace tensorfleet::capi

using namespace tensorfleet;        // NOLINT: the functions of C are outside of it
using namespace tensorfleet::capi;  // NOLINT

extern "C" {

TF_Server* TF_NewServer(const void* proto, size_t proto_len, TF_Status* status) {
  return EnterFor<TF_Server*>(status, nullptr, [&]() -> StatusOr<TF_Server*> {
    tensorflow::ServerDef def;
    TFLEET_RETURN_IF_ERROR(ParseMessage(proto, proto_len, "ServerDef", &def));
    return Start(def);
  });
}

void TF_ServerStart(TF_Server* server, TF_Status* status) {
  Enter(status, [&]() -> Status {
    TFLEET_NOT_NULL(server);
    MutexLock lock(&server->mu);
    // It serves since it was made.
    return server->server != nullptr ? OkStatus()
                                     : FailedPrecondition("the server has been stopped");
  });
}

void TF_ServerStop(TF_Server* server, TF_Status* status) {
  Enter(status, [&]() -> Status {
    TFLEET_NOT_NULL(server);
    Stop(server);
    return OkStatus();
  });
}

void TF_ServerJoin(TF_Server* server, TF_Status* status) {
  Enter(status, [&]() -> Status {
    TFLEET_NOT_NULL(server);
    MutexLock lock(&server->mu);
    while (server->server != nullptr) server->stopped.Wait(&server->mu);
    return OkStatus();
  });
}

const char* TF_ServerTarget(TF_Server* server) {
  return server == nullptr ? "" : server->target.c_str();
}

void TF_DeleteServer(TF_Server* server) {
  if (server == nullptr) return;
  Contained([&] { Stop(server); }).IgnoreError();
  delete server;
}

}  // extern "C"
