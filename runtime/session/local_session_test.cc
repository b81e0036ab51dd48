#include "runtime/session/local_session.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <thread>

#include "runtime/base/mutex.h"
#include "runtime/kernels/cpu/core.h"
#include "runtime/kernels/kernel.h"
#include "runtime/ops/all.h"

namespace tensorfleet {
namespace {

using ::testing::HasSubstr;

tensorflow::GraphDef GraphOf(const char* nodes) {
  tensorflow::GraphDef def;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(nodes, &def)) << nodes;
  return def;
}

constexpr char kNegOfPlaceholder[] = R"(
  node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
  node { name: "y" op: "Neg" input: "x" attr { key: "T" value { type: DT_FLOAT } } })";

class LocalSessionTest : public ::testing::Test {
 protected:
  LocalSessionTest() : session_(LocalSession::Make(&BuiltinOps(), &CoreCpuKernels()).value()) {}

  StatusOr<std::vector<float>> Run(std::vector<NamedTensor> feeds, std::vector<std::string> fetches,
                                   std::vector<std::string> targets = {}) {
    RunStepArgs args;
    args.feeds = std::move(feeds);
    args.fetches = std::move(fetches);
    args.targets = std::move(targets);
    RunStepResult result;
    TFLEET_RETURN_IF_ERROR(session_->client().Run(std::move(args), &result));
    std::vector<float> values;
    for (const NamedTensor& fetch : result.fetches) values.push_back(fetch.tensor.scalar<float>());
    return values;
  }
  static NamedTensor Feed(const char* name, float value) { return {name, Tensor::Scalar(value)}; }

  std::unique_ptr<LocalSession> session_;
};

TEST_F(LocalSessionTest, RunsWhatIsFetched) {
  ASSERT_TRUE(session_->client().Extend(GraphOf(kNegOfPlaceholder)).ok());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Run({Feed("x:0", 2)}, {"y:0"})->at(0), -2.0f);
}

TEST(LocalSessionDevices, AreAsManyAsTheConfigAsksFor) {
  tensorflow::ConfigProto config;
  (*config.mutable_device_count())["CPU"] = 3;
  (*config.mutable_device_count())["GPU"] = 0;
  const auto session = LocalSession::Make(&BuiltinOps(), &CoreCpuKernels(), config).value();
  const auto attr = R"(attr { key: "T" value { type: DT_FLOAT } })";
  ASSERT_TRUE(session->client()
                  .Extend(GraphOf(absl::StrCat(R"(
    node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
    node { name: "y" op: "Neg" input: "x" device: "/cpu:2" )",
                                               attr, R"( }
    node { name: "z" op: "Neg" input: "y" device: "/cpu:1" )",
                                               attr, " }")
                                      .c_str()))
                  .ok());
  RunStepArgs args;
  args.feeds = {{"x:0", Tensor::Scalar(2.0f)}};
  args.fetches = {"z:0"};
  RunStepResult result;
  ASSERT_EQ(session->client().Run(std::move(args), &result), OkStatus());
  EXPECT_EQ(result.fetches[0].tensor.scalar<float>(), 2);

  (*config.mutable_device_count())["CPU"] = 0;
  EXPECT_EQ(LocalSession::Make(&BuiltinOps(), &CoreCpuKernels(), config).status(),
            InvalidArgument("device_count of CPU must be between 1 and 1024, not 0"));
}

