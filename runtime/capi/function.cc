// TF_Function: functions made of graphs or of messages, and those that a graph knows.
#include <algorithm>
#include <memory>

#include "runtime/capi/buffer.h"
#include "runtime/capi/graph.h"
#include "runtime/capi/graph_to_function.h"
#include "runtime/graph/function_library.h"

struct TF_Function {
  tensorflow::FunctionDef def;
};

namespace tensorfleet::capi {
namespace {

StatusOr<std::vector<std::string>> NamesFrom(const char* const* names, int count,
                                             const char* what) {
  std::vector<std::string> texts;
  for (int i = 0; names != nullptr && i < count; ++i) {
    TFLEET_RETURN_IF_ERROR(NotNull(names[i], what));
    texts.emplace_back(names[i]);
  }
  return texts;
}

const tensorflow::FunctionDefLibrary& LibraryOf(const TF_Graph& graph) {
  return graph.scope.graph().library()->proto();
}

}  // namespace
}  // namespace tensorfleet::capi

using namespace tensorfleet;        // NOLINT: the functions of C are outside of it
using namespace tensorfleet::capi;  // NOLINT

extern "C" {

TF_Function* TF_GraphToFunction(const TF_Graph* fn_body, const char* fn_name,
                                unsigned char append_hash_to_fn_name, int num_opers,
                                const TF_Operation* const* opers, int ninputs,
                                const TF_Output* inputs, int noutputs, const TF_Output* outputs,
                                const char* const* output_names, const TF_FunctionOptions* opts,
                                const char* description, TF_Status* status) {
  return TF_GraphToFunctionWithControlOutputs(
      fn_body, fn_name, append_hash_to_fn_name, num_opers, opers, ninputs, inputs, noutputs,
      outputs, output_names, 0, nullptr, nullptr, opts, description, status);
}

TF_Function* TF_GraphToFunctionWithControlOutputs(
    const TF_Graph* fn_body, const char* fn_name, unsigned char append_hash_to_fn_name,
    int num_opers, const TF_Operation* const* opers, int ninputs, const TF_Output* inputs,
    int noutputs, const TF_Output* outputs, const char* const* output_names, int ncontrol_outputs,
    const TF_Operation* const* control_outputs, const char* const* control_output_names,
    const TF_FunctionOptions*, const char* description, TF_Status* status) {
  return EnterFor<TF_Function*>(status, nullptr, [&]() -> StatusOr<TF_Function*> {
    TFLEET_NOT_NULL(fn_body);
    TFLEET_NOT_NULL(fn_name);
    auto* graph = const_cast<TF_Graph*>(fn_body);  // only its lock changes
    MutexLock lock(&graph->mu);
    FunctionSpec spec;
    spec.name = fn_name;
    spec.append_hash = append_hash_to_fn_name != 0;
    spec.description = description == nullptr ? "" : description;
    if (num_opers != -1) {
      TFLEET_ASSIGN_OR_RETURN(spec.body, OperationsIn(*graph, opers, num_opers));
    }
    TFLEET_ASSIGN_OR_RETURN(spec.inputs, OutputsIn(*graph, inputs, ninputs, "inputs"));
    TFLEET_ASSIGN_OR_RETURN(spec.outputs, OutputsIn(*graph, outputs, noutputs, "outputs"));
    TFLEET_ASSIGN_OR_RETURN(spec.output_names,
                            NamesFrom(output_names, noutputs, "a name of an output"));
    TFLEET_ASSIGN_OR_RETURN(spec.control_outputs,
                            OperationsIn(*graph, control_outputs, ncontrol_outputs));
    TFLEET_ASSIGN_OR_RETURN(
        spec.control_output_names,
        NamesFrom(control_output_names, ncontrol_outputs, "a name of a control output"));
    auto function = std::make_unique<TF_Function>();
    TFLEET_ASSIGN_OR_RETURN(function->def, GraphToFunction(graph->scope.graph(), spec));
    return function.release();
  });
}

const char* TF_FunctionName(TF_Function* func) {
  return func == nullptr ? "" : func->def.signature().name().c_str();
}

void TF_FunctionToFunctionDef(TF_Function* func, TF_Buffer* output_func_def, TF_Status* status) {
  Enter(status, [&]() -> Status {
    TFLEET_NOT_NULL(func);
    return FillBuffer(func->def, output_func_def);
  });
}

TF_Function* TF_FunctionImportFunctionDef(const void* proto, size_t proto_len, TF_Status* status) {
  return EnterFor<TF_Function*>(status, nullptr, [&]() -> StatusOr<TF_Function*> {
    auto function = std::make_unique<TF_Function>();
    TFLEET_RETURN_IF_ERROR(ParseMessage(proto, proto_len, "FunctionDef", &function->def));
    tensorflow::FunctionDefLibrary library;
    *library.add_function() = function->def;
    TFLEET_RETURN_IF_ERROR(FunctionLibrary::FromProto(library).status());
    return function.release();
  });
}

void TF_FunctionSetAttrValueProto(TF_Function* func, const char* attr_name, const void* proto,
                                  size_t proto_len, TF_Status* status) {
  Enter(status, [&]() -> Status {
    TFLEET_NOT_NULL(func);
    TFLEET_NOT_NULL(attr_name);
    tensorflow::AttrValue value;
    TFLEET_RETURN_IF_ERROR(ParseMessage(proto, proto_len, "AttrValue", &value));
    (*func->def.mutable_attr())[attr_name] = std::move(value);
    return OkStatus();
  });
}

void TF_FunctionGetAttrValueProto(TF_Function* func, const char* attr_name,
                                  TF_Buffer* output_attr_value, TF_Status* status) {
  Enter(status, [&]() -> Status {
    TFLEET_NOT_NULL(func);
    TFLEET_NOT_NULL(attr_name);
    const auto found = func->def.attr().find(attr_name);
    if (found == func->def.attr().end()) {
      return InvalidArgument("Function '", func->def.signature().name(), "' has no attr named '",
                             attr_name, "'.");
    }
    return FillBuffer(found->second, output_attr_value);
  });
}

void TF_DeleteFunction(TF_Function* func) { delete func; }

void TF_GraphCopyFunction(TF_Graph* g, const TF_Function* func, const TF_Function* grad,
                          TF_Status* status) {
  Enter(status, [&]() -> Status {
    TFLEET_NOT_NULL(g);
    TFLEET_NOT_NULL(func);
    MutexLock lock(&g->mu);
    tensorflow::GraphDef def;
    *def.mutable_versions() = g->scope.graph().versions();
    *def.mutable_library()->add_function() = func->def;
    if (grad != nullptr) {
      *def.mutable_library()->add_function() = grad->def;
      auto& gradient = *def.mutable_library()->add_gradient();
      gradient.set_function_name(func->def.signature().name());
      gradient.set_gradient_func(grad->def.signature().name());
      const std::string known = g->scope.graph().library()->Gradient(func->def.signature().name());
      if (!known.empty() && known != gradient.gradient_func()) {
        return InvalidArgument("Cannot assign gradient function '", gradient.gradient_func(),
                               "' to '", gradient.function_name(), "' because it already has ",
                               "gradient function '", known, "'");
      }
    }
    return g->scope.Import(def);
  });
}

int TF_GraphNumFunctions(TF_Graph* g) {
  if (g == nullptr) return 0;
  MutexLock lock(&g->mu);
  return LibraryOf(*g).function_size();
}

int TF_GraphGetFunctions(TF_Graph* g, TF_Function** funcs, int max_func, TF_Status* status) {
  return EnterFor<int>(status, 0, [&]() -> StatusOr<int> {
    TFLEET_NOT_NULL(g);
    MutexLock lock(&g->mu);
    const tensorflow::FunctionDefLibrary& library = LibraryOf(*g);
    const int count = std::min(std::max(max_func, 0), library.function_size());
    TFLEET_RETURN_IF_ERROR(CheckArray(funcs, count, "funcs"));
    std::vector<std::unique_ptr<TF_Function>> made;
    for (int i = 0; i < count; ++i) {
      made.push_back(std::make_unique<TF_Function>());
      made.back()->def = library.function(i);
    }
    for (int i = 0; i < count; ++i) funcs[i] = made[i].release();
    return count;
  });
}

}  // extern "C"
