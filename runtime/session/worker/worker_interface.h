// What a master needs of a worker, and workers of each other. The worker of this process implements
// it directly (worker.h), so that tensors are handed over without a copy; others are reached
// through stubs (runtime/rpc). All calls are asynchronous: `done` is called exactly once, here or
// on another thread. Arguments given by pointer live until then. Thread-safe.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "proto/worker.pb.h"
#include "runtime/base/cancellation.h"
#include "runtime/base/status.h"
#include "runtime/device/device.h"
#include "runtime/graph/graph.h"
#include "runtime/kernels/kernel_context.h"
#include "runtime/kernels/rendezvous.h"
#include "runtime/tensor/tensor.h"

namespace tensorfleet {

struct CallOptions {
  CancellationManager* cancellation = nullptr;  // null: cannot be cancelled; outlives the call
  std::chrono::milliseconds timeout{0};         // 0: no deadline
  bool wait_for_ready = false;                  // wait for a peer that is not up yet
  // The calling thread has nothing else to do and may run kernels that take long.
  bool caller_waits = false;
};

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

struct RegisterGraphArgs {
  std::string session_handle;
  bool create_worker_session_called = true;
  // The local worker takes the graph itself, others its message form. All nodes have full devices.
  std::unique_ptr<Graph> graph;
  tensorflow::GraphDef graph_def;
  tensorflow::ConfigProto config;
  int64_t collective_graph_key = 0;  // 0: the graph has no collectives
};

struct RunGraphArgs {
  std::string session_handle;
  bool create_worker_session_called = true;
  std::string graph_handle;
  int64_t step_id = 0;
  int64_t request_id = 0;
  // By rendezvous key.
  std::vector<NamedTensor> sends;
  std::vector<std::string> recv_keys;
  bool is_partial = false;
  bool is_last_partial_run = false;
  bool record_timeline = false;
  bool record_partition_graphs = false;
  // In the same process only.
  CallFrame* frame = nullptr;
  // Keys that will be put into the step's rendezvous by the caller (Worker::DeliverToStep) instead
  // of being fetched from where they are made.
  const std::vector<std::string>* awaited_keys = nullptr;
};

struct RunGraphResult {
  std::vector<NamedTensor> recvs;
  std::vector<bool> recv_is_dead;
  tensorflow::StepStats step_stats;
  std::vector<tensorflow::GraphDef> partition_graphs;
  // Nothing of the step is left at this worker: it needs no CleanupGraph.
  bool step_is_over = false;
};

struct RecvTensorArgs {
  int64_t step_id = 0;
  int64_t request_id = 0;
  std::string key;
};

// A piece that a collective of the same step has, on the peer's device.
struct RecvBufArgs {
  int64_t step_id = 0;
  int64_t request_id = 0;
  RendezvousKey key;    // between our servers
  std::string buf_key;  // as TensorFlow's call it
  // What is expected: a vector of these elements.
  DType dtype = DType::kInvalid;
  int64_t elements = 0;
};

struct RecvTensorResult {
  Tensor tensor;
  bool is_dead = false;
  int64_t send_start_micros = 0;
};

class WorkerInterface {
 public:
  using Done = std::function<void(Status)>;
  template <typename T>
  using DoneWith = std::function<void(StatusOr<T>)>;

  virtual ~WorkerInterface() = default;

  virtual void GetStatus(const CallOptions& options,
                         DoneWith<std::vector<DeviceAttributes>> done) = 0;
  virtual void CreateWorkerSession(const CallOptions& options,
                                   const tensorflow::CreateWorkerSessionRequest& request,
                                   Done done) = 0;
  virtual void DeleteWorkerSession(const CallOptions& options, const std::string& session_handle,
                                   Done done) = 0;
  // Gives the graph's handle.
  virtual void RegisterGraph(const CallOptions& options, RegisterGraphArgs args,
                             DoneWith<std::string> done) = 0;
  virtual void DeregisterGraph(const CallOptions& options,
                               const tensorflow::DeregisterGraphRequest& request, Done done) = 0;
  virtual void RunGraph(const CallOptions& options, RunGraphArgs* args, RunGraphResult* result,
                        Done done) = 0;
  virtual void CleanupGraph(const CallOptions& options, int64_t step_id, Done done) = 0;
  virtual void CleanupAll(const CallOptions& options, const std::vector<std::string>& containers,
                          Done done) = 0;
  virtual void RecvTensor(const CallOptions& options, const RecvTensorArgs& args,
                          RecvTensorResult* result, Done done) = 0;
  virtual void Logging(const CallOptions& options, const tensorflow::LoggingRequest& request,
                       DoneWith<tensorflow::LoggingResponse> done) = 0;

  // Collectives. These three go to the group's leader.
  virtual void CompleteGroup(const CallOptions& options,
                             const tensorflow::CompleteGroupRequest& request,
                             DoneWith<tensorflow::CompleteGroupResponse> done) = 0;
  virtual void CompleteInstance(const CallOptions& options,
                                const tensorflow::CompleteInstanceRequest& request,
                                DoneWith<tensorflow::CompleteInstanceResponse> done) = 0;
  virtual void GetStepSequence(const CallOptions& options,
                               const tensorflow::GetStepSequenceRequest& request,
                               DoneWith<tensorflow::GetStepSequenceResponse> done) = 0;
  virtual void RecvBuf(const CallOptions& options, const RecvBufArgs& args,
                       RecvTensorResult* result, Done done) = 0;
};

// Connections to other tasks by address. Thread-safe; must outlive what it gives out.
class Peers {
 public:
  virtual ~Peers() = default;
  // Never blocks: the connection is made when it is first used. It stays while somebody holds the
  // worker, and for a while after that. Null where there are no other processes.
  virtual std::shared_ptr<WorkerInterface> Worker(const std::string& address) = 0;
  // Asks the master at `address` whether it has the session. `done` gets OK when it has, NotFound
  // when it says that it has not, Unimplemented when it can't tell, and what the call failed with
  // when there was no answer.
  virtual void AskForSession(const CallOptions& options, const std::string& address,
                             const std::string& session_handle, WorkerInterface::Done done) = 0;
};

}  // namespace tensorfleet
