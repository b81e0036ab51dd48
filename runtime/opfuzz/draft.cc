#include "runtime/opfuzz/draft.h"

#include "absl/strings/str_cat.h"
#include "runtime/tensor/tensor_proto.h"

namespace tensorfleet::opfuzz {

tensorflow::NodeDef* Draft::Add(const std::string& op, const std::vector<std::string>& inputs) {
  tensorflow::NodeDef* node = graph.add_node();
  node->set_name(absl::StrCat("n", graph.node_size()));
  node->set_op(op);
  node->set_device(device);
  for (const std::string& input : inputs) node->add_input(input);
  return node;
}

std::string Draft::AddConst(const Tensor& value) {
  tensorflow::NodeDef* node = Add("Const", {});
  SetAttr(node, "dtype", value.dtype());
  TFLEET_CHECK(TensorToProto(value, (*node->mutable_attr())["value"].mutable_tensor()).ok());
  return node->name();
}

std::string Draft::AddFed(const Tensor& value, bool shape_is_known) {
  tensorflow::NodeDef* node = Add("Placeholder", {});
  SetAttr(node, "dtype", value.dtype());
  SetAttr(node, "shape", shape_is_known ? PartialShape(value.shape()) : PartialShape::Unknown());
  feeds.push_back({node->name(), value});
  return node->name();
}

}  // namespace tensorfleet::opfuzz
