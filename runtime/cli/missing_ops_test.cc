#include "runtime/cli/missing_ops.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "proto/meta_graph.pb.h"
#include "proto/saved_model.pb.h"
#include "runtime/io/file_system.h"

namespace tensorfleet::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kGraph[] = R"(
  node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
  node { name: "py" op: "PyFunc" input: "x" }
  node { name: "f" op: "my_function" input: "x" }
  node { name: "odd" op: "NoSuchOp" }
  node { name: "odd2" op: "NoSuchOp" }
  node { name: "n" op: "Neg" input: "x" attr { key: "T" value { type: DT_BOOL } } }
  library { function { signature { name: "my_function" }
    node_def { name: "inner" op: "OtherOp" }
    node_def { name: "poly" op: "Neg" attr { key: "T" value { placeholder: "T" } } } } })";

tensorflow::GraphDef Graph() {
  tensorflow::GraphDef graph;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(kGraph, &graph));
  return graph;
}

std::string Written(const std::string& name, const std::string& contents) {
  const std::string path = ::testing::TempDir() + "/" + name;
  EXPECT_EQ(WriteWholeFile(*FileSystem::Local(), path, contents), absl::OkStatus());
  return path;
}

TEST(MissingOps, AreListedWithTheirReasons) {
  const auto is = [](const char* op, const char* why, const char* first, int nodes) {
    return AllOf(Field(&Refusal::op, op), Field(&Refusal::why, HasSubstr(why)),
                 Field(&Refusal::first, first), Field(&Refusal::nodes, nodes));
  };
  EXPECT_THAT(MissingOps(Graph()),
              ElementsAre(is("Neg", "bool", "n", 1), is("NoSuchOp", "not among", "odd", 2),
                          is("OtherOp", "not among", "inner in function my_function", 1),
                          is("PyFunc", "feed its results", "py", 1)));
}

TEST(MissingOps, OfAGraphThatRunsAreNone) {
  tensorflow::GraphDef graph = Graph();
  graph.mutable_node()->DeleteSubrange(1, 5);
  graph.clear_library();
  EXPECT_THAT(MissingOps(graph), IsEmpty());
}

TEST(ExportedGraphs, AreReadInEveryForm) {
  tensorflow::MetaGraphDef meta;
  meta.mutable_meta_info_def()->add_tags("serve");
  meta.mutable_meta_info_def()->set_tensorflow_version("2.15.1");
  *meta.mutable_graph_def() = Graph();
  tensorflow::SavedModel saved;
  saved.set_saved_model_schema_version(1);
  *saved.add_meta_graphs() = meta;
  const auto text = [](const google::protobuf::Message& message) {
    std::string printed;
    google::protobuf::TextFormat::PrintToString(message, &printed);
    return printed;
  };
  const std::string contents[] = {Graph().SerializeAsString(), text(Graph()),
                                  meta.SerializeAsString(),    text(meta),
                                  saved.SerializeAsString(),   text(saved)};
  for (int i = 0; i < 6; ++i) {
    const auto graphs = ReadExportedGraphs(Written("graph" + std::to_string(i), contents[i]));
    ASSERT_EQ(graphs.status(), absl::OkStatus()) << i;
    ASSERT_THAT(*graphs, SizeIs(1)) << i;
    EXPECT_THAT((*graphs)[0].graph.node(), SizeIs(Graph().node_size())) << i;
  }
}

TEST(ExportedGraphs, OfOtherFilesAreRefused) {
  EXPECT_THAT(std::string(ReadExportedGraphs(Written("none", "hello")).status().message()),
              HasSubstr("is neither a GraphDef nor"));
  EXPECT_EQ(ReadExportedGraphs("/no/such/file").status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace tensorfleet::cli
