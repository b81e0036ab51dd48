#include "runtime/rpc/server.h"

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/cancellation.h"
#include "runtime/base/log.h"
#include "runtime/base/thread_pool.h"
#include "runtime/base/timer_queue.h"
#include "runtime/device/device_name.h"
#include "runtime/rpc/peers/channels.h"
#include "runtime/rpc/poll_set.h"
#include "runtime/rpc/services/control_service.h"
#include "runtime/rpc/services/introspection.h"
#include "runtime/rpc/services/master_service.h"
#include "runtime/rpc/services/worker_service.h"
#include "runtime/rpc/tensor_stream/tensor_stream_server.h"
#include "runtime/session/cluster/device_count.h"
#include "runtime/session/master/master.h"
#include "runtime/session/master/master_client.h"
#include "runtime/session/metrics.h"
#include "runtime/session/worker/worker.h"
#include "runtime/tensor/block_cache.h"

namespace tensorfleet::rpc {

struct Server::State {
  // Outlive the timers, which look at them.
  Mutex ending_mu;
  bool is_ending ABSL_GUARDED_BY(ending_mu) = false;
  ServerOptions options;
  std::string target;
  int port = 0;
  CancellationManager stopping;  // ends the calls of NewClient's sessions
  TimerQueue timers;
  std::unique_ptr<PollSet> polls;
  std::unique_ptr<GrpcPeers> peers;
  std::unique_ptr<ThreadPool> pool;
  std::unique_ptr<ThreadPool> compile_pool;
  std::unique_ptr<Worker> worker;
  std::unique_ptr<Master> master;
  std::unique_ptr<TensorStreamServer> tensor_streams;  // null: not wanted
  std::unique_ptr<net::EventLoop> loop;                // ends before what it calls
  Health health;
  std::unique_ptr<RawService> master_service, worker_service, health_service, control_service,
      transfer_service;
  std::unique_ptr<StreamMethods> streams;
  std::unique_ptr<grpc::Server> server;
  bool is_stopped = false;

  // These two end with the timers.
  void KeepMemoryTidy(int64_t rpcs_before, int idle_rounds);
  void EndLeases();
};

namespace {

constexpr auto kDrainPollPeriod = std::chrono::milliseconds(5);
// For what is cancelled at a server's end to have been answered.
constexpr auto kLastReplies = std::chrono::seconds(10);
// For the last replies to reach their clients.
constexpr auto kHangUpTime = std::chrono::milliseconds(100);

// Memory that was of no use for so long goes back to the system.
constexpr auto kTidyPeriod = std::chrono::seconds(2);
constexpr int kIdleRounds = 3;

// How often it is looked for what has lost its owner.
std::chrono::nanoseconds LeasePeriod(const ServerOptions& options) {
  std::chrono::nanoseconds period = std::chrono::minutes(1);
  for (const std::chrono::nanoseconds limit :
       {options.session_idle_timeout, options.master_lease}) {
    if (limit.count() > 0) period = std::min(period, limit / 8);
  }
  return std::max<std::chrono::nanoseconds>(period, std::chrono::milliseconds(10));
}

std::string ListenAddress(const ServerOptions& options) {
  if (!options.bind.empty()) return options.bind;
  const std::string address = options.cluster.Address(options.job, options.task).value();
  return absl::StrCat("[::]", address.substr(address.rfind(':')));
}

// The host of "host:port" or "[host]:port".
std::string HostOf(const std::string& address) {
  std::string host = address.substr(0, address.rfind(':'));
  if (host.size() > 2 && host.front() == '[') host = host.substr(1, host.size() - 2);
  return host;
}

int PollThreads(const ServerOptions& options) {
  if (options.poll_threads > 0) return options.poll_threads;
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 3, 8);
}

// Shuts a completion queue down and takes what is left in it: gRPC requires both before the queue
// is destroyed.
void Drain(grpc::CompletionQueue* queue) {
  queue->Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue->Next(&tag, &ok)) {
  }
}

void LogCluster(const ServerOptions& options) {
  for (const ClusterSpec::Job& job : options.cluster.jobs()) {
    LogInfo(absl::StrCat("Cluster job ", job.name, " -> ", ClusterSpec::Describe(job)));
  }
}

void SetLimits(grpc::ServerBuilder* builder) {
  builder->SetMaxReceiveMessageSize(-1);
  builder->SetMaxSendMessageSize(-1);
  builder->AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);  // a taken port is an error
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, 4 << 20);
  // Peers ask for signs of life, on idle connections too.
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5'000);
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);
  // A client that vanished without a word is noticed, and its steps are cancelled.
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 20'000);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
}

}  // namespace