TEST_F(LocalSessionTest, GivesEachDistinctFetchOnceInTheOrderOfTheRequest) {
  ASSERT_TRUE(session_->client().Extend(GraphOf(kNegOfPlaceholder)).ok());
  ASSERT_TRUE(session_->client()
                  .Extend(GraphOf(R"(
    node { name: "a" op: "Neg" input: "y" attr { key: "T" value { type: DT_FLOAT } } })"))
                  .ok());
  EXPECT_EQ(*Run({Feed("x:0", 2)}, {"y:0", "a:0", "y:0"}), (std::vector<float>{-2, 2}));
}

TEST_F(LocalSessionTest, NamesWhatIsWrongWithARequest) {
  ASSERT_TRUE(session_->client().Extend(GraphOf(kNegOfPlaceholder)).ok());
  const auto error = [&](std::vector<NamedTensor> feeds, std::vector<std::string> fetches) {
    return std::string(Run(std::move(feeds), std::move(fetches)).status().message());
  };
  EXPECT_THAT(error({}, {}), HasSubstr("Must specify at least one target to fetch or execute."));
  EXPECT_THAT(error({}, {"z:0"}), HasSubstr("FetchOutputs node z:0: not found"));
  EXPECT_THAT(error({}, {"y:3"}), HasSubstr("output index too large, must be < 1"));
  EXPECT_THAT(error({Feed("q:0", 1)}, {"y:0"}), HasSubstr("unable to find feed output q:0"));
  EXPECT_THAT(error({Feed("x:0", 1), Feed("x:0", 2)}, {"y:0"}), HasSubstr("fed more than once"));
  EXPECT_THAT(error({{"x:0", Tensor::Scalar(int32_t{1})}}, {"y:0"}),
              HasSubstr("Output 0 of type int32 does not match declared output type float for node "
                        "{{node _recv_x_0}}"));
  EXPECT_THAT(error({}, {"y:0"}), HasSubstr("You must feed a value for placeholder tensor 'x'"));
}

TEST_F(LocalSessionTest, AFetchOfTheBranchThatWasNotTakenIsAnError) {
  ASSERT_TRUE(session_->client().Extend(GraphOf(kNegOfPlaceholder)).ok());
  ASSERT_TRUE(session_->client()
                  .Extend(GraphOf(R"(
    node { name: "p" op: "Placeholder" attr { key: "dtype" value { type: DT_BOOL } } }
    node { name: "s" op: "Switch" input: "y" input: "p" attr { key: "T" value { type: DT_FLOAT } } })"))
                  .ok());
  const NamedTensor p{"p:0", Tensor::Scalar(true)};
  EXPECT_EQ(Run({Feed("x:0", 2), p}, {"s:1"})->at(0), -2.0f);
  const Status dead = Run({Feed("x:0", 2), p}, {"s:0", "s:1"}).status();
  EXPECT_TRUE(absl::IsInternal(dead)) << dead;
  EXPECT_THAT(std::string(dead.message()), HasSubstr("tensor returned for s:0 was not valid"));
}

TEST_F(LocalSessionTest, RefusesANodeThatIsThereAlready) {
  ASSERT_TRUE(session_->client().Extend(GraphOf(kNegOfPlaceholder)).ok());
  EXPECT_THAT(std::string(session_->client().Extend(GraphOf(kNegOfPlaceholder)).message()),
              HasSubstr("includes node 'x', which was created by a previous call"));
}

TEST_F(LocalSessionTest, RunsStepsOfManyThreads) {
  ASSERT_TRUE(session_->client().Extend(GraphOf(kNegOfPlaceholder)).ok());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        EXPECT_EQ(Run({Feed("x:0", static_cast<float>(t + i))}, {"y:0"})->at(0), -1.0f * (t + i));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(LocalSessionTest, PartialRunsTakeFeedsInInstalments) {
  ASSERT_TRUE(session_->client()
                  .Extend(GraphOf(R"(
    node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
    node { name: "z" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
    node { name: "y" op: "Neg" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
    node { name: "w" op: "Neg" input: "z" attr { key: "T" value { type: DT_FLOAT } } })"))
                  .ok());
  const std::string handle =
      session_->client().PartialRunSetup({"x:0", "z:0"}, {"y:0", "w:0"}, {}).value();
  RunStepArgs first;
  first.partial_run_handle = handle;
  first.fetches = {"w:0"};
  RunStepResult result;
  EXPECT_THAT(std::string(session_->client().Run(first, &result).message()),
              HasSubstr("Fetch w:0 can't be computed from the feeds that have been fed so far."));
  first.fetches = {"y:0"};
  first.feeds = {Feed("x:0", 4)};
  ASSERT_TRUE(session_->client().Run(first, &result).ok());
  EXPECT_EQ(result.fetches[0].tensor.scalar<float>(), -4.0f);
  EXPECT_FALSE(result.has_metadata);
  RunStepArgs second;
  second.partial_run_handle = handle;
  second.feeds = {Feed("z:0", 5)};
  second.fetches = {"w:0"};
  RunStepResult last;
  ASSERT_TRUE(session_->client().Run(second, &last).ok());
  EXPECT_EQ(last.fetches[0].tensor.scalar<float>(), -5.0f);
  EXPECT_TRUE(last.has_metadata);
  EXPECT_THAT(std::string(session_->client().Run(second, &last).message()),
              HasSubstr("Must run PartialRunSetup before performing partial runs"));
}

TEST_F(LocalSessionTest, CallablesMayReplaceAnEdge) {
  ASSERT_TRUE(session_->client().Extend(GraphOf(kNegOfPlaceholder)).ok());
  ASSERT_TRUE(session_->client()
                  .Extend(GraphOf(R"(
    node { name: "a" op: "Neg" input: "y" attr { key: "T" value { type: DT_FLOAT } } })"))
                  .ok());
  tensorflow::CallableOptions options;
  options.add_feed("x:0");
  options.add_fetch("a:0");
  options.add_fetch("a:0");
  auto* connection = options.add_tensor_connection();
  connection->set_from_tensor("x:0");
  connection->set_to_tensor("y:0");
  const int64_t handle = session_->client().MakeCallable(options).value();
  EXPECT_EQ(handle, 0);
  const auto values = session_->client().RunCallable(handle, {Tensor::Scalar(3.0f)});
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_EQ(values->at(0).scalar<float>(), -3.0f);
  EXPECT_EQ(values->at(1).scalar<float>(), -3.0f);
  EXPECT_EQ(session_->client().RunCallable(handle, {}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(session_->client().RunCallable(55, {}).status().message()),
              HasSubstr("No such callable handle: 55"));
}

// Passes its input on when it is let go, deaf to everything else.
struct Deaf final : AsyncKernel {
  static inline Mutex mu;
  static inline std::function<void()> let_go ABSL_GUARDED_BY(mu);
  void ComputeAsync(KernelContext& ctx, Done done) const override {
    MutexLock lock(&mu);
    let_go = [&ctx, done = std::move(done)] {
      ctx.SetOutput(0, ctx.TakeInput(0));
      done(OkStatus());
    };
  }
};

TEST(StepRun, IsAnsweredAfterItsDeadlineThoughAKernelGoesOn) {
  OpRegistry ops;
  RegisterAllOps(ops);
  ops.Add(OpSchemaBuilder("Deaf").Input("x: float").Output("y: float"));
  KernelRegistry kernels;
  RegisterCoreCpuKernels(kernels);
  kernels.Add<Deaf>("Deaf", kCpu);
  const auto session = LocalSession::Make(&ops, &kernels).value();
  ASSERT_TRUE(session->client()
                  .Extend(GraphOf(R"(
    node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
    node { name: "y" op: "Deaf" input: "x" })"))
                  .ok());
  RunStepArgs args;
  args.feeds = {{"x:0", Tensor::Scalar(1.0f)}};
  args.fetches = {"y:0"};
  args.options.set_timeout_in_ms(100);
  RunStepResult result;
  const Status late = session->client().Run(std::move(args), &result);
  EXPECT_TRUE(absl::IsDeadlineExceeded(late)) << late;
  EXPECT_TRUE(result.fetches.empty());
  std::function<void()> let_go;
  {
    MutexLock lock(&Deaf::mu);
    let_go = std::move(Deaf::let_go);
  }
  ASSERT_TRUE(let_go);  // it still ran
  let_go();
}

TEST_F(LocalSessionTest, AClosedSessionRefusesSteps) {
  ASSERT_TRUE(session_->client().Extend(GraphOf(kNegOfPlaceholder)).ok());
  ASSERT_TRUE(session_->client().Close().ok());
  EXPECT_EQ(Run({Feed("x:0", 2)}, {"y:0"}).status().code(), absl::StatusCode::kAborted);
}

}  // namespace
}  // namespace tensorfleet
