// Whole jobs inside the test's process: real servers, real files, the counting model.
#include "runtime/train/job/train_task.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "runtime/client/ops.h"
#include "runtime/client/testing/cluster.h"
#include "runtime/io/checkpoint_reader.h"
#include "runtime/io/testing/await_files.h"
#include "runtime/io/testing/scratch_dir.h"
#include "runtime/train/checkpoint/checkpoint_state.h"
#include "runtime/train/job/model_description.h"
#include "runtime/train/testing/counting_model.h"
#include "runtime/train/testing/job.h"
#include "runtime/train/testing/sync_model.h"

namespace tensorfleet::train {
namespace {

using ::testing::HasSubstr;
using testing_client::LocalCluster;

class TrainTask : public ::testing::Test {
 protected:
  TrainOptions Options(int64_t max_steps) {
    TrainOptions options;
    options.checkpoint_dir = scratch_.path();
    options.max_steps = max_steps;
    options.save_steps = 5;
    options.grace = std::chrono::milliseconds(500);
    return options;
  }
  // "" while there is no checkpoint.
  std::string Latest() {
    return LatestCheckpoint(scratch_.path()).value_or(std::nullopt).value_or("");
  }
  // Waits for a checkpoint of at least this step.
  bool HasReached(int64_t step) {
    return AwaitFiles(scratch_.path(), [&] { return StepOfCheckpoint(Latest()) >= step; });
  }
  std::string Saved(const std::string& name) {
    const auto reader = CheckpointReader::Open(FileSystem::Local(), Latest());
    if (!reader.ok()) return std::string(reader.status().message());
    const auto value = (*reader)->Read(name);
    return value.ok() ? value->ToString() : std::string(value.status().message());
  }
  double Number(const std::string& name) {
    const auto reader = CheckpointReader::Open(FileSystem::Local(), Latest());
    if (!reader.ok()) return NAN;
    const StatusOr<Tensor> value = (*reader)->Read(name);
    if (!value.ok()) return NAN;
    return value->dtype() == DType::kInt64 ? static_cast<double>(value->scalar<int64_t>())
                                           : value->scalar<float>();
  }
  ScratchDir scratch_;
};

TEST_F(TrainTask, AloneItTrainsToTheLastStepAndSaves) {
  TaskThread alone(LocalCluster({{"local", 1}}), "local", 0, CountingModel(), Options(12));
  EXPECT_EQ(alone.Wait(), OkStatus());
  EXPECT_EQ(Saved("global_step"), "int64 []: 12");
  EXPECT_EQ(Saved("w"), "float [2]: 12 12");
}

TEST_F(TrainTask, ASecondRunGoesOnFromTheCheckpoint) {
  for (const int64_t last : {7, 12}) {
    TaskThread alone(LocalCluster({{"local", 1}}), "local", 0, CountingModel(true), Options(last));
    ASSERT_EQ(alone.Wait(), OkStatus());
    EXPECT_EQ(Saved("w"), absl::StrCat("float [2]: ", last, " ", last));
  }
}

TEST_F(TrainTask, ARunAfterTheLastStepDoesNothing) {
  for (int i = 0; i < 2; ++i) {
    TaskThread alone(LocalCluster({{"local", 1}}), "local", 0, CountingModel(), Options(3));
    ASSERT_EQ(alone.Wait(), OkStatus());
  }
  EXPECT_EQ(Saved("global_step"), "int64 []: 3");
}

TEST_F(TrainTask, TheChiefEndsTheJob) {
  const ClusterSpec cluster = LocalCluster({{"chief", 1}, {"ps", 2}, {"worker", 1}});
  TaskThread ps0(cluster, "ps", 0, {}, {}), ps1(cluster, "ps", 1, {}, {});
  TaskThread worker(cluster, "worker", 0, CountingModel(), Options(0));  // would never stop
  TaskThread chief(cluster, "chief", 0, CountingModel(), Options(40));
  EXPECT_EQ(chief.Wait(), OkStatus());
  EXPECT_EQ(worker.Wait(), OkStatus());
  EXPECT_EQ(ps0.Wait(), OkStatus());
  EXPECT_EQ(ps1.Wait(), OkStatus());
  EXPECT_GE(StepOfCheckpoint(Latest()), 40);
}

TEST_F(TrainTask, ARestartedParameterServerGetsBackWhatItHeldAndTheOtherKeepsIts) {
  const ClusterSpec cluster = LocalCluster({{"chief", 1}, {"ps", 2}});
  TaskThread ps0(cluster, "ps", 0, {}, {});  // holds the global step
  auto ps1 = std::make_unique<TaskThread>(cluster, "ps", 1, tensorflow::MetaGraphDef(),
                                          TrainOptions());  // holds w
  TrainOptions options = Options(100000);
  options.save_steps = 20;
  TaskThread chief(cluster, "chief", 0, CountingModel(), options);
  ASSERT_TRUE(HasReached(20));
  ps1->Stop(Cancelled("killed"));
  ps1.reset();
  const int64_t lost_at = StepOfCheckpoint(Latest());
  ps1 = std::make_unique<TaskThread>(cluster, "ps", 1, tensorflow::MetaGraphDef(), TrainOptions());
  ASSERT_TRUE(HasReached(lost_at + 40));
  chief.Stop(Cancelled("enough"));
  EXPECT_EQ(chief.Wait().code(), absl::StatusCode::kCancelled);
  // w went back to the checkpoint, at most 20 steps and those of saving; the step went on.
  const std::string w = Saved("w");
  EXPECT_THAT(w, HasSubstr("float [2]: "));
  EXPECT_NE(w, "float [2]: 0 0");
  EXPECT_GE(StepOfCheckpoint(Latest()), lost_at + 40);
}

TEST_F(TrainTask, ARestartedChiefGoesOnWithWhatTheServersHold) {
  const ClusterSpec cluster = LocalCluster({{"chief", 1}, {"ps", 1}});
  TaskThread ps(cluster, "ps", 0, {}, {});
  {
    TaskThread chief(cluster, "chief", 0, CountingModel(), Options(100000));
    ASSERT_TRUE(HasReached(10));
    chief.Stop(Cancelled("killed"));
    EXPECT_EQ(chief.Wait().code(), absl::StatusCode::kCancelled);
  }
  const int64_t held = StepOfCheckpoint(Latest());
  TaskThread chief(cluster, "chief", 0, CountingModel(), Options(held + 10));
  EXPECT_EQ(chief.Wait(), OkStatus());
  EXPECT_EQ(Saved("w"), absl::StrCat("float [2]: ", held + 10, " ", held + 10));
}

TEST_F(TrainTask, SynchronousReplicasOnSeveralServersApplyEachStepOnce) {
  // Two gradients make a step, the third worker is the spare one.
  const tensorflow::MetaGraphDef model =
      SyncModel({.replicas_to_aggregate = 2, .total_replicas = 3});
  const ClusterSpec cluster = LocalCluster({{"chief", 1}, {"ps", 2}, {"worker", 2}});
  TaskThread ps0(cluster, "ps", 0, {}, {}), ps1(cluster, "ps", 1, {}, {});
  TaskThread worker0(cluster, "worker", 0, model, Options(0));
  TaskThread worker1(cluster, "worker", 1, model, Options(0));
  TaskThread chief(cluster, "chief", 0, model, Options(30));
  EXPECT_EQ(chief.Wait(), OkStatus());
  EXPECT_EQ(worker0.Wait(), OkStatus());
  EXPECT_EQ(worker1.Wait(), OkStatus());
  // The others go on while the last checkpoint is taken, which is of two servers: the two numbers
  // in it are not of exactly the same moment.
  const double step = Number("global_step"), w = Number("w");
  EXPECT_GE(step, 30);
  EXPECT_NEAR(w, -step, 5);
}

TEST_F(TrainTask, SynchronousReplicasGoOnAfterAServerIsLost) {
  const tensorflow::MetaGraphDef model = SyncModel({.replicas_to_aggregate = 2});
  // w and its accumulator are on one server, the step counter and the tokens on the other.
  for (const int lost : {0, 1}) {
    const ClusterSpec cluster = LocalCluster({{"chief", 1}, {"ps", 2}, {"worker", 1}});
    std::unique_ptr<TaskThread> ps[2];
    for (int i : {0, 1}) {
      ps[i] =
          std::make_unique<TaskThread>(cluster, "ps", i, tensorflow::MetaGraphDef(), Options(0));
    }
    TaskThread worker(cluster, "worker", 0, model, Options(0));
    TaskThread chief(cluster, "chief", 0, model, Options(100000));
    const int64_t before = std::max<int64_t>(0, StepOfCheckpoint(Latest()));
    ASSERT_TRUE(HasReached(before + 10));
    ps[lost]->Stop(Cancelled("killed"));
    ps[lost].reset();
    const int64_t lost_at = StepOfCheckpoint(Latest());
    ps[lost] =
        std::make_unique<TaskThread>(cluster, "ps", lost, tensorflow::MetaGraphDef(), Options(0));
    EXPECT_TRUE(HasReached(lost_at + 20)) << "without ps " << lost;
    chief.Stop(Cancelled("enough"));
    EXPECT_EQ(chief.Wait().code(), absl::StatusCode::kCancelled);
  }
}

TEST_F(TrainTask, APlaceholderThatNobodyFeedsIsRefusedAtOnce) {
  tensorflow::MetaGraphDef meta = CountingModel();
  Scope root;
  ASSERT_TRUE(root.Import(meta.graph_def()).ok());
  const Output images = ops::Placeholder(root.Named("images"), DType::kFloat);
  const Operation look = ops::Print(root.Named("look"), images, {}).op();
  *meta.mutable_graph_def() = *root.ToGraphDef();
  TrainOptions options = Options(10);
  options.graph.train_ops = {"train", look.name()};
  // There is no parameter server: it does not come to looking for one.
  const ClusterSpec cluster = LocalCluster({{"chief", 1}, {"ps", 1}});
  TaskThread chief(cluster, "chief", 0, meta, options);
  const Status status = chief.Wait();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("the placeholder 'images'"));
  EXPECT_THAT(status.message(), HasSubstr("placeholder_with_default"));

