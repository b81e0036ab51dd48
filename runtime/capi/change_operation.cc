// Changing operations that are in a graph already. Sessions that have been sent them are told.
#include <algorithm>

#include "runtime/capi/buffer.h"
#include "runtime/capi/graph.h"
#include "runtime/device/device_name.h"
#include "runtime/graph/attr.h"
#include "runtime/graph/graph.h"

namespace tensorfleet::capi {
namespace {

// Runs `edit` on the node of `operation`; `what` says in messages what was done to it.
template <typename Edit>
Status Change(TF_Graph* graph, TF_Operation* operation, const char* what, Edit&& edit) {
  TFLEET_RETURN_IF_ERROR(NotNull(graph, "graph"));
  MutexLock lock(&graph->mu);
  TFLEET_ASSIGN_OR_RETURN(Node * node, NodeIn(*graph, operation));
  TFLEET_RETURN_IF_ERROR(
      graph->scope.Edit([&](Graph* nodes) -> Status { return edit(node, nodes); }));
  graph->changes.push_back(
      {node->id(), absl::StrCat("Operation '", node->name(), "' was changed by ", what)});
  return OkStatus();
}

// Takes over `attrs` where the node's types stay what they are.
Status ReplaceDef(Node* node, const tensorflow::NodeDef& changed) {
  TFLEET_ASSIGN_OR_RETURN(const NodeTypes types, TypesOf(node->schema(), changed));
  if (types.inputs != node->input_types() || types.outputs != node->output_types()) {
    return InvalidArgument("the types of inputs and outputs of operation '", node->name(),
                           "' depend on this attribute: it cannot be changed any more");
  }
  node->mutable_def() = changed;
  return OkStatus();
}

}  // namespace
}  // namespace tensorfleet::capi

using namespace tensorfleet;        // NOLINT: the functions of C are outside of it
using namespace tensorfleet::capi;  // NOLINT

extern "C" {

void TF_AddOperationControlInput(TF_Graph* graph, TF_Operation* op, TF_Operation* input) {
  Enter(nullptr, [&] {
    return Change(graph, op, "adding control edge", [&](Node* node, Graph* nodes) -> Status {
      TFLEET_NOT_NULL(input);
      nodes->AddControlEdge(NodeOf(input), node);
      return OkStatus();
    });
  });
}

void TF_RemoveAllControlInputs(TF_Graph* graph, TF_Operation* op) {
  Enter(nullptr, [&] {
    return Change(graph, op, "removing control edges", [&](Node* node, Graph* nodes) {
      std::vector<const Edge*> going;
      for (const Edge* edge : node->in_edges()) {
        if (edge->is_control()) going.push_back(edge);
      }
      for (const Edge* edge : going) nodes->RemoveEdge(edge);
      return OkStatus();
    });
  });
}

void TF_SetAttr(TF_Graph* graph, TF_Operation* op, const char* attr_name,
                TF_Buffer* attr_value_proto, TF_Status* status) {
  Enter(status, [&] {
    return Change(graph, op, "setting an attribute", [&](Node* node, Graph*) -> Status {
      TFLEET_NOT_NULL(attr_name);
      tensorflow::NodeDef def = node->def();
      TFLEET_RETURN_IF_ERROR(
          ParseMessage(attr_value_proto, "AttrValue", &(*def.mutable_attr())[attr_name]));
      if (const AttrSpec* spec = node->schema().FindAttr(attr_name); spec != nullptr) {
        TFLEET_RETURN_IF_ERROR(CheckAttr(*spec, def.attr().at(attr_name)));
      }
      return ReplaceDef(node, def);
    });
  });
}

void TF_ClearAttr(TF_Graph* graph, TF_Operation* op, const char* attr_name, TF_Status* status) {
  Enter(status, [&] {
    return Change(graph, op, "clearing an attribute", [&](Node* node, Graph*) -> Status {
      TFLEET_NOT_NULL(attr_name);
      tensorflow::NodeDef def = node->def();
      def.mutable_attr()->erase(attr_name);
      // One with a default has that again.
      TFLEET_RETURN_IF_ERROR(CompleteAttrs(node->schema(), &def));
      return ReplaceDef(node, def);
    });
  });
}

void TF_SetRequestedDevice(TF_Graph* graph, TF_Operation* op, const char* device) {
  Enter(nullptr, [&] {
    return Change(graph, op, "setting device", [&](Node* node, Graph*) -> Status {
      TFLEET_NOT_NULL(device);
      TFLEET_RETURN_IF_ERROR(DeviceName::Parse(device).status());
      node->set_requested_device(device);
      return OkStatus();
    });
  });
}

void TF_UpdateEdge(TF_Graph* graph, TF_Output new_src, TF_Input dst, TF_Status* status) {
  Enter(status, [&] {
    return Change(
        graph, dst.oper, "updating input tensor", [&](Node* node, Graph* nodes) -> Status {
          TFLEET_NOT_NULL(new_src.oper);
          if (dst.index < 0 || dst.index >= node->num_inputs()) {
            return OutOfRange("Operation '", node->name(), "' has ", node->num_inputs(),
                              " inputs; number ", dst.index, " was to be changed");
          }
          const Edge* before = node->in_edge(dst.index);
          const TF_Output old = before == nullptr
                                    ? TF_Output{nullptr, 0}
                                    : TF_Output{OperationOf(before->src), before->src_output};
          Status changed =
              nodes->ReplaceInput(node, dst.index, NodeOf(new_src.oper), new_src.index);
          if (changed.ok()) changed = TopologicalOrder(*nodes).status();
          if (!changed.ok() && old.oper != nullptr) {
            TFLEET_RETURN_IF_ERROR(
                nodes->ReplaceInput(node, dst.index, NodeOf(old.oper), old.index));
          }
          return changed;
        });
  });
}

}  // extern "C"
