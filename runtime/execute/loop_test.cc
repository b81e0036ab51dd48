// Conditionals and loops: dead values, frames, iterations.
#include <thread>

#include "runtime/execute/frame_id.h"
#include "runtime/execute/testing/step_fixture.h"

namespace tensorfleet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(FrameId, IsTheOneThatOtherServersCompute) {
  const uint64_t hash = execute::FrameNameHash("while/while_context");
  EXPECT_EQ(execute::ChildFrameId(execute::kRootFrameId, 0, hash), 18186195969791715286u);
}

class LoopTest : public StepFixture {
 protected:
  // if (x > 0) then -x else x + x, in node "m".
  static void AddConditional(GraphText* g, const std::string& x) {
    g->Add("pred", "Positive", {x});
    g->Add("s", "Switch", {x, "pred"});
    g->Add("then", "Neg", {"s:1"});
    g->Add("else", "Add", {"s:0", "s"});
    g->Add("m", "Merge", {"then", "else"});
  }
};

TEST_F(LoopTest, AConditionalRunsOneBranch) {
  GraphText g;
  g.Arg(0);
  AddConditional(&g, "arg0");
  g.Return(0, "m");
  g.Return(1, "m:1", DType::kInt32);
  auto executor = *Compile(g);
  EXPECT_THAT(*Run(*executor, {5}, 2), ElementsAre(-5, 0));
  EXPECT_THAT(*Run(*executor, {-5}, 2), ElementsAre(-10, 1));
}

// Four times v = v + v, of a v that holds 2 before.
TEST_F(LoopTest, AReferenceThatIsPassedOnIsReadInEachIteration) {
  for (const bool passes : {false, true}) {
    GraphText g;
    g.Add("v", "Var");
    g.Value("two", 2);
    g.Add("set", "Assign", {"v", "two"});
    g.Value("zero", 0);
    g.Value("one", 1);
    g.Value("four", 4);
    g.CountingLoop("l", "zero", "four", "one", /*parallel_iterations=*/1);
    g.Add("in", "Enter", {"set"})
        .Attr("frame_name", "l/frame")
        .Attr("is_constant", true)
        .Attr("parallel_iterations", 1)
        .Attr("_passes_reference", passes);
    g.Add("v/in", "RefEnter", {"set"})
        .Attr("frame_name", "l/frame")
        .Attr("is_constant", true)
        .Attr("parallel_iterations", 1);
    g.Add("live", "Neg", {"l/switch:1"});
    g.Add("twice", "Add", {"in", "in", "^live"});
    g.Add("assign", "Assign", {"v/in", "twice"});
    g.Add("last", "Identity", {"v", "^l/exit"});
    g.Return(0, "last");
    EXPECT_THAT(*Run(g), ElementsAre(passes ? 32 : 4));
  }
}

TEST_F(LoopTest, AMergePassesAReferenceOrAValue) {
  for (const int64_t which : {-1, 1}) {
    GraphText g;
    g.Arg(0);
    g.Add("pred", "Positive", {"arg0"});
    g.Add("v", "Var");
    g.Value("two", 2);
    g.Add("set", "Assign", {"v", "two"});
    g.Add("ref", "Switch", {"set", "pred"}).Attr("_passes_reference", true);
    g.Add("value", "Switch", {"arg0", "pred"});
    g.Add("m", "Merge", {"ref:1", "value:0"}).Attr("_passes_reference", true);
    g.Value("three", 3);
    g.Add("later", "Assign", {"v", "three", "^m"});
    g.Add("late", "Identity", {"m", "^later"});
    g.Return(0, "late");
    EXPECT_THAT(*Run(g, 1, {which}), ElementsAre(which > 0 ? 3 : which));
  }
}

