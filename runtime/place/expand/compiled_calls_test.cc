// Which branches and loops stay whole for an accelerator.
#include "runtime/place/expand/compiled_calls.h"

#include "runtime/kernels/accelerator.h"
#include "runtime/place/testing/rewrite_fixture.h"

namespace tensorfleet {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using testing_place::Cpu;
using testing_place::Gpu;
using testing_place::RewriteTest;

// x -> f(x) while x is less than itself.
std::string LoopOf(const std::string& f) {
  return absl::StrCat(R"(
  function {
    signature { name: "Cond" input_arg { name: "x" type: DT_FLOAT }
                output_arg { name: "r" type: DT_BOOL } }
    node_def { name: "less" op: "Less" input: "x" input: "x" }
    ret { key: "r" value: "less:z:0" } }
  function {
    signature { name: "Body" input_arg { name: "x" type: DT_FLOAT }
                output_arg { name: "y" type: DT_FLOAT } }
    node_def { name: "f" op: "Neg" input: "x" )",
                      f, R"( }
    ret { key: "y" value: "f:y:0" } }
)");
}

class CompiledCallsTest : public RewriteTest {
 protected:
  CompiledCallsTest() {
    placement_.devices = testing_place::Devices({Cpu("a0"), Gpu("a0")});
    for (DeviceAttributes& device : placement_.devices) {
      if (device.type != "CPU") device.description = "PJRT test";
    }
    for (const char* op : {"Neg", "Less", "Identity", "Placeholder", "While", "Switch", "Merge",
                           "Enter", "Exit", "NextIteration", "LoopCond", "NoOp"}) {
      for (const char* type : {"CPU", "GPU"}) kernels_.Add<MadeByDevice>(op, type);
    }
    kernels_.Add<MadeByDevice>("Less", kCompiled);
    placement_.kernels = &kernels_;
    context_.cpu_kernels = &kernels_;
    context_.options.fold_constants = false;
  }

  // What becomes of a loop over `f` (LoopOf) that is asked for on `device`.
  std::vector<std::string> Loop(const std::string& f, const std::string& device) {
    Functions(LoopOf(f));
    Add("x", "Placeholder");
    AddCall("loop", "While", {{"cond", "Cond"}, {"body", "Body"}}, 1, {"x"}, device);
    Add("out", "Neg", {"loop"}, "/device:CPU:0");
    return Rewrite();
  }
  void CompileNeg() { kernels_.Add<MadeByDevice>("Neg", kCompiled); }

  KernelRegistry kernels_;
};

TEST_F(CompiledCallsTest, ALoopOfWhatIsCompiledIsOneCluster) {
  CompileNeg();
  EXPECT_THAT(Loop("", ""), Contains("cluster/loop = _Cluster(x) @ a0 GPU"));
}

TEST_F(CompiledCallsTest, TheClusterBringsItsFunctions) {
  CompileNeg();
  Loop("", "/device:GPU:0");
  const Node* const cluster = graph_->FindNode("cluster/loop");
  ASSERT_NE(cluster, nullptr);
  tensorflow::GraphDef body;
  ASSERT_TRUE(body.ParseFromString(*GetAttr<std::string>(cluster->def(), "body")));
  EXPECT_EQ(body.library().function_size(), 2);
}

TEST_F(CompiledCallsTest, ALoopThatIsAskedForOnTheCpuIsNot) {
  CompileNeg();
  EXPECT_THAT(Loop("", "/device:CPU:0"), Not(Contains(HasSubstr("_Cluster"))));
}

TEST_F(CompiledCallsTest, ALoopWithAnOpThatIsNotCompiledIsTakenApart) {
  EXPECT_THAT(Loop("", "/device:GPU:0"), Contains(HasSubstr("= NextIteration(")));
}

TEST_F(CompiledCallsTest, ALoopWithANodeForAnotherDeviceIsTakenApart) {
  CompileNeg();
  EXPECT_THAT(Loop("device: '/device:CPU:0'", "/device:GPU:0"),
              Contains(HasSubstr("= NextIteration(")));
}

TEST_F(CompiledCallsTest, APartialRunTakesLoopsApart) {
  CompileNeg();
  context_.options.gather_clusters = false;
  EXPECT_THAT(Loop("", "/device:GPU:0"), Contains(HasSubstr("= NextIteration(")));
}

// What runs a cluster on the host calls no functions, whatever the client allowed.
TEST_F(CompiledCallsTest, TheHostsCopyHasNoCalls) {
  Functions(LoopOf(""));
  Add("x", "Placeholder");
  Node* const loop = AddCall("loop", "While", {{"cond", "Cond"}, {"body", "Body"}}, 1, {"x"});
  SetAttr(&loop->mutable_def(), "_lower_using_switch_merge", false);
  Add("out", "Neg", {"loop"});
  context_.options.lower_control_flow = false;
  context_.options.lower_all_control_flow = true;
  EXPECT_THAT(Rewrite(), Contains(HasSubstr("= NextIteration(")));
}

}  // namespace
}  // namespace tensorfleet
