// Graphs as wholes: making them, what they hold, shapes.
#include "runtime/capi/graph.h"

#include <new>

#include "runtime/capi/buffer.h"
#include "runtime/graph/function_library.h"
#include "runtime/graph/graph_import.h"

namespace tensorfleet::capi {

StatusOr<Node*> NodeIn(const TF_Graph& graph, const TF_Operation* operation) {
  if (operation == nullptr) return InvalidArgument("an operation is NULL");
  const Graph& nodes = graph.scope.graph();
  const Node* node = NodeOf(operation);
  const int id = node->id();
  if (id < 0 || id >= nodes.num_node_ids() || nodes.node(id) != node) {
    return InvalidArgument("an operation is not of this graph");
  }
  return nodes.node(id);
}

StatusOr<Output> OutputIn(const TF_Graph& graph, TF_Output output) {
  TFLEET_ASSIGN_OR_RETURN(Node * node, NodeIn(graph, output.oper));
  if (output.index < 0 || output.index >= node->num_outputs()) {
    return InvalidArgument("Node '", node->name(), "' (type: '", node->op(),
                           "', num of outputs: ", node->num_outputs(), ") does not have output ",
                           output.index);
  }
  return Output(node, output.index);
}

StatusOr<std::vector<Output>> OutputsIn(const TF_Graph& graph, const TF_Output* outputs, int count,
                                        const char* name) {
  TFLEET_RETURN_IF_ERROR(CheckArray(outputs, count, name));
  std::vector<Output> checked;
  checked.reserve(count);
  for (int i = 0; i < count; ++i) {
    TFLEET_ASSIGN_OR_RETURN(const Output output, OutputIn(graph, outputs[i]));
    checked.push_back(output);
  }
  return checked;
}

StatusOr<std::vector<Operation>> OperationsIn(const TF_Graph& graph,
                                              const TF_Operation* const* operations, int count) {
  TFLEET_RETURN_IF_ERROR(CheckArray(operations, count, "operations"));
  std::vector<Operation> checked;
  for (int i = 0; i < count; ++i) {
    TFLEET_ASSIGN_OR_RETURN(Node * node, NodeIn(graph, operations[i]));
    checked.push_back(Operation(node));
  }
  return checked;
}

std::string NameIn(const TF_Graph& graph, const Node& node) {
  const Node* before = graph.scope.ReplacedBy(&node);
  return before == nullptr ? node.name() : before->name();
}

StatusOr<PartialShape> PartialShapeFrom(const int64_t* dims, int num_dims) {
  if (num_dims == -1) return PartialShape::Unknown();
  TFLEET_RETURN_IF_ERROR(CheckArray(dims, num_dims, "dims"));
  if (num_dims > Shape::kMaxRank) {
    return InvalidArgument("a rank of ", num_dims, " is over ", Shape::kMaxRank);
  }
  for (int i = 0; i < num_dims; ++i) {
    if (dims[i] < -1) return InvalidArgument("dimension ", i, " is ", dims[i]);
  }
  return PartialShape(absl::MakeConstSpan(dims, num_dims));
}

}  // namespace tensorfleet::capi

using namespace tensorfleet;        // NOLINT: the functions of C are outside of it
using namespace tensorfleet::capi;  // NOLINT

