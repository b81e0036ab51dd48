#include "runtime/execute/executor.h"

#include <limits>
#include <thread>

#include "runtime/execute/testing/step_fixture.h"
#include "runtime/kernels/value_readers.h"

namespace tensorfleet {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ExecutorTest : public StepFixture {};

TEST_F(ExecutorTest, RunsAChain) {
  GraphText g;
  g.Value("x", 5);
  g.Add("a", "Neg", {"x"});
  g.Add("b", "Neg", {"a"});
  g.Add("c", "Add", {"b", "x"});
  g.Return(0, "c");
  EXPECT_THAT(*Run(g), ElementsAre(10));
}

TEST_F(ExecutorTest, RunsAgainWithTheSameResult) {
  GraphText g;
  g.Arg(0);
  g.Add("a", "Add", {"arg0", "arg0"});
  g.Add("b", "Add", {"a", "arg0"});
  g.Return(0, "b");
  g.Return(1, "a");
  auto executor = *Compile(g);
  for (int64_t i = 0; i < 200; ++i) {
    EXPECT_THAT(*Run(*executor, {i}, 2), ElementsAre(3 * i, 2 * i));
  }
}

TEST_F(ExecutorTest, EndsAtOnceWhenThereIsNothingToRun) {
  GraphText g;
  auto executor = *Compile(g);
  EXPECT_TRUE(Run(*executor, {}, 0).ok());
}

TEST_F(ExecutorTest, ObeysControlEdges) {
  GraphText g;
  g.Add("v", "Var");
  g.Value("one", 1);
  g.Value("two", 2);
  g.Add("first", "Assign", {"v", "one"});
  g.Add("read1", "Identity", {"v", "^first"});
  g.Add("second", "Assign", {"v", "two", "^read1"});
  g.Add("read2", "Identity", {"v", "^second"});
  g.Return(0, "read1");
  g.Return(1, "read2");
  EXPECT_THAT(*Run(g, 2), ElementsAre(1, 2));
}

TEST_F(ExecutorTest, FlushesDenormalsOnTheCallersThreadToo) {
  GraphText g;
  g.Add("f", "Flushes");
  g.Return(0, "f");
  EXPECT_THAT(*Run(g), ElementsAre(1));
  volatile float least = std::numeric_limits<float>::min();
  EXPECT_GT(least / 2, 0) << "the caller's own arithmetic is as before";
}

// Whoever waits for readers of a value hears of nodes that have ended.
TEST_F(ExecutorTest, TellsThatANodeHasLetGoOfItsInputs) {
  GraphText g;
  g.Value("x", 1);
  g.Add("a", "Neg", {"x"});
  g.Return(0, "a");
  auto executor = *Compile(g);
  int asked = 0;
  bool is_told = false;
  std::thread waits([&] {
    is_told = ValueReaders::Await([&] { return ++asked > 2; }, std::chrono::seconds(30));
  });
  while (ValueReaders::waiting() == 0) std::this_thread::yield();
  while (ValueReaders::waiting() != 0 && Run(*executor, {}, 1).ok()) {
  }
  waits.join();
  EXPECT_TRUE(is_told);
}

TEST_F(ExecutorTest, NamesTheNodeThatFailed) {
  GraphText g;
  g.Value("x", 5);
  g.Add("bad", "Fail", {"x"}).Attr("message", "broken");
  g.Add("after", "Count", {"bad"});
  g.Return(0, "after");
  const Status status = Run(g).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "broken\n\t [[{{node bad}}]]");
  EXPECT_EQ(runs(), 0);
  EXPECT_TRUE(cancellation_->is_cancelled());
}

TEST_F(ExecutorTest, WhatAKernelThrowsIsTheErrorOfItsNode) {
  const auto status_of = [&](const char* op, const char* what) {
    GraphText g;
    g.Value("x", 1);
    g.Add("bad", op, {"x"}).Attr("what", what);
    g.Return(0, "bad");
    ResetStep();
    return Run(g).status();
  };
  for (const char* op : {"Throws", "ThrowsLater"}) {
    for (const char* what : {"memory", "length"}) {
      const Status status = status_of(op, what);
      EXPECT_TRUE(absl::IsResourceExhausted(status)) << op << " " << what << ": " << status;
      EXPECT_THAT(status.message(), HasSubstr("[[{{node bad}}]]"));
    }
    const Status other = status_of(op, "the moon is down");
    EXPECT_TRUE(absl::IsInternal(other)) << other;
    EXPECT_THAT(other.message(), HasSubstr("the moon is down"));
    EXPECT_THAT(other.message(), HasSubstr("[[{{node bad}}]]"));
  }
}

