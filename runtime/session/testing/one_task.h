// A worker and a master of one task in this process, whose parts a test can reach. For tests only.
#pragma once

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <ostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/base/thread_pool.h"
#include "runtime/base/timer_queue.h"
#include "runtime/kernels/cpu/core.h"
#include "runtime/ops/all.h"
#include "runtime/session/master/master.h"
#include "runtime/session/master/master_client.h"
#include "runtime/session/metrics.h"
#include "runtime/session/worker/worker.h"

namespace tensorfleet {

inline tensorflow::GraphDef GraphOf(const std::string& nodes) {
  tensorflow::GraphDef def;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(nodes, &def)) << nodes;
  return def;
}

// x is fed; n0 = -x, n1 = -n0, ... Each may be fetched.
inline tensorflow::GraphDef ChainOf(int length, const std::string& device = "") {
  std::string text = R"(node { name: "x" op: "Placeholder" device: ")" + device +
                     R"(" attr { key: "dtype" value { type: DT_FLOAT } } })";
  std::string last = "x";
  for (int i = 0; i < length; ++i) {
    const std::string name = "n" + std::to_string(i);
    text += "node { name: '" + name + "' op: 'Neg' input: '" + last + "' device: '" + device +
            "' attr { key: 'T' value { type: DT_FLOAT } } }";
    last = name;
  }
  return GraphOf(text);
}

// What the process keeps; gauges only.
struct Kept {
  static Kept Now() {
    const Metrics& m = ServerMetrics();
    return {m.sessions,        m.prepared_graphs, m.callables,   m.partial_runs,
            m.worker_sessions, m.worker_graphs,   m.worker_steps};
  }
  int64_t sessions, prepared_graphs, callables, partial_runs, worker_sessions, worker_graphs,
      worker_steps;
  friend bool operator==(const Kept&, const Kept&) = default;
  friend void PrintTo(const Kept& k, std::ostream* out) {
    *out << k.sessions << " sessions, " << k.prepared_graphs << " graphs, " << k.callables
         << " callables, " << k.partial_runs << " partial runs; at the worker " << k.worker_sessions
         << " sessions, " << k.worker_graphs << " graphs, " << k.worker_steps << " steps";
  }
  // A thread that has just answered may still hold what it ran.
  static Kept Settled(const Kept& expected) {
    for (int i = 0; i < 10'000 && Now() != expected; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return Now();
  }
};

class OneTask {
 public:
  explicit OneTask(Master::Options master = {}, Worker::Options worker = {}) {
    worker.task = "/job:local/replica:0/task:0";
    worker.pool = &pool;
    worker.compile_pool = &compile_pool;
    worker.ops = &BuiltinOps();
    if (worker.kernels == nullptr) worker.kernels = &CoreCpuKernels();
    worker_ = std::make_unique<Worker>(std::move(worker));
    master.worker = worker_.get();
    master.timers = &timers;
    master.compile_pool = &compile_pool;
    master_ = std::make_unique<Master>(std::move(master));
  }
  Master& master() { return *master_; }
  Worker& worker() { return *worker_; }
  // A session with `graph`.
  std::unique_ptr<MasterClient> Open(const tensorflow::GraphDef& graph) {
    auto client = std::make_unique<MasterClient>(master_.get(), nullptr, tensorflow::ConfigProto());
    EXPECT_EQ(client->Extend(graph), OkStatus());
    return client;
  }

  TimerQueue timers;

 private:
  std::unique_ptr<Worker> worker_;
  std::unique_ptr<Master> master_;

 public:
  ThreadPool pool{"compute", 2};
  ThreadPool compile_pool{"compile", 1};
};

// One step that feeds x, if `x` is given, and fetches what is named.
inline Status RunStep(MasterClient& client, std::vector<std::string> fetches, bool feed_x = true,
                      int64_t timeout_ms = 0) {
  RunStepArgs args;
  args.fetches = std::move(fetches);
  if (feed_x) args.feeds.push_back({"x:0", Tensor::Scalar(1.0f)});
  args.options.set_timeout_in_ms(timeout_ms);
  RunStepResult result;
  return client.Run(std::move(args), &result);
}

}  // namespace tensorfleet
