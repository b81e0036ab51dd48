// One task's server: its worker and its master behind gRPC on one port. The way to embed a server
// in a program; `tensorfleet server` is a thin shell around it. Thread-safe.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "proto/config.pb.h"
#include "runtime/place/placement/placer.h"
#include "runtime/session/cluster/cluster_spec.h"
#include "runtime/session/limits.h"

namespace tensorfleet {
class Device;
class KernelRegistry;
class MasterClient;
class OpRegistry;
class ThreadPool;
}  // namespace tensorfleet

namespace tensorfleet::rpc {

struct ServerOptions {
  ClusterSpec cluster;
  // What the server can run; required, and must outlive it.
  const OpRegistry* ops = nullptr;
  const KernelRegistry* kernels = nullptr;
  // The task's devices besides its CPU (Worker::Options); null: there are none.
  std::function<std::vector<std::unique_ptr<Device>>(const std::string& task, ThreadPool* pool)>
      more_devices;
  // This task's entry in the cluster.
  std::string job;
  int task = 0;
  // Where to listen, "host:port"; empty: on all interfaces at the port of this task's address.
  // Peers still use the address in the cluster.
  std::string bind;
  tensorflow::ConfigProto default_session_config;
  DefaultPlacement default_placement = DefaultPlacement::kAuto;
  std::string dump_dir;  // where graphs are written before and after placing; empty: nowhere
  Limits limits;
  // CPU devices of this task; 0: as default_session_config.device_count says, else one.
  int cpu_devices = 0;
  int compute_threads = 0;  // 0: as many as the machine has cores
  int poll_threads = 0;     // 0: a few
  // How long a peer may say nothing while calls wait, and then how long it may take to say that it
  // is there, before its connection is given up.
  std::chrono::milliseconds peer_silence{5'000};
  std::chrono::milliseconds peer_answer{10'000};
  // Prepared graphs that each session keeps (GraphCache::Limits).
  int64_t cached_graphs = 1000;
  int64_t cached_graph_bytes = int64_t{256} << 20;
  // When what its owner has left behind goes: a session whose client asks for nothing
  // (Master::Options), a session here whose master is not heard of (Worker::Options). 0: never.
  std::chrono::milliseconds session_idle_timeout = std::chrono::hours(24);
  std::chrono::milliseconds master_lease = std::chrono::minutes(10);
  // For collectives, see WorkerCollectives::Options.
  std::chrono::milliseconds member_silence{5'000};
  std::chrono::milliseconds group_patience = std::chrono::minutes(10);
  // Where other tensorfleet servers fetch tensors from this one, beside gRPC; 0: any free port; -1:
  // nowhere, tensors go through gRPC both ways.
  int tensor_port = 0;
  // Called when another task asks this one to leave because the job has ended; must not block.
  // Null: such requests are refused.
  std::function<void(const std::string& from_task, const std::string& reason)> on_drain;
};

class Server {
 public:
  // Listens and serves. Errors: NotFound when the cluster has no such task; Unavailable when the
  // port is taken.
  static StatusOr<std::unique_ptr<Server>> Start(ServerOptions options);
  // Stops at once when Stop was not called.
  ~Server();

  // "grpc://localhost:2222" with the port that is listened on.
  const std::string& target() const;
  int port() const;
  // A session on this server's master, for a program that embeds it; must go before the server.
  std::unique_ptr<MasterClient> NewClient(const tensorflow::ConfigProto& config);
  // Begins no new sessions and steps, lets those that run go on for up to `deadline` (their peers
  // may still fetch tensors), then cancels what is left and hangs up. Blocks. Steps of NewClient's
  // sessions are not waited for, and may begin until the deadline.
  void Stop(std::chrono::milliseconds deadline);

 private:
  struct State;
  // Until no call is under way, but at most so long.
  static void WaitForCalls(const State& s, std::chrono::milliseconds most);
  explicit Server(std::unique_ptr<State> state);
  const std::unique_ptr<State> state_;
};

}  // namespace tensorfleet::rpc