void Server::State::KeepMemoryTidy(int64_t rpcs_before, int idle_rounds) {
  BlockCache::Process().ReleaseFreedBefore(std::chrono::steady_clock::now() - kTidyPeriod);
  const int64_t rpcs = ServerMetrics().rpcs.load(std::memory_order_relaxed);
  idle_rounds = rpcs == rpcs_before ? idle_rounds + 1 : 0;
  if (idle_rounds == kIdleRounds) ::malloc_trim(0);
  timers.RunAfter(kTidyPeriod, [=, this] { KeepMemoryTidy(rpcs, idle_rounds); });
}

// Closing sessions destroys graphs, which takes long for big ones.
void Server::State::EndLeases() {
  timers.RunAfter(LeasePeriod(options), [this] {
    MutexLock lock(&ending_mu);
    if (is_ending) return;
    compile_pool->Schedule([this] {
      const auto now = std::chrono::steady_clock::now();
      master->CloseIdleSessions(now);
      worker->EndLeases(now);
      peers->DropUnused();
      EndLeases();
    });
  });
}

StatusOr<std::unique_ptr<Server>> Server::Start(ServerOptions options) {
  TFLEET_RETURN_IF_ERROR(options.cluster.Address(options.job, options.task).status());
  int cpu_devices = options.cpu_devices;
  if (cpu_devices == 0) {
    TFLEET_ASSIGN_OR_RETURN(cpu_devices, CpuDevicesIn(options.default_session_config));
  }
  auto state = std::make_unique<State>();
  State& s = *state;
  s.options = options;
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  s.pool = std::make_unique<ThreadPool>(
      "compute", options.compute_threads > 0 ? options.compute_threads : cores);
  s.compile_pool = std::make_unique<ThreadPool>("compile", std::clamp(cores / 2, 1, 4));

  const std::string address = ListenAddress(options);
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &s.port);
  SetLimits(&builder);
  std::unique_ptr<grpc::ServerCompletionQueue> queue = builder.AddCompletionQueue();
  grpc::ServerCompletionQueue* const server_queue = queue.get();
  StreamContext streams;
  if (options.tensor_port >= 0) {
    TFLEET_ASSIGN_OR_RETURN(
        s.loop, net::EventLoop::Start(std::clamp(cores, 2, 4), [pool = s.pool.get()](auto work) {
          pool->Schedule(std::move(work));
        }));
    streams = {s.loop.get(), &s.timers, s.pool.get()};
  }
  s.peers = std::make_unique<GrpcPeers>(
      server_queue, PeerPatience{&s.timers, options.peer_silence, options.peer_answer}, streams);

  Worker::Options worker;
  worker.task = DeviceName::Task(options.job, options.task).TaskString();
  worker.cluster = options.cluster;
  worker.pool = s.pool.get();
  worker.compile_pool = s.compile_pool.get();
  worker.cpu_devices = cpu_devices;
  worker.peers = s.peers.get();
  worker.ops = options.ops;
  worker.kernels = options.kernels;
  worker.master_lease = options.master_lease;
  worker.idle_timeout = options.session_idle_timeout;
  worker.limits = options.limits;
  worker.more_devices = options.more_devices;
  worker.collectives = {options.member_silence, options.group_patience,
                        options.default_session_config.experimental().collective_group_leader()};
  s.worker = std::make_unique<Worker>(std::move(worker));

  Master::Options master;
  master.worker = s.worker.get();
  master.cluster = options.cluster;
  master.peers = s.peers.get();
  master.timers = &s.timers;
  master.compile_pool = s.compile_pool.get();
  master.cached_graphs = {options.cached_graphs, options.cached_graph_bytes};
  master.session_idle_timeout = options.session_idle_timeout;
  master.peer_answer = options.peer_answer;
  master.default_session_config = options.default_session_config;
  master.default_placement = options.default_placement;
  master.dump_dir = options.dump_dir;
  s.master = std::make_unique<Master>(std::move(master));

  s.master_service = MakeMasterService(s.master.get(), &s.polls);
  s.worker_service = MakeWorkerService(s.worker.get(), &s.polls);
  builder.RegisterService(s.master_service.get());
  builder.RegisterService(s.worker_service.get());
  s.control_service = MakeControlService(s.worker->task(), s.options.on_drain);
  builder.RegisterService(s.control_service.get());
  if (options.tensor_port >= 0) {
    StatusOr<std::unique_ptr<TensorStreamServer>> tensor_streams =
        TensorStreamServer::Start(streams, s.worker.get(), HostOf(address), options.tensor_port);
    if (!tensor_streams.ok()) {
      Drain(queue.get());
      return Prefixed(absl::StrCat("no port for tensors (", options.tensor_port,
                                   ") at the host of ", address, ": "),
                      tensor_streams.status());
    }
    s.tensor_streams = *std::move(tensor_streams);
  }
  s.transfer_service = MakeTransferService(s.tensor_streams.get());
  builder.RegisterService(s.transfer_service.get());
  s.health_service = MakeHealthService(&s.health);
  s.streams = std::make_unique<StreamMethods>(&s.health);
  builder.RegisterService(s.health_service.get());
  builder.RegisterAsyncGenericService(s.streams->service());
  s.server = builder.BuildAndStart();
  if (s.server == nullptr || s.port == 0) {
    Drain(queue.get());
    return Unavailable("cannot listen on ", address, ": is the port taken by another process?");
  }
  s.polls = std::make_unique<PollSet>(std::move(queue), PollThreads(options));
  s.master_service->Start(server_queue);
  s.worker_service->Start(server_queue);
  s.control_service->Start(server_queue);
  s.transfer_service->Start(server_queue);
  s.health_service->Start(server_queue);
  s.streams->Start(server_queue);
  s.target = absl::StrCat("grpc://localhost:", s.port);
  s.KeepMemoryTidy(0, 0);
  s.EndLeases();
  LogCluster(options);
  LogInfo(absl::StrCat("Started server with target: ", s.target),
          {{"task", s.worker->task()},
           {"listening", address},
           {"tensor_port", s.tensor_streams != nullptr ? s.tensor_streams->port() : -1}});
  return std::unique_ptr<Server>(new Server(std::move(state)));
}

