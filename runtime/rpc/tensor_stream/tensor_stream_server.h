// The side of tensor_stream.h that has the tensors. Thread-safe.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "runtime/base/mutex.h"
#include "runtime/base/status.h"
#include "runtime/net/sockets.h"
#include "runtime/rpc/server_call.h"
#include "runtime/rpc/tensor_stream/tensor_stream.h"
#include "runtime/session/worker/worker_interface.h"

namespace tensorfleet::rpc {

class TensorStreamServer {
 public:
  // Listens on `host` ("::" for all interfaces) at `port` (0: any free one), and by a name for
  // those of this machine, whom it lets read large tensors where they lie. Errors: Unavailable when
  // the port is taken; InvalidArgument for an unknown host.
  static StatusOr<std::unique_ptr<TensorStreamServer>> Start(const StreamContext& context,
                                                             WorkerInterface* worker,
                                                             const std::string& host, int port);
  // After HangUp, and after the loop has ended. Waits until the worker has let go of the calls.
  ~TensorStreamServer();

  int port() const { return listener_->port(); }
  const std::string& token() const { return token_; }
  // Empty where the system has no such names.
  std::string local_name() const { return local_listener_ ? local_listener_->name() : ""; }
  // Nothing is under way, and all replies have been given to the system.
  bool is_idle() const;
  // Ends the calls that are under way; `why` is what their clients are told.
  void CancelCalls(const Status& why);
  // No more connections; those that there are end, and their calls are cancelled.
  void HangUp();

 private:
  class Connection;
  TensorStreamServer(const StreamContext& context, WorkerInterface* worker);
  void Accept(int fd, bool is_local);
  std::vector<std::shared_ptr<Connection>> Connections() const;

  const StreamContext context_;
  WorkerInterface* const worker_;
  const std::string token_;
  std::shared_ptr<net::Listener> listener_, local_listener_;
  mutable Mutex mu_;
  CondVar changed_;
  bool is_closed_ ABSL_GUARDED_BY(mu_) = false;
  int calls_ ABSL_GUARDED_BY(mu_) = 0;  // that the worker has not answered
  absl::flat_hash_set<std::shared_ptr<Connection>> connections_ ABSL_GUARDED_BY(mu_);
};

// TransferService: tells where `streams` listens; null: that there are none.
std::unique_ptr<RawService> MakeTransferService(const TensorStreamServer* streams);

}  // namespace tensorfleet::rpc
