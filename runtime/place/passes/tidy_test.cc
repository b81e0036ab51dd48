// Identities that go, and equal nodes that become one.
#include "runtime/place/testing/rewrite_fixture.h"

namespace tensorfleet {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;
using testing_place::RewriteTest;

using TidyTest = RewriteTest;

TEST_F(TidyTest, LeavesOutIdentitiesOnOneDevice) {
  Add("p", "Placeholder");
  Add("id", "Identity", {"p"});
  Add("neg", "Neg", {"id"});
  Add("after", "NoOp", {"^id"});
  EXPECT_THAT(Rewrite(),
              ElementsAre("after = NoOp(^p) @ a0", "neg = Neg(p) @ a0", "p = Placeholder() @ a0"));
}

TEST_F(TidyTest, KeepsIdentitiesThatMean) {
  Add("v", "VariableV2");
  Add("read", "Identity", {"v"});  // takes the value of a reference
  Add("moved", "Identity", {"read"}, "/job:a/task:1");
  Add("gate", "NoOp");
  Add("held", "Identity", {"read", "^gate"});
  Add("target", "Identity", {"read"});
  Add("use", "Add", {"moved", "held"});
  EXPECT_THAT(Rewrite(),
              IsSupersetOf({"read = Identity(v) @ a0", "moved = Identity(read) @ a1",
                            "held = Identity(read, ^gate) @ a0", "target = Identity(read) @ a0"}));
}

TEST_F(TidyTest, KeepsThePivotOfABranch) {
  Add("p", "Placeholder");
  Add("flag", "Less", {"p", "p"});
  Add("switch", "Switch", {"p", "flag"});
  Add("pivot", "Identity", {"switch:1"});
  Add("plain", "Identity", {"switch:1"});
  Add("in_branch", "NoOp", {"^pivot"});
  Add("use", "Neg", {"plain"});
  EXPECT_THAT(Rewrite(),
              AllOf(IsSupersetOf({"in_branch = NoOp(^pivot) @ a0", "use = Neg(switch:1) @ a0"}),
                    Not(Contains(HasSubstr("plain")))));
}

TEST_F(TidyTest, ComputesEqualExpressionsOnce) {
  Add("p", "Placeholder");
  AddConst("c1", 1);
  AddConst("c2", 1);
  AddConst("c3", 2);
  Add("x", "Add", {"p", "c1"});
  Add("y", "Add", {"p", "c2"});
  Add("z", "Add", {"p", "c3"});
  Add("s", "Add", {"x", "y"});
  Add("t", "Add", {"s", "z"});
  EXPECT_THAT(Rewrite(),
              ElementsAre("c1 = Const() @ a0", "c3 = Const() @ a0", "p = Placeholder() @ a0",
                          "s = Add(x, x) @ a0", "t = Add(s, z) @ a0", "x = Add(p, c1) @ a0",
                          "z = Add(p, c3) @ a0"));
}

TEST_F(TidyTest, DoesNotMergeWhatDiffers) {
  Add("p", "Placeholder");
  Add("q", "Placeholder");
  Add("r1", "Random", {"p"});
  Add("r2", "Random", {"p"});
  Add("here", "Neg", {"p"});
  Add("there", "Neg", {"p"}, "/job:a/task:1");
  Add("later", "Neg", {"p", "^r1"});
  for (const char* name : {"q", "r1", "r2", "here", "there", "later"}) {
    Add(std::string("use_") + name, "Effect", {name});
  }
  EXPECT_EQ(Rewrite().size(), 13u);
}

}  // namespace
}  // namespace tensorfleet
