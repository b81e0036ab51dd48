// The worker of a task: devices and their state, sessions of masters, registered graphs, running
// steps. Serves its own master by direct calls and others through runtime/rpc. Thread-safe.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "runtime/base/mutex.h"
#include "runtime/base/thread_pool.h"
#include "runtime/session/cluster/cluster_spec.h"
#include "runtime/session/limits.h"
#include "runtime/session/worker/collective/worker_collectives.h"
#include "runtime/session/worker/request_ids.h"
#include "runtime/session/worker/step_table.h"
#include "runtime/session/worker/worker_interface.h"
#include "runtime/session/worker/worker_session.h"

namespace tensorfleet {

struct GraphRunArgs;

// Marks errors by which a master learns that a worker is not the one it knew.
inline constexpr char kWorkerPossiblyRestartedPayload[] =
    "type.googleapis.com/tensorflow.distributed_runtime.WorkerPossiblyRestarted";

class Worker final : public WorkerInterface {
 public:
  struct Options {
    std::string task;     // "/job:ps/replica:0/task:0"
    ClusterSpec cluster;  // empty for a process of its own
    ThreadPool* pool = nullptr;
    int cpu_devices = 1;                 // at most kMaxCpuDevices; they share the pool
    ThreadPool* compile_pool = nullptr;  // where other masters' graphs are compiled
    Peers* peers = nullptr;              // null: there are no others
    const OpRegistry* ops = nullptr;
    const KernelRegistry* kernels = nullptr;
    Limits limits;
    // How long a session of another process's master is kept that runs nothing and whose master
    // doesn't answer, or says that it has no such session. 0: for ever.
    std::chrono::nanoseconds master_lease = std::chrono::minutes(10);
    // The same for what has no master that could be asked: sessions that do not say whose they are,
    // and graphs and steps outside sessions.
    std::chrono::nanoseconds idle_timeout = std::chrono::hours(24);
    WorkerCollectives::Options collectives;
    // Gives the task's devices besides its CPU; null: there are none.
    std::function<std::vector<std::unique_ptr<Device>>(const std::string& task, ThreadPool* pool)>
        more_devices;
  };
  // The pools, the registries and the peers must outlive the worker.
  explicit Worker(Options options);
  // All calls must have ended.
  ~Worker() override;

  const std::string& task() const { return options_.task; }
  const std::vector<DeviceAttributes>& devices() const { return device_attributes_; }
  Device* cpu() const { return devices_[0].device; }
  ThreadPool* pool() const { return options_.pool; }
  ThreadPool* compile_pool() const { return options_.compile_pool; }
  const OpRegistry& ops() const { return *options_.ops; }
  const KernelRegistry& kernels() const { return *options_.kernels; }
  // Of this process: its master keeps to them, too.
  const Limits& limits() const { return options_.limits; }

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
  void CompleteGroup(const CallOptions& options, const tensorflow::CompleteGroupRequest& request,
                     DoneWith<tensorflow::CompleteGroupResponse> done) override;
  void CompleteInstance(const CallOptions& options,
                        const tensorflow::CompleteInstanceRequest& request,
                        DoneWith<tensorflow::CompleteInstanceResponse> done) override;
  // Between our servers a key that is named twice in a row is followed by the id of the caller's
  // last step of that graph, which has failed.
  void GetStepSequence(const CallOptions& options,
                       const tensorflow::GetStepSequenceRequest& request,
                       DoneWith<tensorflow::GetStepSequenceResponse> done) override;
  void RecvBuf(const CallOptions& options, const RecvBufArgs& args, RecvTensorResult* result,
               Done done) override;

  // For the master of this process: ids of steps with collectives.
  StepSequences* step_sequences() { return collectives_.sequences(); }
  WorkerCollectives& collectives() { return collectives_; }
  // Here a graph's steps go on with `next`, as its leader says: those before are left out.
  void BeginSteps(const std::string& leader, int64_t graph_key, int64_t next);
  // Whether a step with that id has been here and is over.
  bool HasEnded(int64_t step_id) const { return steps_.IsOver(step_id); }
  // For the master of this process: a value for a step that runs here (RunGraphArgs::awaited_keys).
  void DeliverToStep(int64_t step_id, const std::string& key, Tensor tensor);
  // Ends what has outlived its owner (the options say when), and asks the masters of sessions that
  // run nothing whether they are still there. To be called a few times in each of these periods, by
  // one thread at a time; may destroy graphs.
  void EndLeases(IdleClock::TimePoint now);
  // Ends all steps; for the end of the process.
  void AbortAllSteps(const Status& why) { steps_.AbortAll(why); }

 private:
  // Errors: Aborted with kWorkerPossiblyRestartedPayload.
  StatusOr<std::shared_ptr<WorkerSession>> FindSession(const std::string& handle, bool was_created);
  StatusOr<std::string> Register(RegisterGraphArgs* args, const CancellationManager* cancellation);
  // Ends the steps of sessions that were taken out of the table.
  void EndSessions(const std::vector<std::shared_ptr<WorkerSession>>& sessions,
                   absl::string_view why);
  StatusOr<std::shared_ptr<WorkerSession>> MakeSession(
      const tensorflow::CreateWorkerSessionRequest& request);
  void Run(std::shared_ptr<WorkerSession> session, std::shared_ptr<RegisteredGraph> graph,
           const CallOptions& options, RunGraphArgs* args, RunGraphResult* result, Done done);
  // Makes the step one of its session's and tells its rendezvous where it is, before the first
  // kernel asks it for anything. Errors: InvalidArgument when it is another session's step.
  Status BindStep(const RunGraphArgs& args, const GraphRunArgs& run);
  Status CheckRecv(const RendezvousKey& key) const;

  const Options options_;
  std::vector<std::unique_ptr<Device>> owned_devices_;
  std::vector<std::unique_ptr<ResourceManager>> resources_;
  std::vector<LocalDevice> devices_;
  std::vector<DeviceAttributes> device_attributes_;
  TransferLog transfers_;
  WorkerCollectives collectives_;  // outlives the steps
  StepTable steps_{&transfers_};
  RequestIds run_graph_ids_, recv_tensor_ids_;

  Mutex mu_;
  absl::flat_hash_map<std::string, std::shared_ptr<WorkerSession>> sessions_ ABSL_GUARDED_BY(mu_);
  // For masters that do not create sessions.
  std::shared_ptr<WorkerSession> legacy_session_;
};

}  // namespace tensorfleet