TEST_F(LoopTest, OnlyAnOpThatPassesItsInputOnMayBeMarked) {
  GraphText g;
  g.Add("v", "Var");
  g.Value("two", 2);
  g.Add("set", "Assign", {"v", "two"});
  g.Add("minus", "Neg", {"set"}).Attr("_passes_reference", true);
  g.Return(0, "minus");
  EXPECT_THAT(*Run(g), ElementsAre(-2));
}

TEST_F(LoopTest, DeadnessFollowsControlEdges) {
  GraphText g;
  g.Value("x", 1);
  g.Add("pred", "Positive", {"x"});
  g.Add("s", "Switch", {"x", "pred"});
  g.Add("pivot_f", "Identity", {"s:0"});
  g.Add("pivot_t", "Identity", {"s:1"});
  g.Add("on_false", "Value", {"^pivot_f"}).Attr("v", 10);
  g.Add("on_true", "Value", {"^pivot_t"}).Attr("v", 20);
  g.Add("c", "Count", {"on_false"});
  g.Add("m", "Merge", {"c", "on_true"});
  g.Return(0, "m");
  EXPECT_THAT(*Run(g), ElementsAre(20));
  EXPECT_EQ(runs(), 0);
}

TEST_F(LoopTest, ControlTriggerRunsAfterADeadInput) {
  GraphText g;
  g.Value("x", 1);
  g.Add("pred", "Positive", {"x"});
  g.Add("s", "Switch", {"x", "pred"});
  g.Add("dead", "Identity", {"s:0"});
  g.Add("trigger", "ControlTrigger", {"^dead"});
  g.Add("after", "Count", {"x", "^trigger"});
  g.Return(0, "after");
  EXPECT_THAT(*Run(g), ElementsAre(1));
}

TEST_F(LoopTest, AMergeOfDeadInputsIsDead) {
  GraphText g;
  g.Value("x", 1);
  g.Add("pred", "Positive", {"x"});
  g.Add("s", "Switch", {"x", "pred"});
  g.Add("a", "Neg", {"s:0"});
  g.Add("b", "Identity", {"s:0"});
  g.Add("inner", "Merge", {"a", "b"});
  g.Add("c", "Count", {"inner"});
  g.Add("m", "Merge", {"c", "x"});
  g.Return(0, "m:1", DType::kInt32);
  EXPECT_THAT(*Run(g), ElementsAre(1));
  EXPECT_EQ(runs(), 0);
}

TEST_F(LoopTest, AMergeWaitsForItsControlInputs) {
  GraphText g;
  g.Value("x", 1);
  g.Add("slow", "Slow", {"x"}).Attr("micros", 3000);
  g.Add("counted", "Count", {"slow"});
  g.Add("pred", "Positive", {"x"});
  g.Add("s", "Switch", {"x", "pred"});
  g.Add("m", "Merge", {"s:0", "s:1", "^counted"});
  g.Return(0, "m");
  EXPECT_THAT(*Run(g), ElementsAre(1));
  EXPECT_EQ(runs(), 1);
}

TEST_F(LoopTest, AMergeOfTwoLiveInputsThatWaitedIsRefused) {
  GraphText g;
  g.Value("x", 1);
  g.Add("slow", "Slow", {"x"}).Attr("micros", 3000);
  g.Add("m", "Merge", {"x", "x", "^slow"});
  g.Return(0, "m");
  const Status status = Run(g).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), HasSubstr("more than one valid input"));
}

TEST_F(LoopTest, CountsToALimit) {
  for (const int parallel : {1, 2, 10}) {
    GraphText g;
    g.Arg(0);
    g.Arg(1);
    g.Value("one", 1);
    g.CountingLoop("loop", "arg0", "arg1", "one", parallel);
    g.Return(0, "loop/exit");
    auto executor = *Compile(g);
    EXPECT_THAT(*Run(*executor, {0, 1000}, 1), ElementsAre(1000));
    EXPECT_THAT(*Run(*executor, {0, 0}, 1), ElementsAre(0));
    EXPECT_THAT(*Run(*executor, {7, 3}, 1), ElementsAre(7));
    EXPECT_THAT(*Run(*executor, {3, 7}, 1), ElementsAre(7));
  }
}