TEST_F(ExecutorTest, AnAnswerThatIsDroppedOnAPoolFailsTheNode) {
  GraphText g;
  g.Value("x", 1);
  g.Add("bad", "ThrowsLater", {"x"}).Attr("what", "");
  g.Return(0, "bad");
  const Status status = Run(g).status();
  EXPECT_TRUE(absl::IsInternal(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("[[{{node bad}}]]"));
}

TEST_F(ExecutorTest, AKernelThatCannotBeMadeFailsTheGraph) {
  GraphText g;
  g.Value("x", 1);
  g.Add("bad", "Throws", {"x"}).Attr("what", "made");
  g.Return(0, "bad");
  const Status status = Compile(g).status();
  EXPECT_TRUE(absl::IsInternal(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("bad"));
}

TEST_F(ExecutorTest, RunsAgainAfterAnError) {
  GraphText g;
  g.Arg(0);
  g.Add("pred", "Positive", {"arg0"});
  g.Add("s", "Switch", {"arg0", "pred"});
  g.Add("bad", "Fail", {"s:0"}).Attr("message", "negative");
  g.Add("good", "Neg", {"s:1"});
  g.Add("m", "Merge", {"bad", "good"});
  g.Return(0, "m");
  auto executor = *Compile(g);
  for (int i = 0; i < 50; ++i) {
    ResetStep();
    EXPECT_EQ(Run(*executor, {-1}, 1).status().code(), absl::StatusCode::kInvalidArgument);
    ResetStep();
    EXPECT_THAT(*Run(*executor, {7}, 1), ElementsAre(-7));
  }
}

TEST_F(ExecutorTest, TellsOfAnOutputThatWasNotSet) {
  GraphText g;
  g.Add("f", "Forget");
  g.Return(0, "f");
  const Status status = Run(g).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), HasSubstr("Missing 0-th output from {{node f}}"));
}

TEST_F(ExecutorTest, TellsOfAnOutputOfTheWrongType) {
  GraphText g;
  g.Add("w", "WrongType");
  g.Return(0, "w");
  const Status status = Run(g).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(
      std::string(status.message()),
      HasSubstr(
          "Output 0 of type float does not match declared output type int64 for node {{node w}}"));
}

TEST_F(ExecutorTest, RefusesAnInputThatIsNotConnected) {
  auto graph = std::make_unique<Graph>(&TestOps(), nullptr);
  tensorflow::NodeDef def;
  def.set_name("n");
  def.set_op("Neg");
  ASSERT_TRUE(graph->AddNode(def).ok());
  Executor::Options options;
  options.device = device_.get();
  const Status status = Executor::Compile(std::move(graph), options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("input 0 is not connected"));
}

// References.

TEST_F(ExecutorTest, RefusesToReadAVariableThatHoldsNothing) {
  GraphText g;
  g.Add("v", "Var");
  g.Add("v/read", "Identity", {"v"});
  g.Return(0, "v/read");
  const Status status = Run(g).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(), "Attempting to use uninitialized value v\n\t [[{{node v/read}}]]");
}

TEST_F(ExecutorTest, LetsAnOpThatAllowsItSeeAnEmptyVariable) {
  GraphText g;
  g.Add("v", "Var");
  g.Add("is", "IsInit", {"v"});
  g.Return(0, "is", DType::kBool);
  EXPECT_THAT(*Run(g), ElementsAre(0));
}

TEST_F(ExecutorTest, PassesReferencesThroughSwitchAndMerge) {
  GraphText g;
  g.Add("v", "Var");
  g.Value("x", 42);
  g.Add("pred", "Positive", {"x"});
  g.Add("set", "Assign", {"v", "x"});
  g.Add("s", "RefSwitch", {"set", "pred"});
  g.Add("m", "RefMerge", {"s:0", "s:1"});
  g.Add("read", "Identity", {"m"});
  g.Return(0, "read");
  g.Return(1, "m:1", DType::kInt32);
  EXPECT_THAT(*Run(g, 2), ElementsAre(42, 1));
}

