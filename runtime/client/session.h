// Running a graph: in this process, or on a server.
//
//   Scope root;
//   ...build...
//   TFLEET_ASSIGN_OR_RETURN(auto session, Session::Open("grpc://localhost:2222"));
//   TFLEET_ASSIGN_OR_RETURN(auto values, session->Run(root, {{x, Tensor::Vector<float>({1, 2})}},
//   {y}));
//
// Thread-safe: steps of one session may run at the same time. Adding to a graph while a step of it
// is started is the caller's race.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "proto/config.pb.h"
#include "proto/device.pb.h"
#include "proto/graph.pb.h"
#include "runtime/base/mutex.h"
#include "runtime/base/status.h"
#include "runtime/client/prepared_step.h"
#include "runtime/client/scope.h"
#include "runtime/tensor/tensor.h"

namespace tensorfleet {
class MasterClient;

// What one step is to do, by name ("x:0" for tensors, "train" for operations).
struct StepRequest {
  std::vector<std::pair<std::string, Tensor>> feeds;
  std::vector<std::string> fetches;
  std::vector<std::string> targets;
  tensorflow::RunOptions options;
  std::string partial_run_handle;  // of PartialRunSetup; empty for a step of its own
};

// Where graphs run. One for the local process, one for servers.
class SessionBackend {
 public:
  virtual ~SessionBackend() = default;
  // The first call opens the session with the nodes, later ones add theirs.
  virtual Status Extend(const tensorflow::GraphDef& nodes) = 0;
  // The fetched values in the order asked for. `metadata` (optional) receives the trace that the
  // options ask for.
  virtual StatusOr<std::vector<Tensor>> Run(const StepRequest& request,
                                            tensorflow::RunMetadata* metadata) = 0;
  virtual StatusOr<int64_t> MakeCallable(const tensorflow::CallableOptions& options) = 0;
  virtual StatusOr<std::vector<Tensor>> RunCallable(int64_t handle, std::vector<Tensor> feeds,
                                                    tensorflow::RunMetadata* metadata) = 0;
  virtual Status ReleaseCallable(int64_t handle) = 0;
  // `request` names everything that will be fed, fetched and run; the values are not looked at.
  virtual StatusOr<std::string> PartialRunSetup(const StepRequest& request) = 0;
  virtual StatusOr<std::vector<tensorflow::DeviceAttributes>> ListDevices() = 0;
  virtual Status Close() = 0;
};

class Session {
 public:
  // `target` is "" for a session inside this process (one task, /job:localhost/replica:0/task:0),
  // or "grpc://HOST:PORT" for a server. Opening sends nothing yet. Errors: InvalidArgument for
  // another form of target.
  static StatusOr<std::unique_ptr<Session>> Open(absl::string_view target,
                                                 const tensorflow::ConfigProto& config = {});
  // On a server of this process, by what its NewClient gave: steps go to its master without a
  // network. The session must go before the server, whose Stop ends its calls as Unavailable.
  static std::unique_ptr<Session> On(std::unique_ptr<MasterClient> client);
  // Closes the session; errors are ignored then, call Close to see them.
  ~Session();

  using Feeds = std::vector<std::pair<Output, Tensor>>;

  // Sends what was added to the scope's graph since the last call, then runs one step. Returns the
  // value of each fetch. A session belongs to the first scope's graph that it was given. Errors:
  // the scope's own error; what the server says (codes as in TensorFlow: Unavailable and Aborted
  // when a task was lost, after which a new session is needed).
  StatusOr<std::vector<Tensor>> Run(const Scope& scope, const Feeds& feeds,
                                    const std::vector<Output>& fetches,
                                    const std::vector<Operation>& targets = {},
                                    const tensorflow::RunOptions& options = {},
                                    tensorflow::RunMetadata* metadata = nullptr);

  // The same by names, for graphs that came as a message (Extend).
  StatusOr<std::vector<Tensor>> Run(const StepRequest& request,
                                    tensorflow::RunMetadata* metadata = nullptr);
  Status Extend(const tensorflow::GraphDef& nodes);
  // Sends what was added to the scope's graph since the last call, without running anything.
  // Errors: the scope's own; what the server says of the nodes.
  Status Extend(const Scope& scope);

  // Prepares a step that is run again and again with other values: its names are looked up once.
  // Errors: as Run, but what is wrong with the step itself may only show when it runs.
  StatusOr<std::unique_ptr<Callable>> MakeCallable(const Scope& scope,
                                                   const std::vector<Output>& feeds,
                                                   const std::vector<Output>& fetches,
                                                   const std::vector<Operation>& targets = {},
                                                   const tensorflow::RunOptions& options = {});

  // Begins a step that takes these feeds and gives these fetches in instalments. Errors: as
  // MakeCallable.
  StatusOr<std::unique_ptr<PartialRun>> StartPartialRun(const Scope& scope,
                                                        const std::vector<Output>& feeds,
                                                        const std::vector<Output>& fetches,
                                                        const std::vector<Operation>& targets = {});

  StatusOr<std::vector<tensorflow::DeviceAttributes>> ListDevices();

  // Cancels running steps and gives the session back. Later calls fail.
  Status Close();

 private:
  explicit Session(std::shared_ptr<SessionBackend> backend) : backend_(std::move(backend)) {}

  const std::shared_ptr<SessionBackend> backend_;  // shared with callables and partial runs
  Mutex mu_;
  int nodes_sent_ ABSL_GUARDED_BY(mu_) = 0;
  size_t replaced_seen_ ABSL_GUARDED_BY(mu_) = 0;  // of the scope's replaced nodes
  int functions_sent_ ABSL_GUARDED_BY(mu_) = 0;
  bool opened_ ABSL_GUARDED_BY(mu_) = false;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace tensorfleet
