// Callables and partial runs, in this process and on a server.
#include "runtime/client/prepared_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "runtime/client/ops.h"
#include "runtime/client/session.h"
#include "runtime/client/testing/cluster.h"

namespace tensorfleet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing_client::TestCluster;

enum class Where { kHere, kOnAServer };

class PreparedStep : public ::testing::TestWithParam<Where> {
 protected:
  PreparedStep() {
    if (GetParam() == Where::kOnAServer) cluster_.emplace(std::map<std::string, int>{{"local", 1}});
    session_ = cluster_ ? cluster_->Open("local") : Session::Open("").value();
  }
  static Tensor Number(float value) { return Tensor::Scalar(value); }
  static std::vector<float> Values(const StatusOr<std::vector<Tensor>>& result) {
    EXPECT_TRUE(result.ok()) << result.status();
    std::vector<float> values;
    if (!result.ok()) return values;
    for (const Tensor& tensor : *result) values.push_back(tensor.scalar<float>());
    return values;
  }
  static std::string Error(const StatusOr<std::vector<Tensor>>& result) {
    return std::string(result.status().message());
  }

  std::optional<TestCluster> cluster_;
  Scope root_;
  Output a_ = ops::Placeholder(root_.Named("a"), DType::kFloat);
  Output b_ = ops::Placeholder(root_.Named("b"), DType::kFloat);
  Output minus_ = ops::Neg(root_.Named("minus"), a_);
  Output difference_ = ops::Sub(root_.Named("difference"), a_, b_);
  std::unique_ptr<Session> session_;
};

TEST_P(PreparedStep, ACallableTakesFeedsAndGivesFetchesInItsOrder) {
  const auto callable = session_->MakeCallable(root_, {b_, a_}, {difference_, minus_, difference_});
  ASSERT_TRUE(callable.ok()) << callable.status();
  for (float i = 0; i < 3; ++i) {
    EXPECT_THAT(Values((*callable)->Run({Number(i), Number(5)})), ElementsAre(5 - i, -5, 5 - i));
  }
}

TEST_P(PreparedStep, ACallableTracesWhenItsOptionsSaySo) {
  tensorflow::RunOptions options;
  options.set_trace_level(tensorflow::RunOptions::FULL_TRACE);
  const auto callable = *session_->MakeCallable(root_, {a_}, {minus_}, {}, options);
  tensorflow::RunMetadata trace;
  ASSERT_TRUE(callable->Run({Number(1)}, &trace).ok());
  EXPECT_EQ(trace.step_stats().dev_stats_size(), 1);
}

TEST_P(PreparedStep, ACallableSeesNodesThatWereAddedBeforeIt) {
  ASSERT_TRUE(session_->Run(root_, {{a_, Number(1)}}, {minus_}).ok());
  const Output plus = ops::Neg(root_, minus_);
  EXPECT_THAT(Values((*session_->MakeCallable(root_, {a_}, {plus}))->Run({Number(7)})),
              ElementsAre(7));
}

TEST_P(PreparedStep, ACallableMayRunOnManyThreads) {
  const auto callable = *session_->MakeCallable(root_, {a_}, {minus_});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const float value = static_cast<float>(t);
      for (int i = 0; i < 50; ++i) {
        EXPECT_THAT(Values(callable->Run({Number(value)})), ElementsAre(-value));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_P(PreparedStep, ACallableNeedsAllItsFeeds) {
  const auto callable = *session_->MakeCallable(root_, {a_, b_}, {difference_});
  const auto result = callable->Run({Number(1)});
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument) << result.status();
  EXPECT_THAT(Values(callable->Run({Number(1), Number(2)})), ElementsAre(-1));
}

TEST_P(PreparedStep, ACallableOfASessionThatIsClosedFails) {
  const auto callable = *session_->MakeCallable(root_, {a_}, {minus_});
  session_ = nullptr;
  EXPECT_EQ(callable->Run({Number(1)}).status().code(), absl::StatusCode::kAborted);
}

TEST_P(PreparedStep, APartialRunTakesItsFeedsInInstalments) {
  const auto run = session_->StartPartialRun(root_, {a_, b_}, {minus_, difference_});
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_THAT(Error((*run)->Run({}, {difference_})),
              HasSubstr("can't be computed from the feeds that have been fed so far"));
  EXPECT_THAT(Values((*run)->Run({{a_, Number(3)}}, {minus_})), ElementsAre(-3));
  EXPECT_THAT(Error((*run)->Run({{a_, Number(3)}}, {})), HasSubstr("a:0 has already been fed"));
  EXPECT_THAT(Values((*run)->Run({{b_, Number(1)}}, {difference_})), ElementsAre(2));
  EXPECT_THAT(Error((*run)->Run({}, {minus_})), HasSubstr("Must run PartialRunSetup"));
}

TEST_P(PreparedStep, PartialRunsOfOneSessionAreApart) {
  const auto first = *session_->StartPartialRun(root_, {a_, b_}, {difference_});
  const auto second = *session_->StartPartialRun(root_, {a_, b_}, {difference_});
  EXPECT_THAT(Values(first->Run({{a_, Number(10)}}, {})), ElementsAre());
  EXPECT_THAT(Values(second->Run({{a_, Number(20)}}, {})), ElementsAre());
  EXPECT_THAT(Values(first->Run({{b_, Number(1)}}, {difference_})), ElementsAre(9));
  EXPECT_THAT(Values(second->Run({{b_, Number(1)}}, {difference_})), ElementsAre(19));
}

INSTANTIATE_TEST_SUITE_P(Sessions, PreparedStep, ::testing::Values(Where::kHere, Where::kOnAServer),
                         [](const auto& info) {
                           return info.param == Where::kHere ? "Here" : "OnAServer";
                         });

}  // namespace
}  // namespace tensorfleet