  options.next_batch = [] { return MonitoredSession::Feeds{{"images:0", Tensor::Scalar(1.0f)}}; };
  TaskThread fed(LocalCluster({{"local", 1}}), "local", 0, meta, options);
  EXPECT_EQ(fed.Wait(), OkStatus());
}

TEST_F(TrainTask, ANanLossEndsTheTrainingWithAnErrorThatNamesIt) {
  tensorflow::MetaGraphDef meta = CountingModel();
  TrainOptions options = Options(10);
  Scope root;
  ASSERT_TRUE(root.Import(meta.graph_def()).ok());
  Const(root.Named("not_a_number"), NAN);
  *meta.mutable_graph_def() = *root.ToGraphDef();
  options.graph.loss = "not_a_number";
  TaskThread alone(LocalCluster({{"local", 1}}), "local", 0, meta, options);
  const Status status = alone.Wait();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("not_a_number:0 is NaN"));
}

TEST_F(TrainTask, ItGivesUpOnPeersThatNeverCome) {
  TrainOptions options = Options(10);
  options.give_up_after = std::chrono::milliseconds(100);
  TaskThread chief(LocalCluster({{"chief", 1}, {"ps", 1}}), "chief", 0, CountingModel(), options);
  EXPECT_EQ(chief.Wait().code(), absl::StatusCode::kDeadlineExceeded);
}

TEST_F(TrainTask, AnEvaluatorFollowsTheCheckpointsToTheLast) {
  TrainOptions options = Options(12);
  options.evaluation.metrics = {{"counted", "loss:0"}};
  options.evaluation.poll_period = std::chrono::milliseconds(5);
  const ClusterSpec cluster = LocalCluster({{"chief", 1}, {"evaluator", 1}, {"ps", 1}});
  TaskThread evaluator(cluster, "evaluator", 0, CountingModel(), options);
  TaskThread ps(cluster, "ps", 0, {}, {});
  TaskThread chief(cluster, "chief", 0, CountingModel(), options);
  EXPECT_EQ(chief.Wait(), OkStatus());
  EXPECT_EQ(evaluator.Wait(), OkStatus());
  EXPECT_TRUE(FileSystem::Local()->Exists(scratch_.Path("eval")));
}

}  // namespace
}  // namespace tensorfleet::train
