#include "runtime/session/local_session.h"

#include <algorithm>
#include <thread>

#include "runtime/base/thread_pool.h"
#include "runtime/base/timer_queue.h"
#include "runtime/session/cluster/device_count.h"
#include "runtime/session/master/master.h"
#include "runtime/session/worker/worker.h"

namespace tensorfleet {
namespace {

int NumThreads(const tensorflow::ConfigProto& config) {
  // One pool does both kinds of work.
  if (config.intra_op_parallelism_threads() > 0) return config.intra_op_parallelism_threads();
  if (config.inter_op_parallelism_threads() > 0) return config.inter_op_parallelism_threads();
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace

// What comes later goes first.
struct LocalSession::State {
  TimerQueue timers;
  std::unique_ptr<Worker> worker;
  std::unique_ptr<Master> master;
  // Its threads are joined before what they use goes.
  std::unique_ptr<ThreadPool> pool;
  std::unique_ptr<ThreadPool> compile_pool;
  std::unique_ptr<MasterClient> client;  // running steps end before their threads do
};

LocalSession::LocalSession(std::unique_ptr<State> state) : state_(std::move(state)) {}

LocalSession::~LocalSession() = default;

MasterClient& LocalSession::client() { return *state_->client; }

StatusOr<std::unique_ptr<LocalSession>> LocalSession::Make(const OpRegistry* ops,
                                                           const KernelRegistry* kernels,
                                                           const tensorflow::ConfigProto& config) {
  TFLEET_ASSIGN_OR_RETURN(const int cpu_devices, CpuDevicesIn(config));
  auto state = std::make_unique<State>();
  state->pool = std::make_unique<ThreadPool>("compute", NumThreads(config));
  state->compile_pool = std::make_unique<ThreadPool>("compile", 1);
  Worker::Options worker;
  worker.task = DeviceName::Task("localhost", 0).TaskString();
  worker.pool = state->pool.get();
  worker.cpu_devices = cpu_devices;
  worker.ops = ops;
  worker.kernels = kernels;
  state->worker = std::make_unique<Worker>(std::move(worker));
  Master::Options master;
  master.worker = state->worker.get();
  master.timers = &state->timers;
  master.compile_pool = state->compile_pool.get();
  master.name_tasks_in_errors = false;
  state->master = std::make_unique<Master>(std::move(master));
  state->client = std::make_unique<MasterClient>(state->master.get(), nullptr, config);
  // Opens it: what is wrong with the config is said here.
  TFLEET_RETURN_IF_ERROR(state->client->Extend({}));
  return std::unique_ptr<LocalSession>(new LocalSession(std::move(state)));
}

}  // namespace tensorfleet