extern "C" {

TF_Graph* TF_NewGraph() {
  return EnterFor<TF_Graph*>(nullptr, nullptr,
                             []() -> StatusOr<TF_Graph*> { return new TF_Graph; });
}

void TF_DeleteGraph(TF_Graph* graph) {
  if (graph != nullptr) graph->Unref();
}

void TF_GraphSetTensorShape(TF_Graph* graph, TF_Output output, const int64_t* dims,
                            const int num_dims, TF_Status* status) {
  Enter(status, [&]() -> Status {
    TFLEET_NOT_NULL(graph);
    MutexLock lock(&graph->mu);
    TFLEET_ASSIGN_OR_RETURN(const Output of, OutputIn(*graph, output));
    TFLEET_ASSIGN_OR_RETURN(const PartialShape shape, PartialShapeFrom(dims, num_dims));
    return graph->scope.RefineShape(of, shape);
  });
}

int TF_GraphGetTensorNumDims(TF_Graph* graph, TF_Output output, TF_Status* status) {
  return EnterFor<int>(status, -1, [&]() -> StatusOr<int> {
    TFLEET_NOT_NULL(graph);
    MutexLock lock(&graph->mu);
    TFLEET_ASSIGN_OR_RETURN(const Output of, OutputIn(*graph, output));
    const PartialShape shape = graph->scope.ShapeOf(of);
    return shape.has_rank() ? shape.rank() : -1;
  });
}

void TF_GraphGetTensorShape(TF_Graph* graph, TF_Output output, int64_t* dims, int num_dims,
                            TF_Status* status) {
  Enter(status, [&]() -> Status {
    TFLEET_NOT_NULL(graph);
    MutexLock lock(&graph->mu);
    TFLEET_ASSIGN_OR_RETURN(const Output of, OutputIn(*graph, output));
    const PartialShape shape = graph->scope.ShapeOf(of);
    if (!shape.has_rank()) return OkStatus();  // nothing to fill in
    if (num_dims != shape.rank()) {
      return InvalidArgument("Expected rank is ", num_dims, " but actual rank is ", shape.rank());
    }
    TFLEET_RETURN_IF_ERROR(CheckArray(dims, num_dims, "dims"));
    for (int i = 0; i < num_dims; ++i) dims[i] = shape.dim(i);
    return OkStatus();
  });
}

TF_Operation* TF_GraphOperationByName(TF_Graph* graph, const char* oper_name) {
  return EnterFor<TF_Operation*>(nullptr, nullptr, [&]() -> StatusOr<TF_Operation*> {
    TFLEET_NOT_NULL(graph);
    TFLEET_NOT_NULL(oper_name);
    MutexLock lock(&graph->mu);
    return OperationOf(graph->scope.graph().FindNode(oper_name));
  });
}

TF_Operation* TF_GraphNextOperation(TF_Graph* graph, size_t* pos) {
  if (graph == nullptr || pos == nullptr) return nullptr;
  MutexLock lock(&graph->mu);
  const Graph& nodes = graph->scope.graph();
  while (*pos < static_cast<size_t>(nodes.num_node_ids())) {
    const Node* node = nodes.node(static_cast<int>((*pos)++));
    // What stands in for an expanded call is not an operation of its own.
    if (node != nullptr && graph->scope.ReplacedBy(node) == nullptr) return OperationOf(node);
  }
  return nullptr;
}

void TF_GraphToGraphDef(TF_Graph* graph, TF_Buffer* output_graph_def, TF_Status* status) {
  Enter(status, [&]() -> Status {
    TFLEET_NOT_NULL(graph);
    MutexLock lock(&graph->mu);
    TFLEET_ASSIGN_OR_RETURN(const tensorflow::GraphDef def, graph->scope.ToGraphDef());
    return FillBuffer(def, output_graph_def);
  });
}

void TF_GraphGetOpDef(TF_Graph* graph, const char* op_name, TF_Buffer* output_op_def,
                      TF_Status* status) {
  Enter(status, [&]() -> Status {
    TFLEET_NOT_NULL(graph);
    TFLEET_NOT_NULL(op_name);
    MutexLock lock(&graph->mu);
    const Graph& nodes = graph->scope.graph();
    if (const auto* function = nodes.library()->Find(op_name); function != nullptr) {
      return FillBuffer(function->signature(), output_op_def);
    }
    TFLEET_ASSIGN_OR_RETURN(const OpSchema* schema, nodes.ops().Find(op_name));
    tensorflow::OpDef def;
    OpSchemaToProto(*schema, &def);
    return FillBuffer(def, output_op_def);
  });
}

void TF_GraphVersions(TF_Graph* graph, TF_Buffer* output_version_def, TF_Status* status) {
  Enter(status, [&]() -> Status {
    TFLEET_NOT_NULL(graph);
    MutexLock lock(&graph->mu);
    tensorflow::VersionDef versions = graph->scope.graph().versions();
    if (versions.producer() == 0) versions.set_producer(kGraphVersion);
    return FillBuffer(versions, output_version_def);
  });
}

}  // extern "C"
