#include "runtime/session/limits.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "proto/graph.pb.h"
#include "runtime/ops/families.h"

namespace tensorfleet {
namespace {

using ::testing::HasSubstr;

const OpRegistry& Ops() {
  static const OpRegistry* const ops = [] {
    auto* made = new OpRegistry;
    RegisterFileOps(*made);
    RegisterCheckpointOps(*made);
    RegisterBasicOps(*made);
    RegisterLookupOps(*made);
    RegisterReaderOps(*made);
    return made;
  }();
  return *ops;
}

tensorflow::GraphDef GraphOf(const std::string& text) {
  tensorflow::GraphDef graph;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &graph));
  return graph;
}

TEST(ForbiddenOps, AreRefusedByNameWithWhatToDo) {
  const ForbiddenOps forbidden = *ForbiddenOps::Parse("ReadFile", Ops());
  const Status refused = forbidden.Check(GraphOf("node { name: 'spy' op: 'ReadFile' }"));
  EXPECT_TRUE(absl::IsPermissionDenied(refused));
  EXPECT_THAT(refused.message(), HasSubstr("Node 'spy' is a ReadFile"));
  EXPECT_THAT(refused.message(), HasSubstr("--forbid_ops=ReadFile"));
  EXPECT_THAT(refused.message(), HasSubstr("place it on another server"));
  EXPECT_TRUE(forbidden.Check(GraphOf("node { name: 'n' op: 'WriteFile' }")).ok());
}

TEST(ForbiddenOps, AGroupCoversFunctionsToo) {
  const ForbiddenOps forbidden = *ForbiddenOps::Parse(" files , NoOp", Ops());
  const Status refused = forbidden.Check(GraphOf(R"(
      library { function { signature { name: 'f' } node_def { name: 'w' op: 'WriteFile' } } })"));
  EXPECT_THAT(refused.message(), HasSubstr("Node 'w' of function 'f' is a WriteFile"));
  EXPECT_THAT(refused.message(), HasSubstr("--forbid_ops=files"));
  EXPECT_FALSE(forbidden.Check(GraphOf("node { name: 'n' op: 'NoOp' }")).ok());
}

TEST(ForbiddenOps, PrintingIsForbiddenOnlyWhereItWritesAFile) {
  const ForbiddenOps forbidden = *ForbiddenOps::Parse("network", Ops());
  EXPECT_TRUE(forbidden.Check(GraphOf("node { name: 'p' op: 'PrintV2' }")).ok());
  EXPECT_TRUE(absl::IsPermissionDenied(forbidden.Check(GraphOf(
      "node { name: 'p' op: 'PrintV2' attr { key: 'output_stream' value { s: 'file:///x' } } }"))));
  EXPECT_FALSE(ForbiddenOps::Parse("PrintV2", Ops())
                   ->Check(GraphOf("node { name: 'p' op: 'PrintV2' }"))
                   .ok());
}

TEST(ForbiddenOps, AnUnknownNameIsAnError) {
  EXPECT_THAT(ForbiddenOps::Parse("Readfile", Ops()).status().message(), HasSubstr("'Readfile'"));
}

TEST(ForbiddenOps, TheGroupHoldsEveryOpThatTakesAFileName) {
  for (const char* op : ForbiddenOps::FileOps()) EXPECT_TRUE(Ops().Find(op).ok()) << op;
  // Ops about names alone.
  const std::vector<std::string> harmless = {"ShardedFilename", "ShardedFilespec"};
  OpRegistry files;
  RegisterFileOps(files);
  RegisterCheckpointOps(files);
  for (const std::string& op : files.Names()) {
    const auto group = ForbiddenOps::FileOps();
    const bool listed = std::find(group.begin(), group.end(), op) != group.end();
    const bool known = std::find(harmless.begin(), harmless.end(), op) != harmless.end();
    EXPECT_NE(listed, known) << op;
  }
}

TEST(Limits, NodesOfAGraphCountWithThoseOfFunctions) {
  Limits limits;
  limits.graph_nodes = 3;
  const tensorflow::GraphDef two = GraphOf(R"(
      node { name: 'a' op: 'NoOp' }
      library { function { signature { name: 'f' } node_def { name: 'b' op: 'NoOp' } } })");
  EXPECT_TRUE(limits.CheckGraph(two, 1).ok());
  const Status refused = limits.CheckGraph(two, 2);
  EXPECT_TRUE(absl::IsResourceExhausted(refused));
  EXPECT_THAT(refused.message(), HasSubstr("limited to 3 on this server (--max_graph_nodes)"));
  EXPECT_THAT(refused.message(), HasSubstr("would have 4"));
  limits.graph_nodes = 0;
  EXPECT_TRUE(limits.CheckGraph(two, 1'000'000'000).ok());
}

}  // namespace
}  // namespace tensorfleet
