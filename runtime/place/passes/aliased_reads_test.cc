// Users of a reference's value that run after the variable was updated.
#include "runtime/place/passes/aliased_reads.h"

#include "absl/strings/str_join.h"
#include "runtime/graph/attr.h"
#include "runtime/graph/passed_reference.h"
#include "runtime/place/testing/place_fixture.h"

namespace tensorfleet {
namespace {

using testing_place::Cpu;
using testing_place::Describe;

class AliasedReadsTest : public testing_place::PlaceTest {
 protected:
  AliasedReadsTest() {
    Add("v", "VariableV2", {}, Cpu("a0"));
    AddConst("one", 1, Cpu("a0"));
    Add("v/read", "Identity", {"v"}, Cpu("a0"));
  }
  Node* Put(const std::string& name, const std::string& op, const std::vector<std::string>& in) {
    return Add(name, op, in, Cpu("a0"));
  }
  // A loop around `i` whose body's nodes wait for "i/now"; EndLoop says what ends an iteration.
  void BeginLoop(const std::string& start) {
    Put("enter", "Enter", {start});
    Put("merge", "Merge", {"enter"});  // the other input comes with EndLoop
    Put("limit", "Enter", {"one"});
    Put("less", "Less", {"merge", "limit"});
    Put("cond", "LoopCond", {"less"});
    Put("switch", "Switch", {"merge", "cond"});
    Put("exit", "Exit", {"switch:0"});
    Put("i/now", "Identity", {"switch:1"});
  }
  void EndLoop(const std::string& next) {
    Put("next", "NextIteration", {next});
    ASSERT_TRUE(graph_->AddEdge(graph_->FindNode("next"), 0, graph_->FindNode("merge"), 1).ok());
  }
  // All nodes are placed where they ask to be.
  Status Run() {
    for (Node* node : graph_->nodes()) node->set_assigned_device(node->requested_device());
    return RenewAliasedReads(graph_.get(), RewriteContext());
  }
  std::vector<std::string> Renew() {
    EXPECT_EQ(Run(), OkStatus());
    return Describe(*graph_);
  }
  // Names of the nodes that pass a reference on, in the order in which they were added.
  std::string Passing() const {
    std::vector<std::string> names;
    for (const Node* node : graph_->nodes()) {
      if (PassesReference(*node)) names.push_back(node->name());
    }
    return absl::StrJoin(names, " ");
  }
};

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

TEST_F(AliasedReadsTest, AUserAfterAnUpdateReadsWhenItRuns) {
  Put("add", "AssignAdd", {"v", "one"});
  Put("late", "Neg", {"v/read", "^add"});
  Put("early", "Neg", {"v/read"});
  EXPECT_THAT(Renew(), IsSupersetOf({"late = Neg(v/read/again, ^add) @ a0",
                                     "v/read/again = Identity(v, ^v/read) @ a0",
                                     "early = Neg(v/read) @ a0"}));
  EXPECT_EQ(Passing(), "v/read/again");
}

TEST_F(AliasedReadsTest, AnAssignUpdatesInPlaceToo) {
  Put("assign", "Assign", {"v", "one"});
  Put("late", "Neg", {"v/read", "^assign"});
  Renew();
  EXPECT_EQ(Passing(), "v/read");
}

TEST_F(AliasedReadsTest, SoDoesWhatTakesSeveralVariables) {
  Put("m", "VariableV2", {});
  Put("m/read", "Identity", {"m"});
  Put("update", "UpdateTwo", {"v", "m"});
  Put("late", "Neg", {"m/read", "^update"});
  Renew();
  EXPECT_EQ(Passing(), "m/read");
}

TEST_F(AliasedReadsTest, AlsoWhenItIsAnotherInputThatWaits) {
  Put("add", "AssignAdd", {"v", "one"});
  Put("group", "NoOp", {"^add"});
  Put("waits", "Identity", {"one", "^group"});
  Put("late", "Add", {"waits", "v/read"});
  EXPECT_THAT(Renew(), Contains("late = Add(waits, v/read) @ a0"));
  EXPECT_EQ(Passing(), "v/read");
}

TEST_F(AliasedReadsTest, AlsoWhereTheUpdateIsInABranch) {
  Put("on", "Less", {"one", "one"});
  Put("pick", "Switch", {"one", "on"});
  Put("add", "AssignAdd", {"v", "pick:1"});
  Put("merge", "Merge", {"pick:0", "add"});
  Put("late", "Add", {"merge", "v/read"});
  Renew();
  EXPECT_EQ(Passing(), "v/read");
}

TEST_F(AliasedReadsTest, WhatNeedNotRunLaterStays) {
  // A gradient is made of the value before the update.
  Put("gradient", "Neg", {"v/read"});
  Put("add", "AssignAdd", {"v", "gradient"});
  Put("fresh", "Identity", {"v", "^add"});
  Put("user", "Neg", {"fresh"});
  Put("w", "VariableV2", {});
  Put("other", "AssignAdd", {"w", "one"});
  Put("unconcerned", "Neg", {"v/read", "^other"});
  for (Node* node : graph_->nodes()) node->set_assigned_device(node->requested_device());
  const std::vector<std::string> before = Describe(*graph_);
  EXPECT_EQ(Renew(), before);
  EXPECT_EQ(Passing(), "");
}

TEST_F(AliasedReadsTest, WhatIsSentElsewhereIsACopyAnyway) {
  Add("add", "AssignAdd", {"v", "one"}, Cpu("a0"));
  Add("late", "Neg", {"v/read", "^add"}, Cpu("a1"));
  EXPECT_THAT(Renew(), Contains("late = Neg(v/read, ^add) @ a1"));
  EXPECT_EQ(Passing(), "");
}

TEST_F(AliasedReadsTest, ALoopThatAssignsReadsInEveryIteration) {
  Put("v/in", "RefEnter", {"v"});
  Put("read/in", "Enter", {"v/read"});
  BeginLoop("one");
  Put("square", "Neg", {"read/in"});
  Put("assign", "Assign", {"v/in", "square"});
  Put("count", "Identity", {"i/now", "^assign"});
  EndLoop("count");
  Renew();
  EXPECT_EQ(Passing(), "v/read read/in");
}

// No path leads from the Assign to the next iteration's Neg, but one iteration may wait for
// another.
TEST_F(AliasedReadsTest, AlsoWhereTheNextIterationDoesNotNeedTheUpdate) {
  Put("v/in", "RefEnter", {"v"});
  Put("read/in", "Enter", {"v/read"});
  BeginLoop("one");
  Put("square", "Neg", {"read/in"});
  Put("assign", "Assign", {"v/in", "square"});
  EndLoop("i/now");
  Renew();
  EXPECT_EQ(Passing(), "v/read read/in");
}

TEST_F(AliasedReadsTest, ALoopThatReadsAnewReadsNothingLate) {
  Put("v/in", "RefEnter", {"v"});
  BeginLoop("one");
  Put("fresh", "Identity", {"v/in", "^i/now"});
  Put("square", "Neg", {"fresh"});
  Put("assign", "Assign", {"v/in", "square"});
  Put("count", "Identity", {"i/now", "^assign"});
  EndLoop("count");
  Renew();
  EXPECT_EQ(Passing(), "");
}

TEST_F(AliasedReadsTest, AValueThatGoesRoundShowsLaterUpdates) {
  Put("v/in", "RefEnter", {"v"});
  BeginLoop("v/read");
  Put("assign", "Assign", {"v/in", "i/now"});
  Put("sum", "Add", {"i/now", "limit", "^assign"});
  EndLoop("i/now");
  Renew();
  EXPECT_EQ(Passing(), "v/read enter merge switch i/now next");
}

TEST_F(AliasedReadsTest, AViewIsTakenAgainForALateUser) {
  Put("flat", "Reshape", {"v/read", "one"});
  Put("add", "AssignAdd", {"v", "one"});
  Put("late", "Neg", {"flat", "^add"});
  Put("early", "Neg", {"flat"});
  EXPECT_THAT(Renew(),
              IsSupersetOf({"late = Neg(flat/again, ^add) @ a0",
                            "flat/again = Reshape(v/read/again, one, ^add) @ a0",
                            "flat = Reshape(v/read, one) @ a0", "early = Neg(flat) @ a0"}));
  EXPECT_EQ(Passing(), "v/read/again");
}

TEST_F(AliasedReadsTest, SoIsAViewOfAView) {
  Put("flat", "Reshape", {"v", "one"});
  Put("more", "Reshape", {"flat", "one"});
  Put("add", "AssignAdd", {"v", "one"});
  Put("late", "Neg", {"more", "^add"});
  EXPECT_THAT(Renew(), IsSupersetOf({"late = Neg(more/again, ^add) @ a0",
                                     "more/again = Reshape(flat/again, one, ^add) @ a0",
                                     "flat/again = Reshape(v, one, ^add, ^one) @ a0"}));
}

TEST_F(AliasedReadsTest, AViewThatALoopUsesAfterAnUpdateIsRefused) {
  Put("flat", "Reshape", {"v/read", "one"});
  Put("v/in", "RefEnter", {"v"});
  Put("flat/in", "Enter", {"flat"});
  BeginLoop("one");
  Put("square", "Neg", {"flat/in"});
  Put("assign", "Assign", {"v/in", "square"});
  Put("count", "Identity", {"i/now", "^assign"});
  EndLoop("count");
  EXPECT_THAT(Run().message(), AllOf(HasSubstr("{{node flat}} (Reshape) is a view of variable v"),
                                     HasSubstr("{{node flat/in}}")));
}

TEST_F(AliasedReadsTest, AnUpdateThatMayChangeTheShapeIsRefused) {
  Node* const assign = Put("assign", "Assign", {"v", "one"});
  SetAttr(&assign->mutable_def(), "validate_shape", false);
  Put("early", "Neg", {"v/read"});
  EXPECT_EQ(Run(), OkStatus());
  Put("late", "Neg", {"v/read", "^assign"});
  const Status status = Run();
  EXPECT_TRUE(absl::IsUnimplemented(status));
  EXPECT_THAT(status.message(), AllOf(HasSubstr("{{node v/read}}"), HasSubstr("{{node assign}}"),
                                      HasSubstr("validate_shape=false")));
}

TEST_F(AliasedReadsTest, AQueueMayKeepOnlyWhatIsNotUpdatedLater) {
  Put("fresh", "Identity", {"v"});
  Put("keep", "QueueEnqueueV2", {"fresh"});
  EXPECT_EQ(Run(), OkStatus());
  Put("add", "AssignAdd", {"v", "one", "^keep"});
  const Status status = Run();
  EXPECT_TRUE(absl::IsUnimplemented(status));
  EXPECT_THAT(status.message(), AllOf(HasSubstr("{{node keep}}"), HasSubstr("{{node add}}")));
}

TEST_F(AliasedReadsTest, AndWhatItReadsAfterTheUpdate) {
  Put("add", "AssignAdd", {"v", "one"});
  Put("fresh", "Identity", {"v", "^add"});
  Put("keep", "QueueEnqueueV2", {"fresh"});
  EXPECT_EQ(Run(), OkStatus());
}

}  // namespace
}  // namespace tensorfleet
