#include "runtime/graph/shape_context.h"

#include "runtime/base/contain.h"

namespace tensorfleet {
namespace {

// The value of a small integer constant, which may decide shapes. Bigger ones are never shapes or
// axes.
constexpr int64_t kMaxConstantElements = 1024;

StatusOr<Tensor> ConstantOf(const Node& node) {
  const tensorflow::AttrValue* value = FindAttr(node.def(), "value");
  if (value == nullptr) return NotFound("no value");
  TFLEET_ASSIGN_OR_RETURN(const Shape shape, Shape::FromProto(value->tensor().tensor_shape()));
  if (shape.num_elements() > kMaxConstantElements) return OutOfRange("too large");
  return GetAttr<Tensor>(node.def(), "value");
}

// The declared shape of what some nodes output, for nodes without inputs.
PartialShape DeclaredShape(const Node& node) {
  if (const auto* value = FindAttr(node.def(), "value"); node.IsConstant() && value != nullptr) {
    const StatusOr<Shape> shape = Shape::FromProto(value->tensor().tensor_shape());
    return shape.ok() ? PartialShape(*shape) : PartialShape::Unknown();
  }
  return PartialShape::Unknown();
}

}  // namespace

ShapeContext::ShapeContext(const Node& node, std::vector<PartialShape> inputs,
                           std::vector<const Tensor*> constant_inputs)
    : node_(node),
      inputs_(std::move(inputs)),
      constants_(std::move(constant_inputs)),
      outputs_(node.num_outputs()) {}

StatusOr<PartialShape> ShapeContext::InputAsShape(int i) const {
  const Tensor* value = constants_[i];
  if (value == nullptr) {
    const PartialShape& shape = inputs_[i];
    if (shape.has_rank() && shape.rank() == 1 && shape.has_dim(0) &&
        shape.dim(0) <= Shape::kMaxRank) {
      return PartialShape::UnknownOfRank(static_cast<int>(shape.dim(0)));
    }
    return PartialShape::Unknown();
  }
  if (value->rank() != 1) {
    return InvalidArgument("Input ", i, " must be a vector of dimensions but has shape ",
                           value->shape().ToString());
  }
  PartialShape shape({});
  for (int64_t d = 0; d < value->num_elements(); ++d) {
    const int64_t size =
        value->dtype() == DType::kInt64 ? value->values<int64_t>()[d] : value->values<int32_t>()[d];
    if (size < PartialShape::kUnknownDim) {
      return InvalidArgument("Dimension ", d, " of input ", i, " is ", size);
    }
    shape.AddDim(size);
  }
  return shape;
}

Status ShapeContext::RequireRank(int input, int rank) const {
  const PartialShape& shape = inputs_[input];
  if (!shape.has_rank() || shape.rank() == rank) return OkStatus();
  return InvalidArgument("Shape must be rank ", rank, " but is rank ", shape.rank(), " for input ",
                         input, " of shape ", shape.ToString());
}

Status ShapeContext::RequireRankAtLeast(int input, int rank) const {
  const PartialShape& shape = inputs_[input];
  if (!shape.has_rank() || shape.rank() >= rank) return OkStatus();
  return InvalidArgument("Shape must be at least rank ", rank, " but is rank ", shape.rank(),
                         " for input ", input, " of shape ", shape.ToString());
}

StatusOr<std::vector<std::vector<PartialShape>>> InferShapes(const Graph& graph) {
  std::vector<std::vector<PartialShape>> shapes(graph.num_node_ids());
  std::vector<Tensor> constants(graph.num_node_ids());
  TFLEET_ASSIGN_OR_RETURN(const std::vector<Node*> order, TopologicalOrder(graph));
  for (const Node* node : order) {
    shapes[node->id()].resize(node->num_outputs());
    if (node->IsConstant()) {
      StatusOr<Tensor> value = ConstantOf(*node);
      if (value.ok()) constants[node->id()] = *std::move(value);
      shapes[node->id()][0] = DeclaredShape(*node);
      continue;
    }
    std::vector<PartialShape> inputs(node->num_inputs());
    std::vector<const Tensor*> values(node->num_inputs(), nullptr);
    for (int i = 0; i < node->num_inputs(); ++i) {
      const Edge* edge = node->in_edge(i);
      // What comes round a loop is not inferred yet, so nothing is known of it.
      if (edge == nullptr || shapes[edge->src->id()].empty()) continue;
      inputs[i] = shapes[edge->src->id()][edge->src_output];
      if (constants[edge->src->id()].is_valid()) values[i] = &constants[edge->src->id()];
    }
    if (node->schema().shape_fn == nullptr) continue;
    ShapeContext ctx(*node, std::move(inputs), std::move(values));
    const Status status = Contained([&] { return node->schema().shape_fn(ctx); });
    if (!status.ok()) return WithNode(status, node->name());
    shapes[node->id()] = ctx.outputs();
  }
  return shapes;
}

}  // namespace tensorfleet
