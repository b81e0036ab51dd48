// The worker of a task: devices and their state, sessions of masters, registered graphs, running
// steps. Serves its own master by direct calls and others through runtime/rpc. Thread-safe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "runtime/base/mutex.h"
#include "runtime/base/thread_pool.h"
#include "runtime/session/cluster_spec.h"
#include "runtime/session/request_ids.h"
#include "runtime/session/step_table.h"
#include "runtime/session/worker_interface.h"
#include "runtime/session/worker_session.h"

namespace tensorfleet {

// Marks errors by which a master learns that a worker is not the one it knew.
inline constexpr char kWorkerPossiblyRestartedPayload[] =
    "type.googleapis.com/tensorflow.distributed_runtime.WorkerPossiblyRestarted";

class Worker final : public WorkerInterface {
 public:
  struct Options {
    std::string task;     // "/job:ps/replica:0/task:0"
    ClusterSpec cluster;  // empty for a process of its own
    ThreadPool* pool = nullptr;
    Peers* peers = nullptr;  // null: there are no others
    const OpRegistry* ops = nullptr;
    const KernelRegistry* kernels = nullptr;
  };
  // The pool, the registries and the peers must outlive the worker.
  explicit Worker(Options options);
  // All calls must have ended.
  ~Worker() override;

  const std::string& task() const { return options_.task; }
  const std::vector<DeviceAttributes>& devices() const { return device_attributes_; }
  Device* cpu() const { return devices_[0].device; }
  ThreadPool* pool() const { return options_.pool; }
  const OpRegistry& ops() const { return *options_.ops; }
  const KernelRegistry& kernels() const { return *options_.kernels; }

  void GetStatus(const CallOptions& options, DoneWith<std::vector<DeviceAttributes>> done) override;
  void CreateWorkerSession(const CallOptions& options,
                           const tensorflow::CreateWorkerSessionRequest& request,
                           Done done) override;
  void DeleteWorkerSession(const CallOptions& options, const std::string& session_handle,
                           Done done) override;
  void RegisterGraph(const CallOptions& options, RegisterGraphArgs args,
                     DoneWith<std::string> done) override;
  void DeregisterGraph(const CallOptions& options,
                       const tensorflow::DeregisterGraphRequest& request, Done done) override;
  void RunGraph(const CallOptions& options, RunGraphArgs* args, RunGraphResult* result,
                Done done) override;
  void CleanupGraph(const CallOptions& options, int64_t step_id, Done done) override;
  void CleanupAll(const CallOptions& options, const std::vector<std::string>& containers,
                  Done done) override;
  void RecvTensor(const CallOptions& options, const RecvTensorArgs& args, RecvTensorResult* result,
                  Done done) override;
  void Logging(const CallOptions& options, const tensorflow::LoggingRequest& request,
               DoneWith<tensorflow::LoggingResponse> done) override;

  // For the master of this process: a value for a step that runs here (RunGraphArgs::awaited_keys).
  void DeliverToStep(int64_t step_id, const std::string& key, Tensor tensor);
  // Ends all steps; for the end of the process.
  void AbortAllSteps(const Status& why) { steps_.AbortAll(why); }

 private:
  // Errors: Aborted with kWorkerPossiblyRestartedPayload.
  StatusOr<std::shared_ptr<WorkerSession>> FindSession(const std::string& handle, bool was_created);
  StatusOr<std::string> Register(RegisterGraphArgs* args);
  StatusOr<std::shared_ptr<WorkerSession>> MakeSession(
      const tensorflow::CreateWorkerSessionRequest& request);
  void Run(std::shared_ptr<WorkerSession> session, std::shared_ptr<RegisteredGraph> graph,
           const CallOptions& options, RunGraphArgs* args, RunGraphResult* result, Done done);
  Status CheckRecv(const RendezvousKey& key) const;

  const Options options_;
  std::vector<std::unique_ptr<Device>> owned_devices_;
  std::vector<std::unique_ptr<ResourceManager>> resources_;
  std::vector<LocalDevice> devices_;
  std::vector<DeviceAttributes> device_attributes_;
  TransferLog transfers_;
  StepTable steps_{&transfers_};
  RequestIds run_graph_ids_, recv_tensor_ids_;

  Mutex mu_;
  absl::flat_hash_map<std::string, std::shared_ptr<WorkerSession>> sessions_ ABSL_GUARDED_BY(mu_);
  // For masters that do not create sessions.
  std::shared_ptr<WorkerSession> legacy_session_;
};

}  // namespace tensorfleet
