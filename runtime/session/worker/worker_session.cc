#include "runtime/session/worker/worker_session.h"

#include "absl/strings/str_cat.h"
#include "runtime/session/metrics.h"
#include "runtime/session/worker/registered_graph.h"

namespace tensorfleet {

WorkerSession::WorkerSession(Options options) : options_(std::move(options)) {
  ++ServerMetrics().worker_sessions;
  if (options_.max_bytes > 0) {
    memory_ = MemoryAccount::Open(absl::StrCat("session ", options_.handle), options_.max_bytes,
                                  /*parent=*/nullptr);
  }
  for (const LocalDevice& boot : options_.boot_devices) {
    LocalDevice device = boot;
    if (options_.rename) {
      renamed_.push_back(MakeRenamedDevice(options_.task, boot.device));
      device.device = renamed_.back().get();
    }
    if (options_.isolate) {
      isolated_.push_back(std::make_unique<ResourceManager>(
          device.device->attributes().parsed.job.value_or("localhost")));
      device.resources = isolated_.back().get();
    }
    kernel_caches_.push_back(std::make_unique<KernelCache>());
    device.kernels = kernel_caches_.back().get();
    devices_.push_back(device);
  }
  if (options_.peers != nullptr) {
    for (const auto& [task, address] : options_.cluster.Tasks()) {
      if (task != options_.task) peers_[task] = options_.peers->Worker(address);
    }
  }
}

WorkerSession::~WorkerSession() { --ServerMetrics().worker_sessions; }

std::string WorkerSession::MasterAddress() const {
  if (options_.master_task.empty() || is_of_this_process()) return "";
  for (const auto& [task, address] : options_.cluster.Tasks()) {
    if (task == options_.master_task) return address;
  }
  return "";
}

StatusOr<const LocalDevice*> WorkerSession::FindDevice(absl::string_view name) const {
  for (const LocalDevice& local : devices_) {
    if (local.device->name() == name) return &local;
  }
  const StatusOr<DeviceName> wanted = DeviceName::Parse(name);
  if (wanted.ok() && wanted->type && wanted->id) {
    for (const LocalDevice& local : devices_) {
      if (wanted->Matches(local.device->attributes().parsed)) return &local;
    }
  }
  return InvalidArgument(name, " unknown device.");
}

StatusOr<std::shared_ptr<WorkerInterface>> WorkerSession::FindPeer(absl::string_view task) const {
  const auto it = peers_.find(task);
  if (it == peers_.end() || it->second == nullptr) {
    return InvalidArgument("task ", task, " is not in the cluster of this session; ", options_.task,
                           " cannot receive from it");
  }
  return it->second;
}

std::string WorkerSession::AddGraph(std::shared_ptr<RegisteredGraph> graph) {
  MutexLock lock(&mu_);
  std::string handle = absl::StrCat(absl::Hex(next_graph_++, absl::kZeroPad16));
  graphs_[handle] = std::move(graph);
  return handle;
}

std::shared_ptr<RegisteredGraph> WorkerSession::FindGraph(const std::string& handle) const {
  MutexLock lock(&mu_);
  const auto it = graphs_.find(handle);
  return it == graphs_.end() ? nullptr : it->second;
}

bool WorkerSession::RemoveGraph(const std::string& handle) {
  std::shared_ptr<RegisteredGraph> removed;  // destroyed outside the lock
  MutexLock lock(&mu_);
  const auto it = graphs_.find(handle);
  if (it == graphs_.end()) return false;
  removed = std::move(it->second);
  graphs_.erase(it);
  return true;
}

void WorkerSession::RemoveIdleGraphs(std::chrono::nanoseconds idle_for, IdleClock::TimePoint now) {
  std::vector<std::shared_ptr<RegisteredGraph>> removed;  // destroyed outside the lock
  MutexLock lock(&mu_);
  for (auto it = graphs_.begin(); it != graphs_.end();) {
    if (it->second->runs().IdleAt(now) > idle_for) {
      removed.push_back(std::move(it->second));
      graphs_.erase(it++);
    } else {
      ++it;
    }
  }
}

}  // namespace tensorfleet