// A loop that counts i to `limit` and adds f(i) to a sum in each iteration, where f is an
// asynchronous node.
void AddSummingLoop(GraphText* g, const std::string& limit, const std::string& op, int parallel) {
  const auto enter = [&](const std::string& name, const std::string& from, bool constant) {
    g->Add(name, "Enter", {from})
        .Attr("frame_name", "f")
        .Attr("is_constant", constant)
        .Attr("parallel_iterations", parallel);
  };
  enter("i/enter", "zero", false);
  enter("s/enter", "zero", false);
  enter("limit/enter", limit, true);
  enter("one/enter", "one", true);
  g->Add("i/merge", "Merge", {"i/enter", "i/next"});
  g->Add("s/merge", "Merge", {"s/enter", "s/next"});
  g->Add("less", "Less", {"i/merge", "limit/enter"});
  g->Add("cond", "LoopCond", {"less"});
  g->Add("i/switch", "Switch", {"i/merge", "cond"});
  g->Add("s/switch", "Switch", {"s/merge", "cond"});
  g->Add("i/add", "Add", {"i/switch:1", "one/enter"});
  g->Add("f", op, {"i/add"});
  g->Add("s/add", "Add", {"s/switch:1", "f"});
  g->Add("i/next", "NextIteration", {"i/add"});
  g->Add("s/next", "NextIteration", {"s/add"});
  g->Add("i/exit", "Exit", {"i/switch"});
  g->Add("s/exit", "Exit", {"s/switch"});
}

TEST_F(LoopTest, IterationsMayOverlap) {
  for (const int parallel : {1, 3, 10}) {
    for (const char* op : {"Identity", "Slow", "Later"}) {
      GraphText g;
      g.Value("zero", 0);
      g.Value("one", 1);
      g.Value("limit", 100);
      AddSummingLoop(&g, "limit", op, parallel);
      g.Return(0, "i/exit");
      g.Return(1, "s/exit");
      auto executor = *Compile(g);
      for (int i = 0; i < 3; ++i) EXPECT_THAT(*Run(*executor, {}, 2), ElementsAre(100, 5050));
    }
  }
}

TEST_F(LoopTest, AConstantThatComesLateReachesEveryIteration) {
  GraphText g;
  g.Value("zero", 0);
  g.Value("one", 1);
  g.Value("limit", 20);
  g.Add("late", "Later", {"limit"}).Attr("micros", 3000);
  AddSummingLoop(&g, "late", "Identity", 10);
  g.Return(0, "s/exit");
  EXPECT_THAT(*Run(g), ElementsAre(210));
}

TEST_F(LoopTest, AnErrorInALoopEndsTheStepAndTheNextOneIsClean) {
  GraphText g;
  g.Value("zero", 0);
  g.Value("one", 1);
  g.Arg(0);
  AddSummingLoop(&g, "arg0", "Later", 10);
  g.Add("pred", "Less", {"i/add", "limit10"});
  g.Value("ten", 10);
  g.Add("limit10", "Enter", {"ten"}).Attr("frame_name", "f").Attr("is_constant", true);
  g.Add("guard", "Switch", {"i/add", "pred"});
  g.Add("bad", "Fail", {"guard:0"}).Attr("message", "too far");
  g.Return(0, "s/exit");
  auto executor = *Compile(g);
  for (int i = 0; i < 20; ++i) {
    ResetStep();
    EXPECT_THAT(*Run(*executor, {9}, 1), ElementsAre(45));
    ResetStep();
    EXPECT_THAT(std::string(Run(*executor, {100}, 1).status().message()), HasSubstr("too far"));
  }
}

