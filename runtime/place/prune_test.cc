#include "runtime/place/prune.h"

#include "runtime/graph/attr.h"
#include "runtime/place/testing/place_fixture.h"

namespace tensorfleet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing_place::Cpu;
using testing_place::Describe;

class PruneTest : public testing_place::PlaceTest {
 protected:
  PruneTest() {
    Add("p", "Placeholder");
    AddConst("c", 1);
    Add("sum", "Add", {"p", "c"});
    Add("neg", "Neg", {"sum"});
    Add("shape", "Shape", {"sum"});
    Add("train", "NoOp", {"^neg"});
  }

  StatusOr<PrunedGraph> Prune(const Signature& signature) {
    PruneOptions options;
    options.client_device = Cpu("local0");
    options.client_incarnation = 7;
    options.feed_style = style_;
    return tensorfleet::Prune(signature, options, *graph_);
  }
  std::vector<std::string> Pruned(const Signature& signature) {
    StatusOr<PrunedGraph> pruned = Prune(signature);
    EXPECT_TRUE(pruned.ok()) << pruned.status();
    return pruned.ok() ? Describe(*pruned->graph) : std::vector<std::string>();
  }
  void ExpectError(const Signature& signature, absl::StatusCode code, const std::string& text) {
    const Status status = Prune(signature).status();
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_EQ(status.message(), text);
  }

  FeedStyle style_ = FeedStyle::kCallFrame;
};

TEST_F(PruneTest, KeepsWhatTheFetchNeeds) {
  EXPECT_THAT(Pruned({{}, {"c:0"}, {}}),
              ElementsAre("_retval_c_0_0 = _Retval(c) @ local0", "c = Const()"));
}

TEST_F(PruneTest, AFeedReplacesTheTensorAndWhatOnlyItNeeds) {
  EXPECT_THAT(
      Pruned({{"sum:0"}, {"neg:0", "shape"}, {}}),
      ElementsAre("_arg_sum_0_0 = _Arg() @ local0", "_retval_neg_0_0 = _Retval(neg) @ local0",
                  "_retval_shape_0_1 = _Retval(shape) @ local0", "neg = Neg(_arg_sum_0_0)",
                  "shape = Shape(_arg_sum_0_0)"));
}

TEST_F(PruneTest, SaysTheTypesOfFeedsAndFetches) {
  const StatusOr<PrunedGraph> pruned = Prune({{"p:0"}, {"shape:0", "sum:0"}, {}});
  ASSERT_TRUE(pruned.ok()) << pruned.status();
  EXPECT_THAT(pruned->feed_types, ElementsAre(DType::kFloat));
  EXPECT_THAT(pruned->fetch_types, ElementsAre(DType::kInt32, DType::kFloat));
}

TEST_F(PruneTest, NumbersFeedsAndFetchesByPosition) {
  const StatusOr<PrunedGraph> pruned = Prune({{"c", "p"}, {"sum", "neg", "sum"}, {}});
  ASSERT_TRUE(pruned.ok()) << pruned.status();
  const Graph& graph = *pruned->graph;
  EXPECT_EQ(*GetAttr<int64_t>(graph.FindNode("_arg_p_0_1")->def(), "index"), 1);
  EXPECT_EQ(*GetAttr<int64_t>(graph.FindNode("_retval_sum_0_2")->def(), "index"), 2);
  EXPECT_NE(graph.FindNode("_retval_sum_0_0"), nullptr);
}

TEST_F(PruneTest, KeepsTargetsAndTheirControlInputs) {
  EXPECT_THAT(Pruned({{"p:0"}, {}, {"train"}}),
              ElementsAre("_arg_p_0_0 = _Arg() @ local0", "c = Const()", "neg = Neg(sum)",
                          "sum = Add(_arg_p_0_0, c)", "train = NoOp(^neg)"));
}

TEST_F(PruneTest, WhatWaitsForAFedPlaceholderWaitsForTheFeed) {
  Add("after", "NoOp", {"^p", "^c"});
  EXPECT_THAT(Pruned({{"p", "c"}, {}, {"after"}}),
              ElementsAre("_arg_c_0_1 = _Arg() @ local0", "_arg_p_0_0 = _Arg() @ local0",
                          "after = NoOp(^_arg_p_0_0, ^c)", "c = Const()"));
}

TEST_F(PruneTest, FetchesTheValueOfAVariable) {
  Add("v", "VariableV2");
  const StatusOr<PrunedGraph> pruned = Prune({{}, {"v:0"}, {}});
  ASSERT_TRUE(pruned.ok()) << pruned.status();
  EXPECT_THAT(pruned->fetch_types, ElementsAre(DType::kFloat));
}

