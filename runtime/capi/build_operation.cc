// Building operations: what TF_NewOperation begins and TF_FinishOperation ends.
#include "runtime/capi/build_operation.h"

#include <memory>

#include "runtime/graph/attr.h"
#include "runtime/graph/function_library.h"

namespace tensorfleet::capi {
namespace {

using Argument = TF_OperationDescription::Argument;

// The op's schema, or that of the function of this name.
StatusOr<std::shared_ptr<const OpSchema>> SchemaOf(const Graph& graph, const std::string& op) {
  if (auto schema = graph.library()->Schema(op); schema != nullptr) return schema;
  const StatusOr<const OpSchema*> found = graph.ops().Find(op);
  // TensorFlow's code for an unknown op here.
  if (!found.ok()) return InvalidArgument(found.status().message());
  return std::shared_ptr<const OpSchema>(std::shared_ptr<void>(), *found);
}

// Sets an attribute that follows from the inputs, or checks the one that was given.
Status Infer(const std::string& name, const tensorflow::AttrValue& value, const OpSchema& schema,
             tensorflow::NodeDef* def) {
  const auto [place, is_new] = def->mutable_attr()->insert({name, value});
  if (is_new || place->second.SerializeAsString() == value.SerializeAsString()) return OkStatus();
  return InvalidArgument("Inconsistent values for attr '", name, "' while building NodeDef '",
                         def->name(), "' using ", schema.Summary());
}

tensorflow::AttrValue TypeValue(DType type) {
  tensorflow::AttrValue value;
  value.set_type(static_cast<tensorflow::DataType>(BaseType(type)));
  return value;
}

Status InferFromArgument(const ArgSpec& spec, const Argument& argument, const OpSchema& schema,
                         tensorflow::NodeDef* def) {
  const bool takes_list = !spec.number_attr.empty() || !spec.type_list_attr.empty();
  if (takes_list != argument.is_list) {
    return InvalidArgument(
        "Input '", spec.name, "' of ", schema.name,
        takes_list ? " is a list: use TF_AddInputList" : " is one tensor: use TF_AddInput",
        "; while building NodeDef '", def->name(), "'");
  }
  if (!spec.number_attr.empty()) {
    tensorflow::AttrValue count;
    count.set_i(static_cast<int64_t>(argument.outputs.size()));
    TFLEET_RETURN_IF_ERROR(Infer(spec.number_attr, count, schema, def));
  }
  if (!spec.type_list_attr.empty()) {
    tensorflow::AttrValue types;
    types.mutable_list();
    for (const Output& output : argument.outputs) {
      types.mutable_list()->add_type(static_cast<tensorflow::DataType>(output.dtype()));
    }
    return Infer(spec.type_list_attr, types, schema, def);
  }
  if (spec.type_attr.empty()) return OkStatus();
  for (const Output& output : argument.outputs) {
    TFLEET_RETURN_IF_ERROR(Infer(spec.type_attr, TypeValue(output.dtype()), schema, def));
  }
  return OkStatus();
}

Status InferAttrs(const OpSchema& schema, const std::vector<Argument>& arguments,
                  tensorflow::NodeDef* def) {
  if (arguments.size() != schema.inputs.size()) {
    return InvalidArgument(arguments.size(), " inputs specified of ", schema.inputs.size(),
                           " inputs in Op while building NodeDef '", def->name(), "' using ",
                           schema.Summary());
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    TFLEET_RETURN_IF_ERROR(InferFromArgument(schema.inputs[i], arguments[i], schema, def));
  }
  return OkStatus();
}

StatusOr<TF_Operation*> Finish(TF_OperationDescription& desc) {
  TF_Graph& graph = *desc.graph;
  TFLEET_RETURN_IF_ERROR(desc.first_error);
  MutexLock lock(&graph.mu);
  tensorflow::NodeDef& def = desc.def;
  if (graph.scope.graph().FindNode(def.name()) != nullptr) {
    return InvalidArgument("Duplicate node name in graph: '", def.name(), "'");
  }
  TFLEET_ASSIGN_OR_RETURN(const auto schema, SchemaOf(graph.scope.graph(), def.op()));
  std::vector<Output> inputs;
  for (Argument& argument : desc.arguments) {
    for (const TF_Output& input : argument.given) {
      TFLEET_ASSIGN_OR_RETURN(const Output output, OutputIn(graph, input));
      argument.outputs.push_back(output);
      inputs.push_back(output);
    }
  }
  TFLEET_RETURN_IF_ERROR(InferAttrs(*schema, desc.arguments, &def));
  TFLEET_ASSIGN_OR_RETURN(
      const std::vector<Operation> controls,
      OperationsIn(graph, desc.controls.data(), static_cast<int>(desc.controls.size())));
  if (!desc.colocations.empty()) {
    TFLEET_ASSIGN_OR_RETURN(const auto given,
                            GetAttrOr<std::vector<std::string>>(def, "_class", {}));
    std::set<std::string> all = desc.colocations;
    all.insert(given.begin(), given.end());
    const std::vector<std::string> sorted(all.begin(), all.end());
    SetAttr(&def, "_class", absl::MakeConstSpan(sorted));
  }
  TFLEET_ASSIGN_OR_RETURN(Node * node, graph.scope.AddExactly(std::move(def), inputs, controls));
  return OperationOf(node);
}

}  // namespace

void Note(TF_OperationDescription* desc, const Status& status) {
  if (desc->first_error.ok()) desc->first_error = status;
}

}  // namespace tensorfleet::capi

