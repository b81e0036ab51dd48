#include "runtime/graph/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/graph/testing/test_ops.h"

namespace tensorfleet {
namespace {

using ::testing::HasSubstr;

class GraphTest : public testing::Test {
 protected:
  Node* Add(const std::string& name, const std::string& op) {
    tensorflow::NodeDef def;
    def.set_name(name);
    def.set_op(op);
    return *graph_.AddNode(std::move(def));
  }
  Graph graph_{&testing_ops::Ops(), nullptr};
};

TEST_F(GraphTest, ParsesTensorNames) {
  EXPECT_EQ(ParseTensorName("a/b")->index, 0);
  EXPECT_EQ(ParseTensorName("a:3")->index, 3);
  EXPECT_EQ(ParseTensorName("^a")->index, kControlSlot);
  for (const char* bad : {"", "^", "a:", "a:x", "a:-1", "a b", ":0", "a:99999999999"}) {
    EXPECT_FALSE(ParseTensorName(bad).ok()) << bad;
  }
}

TEST_F(GraphTest, JoinsOutputsToInputsOfTheSameType) {
  Node* source = Add("s", "Source");
  Node* copy = Add("c", "Copy");
  ASSERT_TRUE(graph_.AddEdge(source, 0, copy, 0).ok());
  EXPECT_EQ(copy->in_edge(0)->src, source);
  EXPECT_THAT(std::string(graph_.AddEdge(source, 0, copy, 0).status().message()),
              HasSubstr("twice"));
  EXPECT_FALSE(graph_.AddEdge(source, 1, Add("d", "Copy"), 0).ok());
}

TEST_F(GraphTest, AReferenceFeedsAPlainInput) {
  EXPECT_TRUE(graph_.AddEdge(Add("v", "RefSource"), 0, Add("c", "Copy"), 0).ok());
}

TEST_F(GraphTest, RefusesAnotherTypeAndNamesBothEnds) {
  const Status status = graph_.AddEdge(Add("p", "Pair"), 1, Add("c", "Copy"), 0).status();
  EXPECT_THAT(
      std::string(status.message()),
      HasSubstr("Input 0 of node c was passed int32 from p:1 incompatible with expected float"));
}

TEST_F(GraphTest, AControlEdgeExistsOnce) {
  Node* a = Add("a", "Source");
  Node* b = Add("b", "Source");
  EXPECT_EQ(graph_.AddControlEdge(a, b), graph_.AddControlEdge(a, b));
  EXPECT_EQ(b->in_edges().size(), 1u);
}

TEST_F(GraphTest, ACloneHasTheSameIdsAndItsOwnNodes) {
  Node* a = Add("a", "Source");
  Node* b = Add("b", "Copy");
  Node* gone = Add("gone", "Source");
  ASSERT_TRUE(graph_.AddEdge(a, 0, b, 0).ok());
  graph_.RemoveNode(gone);
  const auto clone = graph_.Clone();
  EXPECT_EQ(clone->num_nodes(), 2);
  EXPECT_EQ(clone->FindNode("b")->id(), b->id());
  EXPECT_EQ(clone->FindNode("b")->in_edge(0)->src, clone->FindNode("a"));
  EXPECT_NE(clone->FindNode("a"), a);
}

TEST_F(GraphTest, RemovingANodeFreesItsNameAndEdges) {
  Node* a = Add("a", "Source");
  Node* b = Add("b", "Copy");
  ASSERT_TRUE(graph_.AddEdge(a, 0, b, 0).ok());
  graph_.RemoveNode(a);
  EXPECT_EQ(b->in_edge(0), nullptr);
  EXPECT_EQ(graph_.UniqueName("a"), "a");
  EXPECT_EQ(graph_.UniqueName("b"), "b_1");
}

TEST_F(GraphTest, TopologicalOrderNamesANodeOfACycle) {
  Node* a = Add("a", "Copy");
  Node* b = Add("b", "Copy");
  ASSERT_TRUE(graph_.AddEdge(a, 0, b, 0).ok());
  ASSERT_TRUE(graph_.AddEdge(b, 0, a, 0).ok());
  const Status status = TopologicalOrder(graph_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("'a'"));
}

TEST_F(GraphTest, EdgesOfAHubGoInAnyOrder) {
  Node* hub = Add("hub", "Source");
  std::vector<Node*> users;
  for (int i = 0; i < 5; ++i) {
    users.push_back(Add("user" + std::to_string(i), "Source"));
    graph_.AddControlEdge(hub, users.back());
  }
  for (const int gone : {2, 0, 4}) {
    const std::vector<Edge*> edges = hub->out_edges();
    for (const Edge* edge : edges) {
      if (edge->dst == users[gone]) graph_.RemoveEdge(edge);
    }
  }
  std::vector<Node*> left;
  for (const Edge* edge : hub->out_edges()) left.push_back(edge->dst);
  EXPECT_THAT(left, ::testing::UnorderedElementsAre(users[1], users[3]));
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(users[i]->in_edges().size(), static_cast<size_t>(i % 2)) << i;
  graph_.RemoveNode(hub);
  for (const Node* user : users) EXPECT_TRUE(user->in_edges().empty());
}

TEST_F(GraphTest, UniqueNamesPassOverThoseThatAreTaken) {
  Add("a", "Source");
  Add("a_2", "Source");
  EXPECT_EQ(graph_.UniqueName("a"), "a_1");
  Add("a_1", "Source");
  EXPECT_EQ(graph_.UniqueName("a"), "a_3");
}

TEST_F(GraphTest, NodesKnowWhatTheyAre) {
  EXPECT_EQ(KindsOf("MatMul"), 0u);
  EXPECT_NE(KindsOf("RefSwitch") & static_cast<NodeKinds>(NodeKind::kSwitch), 0u);
  // Of several kinds.
  EXPECT_NE(KindsOf("Merge") & static_cast<NodeKinds>(NodeKind::kMerge), 0u);
  EXPECT_NE(KindsOf("Merge") & static_cast<NodeKinds>(NodeKind::kPassesEach), 0u);
  EXPECT_FALSE(Add("source", "Source")->Is(NodeKind::kMerge));
}

}  // namespace
}  // namespace tensorfleet
