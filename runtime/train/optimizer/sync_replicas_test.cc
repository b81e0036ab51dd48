// Synchronous replicas in one process: each worker a thread with a graph of its own variables'
// users, all on one session.
#include "runtime/train/optimizer/sync_replicas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "runtime/client/ops.h"
#include "runtime/client/session.h"
#include "runtime/train/optimizer/optimizers.h"

namespace tensorfleet::train {
namespace {

using ::testing::HasSubstr;

// One weight w that starts at 0; a worker's loss is (w - target) * scale, so its gradient is what
// is fed for `scale`.
struct Model {
  explicit Model(SyncReplicas::Options options, bool sparse = false) : sync(options) {
    w = variables.Make(root.Named("w"), sparse ? Shape({3, 1}) : Shape(), Zeros());
    scale = ops::Placeholder(root.Named("scale"), DType::kFloat);
    const Output rows = Const(root, Tensor::Vector<int32_t>({1}));
    const Output read = sparse ? ops::ResourceGather(root, w.handle, rows, DType::kFloat) : w.value;
    train = sync.Minimize(root, ops::Mul(root, read, scale), descent, variables);
    init = variables.InitOp(root);
    local_init = variables.LocalInitOp(root);
    step = variables.GlobalStep(root).value;
  }

  Status Do(const Operation& op, const Session::Feeds& feeds = {}) {
    tensorflow::RunOptions options;
    options.set_timeout_in_ms(20000);
    return session->Run(root, feeds, {}, {op}, options).status();
  }
  Status Work(float gradient) { return Do(train, {{scale, Tensor::Scalar(gradient)}}); }
  void Initialize() {
    ASSERT_TRUE(root.status().ok()) << root.status();
    for (const Operation& op : {init, local_init, sync.chief_init_op(), sync.init_tokens_op()}) {
      const Status done = Do(op);
      ASSERT_TRUE(done.ok()) << done;
    }
  }
  float Weight() { return (*session->Run(root, {}, {w.value}))[0].values<float>().back(); }
  int64_t Step() { return (*session->Run(root, {}, {step}))[0].scalar<int64_t>(); }

  Scope root;
  Variables variables;
  GradientDescent descent{1.0};
  SyncReplicas sync;
  Variable w;
  Output scale, step;
  Operation train, init, local_init;
  std::unique_ptr<Session> session = *Session::Open("");
};

TEST(SyncReplicas, ApplyTheAverageOnce) {
  Model model({.replicas_to_aggregate = 2});
  model.Initialize();
  // The first tokens let both go on; the gradients are 2 and 4.
  ASSERT_TRUE(model.Work(2).ok());
  ASSERT_TRUE(model.Work(4).ok());
  const Status done = model.Do(model.sync.chief_op());
  ASSERT_TRUE(done.ok()) << done;
  EXPECT_EQ(model.Weight(), -3);
  EXPECT_EQ(model.Step(), 1);
}

TEST(SyncReplicas, WaitForAsManyAsAreAggregated) {
  Model model({.replicas_to_aggregate = 2});
  model.Initialize();
  ASSERT_TRUE(model.Work(2).ok());
  Status chief;
  std::thread waiting([&] { chief = model.Do(model.sync.chief_op()); });
  ASSERT_TRUE(model.Work(6).ok());
  waiting.join();
  EXPECT_TRUE(chief.ok()) << chief;
  EXPECT_EQ(model.Weight(), -4);
}

TEST(SyncReplicas, DropWhatABackupWorkerBringsTooLate) {
  Model model({.replicas_to_aggregate = 1, .total_replicas = 2});
  model.Initialize();
  ASSERT_TRUE(model.Work(1).ok());
  ASSERT_TRUE(model.Do(model.sync.chief_op()).ok());
  EXPECT_EQ(model.Weight(), -1);
  // This worker got its token before the step was over, so it still works for step 0.
  ASSERT_TRUE(model.Work(100).ok());
  // It has the token of step 1 now, and the next gradient counts.
  ASSERT_TRUE(model.Work(2).ok());
  ASSERT_TRUE(model.Do(model.sync.chief_op()).ok());
  EXPECT_EQ(model.Weight(), -3);
  EXPECT_EQ(model.Step(), 2);
}

TEST(SyncReplicas, AverageRows) {
  Model model({.replicas_to_aggregate = 2}, /*sparse=*/true);
  model.Initialize();
  ASSERT_TRUE(model.Work(2).ok());
  ASSERT_TRUE(model.Work(4).ok());
  const Status done = model.Do(model.sync.chief_op());
  ASSERT_TRUE(done.ok()) << done;
  const auto values = model.session->Run(model.root, {}, {model.w.value});
  EXPECT_EQ((*values)[0].ToString(), "float [3,1]: 0 -3 0");
}

TEST(SyncReplicas, DescribeTheChiefsLoop) {
  Model model({.replicas_to_aggregate = 1});
  const tensorflow::QueueRunnerDef runner = model.sync.queue_runner();
  EXPECT_EQ(runner.queue_name(), "sync_replicas/sync_token_q");
  ASSERT_EQ(runner.enqueue_op_name_size(), 1);
  EXPECT_NE(model.root.graph().FindNode(runner.enqueue_op_name(0)), nullptr);
  EXPECT_NE(model.root.graph().FindNode(runner.cancel_op_name()), nullptr);
}

TEST(SyncReplicas, RefuseToAggregateNothing) {
  Model model({.replicas_to_aggregate = 0});
  EXPECT_THAT(std::string(model.root.status().message()), HasSubstr("replicas_to_aggregate"));
}

}  // namespace
}  // namespace tensorfleet::train
