#include "runtime/place/partition.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "runtime/graph/attr.h"
#include "runtime/graph/function_library.h"
#include "runtime/place/testing/place_fixture.h"

namespace tensorfleet {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using testing_place::Cpu;
using testing_place::Describe;
using testing_place::Gpu;

class PartitionTest : public testing_place::PlaceTest {
 protected:
  PartitionTest() {
    options_.incarnation = [](const std::string& device) -> uint64_t {
      return device == Cpu("a0") ? 0xfedcba9876543210u : 2;
    };
  }

  Node* On(const std::string& device, const std::string& name, const std::string& op,
           const std::vector<std::string>& inputs = {}) {
    Node* node = Add(name, op, inputs);
    node->set_assigned_device(device);
    return node;
  }
  void Close(const std::string& next, const std::string& merge) {
    ASSERT_TRUE(graph_->AddEdge(graph_->FindNode(next), 0, graph_->FindNode(merge), 1).ok());
  }

  void Cut() {
    StatusOr<Partitions> pieces = Partition(*graph_, options_);
    ASSERT_TRUE(pieces.ok()) << pieces.status();
    pieces_ = *std::move(pieces);
  }
  const Graph& Piece(const std::string& name) { return *pieces_.at(name); }
  std::string Error() { return std::string(Partition(*graph_, options_).status().message()); }
  static const Node* FindOp(const Graph& graph, const std::string& op) {
    for (const Node* node : graph.nodes()) {
      if (node->op() == op) return node;
    }
    return nullptr;
  }

