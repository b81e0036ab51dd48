// What a worker keeps of one session of a master: the devices under the names that the session has
// for them, the state that its graphs share, its registered graphs, and how other tasks of the
// session are reached. Thread-safe.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "runtime/base/mutex.h"
#include "runtime/base/status.h"
#include "runtime/device/device.h"
#include "runtime/execute/kernel_cache.h"
#include "runtime/kernels/kernel_registry.h"
#include "runtime/kernels/resource_manager.h"
#include "runtime/session/cluster/cluster_spec.h"
#include "runtime/session/idle_clock.h"
#include "runtime/session/worker/worker_interface.h"
#include "runtime/tensor/memory_account.h"

namespace tensorfleet {

class RegisteredGraph;

// One device and its state.
struct LocalDevice {
  Device* device = nullptr;
  ResourceManager* resources = nullptr;
  // Of a session: stateful kernels are made once for each node name, so that private queues and
  // random generators go on where the last step left them.
  KernelCache* kernels = nullptr;
};

class WorkerSession : public std::enable_shared_from_this<WorkerSession> {
 public:
  struct Options {
    std::string handle;
    std::string task;  // as this session calls this task
    std::vector<LocalDevice> boot_devices;
    bool rename = false;   // `task` is not the one that the devices have
    bool isolate = false;  // resources of its own
    ClusterSpec cluster;   // where peers listen, in this session's names
    Peers* peers = nullptr;
    const OpRegistry* ops = nullptr;
    const KernelRegistry* kernels = nullptr;
    std::string master_task;  // empty: not known
    int64_t master_incarnation = 0;
    int64_t max_bytes = 0;  // of what its steps hold and leave behind; 0: no limit
  };
  explicit WorkerSession(Options options);
  ~WorkerSession();

  const Options& options() const { return options_; }
  const std::string& handle() const { return options_.handle; }
  const std::string& task() const { return options_.task; }
  const std::vector<LocalDevice>& devices() const { return devices_; }
  // Errors: InvalidArgument `<name> unknown device.`
  StatusOr<const LocalDevice*> FindDevice(absl::string_view name) const;
  // Errors: InvalidArgument when the cluster has no such task.
  StatusOr<std::shared_ptr<WorkerInterface>> FindPeer(absl::string_view task) const;
  // Where the session's master listens; empty when that is not known, or when it is in this
  // process.
  std::string MasterAddress() const;
  bool is_of_this_process() const { return options_.master_task == options_.task; }
  // Calls of its master.
  IdleClock& calls() { return calls_; }

  // Gives the graph a handle: 16 hex digits, counted from 1.
  std::string AddGraph(std::shared_ptr<RegisteredGraph> graph);
  std::shared_ptr<RegisteredGraph> FindGraph(const std::string& handle) const;  // null when unknown
  bool RemoveGraph(const std::string& handle);
  // Drops the graphs that have not run for `idle_for` as of `now`.
  void RemoveIdleGraphs(std::chrono::nanoseconds idle_for, IdleClock::TimePoint now);
  // What the session's steps are charged to; null where nothing is limited.
  MemoryAccount* memory() const { return memory_.get(); }
  std::atomic<int64_t>* name_counter() { return &name_counter_; }

 private:
  const Options options_;
  MemoryAccount::Handle memory_;
  std::vector<std::unique_ptr<Device>> renamed_;
  std::vector<std::unique_ptr<ResourceManager>> isolated_;
  std::vector<std::unique_ptr<KernelCache>> kernel_caches_;
  std::vector<LocalDevice> devices_;
  absl::flat_hash_map<std::string, std::shared_ptr<WorkerInterface>> peers_;  // by task
  IdleClock calls_;
  std::atomic<int64_t> name_counter_{0};

  mutable Mutex mu_;
  absl::flat_hash_map<std::string, std::shared_ptr<RegisteredGraph>> graphs_ ABSL_GUARDED_BY(mu_);
  uint64_t next_graph_ ABSL_GUARDED_BY(mu_) = 1;
};

}  // namespace tensorfleet