using namespace tensorfleet;        // NOLINT: the functions of C are outside of it
using namespace tensorfleet::capi;  // NOLINT

extern "C" {

TF_OperationDescription* TF_NewOperation(TF_Graph* graph, const char* op_type,
                                         const char* oper_name) {
  return EnterFor<TF_OperationDescription*>(
      nullptr, nullptr, [&]() -> StatusOr<TF_OperationDescription*> {
        TFLEET_NOT_NULL(graph);
        TFLEET_NOT_NULL(op_type);
        TFLEET_NOT_NULL(oper_name);
        auto desc = std::make_unique<TF_OperationDescription>();
        desc->graph = graph;
        desc->def.set_op(op_type);
        desc->def.set_name(oper_name);
        return desc.release();
      });
}

TF_OperationDescription* TF_NewOperationLocked(TF_Graph* graph, const char* op_type,
                                               const char* oper_name) {
  return TF_NewOperation(graph, op_type, oper_name);
}

void TF_SetDevice(TF_OperationDescription* desc, const char* device) {
  Describe(desc, [&]() -> Status {
    TFLEET_NOT_NULL(device);
    desc->def.set_device(device);
    return OkStatus();
  });
}

void TF_AddInput(TF_OperationDescription* desc, TF_Output input) {
  Describe(desc, [&] { desc->arguments.push_back({false, {input}, {}}); });
}

void TF_AddInputList(TF_OperationDescription* desc, const TF_Output* inputs, int num_inputs) {
  Describe(desc, [&]() -> Status {
    TFLEET_RETURN_IF_ERROR(CheckArray(inputs, num_inputs, "inputs"));
    desc->arguments.push_back({true, {inputs, inputs + num_inputs}, {}});
    return OkStatus();
  });
}

void TF_AddControlInput(TF_OperationDescription* desc, TF_Operation* input) {
  Describe(desc, [&] { desc->controls.push_back(input); });
}

void TF_ColocateWith(TF_OperationDescription* desc, TF_Operation* op) {
  Describe(desc, [&]() -> Status {
    MutexLock lock(&desc->graph->mu);
    TFLEET_ASSIGN_OR_RETURN(const Node* node, NodeIn(*desc->graph, op));
    desc->colocations.insert(absl::StrCat("loc:@", node->name()));
    return OkStatus();
  });
}

TF_Operation* TF_FinishOperation(TF_OperationDescription* desc, TF_Status* status) {
  const std::unique_ptr<TF_OperationDescription> owned(desc);
  return EnterFor<TF_Operation*>(status, nullptr, [&]() -> StatusOr<TF_Operation*> {
    TFLEET_NOT_NULL(desc);
    return Finish(*desc);
  });
}

TF_Operation* TF_FinishOperationLocked(TF_OperationDescription* desc, TF_Status* status) {
  return TF_FinishOperation(desc, status);
}

}  // extern "C"