// Memory.

TEST_F(ExecutorTest, LetsTheLastConsumerHaveTheBuffer) {
  GraphText g;
  g.Add("m", "Matrix").Attr("n", 8);
  g.Add("p1", "Pointer", {"m"});
  g.Add("p2", "Pointer", {"p1"});
  g.Add("p3", "Pointer", {"p2"});
  g.Return(0, "p1:1");
  g.Return(1, "p2:1");
  g.Return(2, "p3:1");
  const std::vector<int64_t> at = *Run(g, 3);
  EXPECT_EQ(at[0], at[1]);
  EXPECT_EQ(at[0], at[2]);
}

TEST_F(ExecutorTest, KeepsABufferThatAnotherConsumerNeeds) {
  GraphText g;
  g.Add("m", "Matrix").Attr("n", 8);
  g.Add("p1", "Pointer", {"m"});
  g.Return(0, "m", DType::kFloat);
  g.Return(1, "p1", DType::kFloat);
  auto executor = *Compile(g);
  const std::vector<Tensor> results = *RunTensors(*executor, {}, 2);
  EXPECT_FALSE(results[0].SharesBufferWith(results[1]));
}

// Concurrency and asynchronous kernels.

TEST_F(ExecutorTest, RunsExpensiveNodesInParallel) {
  GraphText g;
  g.Value("x", 1);
  std::vector<std::string> all;
  for (int i = 0; i < 4; ++i) {
    all.push_back("slow" + std::to_string(i));
    g.Add(all.back(), "Slow", {"x"}).Attr("micros", 100'000);
  }
  g.Add("sum", "Sum", all);
  g.Return(0, "sum");
  const auto start = std::chrono::steady_clock::now();
  EXPECT_THAT(*Run(g), ElementsAre(4));
  EXPECT_LT(std::chrono::steady_clock::now() - start, milliseconds(350));
}

TEST_F(ExecutorTest, GoesOnWithCheapNodesWhileAnExpensiveOneRuns) {
  GraphText g;
  g.Value("x", 1);
  g.Add("slow", "Slow", {"x"}).Attr("micros", 20'000);
  g.Add("c0", "Count", {"x"});
  for (int i = 1; i < 100; ++i) {
    g.Add("c" + std::to_string(i), "Count", {"c" + std::to_string(i - 1)});
  }
  g.Add("sum", "Sum", {"slow", "c99"});
  g.Return(0, "sum");
  for (const bool caller_may_work : {false, true}) {
    caller_may_work_ = caller_may_work;
    EXPECT_THAT(*Run(g), ElementsAre(2));
  }
  EXPECT_EQ(runs(), 200);
}

TEST_F(ExecutorTest, WaitsForAsynchronousKernels) {
  GraphText g;
  g.Value("x", 3);
  std::vector<std::string> all;
  for (int i = 0; i < 16; ++i) {
    all.push_back("later" + std::to_string(i));
    g.Add(all.back(), "Later", {"x"}).Attr("micros", i % 3 * 500);
  }
  g.Add("sum", "Sum", all);
  g.Return(0, "sum");
  auto executor = *Compile(g);
  for (int i = 0; i < 20; ++i) EXPECT_THAT(*Run(*executor, {}, 1), ElementsAre(48));
}

TEST_F(ExecutorTest, AMergeLeavesAloneWhatIsStillToComeToIt) {
  GraphText g;
  g.Value("x", 3);
  g.Add("dead", "Dies", {"x"});
  g.Add("m", "Merge", {"x", "dead"});
  g.Add("c", "Count", {"m"});
  g.Return(0, "c");
  const auto result = Run(g);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(*result, ElementsAre(3));
}

TEST_F(ExecutorTest, WaitsForWhatStillRunsAfterAnError) {
  GraphText g;
  g.Value("x", 3);
  g.Add("later", "Later", {"x"}).Attr("micros", 30'000);
  g.Add("slow", "Slow", {"x"}).Attr("micros", 30'000);
  g.Add("bad", "Fail", {"x"}).Attr("message", "broken");
  g.Add("sum", "Sum", {"later", "slow", "bad"});
  g.Return(0, "sum");
  auto executor = *Compile(g);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_THAT(std::string(Run(*executor, {}, 1).status().message()), HasSubstr("node bad"));
  // Later is always under way by then.
  EXPECT_GE(std::chrono::steady_clock::now() - start, milliseconds(25));
}

TEST_F(ExecutorTest, AnErrorEndsWhatWaitsForCancellation) {
  GraphText g;
  g.Value("x", 3);
  g.Add("never", "Never", {"x"});
  g.Add("slow", "Slow", {"x"}).Attr("micros", 5'000);
  g.Add("bad", "Fail", {"slow"}).Attr("message", "root cause");
  g.Add("sum", "Sum", {"never", "bad"});
  g.Return(0, "sum");
  const Status status = Run(g).status();
  EXPECT_EQ(status.message(), "root cause\n\t [[{{node bad}}]]");
}

TEST_F(ExecutorTest, ManyStepsOfOneGraphMayRunAtOnce) {
  GraphText g;
  g.Arg(0);
  g.Add("slow", "Slow", {"arg0"}).Attr("micros", 100);
  g.Add("later", "Later", {"arg0"});
  g.Add("neg", "Neg", {"arg0"});
  g.Add("sum", "Sum", {"slow", "later", "neg"});
  g.Return(0, "sum");
  auto executor = *Compile(g);
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        std::vector<Tensor> args = {Tensor::Scalar<int64_t>(t * 1000 + i)};
        std::vector<Tensor> results(1);
        CallFrame frame{absl::MakeSpan(args), absl::MakeSpan(results)};
        CancellationManager cancellation;
        Executor::RunArgs run;
        run.step.device = device_.get();
        run.step.cancellation = &cancellation;
        run.step.frame = &frame;
        if (executor->Run(run).ok() && results[0].scalar<int64_t>() == t * 1000 + i) ++good;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 300);
}

TEST_F(ExecutorTest, KeepsFewStatesOfALargeGraphForLaterRuns) {
  GraphText g;
  g.Value("x", 3);
  std::string last = "x";
  for (int i = 0; i < 3000; ++i) {
    const std::string name = "n" + std::to_string(i);
    g.Add(name, "Identity", {last});
    last = name;
  }
  g.Add("never", "Never", {last});
  g.Return(0, "never");
  auto executor = *Compile(g);
  // As many runs at once as would be kept of a small graph.
  std::atomic<int> running{16};
  Notification all_over;
  std::vector<Tensor> results(1);
  CallFrame frame{{}, absl::MakeSpan(results)};
  for (int i = running; i > 0; --i) {
    Executor::RunArgs run;
    run.step.device = device_.get();
    run.step.cancellation = cancellation_.get();
    run.step.frame = &frame;
    executor->RunAsync(run, [&](const Status&) {
      if (--running == 0) all_over.Notify();
    });
  }
  EXPECT_EQ(executor->idle_bytes(), 0);
  cancellation_->StartCancel();
  all_over.Wait();
  EXPECT_GT(executor->idle_bytes(), 3000 * sizeof(EdgeValue));
  EXPECT_LT(executor->idle_bytes(), 512 << 10);
}

// Cancellation.

TEST_F(ExecutorTest, StopsWhenTheStepIsCancelled) {
  GraphText g;
  g.Value("x", 3);
  g.Add("never", "Never", {"x"});
  g.Return(0, "never");
  auto executor = *Compile(g);
  When([] { return waits() > 0; }, [this] { cancellation_->StartCancel(Cancelled("enough")); });
  EXPECT_EQ(Run(*executor, {}, 1).status().code(), absl::StatusCode::kCancelled);
}

TEST_F(ExecutorTest, StartsNothingInAStepThatWasCancelledBefore) {
  cancellation_->StartCancel(Cancelled("too late"));
  GraphText g;
  g.Value("x", 3);
  g.Add("c", "Count", {"x"});
  g.Return(0, "c");
  const Status status = Run(g).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(status.message(), "too late");
  EXPECT_EQ(runs(), 0);
}

TEST_F(ExecutorTest, StopsALoopThatNeverEnds) {
  GraphText g;
  g.Value("zero", 0);
  g.Value("limit", 1);
  g.CountingLoop("loop", "zero", "limit", "zero");
  g.Add("rounds", "Count", {"loop/switch:1"});
  g.Return(0, "loop/exit");
  auto executor = *Compile(g);
  on_count() = [this](int64_t rounds) {
    if (rounds == 100) cancellation_->StartCancel(DeadlineExceeded("took too long"));
  };
  const Status status = Run(*executor, {}, 1).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
}

// Transfers.

GraphText::NodeRef WithKey(GraphText::NodeRef node, const char* tensor) {
  return node.Attr("tensor_name", tensor)
      .Attr("send_device", "/job:a/replica:0/task:0/device:CPU:0")
      .Attr("recv_device", "/job:b/replica:0/task:0/device:CPU:0")
      .Attr("send_device_incarnation", int64_t{7});
}

TEST_F(ExecutorTest, SendsAndReceives) {
  GraphText g;
  g.Value("x", 3);
  WithKey(g.Add("recv", "_Recv"), "edge_1_x").Attr("tensor_type", DType::kInt64);
  g.Add("slow", "Slow", {"x"}).Attr("micros", 2000);
  WithKey(g.Add("send", "_Send", {"slow"}), "edge_1_x");
  g.Return(0, "recv");
  EXPECT_THAT(*Run(g), ElementsAre(3));
}

TEST_F(ExecutorTest, AReceiverLearnsThatAValueIsDead) {
  GraphText g;
  g.Value("x", 3);
  g.Add("pred", "Positive", {"x"});
  g.Add("s", "Switch", {"x", "pred"});
  WithKey(g.Add("send", "_Send", {"s:0"}), "edge_1_x");
  WithKey(g.Add("recv", "_Recv"), "edge_1_x").Attr("tensor_type", DType::kInt64);
  g.Add("c", "Count", {"recv"});
  g.Add("m", "Merge", {"c", "x"});
  g.Return(0, "m");
  g.Return(1, "m:1", DType::kInt32);
  EXPECT_THAT(*Run(g, 2), ElementsAre(3, 1));
  EXPECT_EQ(runs(), 0);
}

TEST_F(ExecutorTest, CancellationEndsAReceive) {
  GraphText g;
  WithKey(g.Add("recv", "_Recv"), "edge_1_x").Attr("tensor_type", DType::kInt64);
  g.Return(0, "recv");
  auto executor = *Compile(g);
  When([this] { return !rendezvous_->IsEmpty(); },  // the receiver is there
       [this] { cancellation_->StartCancel(Cancelled("enough")); });
  const Status status = Run(*executor, {}, 1).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  EXPECT_THAT(std::string(status.message()), HasSubstr("enough"));
}

TEST_F(ExecutorTest, ARootCauseBeatsTheEchoOfAnother) {
  GraphText g;
  g.Value("x", 3);
  WithKey(g.Add("recv", "_Recv"), "edge_1_x").Attr("tensor_type", DType::kInt64);
  g.Add("bad", "FailsLate", {"x"}).Attr("message", "the cause");
  g.Add("sum", "Sum", {"recv", "bad"});
  g.Return(0, "sum");
  auto executor = *Compile(g);
  // The echo comes first, while both wait; it cancels the step, and only then the other one fails.
  When([this] { return waits() > 0 && !rendezvous_->IsEmpty(); },
       [this] { rendezvous_->StartAbort(MarkDerived(Aborted("a peer failed"))); });
  const Status status = Run(*executor, {}, 1).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_FALSE(IsDerived(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("the cause"));
}

TEST_F(ExecutorTest, TheEchoOfAnotherIsToldWhenThereIsNoCauseHere) {
  GraphText g;
  WithKey(g.Add("recv", "_Recv"), "edge_1_x").Attr("tensor_type", DType::kInt64);
  g.Return(0, "recv");
  auto executor = *Compile(g);
  When([this] { return !rendezvous_->IsEmpty(); },
       [this] { rendezvous_->StartAbort(MarkDerived(Aborted("a peer failed"))); });
  const Status status = Run(*executor, {}, 1).status();
  EXPECT_TRUE(IsDerived(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("a peer failed"));
}

}  // namespace
}  // namespace tensorfleet