// for (i < outer) { for (j < inner) j += 1; total += j }
void AddNestedLoop(GraphText* g) {
  const auto enter = [&](const std::string& name, const std::string& from, const char* frame,
                         bool constant) {
    g->Add(name, "Enter", {from}).Attr("frame_name", frame).Attr("is_constant", constant);
  };
  enter("i/enter", "zero", "outer", false);
  enter("t/enter", "zero", "outer", false);
  enter("outer/limit", "outer_limit", "outer", true);
  enter("outer/inner_limit", "inner_limit", "outer", true);
  enter("outer/one", "one", "outer", true);
  enter("outer/zero", "zero", "outer", true);
  g->Add("i/merge", "Merge", {"i/enter", "i/next"});
  g->Add("t/merge", "Merge", {"t/enter", "t/next"});
  g->Add("less", "Less", {"i/merge", "outer/limit"});
  g->Add("cond", "LoopCond", {"less"});
  g->Add("i/switch", "Switch", {"i/merge", "cond"});
  g->Add("t/switch", "Switch", {"t/merge", "cond"});
  // The constants of the inner loop's body must come from a live iteration.
  g->Add("z/switch", "Switch", {"outer/zero", "cond"});
  enter("inner/enter", "z/switch:1", "inner", false);
  enter("inner/limit", "outer/inner_limit", "inner", true);
  enter("inner/one", "outer/one", "inner", true);
  g->Add("j/merge", "Merge", {"inner/enter", "j/next"});
  g->Add("inner/less", "Less", {"j/merge", "inner/limit"});
  g->Add("inner/cond", "LoopCond", {"inner/less"});
  g->Add("j/switch", "Switch", {"j/merge", "inner/cond"});
  g->Add("j/add", "Add", {"j/switch:1", "inner/one"});
  g->Add("j/next", "NextIteration", {"j/add"});
  g->Add("j/exit", "Exit", {"j/switch"});
  g->Add("t/add", "Add", {"t/switch:1", "j/exit"});
  g->Add("t/next", "NextIteration", {"t/add"});
  g->Add("i/add", "Add", {"i/switch:1", "outer/one"});
  g->Add("i/next", "NextIteration", {"i/add"});
  g->Add("t/exit", "Exit", {"t/switch"});
}

TEST_F(LoopTest, LoopsNest) {
  GraphText g;
  g.Arg(0);
  g.Arg(1);
  g.Add("outer_limit", "Identity", {"arg0"});
  g.Add("inner_limit", "Identity", {"arg1"});
  g.Value("zero", 0);
  g.Value("one", 1);
  AddNestedLoop(&g);
  g.Return(0, "t/exit");
  auto executor = *Compile(g);
  EXPECT_THAT(*Run(*executor, {3, 4}, 1), ElementsAre(12));
  EXPECT_THAT(*Run(*executor, {0, 4}, 1), ElementsAre(0));
  EXPECT_THAT(*Run(*executor, {20, 30}, 1), ElementsAre(600));
  EXPECT_THAT(*Run(*executor, {5, 0}, 1), ElementsAre(0));
}

TEST_F(LoopTest, LoopsNestedTooDeepAreRefusedByName) {
  GraphText g;
  g.Value("x0", 1);
  for (int i = 0; i < 20'000; ++i) {
    g.Add("x" + std::to_string(i + 1), "Enter", {"x" + std::to_string(i)})
        .Attr("frame_name", "f" + std::to_string(i));
  }
  const Status status = Compile(g).status();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("nested in more than 256 others"));
}

TEST_F(LoopTest, ALoopOnABranchThatIsNotTakenIsDead) {
  GraphText g;
  g.Arg(0);
  g.Add("pred", "Positive", {"arg0"});
  g.Add("s", "Switch", {"arg0", "pred"});
  g.Value("zero0", 0);
  g.Add("z", "Switch", {"zero0", "pred"});
  g.Value("one0", 1);
  g.Add("o", "Switch", {"one0", "pred"});
  g.CountingLoop("loop", "z:1", "s:1", "o:1");
  g.Add("c", "Count", {"loop/exit"});
  g.Add("m", "Merge", {"c", "s:0"});
  g.Return(0, "m");
  g.Return(1, "m:1", DType::kInt32);
  auto executor = *Compile(g);
  for (int i = 0; i < 10; ++i) {
    EXPECT_THAT(*Run(*executor, {-3}, 2), ElementsAre(-3, 1));
    EXPECT_EQ(runs(), i);
    EXPECT_THAT(*Run(*executor, {6}, 2), ElementsAre(6, 0));
  }
}