void Server::WaitForCalls(const State& s, std::chrono::milliseconds most) {
  const auto now = std::chrono::steady_clock::now;
  const auto end = now() + most;
  const auto is_busy = [&s] {
    return s.master_service->calls_under_way() + s.worker_service->calls_under_way() > 0 ||
           (s.tensor_streams != nullptr && !s.tensor_streams->is_idle());
  };
  while (now() < end && is_busy()) std::this_thread::sleep_for(kDrainPollPeriod);
}

Server::Server(std::unique_ptr<State> state) : state_(std::move(state)) {}

Server::~Server() {
  Stop(std::chrono::milliseconds(0));
  State& s = *state_;
  // First what may start calls, then what waits for them.
  Notification closed;
  s.master->CloseAll([&closed](Status) { closed.Notify(); });
  closed.WaitFor(kLastReplies);
  // A call that another task kept waiting replies only now, on the queue that goes with the polls.
  WaitForCalls(s, kLastReplies);
  s.peers->Stop();
  s.loop.reset();
  {
    MutexLock lock(&s.ending_mu);
    s.is_ending = true;
  }
  s.compile_pool.reset();
  s.pool.reset();
  s.polls.reset();
}

const std::string& Server::target() const { return state_->target; }
int Server::port() const { return state_->port; }

std::unique_ptr<MasterClient> Server::NewClient(const tensorflow::ConfigProto& config) {
  return std::make_unique<MasterClient>(state_->master.get(), &state_->stopping, config);
}

void Server::Stop(std::chrono::milliseconds deadline) {
  State& s = *state_;
  if (s.is_stopped) return;
  s.is_stopped = true;
  s.health.set_serving(false);
  s.master_service->StartDraining();
  s.worker_service->StartDraining();
  WaitForCalls(s, deadline);
  const Status why = Unavailable("the server ", s.worker->task(), " is shutting down");
  s.master_service->CancelCalls(why);
  s.worker_service->CancelCalls(why);
  s.stopping.StartCancel(why);
  if (s.tensor_streams != nullptr) s.tensor_streams->CancelCalls(why);
  WaitForCalls(s, kHangUpTime);
  if (s.tensor_streams != nullptr) s.tensor_streams->HangUp();
  // Not to be left to gRPC: it waits until every idle client has hung up.
  s.server->Shutdown(std::chrono::system_clock::now() + std::min(deadline, kHangUpTime));
}

}  // namespace tensorfleet::rpc
