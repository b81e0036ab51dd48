// Users of a reference's value that run after the variable was updated.
#include "runtime/place/aliased_reads.h"

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
  // All nodes are placed where they ask to be.
  std::vector<std::string> Renew() {
    for (Node* node : graph_->nodes()) node->set_assigned_device(node->requested_device());
    EXPECT_EQ(RenewAliasedReads(graph_.get(), RewriteContext()), OkStatus());
    return Describe(*graph_);
  }
};

using ::testing::Contains;
using ::testing::IsSupersetOf;

TEST_F(AliasedReadsTest, AUserAfterAnUpdateReadsAgain) {
  Add("add", "AssignAdd", {"v", "one"}, Cpu("a0"));
  Add("late", "Neg", {"v/read", "^add"}, Cpu("a0"));
  Add("early", "Neg", {"v/read"}, Cpu("a0"));
  EXPECT_THAT(Renew(),
              IsSupersetOf({"late = Neg(v/read/again, ^add) @ a0",
                            "v/read/again = Identity(v, ^add) @ a0", "early = Neg(v/read) @ a0"}));
}

TEST_F(AliasedReadsTest, AlsoWhenItIsAnotherInputThatWaits) {
  Add("add", "AssignAdd", {"v", "one"}, Cpu("a0"));
  Add("group", "NoOp", {"^add"}, Cpu("a0"));
  Add("waits", "Identity", {"one", "^group"}, Cpu("a0"));
  Add("late", "Add", {"waits", "v/read"}, Cpu("a0"));
  EXPECT_THAT(Renew(), Contains("late = Add(waits, v/read/again) @ a0"));
}

TEST_F(AliasedReadsTest, UsersThatWaitForTheSameShareARead) {
  Add("add", "AssignAdd", {"v", "one"}, Cpu("a0"));
  Add("more", "AssignAdd", {"add", "one"}, Cpu("a0"));
  Add("x", "Neg", {"v/read", "^more"}, Cpu("a0"));
  Add("y", "Neg", {"v/read", "^more"}, Cpu("a0"));
  EXPECT_THAT(Renew(), IsSupersetOf({"x = Neg(v/read/again, ^more) @ a0",
                                     "y = Neg(v/read/again, ^more) @ a0"}));
}

TEST_F(AliasedReadsTest, WhatNeedNotRunLaterStays) {
  // A gradient is made of the value before the update; an Assign gives the variable other memory.
  Add("gradient", "Neg", {"v/read"}, Cpu("a0"));
  Add("add", "AssignAdd", {"v", "gradient"}, Cpu("a0"));
  Add("w", "VariableV2", {}, Cpu("a0"));
  Add("w/read", "Identity", {"w"}, Cpu("a0"));
  Add("assign", "Assign", {"w", "one"}, Cpu("a0"));
  Add("after", "Neg", {"w/read", "^assign"}, Cpu("a0"));
  Add("fresh", "Identity", {"v", "^add"}, Cpu("a0"));
  Add("user", "Neg", {"fresh"}, Cpu("a0"));
  for (Node* node : graph_->nodes()) node->set_assigned_device(node->requested_device());
  const std::vector<std::string> before = Describe(*graph_);
  EXPECT_EQ(Renew(), before);
}

TEST_F(AliasedReadsTest, WhatIsSentElsewhereIsACopyAnyway) {
  Add("add", "AssignAdd", {"v", "one"}, Cpu("a0"));
  Add("late", "Neg", {"v/read", "^add"}, Cpu("a1"));
  EXPECT_THAT(Renew(), Contains("late = Neg(v/read, ^add) @ a1"));
}

}  // namespace
}  // namespace tensorfleet
