// Graphs that are placed and rewritten as a session does it, one line per node.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "google/protobuf/text_format.h"
#include "runtime/base/thread_pool.h"
#include "runtime/graph/attr.h"
#include "runtime/graph/function_library.h"
#include "runtime/place/rewrite.h"
#include "runtime/place/testing/place_fixture.h"

namespace tensorfleet::testing_place {

// Negate: x -> -x.
inline constexpr char kNegate[] = R"(
  function {
    signature { name: "Negate" input_arg { name: "x" type: DT_FLOAT }
                output_arg { name: "y" type: DT_FLOAT } }
    node_def { name: "neg" op: "Neg" input: "x" }
    node_def { name: "unused" op: "Neg" input: "x" }
    ret { key: "y" value: "neg:y:0" } }
)";

class RewriteTest : public PlaceTest {
 protected:
  RewriteTest() {
    placement_.devices = Devices({Cpu("a0"), Cpu("a1")});
    placement_.client_device = Cpu("a0");
    placement_.first_job = "a";
    placement_.kernels = &Kernels();
    context_.placement = &placement_;
    context_.cpu = cpu_.get();
    context_.cpu_kernels = &Kernels();
  }

  // As a session does: the graph is placed as a whole, then a step's copy is rewritten.
  Status TryRewrite() {
    PlacementOptions whole = placement_;
    whole.calls_are_expanded = true;
    TFLEET_RETURN_IF_ERROR(Place(whole, graph_.get()));
    return RewriteGraph(graph_.get(), context_);
  }
  std::vector<std::string> Rewrite() {
    const Status status = TryRewrite();
    EXPECT_TRUE(status.ok()) << status;
    return Describe(*graph_);
  }
  float ValueOf(const std::string& name) {
    const Node* node = graph_->FindNode(name);
    if (node == nullptr || !node->IsConstant()) return -1;
    return GetAttr<Tensor>(node->def(), "value")->scalar<float>();
  }
  // `text` holds FunctionDefs; the graph starts anew.
  void Functions(const std::string& text) {
    tensorflow::FunctionDefLibrary proto;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &proto));
    const auto library = FunctionLibrary::FromProto(proto);
    ASSERT_TRUE(library.ok()) << library.status();
    graph_ = std::make_unique<Graph>(&Ops(), *library);
  }
  // A node with functions as attributes and float inputs and outputs.
  Node* AddCall(const std::string& name, const std::string& op,
                const std::vector<std::pair<std::string, std::string>>& functions, int num_outputs,
                const std::vector<std::string>& inputs, const std::string& device = "") {
    tensorflow::NodeDef def;
    def.set_name(name);
    def.set_op(op);
    def.set_device(device);
    for (const auto& [attr, function] : functions) {
      tensorflow::NameAttrList list;
      list.set_name(function);
      if (op == "Case") {
        *(*def.mutable_attr())[attr].mutable_list()->add_func() = list;
      } else {
        SetAttr(&def, attr, list);
      }
    }
    int data = 0;
    for (const std::string& input : inputs) data += input[0] != '^';
    if (op == "If" || op == "Case") --data;
    const std::vector<DType> in(data, DType::kFloat), out(num_outputs, DType::kFloat);
    SetAttr(&def, op == "While" ? "T" : "Tin", absl::MakeConstSpan(in));
    if (op != "While") SetAttr(&def, "Tout", absl::MakeConstSpan(out));
    SetAttr(&def, "_lower_using_switch_merge", true);
    StatusOr<Node*> node = graph_->AddNode(std::move(def));
    EXPECT_TRUE(node.ok()) << node.status();
    int slot = 0;
    for (const std::string& input : inputs) {
      const TensorName from = *ParseTensorName(input);
      Node* src = graph_->FindNode(from.node);
      if (from.index == kControlSlot) {
        graph_->AddControlEdge(src, *node);
      } else {
        EXPECT_TRUE(graph_->AddEdge(src, from.index, *node, slot++).ok());
      }
    }
    return *node;
  }

  ThreadPool pool_{"test", 1};
  std::unique_ptr<Device> cpu_ = MakeCpuDevice("/job:a/replica:0/task:0", &pool_);
  PlacementOptions placement_;
  RewriteContext context_;
};

}  // namespace tensorfleet::testing_place