  PartitionOptions options_;
  Partitions pieces_;
  const std::string a_ = "/job:a/replica:0/task:0";
  const std::string b_ = "/job:b/replica:0/task:0";
};

TEST_F(PartitionTest, OneTaskIsOnePiece) {
  On(Cpu("a0"), "c", "Const");
  On(Cpu("a0"), "n", "Neg", {"c"});
  Cut();
  ASSERT_EQ(pieces_.size(), 1u);
  EXPECT_THAT(Describe(Piece(a_)), ElementsAre("c = Const() @ a0", "n = Neg(c) @ a0"));
}

TEST_F(PartitionTest, ACutEdgeBecomesASendAndAReceive) {
  On(Cpu("a0"), "c", "Const");
  On(Cpu("b0"), "n", "Neg", {"c"});
  Cut();
  EXPECT_THAT(Describe(Piece(a_)), ElementsAre("c = Const() @ a0", "c_S0 = _Send(c) @ a0"));
  EXPECT_THAT(Describe(Piece(b_)), ElementsAre("c_S1 = _Recv() @ b0", "n = Neg(c_S1) @ b0"));
}

TEST_F(PartitionTest, BothEndsOfACutAgreeOnTheirKey) {
  On(Cpu("a0"), "c", "Const");
  Node* neg = On(Cpu("b0"), "n", "Neg", {"c"});
  const std::string tensor_name = absl::StrCat("edge_", neg->in_edge(0)->id, "_c");
  Cut();
  const tensorflow::NodeDef& send = FindOp(Piece(a_), "_Send")->def();
  const tensorflow::NodeDef& recv = FindOp(Piece(b_), "_Recv")->def();
  for (const tensorflow::NodeDef* def : {&send, &recv}) {
    EXPECT_EQ(*GetAttr<std::string>(*def, "tensor_name"), tensor_name);
    EXPECT_EQ(*GetAttr<std::string>(*def, "send_device"), Cpu("a0"));
    EXPECT_EQ(*GetAttr<std::string>(*def, "recv_device"), Cpu("b0"));
    EXPECT_EQ(static_cast<uint64_t>(*GetAttr<int64_t>(*def, "send_device_incarnation")),
              0xfedcba9876543210u);
    EXPECT_FALSE(*GetAttr<bool>(*def, "client_terminated"));
  }
  EXPECT_EQ(*GetAttr<DType>(send, "T"), DType::kFloat);
  EXPECT_EQ(*GetAttr<DType>(recv, "tensor_type"), DType::kFloat);
}

TEST_F(PartitionTest, AValueIsSentOncePerDevice) {
  On(Cpu("a0"), "c", "Const");
  On(Cpu("b0"), "n", "Neg", {"c"});
  On(Cpu("b0"), "m", "Add", {"c", "c"});
  On(Cpu("b1"), "k", "Neg", {"c"});
  Cut();
  EXPECT_THAT(Describe(Piece(a_)),
              ElementsAre("c = Const() @ a0", "c_S0 = _Send(c) @ a0", "c_S2 = _Send(c) @ a0"));
  EXPECT_THAT(Describe(Piece(b_)),
              ElementsAre("c_S1 = _Recv() @ b0", "m = Add(c_S1, c_S1) @ b0", "n = Neg(c_S1) @ b0"));
}

TEST_F(PartitionTest, AControlEdgeSendsAnEmptyTensor) {
  On(Cpu("a0"), "first", "NoOp");
  On(Cpu("b0"), "second", "NoOp", {"^first"});
  On(Cpu("b0"), "third", "NoOp", {"^first"});
  Cut();
  EXPECT_THAT(Describe(Piece(a_)),
              ElementsAre("first = NoOp() @ a0", "first/ctrl_S0 = Const(^first) @ a0",
                          "first_S1 = _Send(first/ctrl_S0) @ a0"));
  EXPECT_THAT(Describe(Piece(b_)),
              ElementsAre("first_S2 = _Recv() @ b0", "first_S3 = Identity(first_S2) @ b0",
                          "second = NoOp(^first_S3) @ b0", "third = NoOp(^first_S3) @ b0"));
  const Tensor sent = *GetAttr<Tensor>(Piece(a_).FindNode("first/ctrl_S0")->def(), "value");
  EXPECT_EQ(sent.shape(), Shape({0}));
}

TEST_F(PartitionTest, AReferenceIsSentAsItsValue) {
  On(Cpu("a0"), "v", "VariableV2");
  On(Cpu("b0"), "n", "Neg", {"v"});
  Cut();
  EXPECT_EQ(*GetAttr<DType>(FindOp(Piece(a_), "_Send")->def(), "T"), DType::kFloat);
  EXPECT_EQ(*GetAttr<DType>(FindOp(Piece(b_), "_Recv")->def(), "tensor_type"), DType::kFloat);
}

TEST_F(PartitionTest, AReferenceIsReadAfterWhatItsReaderWaitsFor) {
  On(Cpu("a0"), "v", "VariableV2");
  On(Cpu("b0"), "first", "NoOp");
  On(Cpu("b0"), "n", "Neg", {"v", "^first"});
  On(Cpu("b0"), "m", "Neg", {"v", "^first"});
  Cut();
  EXPECT_THAT(Describe(Piece(a_)),
              ElementsAre("first_S5 = _Recv() @ a0", "first_S6 = Identity(first_S5) @ a0",
                          "v = VariableV2() @ a0", "v/read_S0 = Identity(v, ^first_S6) @ a0",
                          "v/read_S0_S1 = _Send(v/read_S0) @ a0"));
  EXPECT_THAT(
      Describe(Piece(b_)),
      ElementsAre("first = NoOp() @ b0", "first/ctrl_S3 = Const(^first) @ b0",
                  "first_S4 = _Send(first/ctrl_S3) @ b0", "m = Neg(v/read_S0_S2, ^first) @ b0",
                  "n = Neg(v/read_S0_S2, ^first) @ b0", "v/read_S0_S2 = _Recv() @ b0"));
}

TEST_F(PartitionTest, StringsTravelFromHostMemory) {
  On(Cpu("a0"), "t", "Text");
  On(Cpu("b0"), "p", "Print", {"t"});
  Cut();
  EXPECT_NE(FindOp(Piece(a_), "_HostSend"), nullptr);
  EXPECT_NE(FindOp(Piece(b_), "_HostRecv"), nullptr);
}

TEST_F(PartitionTest, DevicesOfATaskStayTogetherUntilTheWorkerCutsThem) {
  On(Cpu("a0"), "c", "Const");
  On(Gpu("a0"), "n", "Neg", {"c"});
  Cut();
  EXPECT_THAT(Describe(Piece(a_)), ElementsAre("c = Const() @ a0", "n = Neg(c) @ a0 GPU"));
  options_.by = PartitionOptions::By::kDevice;
  Cut();
  EXPECT_EQ(pieces_.size(), 2u);
  EXPECT_THAT(Describe(Piece(Gpu("a0"))),
              ElementsAre("c_S1 = _Recv() @ a0 GPU", "n = Neg(c_S1) @ a0 GPU"));
}

TEST_F(PartitionTest, AddedNamesGoOnWhereTheLastGraphStopped) {
  std::atomic<int64_t> counter{41};
  options_.name_counter = &counter;
  On(Cpu("a0"), "c", "Const");
  On(Cpu("a0"), "c_S41", "Const");  // taken
  On(Cpu("b0"), "n", "Neg", {"c"});
  Cut();
  EXPECT_NE(Piece(a_).FindNode("c_S42"), nullptr);
  EXPECT_EQ(counter, 44);
}

TEST_F(PartitionTest, NeedsEveryNodePlacedInFull) {
  On(Cpu("a0"), "c", "Const");
  Node* node = On("", "n", "Neg", {"c"});
  EXPECT_EQ(Error(), "Node 'n' is missing a device specification");
  node->set_assigned_device("/job:a/task:0");
  EXPECT_THAT(Error(), HasSubstr("/job:a/task:0"));
}

TEST_F(PartitionTest, CutsALongZigzagInLinearTime) {
  On(Cpu("a0"), "n0", "Const");
  for (int i = 1; i < 20'000; ++i) {
    On(Cpu(i % 2 == 0 ? "a0" : "b0"), "n" + std::to_string(i), "Neg",
       {"n" + std::to_string(i - 1)});
  }
  Cut();
  EXPECT_EQ(Piece(a_).num_nodes() + Piece(b_).num_nodes(), 20'000 + 2 * 19'999);
}

// while x < limit: x = -x, with the negation on another task.
class LoopPartitionTest : public PartitionTest {
 protected:
  void AddLoop(const std::string& input) {
    On(Cpu("a0"), "enter", "Enter", {input});
    On(Cpu("a0"), "merge", "Merge", {"enter"});
    On(Cpu("a0"), "limit", "Const", {"^merge"});
    On(Cpu("a0"), "less", "Less", {"merge", "limit"});
    On(Cpu("a0"), "cond", "LoopCond", {"less"});
    On(Cpu("a0"), "switch", "Switch", {"merge", "cond"});
    On(Cpu("a0"), "exit", "Exit", {"switch"});
    On(Cpu("b0"), "neg", "Neg", {"switch:1"});
    On(Cpu("a0"), "next", "NextIteration", {"neg"});
    Close("next", "merge");
  }
};

TEST_F(LoopPartitionTest, AControlLoopStartsReceivesInsideALoop) {
  On(Cpu("a0"), "x", "Const");
  AddLoop("x");
  Cut();
  EXPECT_THAT(Describe(Piece(b_)),
              ElementsAre("_cloopneg_S0 = Enter(neg_S4) @ b0",
                          "_cloopneg_S1 = Merge(_cloopneg_S0, _cloopneg_S3) @ b0",
                          "_cloopneg_S2 = Switch(_cloopneg_S1, cond_S10) @ b0",
                          "_cloopneg_S3 = NextIteration(_cloopneg_S2:1) @ b0",
                          "cond_S10 = _Recv(^_cloopneg_S1) @ b0", "neg = Neg(switch_S6) @ b0",
                          "neg_S4 = Const() @ b0", "neg_S7 = _Send(neg) @ b0",
                          "switch_S6 = _Recv(^_cloopneg_S1) @ b0"));
  // The loop's own piece has a Merge that runs as often.
  EXPECT_THAT(Describe(Piece(a_)), Contains("neg_S8 = _Recv(^merge) @ a0"));
  const tensorflow::NodeDef& enter = Piece(b_).FindNode("_cloopneg_S0")->def();
  EXPECT_EQ(*GetAttr<std::string>(enter, "frame_name"), "loop");
  EXPECT_EQ(*GetAttr<int64_t>(enter, "parallel_iterations"), 10);
}

TEST_F(LoopPartitionTest, ALoopOnOneTaskNeedsNoControlLoop) {
  On(Cpu("b0"), "x", "Const");
  AddLoop("x");
  graph_->FindNode("neg")->set_assigned_device(Cpu("a0"));
  On(Cpu("b0"), "use", "Neg", {"exit"});
  Cut();
  for (const auto& [name, piece] : pieces_) {
    EXPECT_THAT(Describe(*piece), Not(Contains(HasSubstr("_cloop")))) << name;
  }
  EXPECT_THAT(Describe(Piece(a_)), Contains("x_S1 = _Recv() @ a0"));
}

TEST_F(LoopPartitionTest, AControlLoopInABranchIsEnteredOnlyWithTheLoop) {
  On(Cpu("a0"), "x", "Const");
  On(Cpu("a0"), "flag", "Less", {"x", "x"});
  On(Cpu("a0"), "branch", "Switch", {"x", "flag"});
  AddLoop("branch:1");
  Cut();
  // Dead when the branch is not taken, and then nothing on b waits for the loop's condition.
  EXPECT_THAT(Describe(Piece(a_)), IsSupersetOf({"enter_S4 = Identity(branch:1) @ a0",
                                                 "enter_S5 = Const(^enter_S4) @ a0"}));
  const Node* enter = Piece(b_).FindNode("_cloopneg_S0");
  ASSERT_NE(enter, nullptr);
  const Node* start = enter->in_edge(0)->src;
  EXPECT_EQ(start->op(), "_Recv");
  EXPECT_THAT(*GetAttr<std::string>(start->def(), "tensor_name"), HasSubstr("_enter_S5"));
}

TEST_F(LoopPartitionTest, NestedLoopsGetNestedControlLoops) {
  On(Cpu("a0"), "x", "Const");
  On(Cpu("a0"), "outer/enter", "Enter", {"x"});
  SetAttr(&graph_->FindNode("outer/enter")->mutable_def(), "frame_name", "outer");
  On(Cpu("a0"), "outer/merge", "Merge", {"outer/enter"});
  On(Cpu("a0"), "outer/less", "Less", {"outer/merge", "outer/merge"});
  On(Cpu("a0"), "outer/cond", "LoopCond", {"outer/less"});
  On(Cpu("a0"), "outer/switch", "Switch", {"outer/merge", "outer/cond"});
  AddLoop("outer/switch:1");
  On(Cpu("a0"), "outer/next", "NextIteration", {"exit"});
  Close("outer/next", "outer/merge");
  Cut();
  const Graph& b = Piece(b_);
  std::vector<const Node*> enters;
  for (const Node* node : b.nodes()) {
    if (node->IsEnter()) enters.push_back(node);
  }
  ASSERT_EQ(enters.size(), 2u);
  const auto frame = [](const Node* n) { return *GetAttr<std::string>(n->def(), "frame_name"); };
  const Node* inner = frame(enters[0]) == "loop" ? enters[0] : enters[1];
  const Node* outer = frame(enters[0]) == "loop" ? enters[1] : enters[0];
  EXPECT_EQ(frame(outer), "outer");
  EXPECT_EQ(outer->in_edge(0)->src->op(), "Const");
  // The inner one is started by a receive in the outer one, which tells when the inner loop is
  // skipped.
  const Node* start = inner->in_edge(0)->src;
  ASSERT_EQ(start->op(), "_Recv");
  const Edge* anchor = start->in_edges()[0];
  ASSERT_TRUE(anchor->is_control());
  EXPECT_TRUE(anchor->src->IsMerge());
  EXPECT_EQ(anchor->src->in_edge(0)->src, outer);
}

TEST_F(LoopPartitionTest, RefusesALoopWithoutCondition) {
  On(Cpu("a0"), "x", "Const");
  On(Cpu("a0"), "enter", "Enter", {"x"});
  On(Cpu("b0"), "neg", "Neg", {"enter"});
  EXPECT_THAT(Error(), HasSubstr("has no LoopCond"));
}

TEST_F(LoopPartitionTest, RefusesToCutABackEdge) {
  On(Cpu("a0"), "x", "Const");
  AddLoop("x");
  graph_->FindNode("next")->set_assigned_device(Cpu("b0"));
  EXPECT_THAT(Error(), AllOf(HasSubstr("{{node next}}"), HasSubstr("{{node merge}}")));
}

TEST_F(LoopPartitionTest, RefusesFramesThatDoNotNest) {
  On(Cpu("a0"), "x", "Const");
  AddLoop("x");
  On(Cpu("b0"), "mixed", "Add", {"x", "switch:1"});
  EXPECT_THAT(Error(), HasSubstr("{{node mixed}} has inputs from different frames"));
}

TEST(UsedFunctionsTest, FollowsCallsThroughFunctions) {
  tensorflow::FunctionDefLibrary proto;
  for (const char* name : {"F", "G", "H", "Unused"}) {
    tensorflow::OpDef* signature = proto.add_function()->mutable_signature();
    signature->set_name(name);
  }
  proto.mutable_function(0)->add_node_def()->set_op("G");
  (*proto.mutable_function(1)->add_node_def()->mutable_attr())["f"].mutable_func()->set_name("H");
  proto.mutable_function(2)->add_node_def()->set_op("F");  // recursive
  const auto library = FunctionLibrary::FromProto(proto);
  ASSERT_TRUE(library.ok()) << library.status();
  Graph graph(&testing_place::Ops(), *library);
  tensorflow::NodeDef call;
  call.set_name("call");
  call.set_op("F");
  ASSERT_TRUE(graph.AddNode(call).ok());
  std::vector<std::string> names;
  const tensorflow::FunctionDefLibrary used = UsedFunctions(graph);
  for (const auto& function : used.function()) {
    names.push_back(function.signature().name());
  }
  std::sort(names.begin(), names.end());
  EXPECT_THAT(names, ElementsAre("F", "G", "H"));
}

TEST(UsedFunctionsTest, IsEmptyForAGraphWithoutLibrary) {
  EXPECT_THAT(UsedFunctions(Graph(&testing_place::Ops(), nullptr)).function(), IsEmpty());
}

}  // namespace
}  // namespace tensorfleet
