#include "runtime/graph/graph_import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/graph/testing/test_ops.h"

namespace tensorfleet {
namespace {

using ::testing::HasSubstr;
using testing_ops::Parse;

// What import says of the graph with this text.
std::string ErrorOf(const std::string& text) {
  Graph graph(&testing_ops::Ops(), nullptr);
  const Status status = ImportGraphDef(Parse<tensorflow::GraphDef>(text), {}, &graph);
  EXPECT_EQ(graph.num_nodes(), 0) << "a failed import leaves nothing behind";
  return std::string(status.message());
}

TEST(ImportGraphDef, TakesNodesInAnyOrder) {
  Graph graph(&testing_ops::Ops(), nullptr);
  const auto def = Parse<tensorflow::GraphDef>(R"(
    node { name: "b" op: "Copy" input: "a" input: "^c" }
    node { name: "a" op: "Source" }
    node { name: "c" op: "Pair" }
    versions { producer: 1645 })");
  ASSERT_TRUE(ImportGraphDef(def, {}, &graph).ok());
  tensorflow::GraphDef back;
  ExportGraphDef(graph, {.strip_default_attrs = true}, &back);
  EXPECT_EQ(back.node(0).input(1), "^c");
  EXPECT_EQ(back.versions().producer(), 1645);
}

TEST(ImportGraphDef, LetsALoopCloseThroughNextIteration) {
  Graph graph(&testing_ops::Ops(), nullptr);
  const auto def = Parse<tensorflow::GraphDef>(R"(
    node { name: "s" op: "Source" }
    node { name: "m" op: "Merge" input: "s" input: "n" attr { key: "N" value { i: 2 } }
           attr { key: "T" value { type: DT_FLOAT } } }
    node { name: "n" op: "NextIteration" input: "m" attr { key: "T" value { type: DT_FLOAT } } })");
  EXPECT_TRUE(ImportGraphDef(def, {}, &graph).ok());
}

TEST(ImportGraphDef, RefusesAnUnknownOpWithItsNode) {
  const std::string error = ErrorOf(R"(node { name: "x" op: "Nope" })");
  EXPECT_THAT(error, HasSubstr("Op type not registered 'Nope'"));
  EXPECT_THAT(error, HasSubstr("'x'"));
}

TEST(ImportGraphDef, RefusesAnUnknownInput) {
  EXPECT_THAT(ErrorOf(R"(node { name: "zy" op: "Source" input: "^qq" })"),
              HasSubstr("Node 'zy': Unknown input node '^qq'"));
}

TEST(ImportGraphDef, RefusesTooFewAndTooManyInputs) {
  EXPECT_THAT(ErrorOf(R"(node { name: "c" op: "Copy" })"), HasSubstr("only 0 are connected"));
  EXPECT_THAT(
      ErrorOf(R"(node { name: "a" op: "Source" } node { name: "b" op: "Source" input: "a" })"),
      HasSubstr("one too many"));
}

TEST(ImportGraphDef, RefusesDataAfterControlInputs) {
  EXPECT_THAT(ErrorOf(R"(node { name: "a" op: "Source" }
                         node { name: "c" op: "Copy" input: "^a" input: "a" })"),
              HasSubstr("Control dependencies must come after"));
}

TEST(ImportGraphDef, RefusesInternalOpsOfClients) {
  EXPECT_THAT(ErrorOf(R"(node { name: "a" op: "_Arg" })"), HasSubstr("internal"));
}

TEST(ImportGraphDef, RefusesANewerFormat) {
  EXPECT_THAT(ErrorOf("versions { min_consumer: 99999 }"),
              HasSubstr("GraphDef min consumer version 99999 above current version 1645"));
}

TEST(ImportGraphDef, RefusesDuplicateAndMalformedNames) {
  EXPECT_THAT(ErrorOf(R"(node { name: "a" op: "Source" } node { name: "a" op: "Source" })"),
              HasSubstr("already exists"));
  EXPECT_THAT(ErrorOf(R"(node { name: "a b" op: "Source" })"), HasSubstr("not a valid node name"));
  EXPECT_THAT(ErrorOf(R"(node { op: "Source" })"), HasSubstr("not a valid node name"));
}

TEST(ImportGraphDef, RefusesACycle) {
  EXPECT_THAT(
      ErrorOf(
          R"(node { name: "a" op: "Copy" input: "b" } node { name: "b" op: "Copy" input: "a" })"),
      HasSubstr("cycle"));
}

}  // namespace
}  // namespace tensorfleet
