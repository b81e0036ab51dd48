// How a random op on an accelerator is taken apart.
#include "runtime/place/passes/split_random.h"

#include "runtime/kernels/accelerator.h"
#include "runtime/place/graph_edit.h"
#include "runtime/place/testing/rewrite_fixture.h"

namespace tensorfleet {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using testing_place::Cpu;
using testing_place::Gpu;
using testing_place::RewriteTest;

class SplitRandomTest : public RewriteTest {
 protected:
  SplitRandomTest() {
    placement_.devices = testing_place::Devices({Cpu("a0"), Gpu("a0")});
    placement_.devices.back().description = "PJRT test";
    kernels_.Add<MadeByDevice>("StatelessRandomUniformV2", kCompiled);
    placement_.kernels = &kernels_;
  }
  Node* Random(const std::string& name, const std::string& op, const std::string& device) {
    tensorflow::NodeDef shape = NewNodeDef(name + "/shape", "Const", "");
    SetAttr(&shape, "dtype", DType::kInt32);
    SetAttr(&shape, "value", Tensor::Vector<int32_t>({3}));
    Node* const dims = graph_->AddNode(shape).value();
    dims->set_assigned_device(device);
    tensorflow::NodeDef def = NewNodeDef(name, op, "");
    SetAttr(&def, "dtype", DType::kFloat);
    SetAttr(&def, "T", DType::kInt32);
    SetAttr(&def, "seed", int64_t{7});
    SetAttr(&def, "seed2", int64_t{8});
    Node* const node = graph_->AddNode(def).value();
    node->set_assigned_device(device);
    EXPECT_TRUE(graph_->AddEdge(dims, 0, node, 0).ok());
    return node;
  }
  KernelRegistry kernels_;
};

TEST_F(SplitRandomTest, KeepsTheCounterInANodeOfItsOwn) {
  Random("r", "RandomUniform", Gpu("a0"));
  ASSERT_TRUE(SplitRandom(graph_.get(), context_).ok());
  const Node* const reserve = graph_->FindNode("r/reserve");
  ASSERT_NE(reserve, nullptr);
  EXPECT_EQ(GetAttr<int64_t>(reserve->def(), "seed2").value(), 8);
  EXPECT_EQ(reserve->assigned_device(), Gpu("a0"));
  EXPECT_EQ(graph_->FindNode("r"), nullptr);
  std::vector<std::string> users;
  for (const Edge* edge : reserve->out_edges()) {
    if (!edge->is_control()) users.push_back(edge->dst->op());
  }
  EXPECT_THAT(users, ElementsAre("StatelessRandomUniformV2", "StatelessRandomUniformV2"));
}

TEST_F(SplitRandomTest, LeavesTheHostsOpsAndThoseWithoutALoweringAlone) {
  Random("host", "RandomUniform", Cpu("a0"));
  Random("normal", "RandomStandardNormal", Gpu("a0"));
  ASSERT_TRUE(SplitRandom(graph_.get(), context_).ok());
  EXPECT_EQ(graph_->FindNode("host")->op(), "RandomUniform");
  EXPECT_EQ(graph_->FindNode("normal")->op(), "RandomStandardNormal");
}

}  // namespace
}  // namespace tensorfleet