TEST_F(LoopTest, ManyLoopsRunAtOnceInOneStep) {
  GraphText g;
  g.Value("zero", 0);
  g.Value("one", 1);
  g.Value("limit", 50);
  std::vector<std::string> exits;
  for (int i = 0; i < 20; ++i) {
    const std::string name = "loop" + std::to_string(i);
    g.CountingLoop(name, "zero", "limit", "one", i % 4 + 1);
    exits.push_back(name + "/exit");
  }
  g.Add("sum", "Sum", exits);
  g.Return(0, "sum");
  EXPECT_THAT(*Run(g), ElementsAre(1000));
}

TEST_F(LoopTest, RefusesInputsFromDifferentFrames) {
  GraphText g;
  g.Value("x", 1);
  g.Add("in", "Enter", {"x"}).Attr("frame_name", "f");
  g.Add("sum", "Add", {"in", "x"});
  const Status status = Run(g).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("has inputs from different frames"));
}

TEST_F(LoopTest, RefusesAnExitOutsideOfLoops) {
  GraphText g;
  g.Value("x", 1);
  g.Add("out", "Exit", {"x"});
  EXPECT_THAT(std::string(Run(g).status().message()), HasSubstr("outside of any loop frame"));
}

TEST_F(LoopTest, RefusesAnExitThatFiresTwice) {
  GraphText g;
  g.Value("zero", 0);
  g.Value("one", 1);
  g.Value("limit", 5);
  g.CountingLoop("loop", "zero", "limit", "one");
  g.Add("each", "Exit", {"loop/add"});
  g.Return(0, "each");
  const Status status = Run(g).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("more than once"));
}

TEST_F(LoopTest, RefusesParallelIterationsBelowOne) {
  GraphText g;
  g.Value("x", 1);
  g.Add("in", "Enter", {"x"}).Attr("frame_name", "f").Attr("parallel_iterations", 0);
  EXPECT_THAT(std::string(Run(g).status().message()), HasSubstr("parallel_iterations"));
}

TEST_F(LoopTest, TransfersInALoopHaveAKeyForEachIteration) {
  GraphText g;
  g.Value("zero", 0);
  g.Value("one", 1);
  g.Value("limit", 5);
  g.CountingLoop("loop", "zero", "limit", "one");
  g.Add("send", "_Send", {"loop/add"})
      .Attr("tensor_name", "t")
      .Attr("send_device", "/job:a/replica:0/task:0/device:CPU:0")
      .Attr("recv_device", "/job:b/replica:0/task:0/device:CPU:0")
      .Attr("send_device_incarnation", 7);
  ASSERT_TRUE(Run(g, 0).ok());
  const uint64_t frame = execute::ChildFrameId(0, 0, execute::FrameNameHash("loop/frame"));
  for (int iteration = 0; iteration <= 5; ++iteration) {
    const RendezvousKey key = *RendezvousKey::Parse(
        MakeRendezvousKey("/job:a/replica:0/task:0/device:CPU:0", 7,
                          "/job:b/replica:0/task:0/device:CPU:0", "t", frame, iteration));
    Tensor tensor;
    bool is_dead = false;
    ASSERT_TRUE(rendezvous_->TryRecv(key, &tensor, &is_dead).ok()) << iteration;
    EXPECT_EQ(is_dead, iteration == 5);
    if (!is_dead) EXPECT_EQ(tensor.scalar<int64_t>(), iteration + 1);
  }
}

}  // namespace
}  // namespace tensorfleet
