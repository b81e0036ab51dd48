#include "runtime/train/session/queue_runners.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/client/ops.h"

namespace tensorfleet::train {
namespace {

// A queue that `enqueue` fills with the numbers below a limit, or with what fails.
class QueueRunnersTest : public ::testing::Test {
 protected:
  void Build(int64_t limit) {
    const Output queue = ops::FIFOQueueV2(root_.Named("queue"), {DType::kInt64});
    const Output counter = ops::VariableV2(root_.Named("counter"), PartialShape({}), DType::kInt64);
    ops::Assign(root_.Named("init"), counter, Const(root_, int64_t{0}));
    const Output next = ops::CountUpTo(root_.Named("next"), counter, limit);
    ops::QueueEnqueueV2(root_.Named("enqueue"), queue, {next});
    ops::QueueCloseV2(root_.Named("close"), queue);
    ops::QueueCloseV2Attrs cancel;
    cancel.cancel_pending_enqueues = true;
    ops::QueueCloseV2(root_.Named("cancel"), queue, cancel);
    dequeue_ = ops::QueueDequeueV2(root_.Named("dequeue"), queue, {DType::kInt64})[0];
    def_.set_queue_name("queue");
    def_.add_enqueue_op_name("enqueue");
    def_.set_close_op_name("close");
    def_.set_cancel_op_name("cancel");
    session_ = *Session::Open("");
    ASSERT_TRUE(session_->Extend(*root_.ToGraphDef()).ok());
  }
  Status Run(const std::string& target) {
    StepRequest request;
    request.targets = {target};
    return session_->Run(request).status();
  }
  StatusOr<int64_t> Dequeue() {
    StepRequest request;
    request.fetches = {dequeue_.name()};
    TFLEET_ASSIGN_OR_RETURN(const std::vector<Tensor> values, session_->Run(request));
    return values[0].scalar<int64_t>();
  }

  Scope root_;
  Output dequeue_;
  tensorflow::QueueRunnerDef def_;
  std::unique_ptr<Session> session_;
};

TEST_F(QueueRunnersTest, TheQueueIsClosedWhenTheInputEnds) {
  Build(3);
  ASSERT_TRUE(Run("init").ok());
  QueueRunners runners({def_}, session_.get());
  for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(*Dequeue(), i);
  EXPECT_EQ(Dequeue().status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(runners.status(), OkStatus());
}

TEST_F(QueueRunnersTest, AnErrorIsKeptAndNobodyWaitsForTheQueue) {
  Build(3);
  QueueRunners runners({def_}, session_.get());  // the counter has no value
  EXPECT_FALSE(Dequeue().ok());
  EXPECT_EQ(runners.status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(QueueRunnersTest, ClosingTheSessionEndsThreadsThatWaitForRoom) {
  Build(1 << 20);
  ASSERT_TRUE(Run("init").ok());
  auto runners =
      std::make_unique<QueueRunners>(std::vector<tensorflow::QueueRunnerDef>{def_}, session_.get());
  EXPECT_EQ(*Dequeue(), 0);
  runners->Stop();
  ASSERT_TRUE(session_->Close().ok());
  runners.reset();  // returns
}

}  // namespace
}  // namespace tensorfleet::train