TEST_F(PruneTest, KeepsDevices) {
  graph_->FindNode("c")->set_requested_device("/job:ps");
  graph_->FindNode("c")->set_assigned_device(Cpu("ps0"));
  const StatusOr<PrunedGraph> pruned = Prune({{}, {"c:0"}, {}});
  ASSERT_TRUE(pruned.ok()) << pruned.status();
  EXPECT_EQ(pruned->graph->FindNode("c")->requested_device(), "/job:ps");
  EXPECT_EQ(pruned->graph->FindNode("c")->assigned_device(), Cpu("ps0"));
  EXPECT_EQ(pruned->graph->FindNode("_retval_c_0_0")->assigned_device(), Cpu("local0"));
}

TEST_F(PruneTest, CanFeedAndFetchByRendezvous) {
  style_ = FeedStyle::kRendezvous;
  const StatusOr<PrunedGraph> pruned = Prune({{"p:0"}, {"sum:0", "sum:0"}, {}});
  ASSERT_TRUE(pruned.ok()) << pruned.status();
  EXPECT_THAT(Describe(*pruned->graph),
              ElementsAre("_recv_p_0 = _Recv() @ local0", "_send_sum_0 = _Send(sum) @ local0",
                          "c = Const()", "sum = Add(_recv_p_0, c)"));
  const tensorflow::NodeDef& recv = pruned->graph->FindNode("_recv_p_0")->def();
  EXPECT_EQ(*GetAttr<std::string>(recv, "tensor_name"), "p:0");
  EXPECT_EQ(*GetAttr<std::string>(recv, "send_device"), Cpu("local0"));
  EXPECT_EQ(*GetAttr<std::string>(recv, "recv_device"), Cpu("local0"));
  EXPECT_EQ(*GetAttr<int64_t>(recv, "send_device_incarnation"), 7);
  EXPECT_TRUE(*GetAttr<bool>(recv, "client_terminated"));
}

TEST_F(PruneTest, LeavesTheSessionsGraphAlone) {
  const std::vector<std::string> before = Describe(*graph_);
  ASSERT_TRUE(Prune({{"p:0"}, {"neg:0"}, {"train"}}).ok());
  EXPECT_EQ(Describe(*graph_), before);
}

TEST_F(PruneTest, RefusesAStepWithNothingToDo) {
  ExpectError({{"p:0"}, {}, {}}, absl::StatusCode::kInvalidArgument,
              "Must specify at least one target to fetch or execute.");
}

TEST_F(PruneTest, RefusesToFeedTwice) {
  ExpectError({{"p:0", "p"}, {"sum:0"}, {}}, absl::StatusCode::kInvalidArgument,
              "Endpoint \"p:0\" fed more than once.");
}

TEST_F(PruneTest, RefusesToFetchWhatIsFed) {
  ExpectError({{"p:0"}, {"p:0"}, {}}, absl::StatusCode::kInvalidArgument,
              "p:0 is both fed and fetched.");
}

TEST_F(PruneTest, NamesUnknownFeedsFetchesAndTargets) {
  ExpectError({{"N:0"}, {"sum:0"}, {}}, absl::StatusCode::kNotFound,
              "FeedInputs: unable to find feed output N:0");
  ExpectError({{}, {"N:0"}, {}}, absl::StatusCode::kNotFound, "FetchOutputs node N:0: not found");
  ExpectError({{}, {"c:0"}, {"N", "train", "M"}}, absl::StatusCode::kNotFound,
              "PruneForTargets: Some target nodes not found: N M ");
}

TEST_F(PruneTest, RefusesOutputsThatANodeDoesNotHave) {
  ExpectError({{}, {"c:3"}, {}}, absl::StatusCode::kInvalidArgument,
              "FetchOutputs c:3: output index too large, must be < 1");
  ExpectError({{"c:3"}, {"sum:0"}, {}}, absl::StatusCode::kInvalidArgument,
              "FeedInputs: c:3 should have output index < 1");
  EXPECT_THAT(std::string(Prune({{}, {"train:0"}, {}}).status().message()),
              HasSubstr("which produces no output"));
}

TEST_F(PruneTest, RefusesNamesThatNameNoTensor) {
  for (const char* name : {"^c", "", "c:x", "c:99999999999", "c:-1"}) {
    EXPECT_EQ(Prune({{}, {name}, {}}).status().code(), absl::StatusCode::kInvalidArgument) << name;
    EXPECT_EQ(Prune({{name}, {"sum:0"}, {}}).status().code(), absl::StatusCode::kInvalidArgument)
        << name;
  }
}

TEST_F(PruneTest, RefusesToFeedAReferenceThatIsWrittenTo) {
  Add("v", "VariableV2");
  Add("set", "Assign", {"v", "c"});
  const Status status = Prune({{"v:0"}, {"set:0"}, {}}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("set"));
}

}  // namespace
}  // namespace tensorfleet
