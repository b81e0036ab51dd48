// TF_GraphImportGraphDef*, with their options and results.
#include <memory>

#include "absl/strings/match.h"
#include "runtime/capi/buffer.h"
#include "runtime/capi/graph.h"
#include "runtime/capi/import_graph.h"
#include "runtime/graph/graph.h"

struct TF_ImportGraphDefOptions {
  // What is taken instead of an output of the message; its name is looked up when the import runs.
  struct Mapping {
    tensorfleet::capi::ImportOptions::Name from;
    TF_Output to;
  };
  tensorfleet::capi::ImportOptions options;
  std::vector<Mapping> mappings;
  std::vector<TF_Operation*> control_inputs;
  tensorfleet::Status first_error;  // of calls without a status
};

struct TF_ImportGraphDefResults {
  std::vector<TF_Output> outputs;
  std::vector<TF_Operation*> operations;
  std::vector<std::string> missing_names;
  std::vector<const char*> missing_texts;  // into missing_names
  std::vector<int> missing_indices;
};

namespace tensorfleet::capi {
namespace {

template <typename Work>
void Option(TF_ImportGraphDefOptions* opts, Work&& work) noexcept {
  if (opts == nullptr) return;
  const Status status = Contained(std::forward<Work>(work));
  if (!status.ok() && opts->first_error.ok()) opts->first_error = status;
}

// "a" with index 1, or "a:1" with index 0, as TensorFlow takes them.
StatusOr<ImportOptions::Name> NameFrom(const char* name, int index) {
  TFLEET_RETURN_IF_ERROR(NotNull(name, "a name"));
  if (index != 0 || !absl::StrContains(name, ':')) return ImportOptions::Name(name, index);
  TFLEET_ASSIGN_OR_RETURN(const TensorName parsed, ParseTensorName(name));
  return ImportOptions::Name(parsed.node, parsed.index);
}

StatusOr<ImportResults> Import(TF_Graph* graph, const TF_Buffer* graph_def,
                               const TF_ImportGraphDefOptions* options) {
  TFLEET_RETURN_IF_ERROR(NotNull(graph, "graph"));
  tensorflow::GraphDef def;
  TFLEET_RETURN_IF_ERROR(ParseMessage(graph_def, "GraphDef", &def));
  ImportOptions checked;
  MutexLock lock(&graph->mu);
  if (options != nullptr) {
    TFLEET_RETURN_IF_ERROR(options->first_error);
    checked = options->options;
    for (const auto& mapping : options->mappings) {
      TFLEET_ASSIGN_OR_RETURN(const Node* node, NodeIn(*graph, mapping.to.oper));
      if (mapping.to.index != kControlSlot) {
        TFLEET_RETURN_IF_ERROR(OutputIn(*graph, mapping.to).status());
      }
      checked.input_map[mapping.from] = {node->name(), mapping.to.index};
    }
    for (const TF_Operation* operation : options->control_inputs) {
      TFLEET_ASSIGN_OR_RETURN(const Node* node, NodeIn(*graph, operation));
      checked.control_inputs.push_back(node->name());
    }
  }
  return ImportInto(graph->scope, std::move(def), checked);
}

}  // namespace
}  // namespace tensorfleet::capi

using namespace tensorfleet;        // NOLINT: the functions of C are outside of it
using namespace tensorfleet::capi;  // NOLINT

extern "C" {

TF_ImportGraphDefOptions* TF_NewImportGraphDefOptions() {
  return new (std::nothrow) TF_ImportGraphDefOptions;
}

void TF_DeleteImportGraphDefOptions(TF_ImportGraphDefOptions* opts) { delete opts; }

void TF_ImportGraphDefOptionsSetPrefix(TF_ImportGraphDefOptions* opts, const char* prefix) {
  Option(opts, [&] { opts->options.prefix = prefix == nullptr ? "" : prefix; });
}

void TF_ImportGraphDefOptionsSetDefaultDevice(TF_ImportGraphDefOptions* opts, const char* device) {
  Option(opts, [&] { opts->options.default_device = device == nullptr ? "" : device; });
}

void TF_ImportGraphDefOptionsSetUniquifyNames(TF_ImportGraphDefOptions* opts,
                                              unsigned char uniquify_names) {
  Option(opts, [&] { opts->options.uniquify_names = uniquify_names != 0; });
}

void TF_ImportGraphDefOptionsSetUniquifyPrefix(TF_ImportGraphDefOptions* opts,
                                               unsigned char uniquify_prefix) {
  Option(opts, [&] { opts->options.uniquify_prefix = uniquify_prefix != 0; });
}

void TF_ImportGraphDefOptionsAddInputMapping(TF_ImportGraphDefOptions* opts, const char* src_name,
                                             int src_index, TF_Output dst) {
  Option(opts, [&]() -> Status {
    TFLEET_ASSIGN_OR_RETURN(const ImportOptions::Name from, NameFrom(src_name, src_index));
    opts->mappings.push_back({from, dst});
    return OkStatus();
  });
}

void TF_ImportGraphDefOptionsRemapControlDependency(TF_ImportGraphDefOptions* opts,
                                                    const char* src_name, TF_Operation* dst) {
  Option(opts, [&]() -> Status {
    TFLEET_NOT_NULL(src_name);
    opts->mappings.push_back({{src_name, kControlSlot}, {dst, kControlSlot}});
    return OkStatus();
  });
}

void TF_ImportGraphDefOptionsAddControlDependency(TF_ImportGraphDefOptions* opts,
                                                  TF_Operation* oper) {
  Option(opts, [&] { opts->control_inputs.push_back(oper); });
}

void TF_ImportGraphDefOptionsAddReturnOutput(TF_ImportGraphDefOptions* opts, const char* oper_name,
                                             int index) {
  Option(opts, [&]() -> Status {
    TFLEET_ASSIGN_OR_RETURN(const ImportOptions::Name name, NameFrom(oper_name, index));
    opts->options.return_outputs.push_back(name);
    return OkStatus();
  });
}

int TF_ImportGraphDefOptionsNumReturnOutputs(const TF_ImportGraphDefOptions* opts) {
  return opts == nullptr ? 0 : static_cast<int>(opts->options.return_outputs.size());
}

void TF_ImportGraphDefOptionsAddReturnOperation(TF_ImportGraphDefOptions* opts,
                                                const char* oper_name) {
  Option(opts, [&]() -> Status {
    TFLEET_NOT_NULL(oper_name);
    opts->options.return_nodes.push_back(oper_name);
    return OkStatus();
  });
}

int TF_ImportGraphDefOptionsNumReturnOperations(const TF_ImportGraphDefOptions* opts) {
  return opts == nullptr ? 0 : static_cast<int>(opts->options.return_nodes.size());
}

void TF_ImportGraphDefResultsReturnOutputs(TF_ImportGraphDefResults* results, int* num_outputs,
                                           TF_Output** outputs) {
  if (results == nullptr || num_outputs == nullptr || outputs == nullptr) return;
  *num_outputs = static_cast<int>(results->outputs.size());
  *outputs = results->outputs.data();
}

void TF_ImportGraphDefResultsReturnOperations(TF_ImportGraphDefResults* results, int* num_opers,
                                              TF_Operation*** opers) {
  if (results == nullptr || num_opers == nullptr || opers == nullptr) return;
  *num_opers = static_cast<int>(results->operations.size());
  *opers = results->operations.data();
}

void TF_ImportGraphDefResultsMissingUnusedInputMappings(TF_ImportGraphDefResults* results,
                                                        int* num_missing_unused_input_mappings,
                                                        const char*** src_names,
                                                        int** src_indexes) {
  if (results == nullptr || num_missing_unused_input_mappings == nullptr || src_names == nullptr ||
      src_indexes == nullptr) {
    return;
  }
  *num_missing_unused_input_mappings = static_cast<int>(results->missing_texts.size());
  *src_names = results->missing_texts.data();
  *src_indexes = results->missing_indices.data();
}

void TF_DeleteImportGraphDefResults(TF_ImportGraphDefResults* results) { delete results; }

TF_ImportGraphDefResults* TF_GraphImportGraphDefWithResults(TF_Graph* graph,
                                                            const TF_Buffer* graph_def,
                                                            const TF_ImportGraphDefOptions* options,
                                                            TF_Status* status) {
  return EnterFor<TF_ImportGraphDefResults*>(
      status, nullptr, [&]() -> StatusOr<TF_ImportGraphDefResults*> {
        TFLEET_ASSIGN_OR_RETURN(ImportResults imported, Import(graph, graph_def, options));
        auto results = std::make_unique<TF_ImportGraphDefResults>();
        for (const Output& output : imported.outputs) {
          results->outputs.push_back(OutputTo(output));
        }
        for (const Node* node : imported.nodes) results->operations.push_back(OperationOf(node));
        for (const auto& [name, index] : imported.missing_unused) {
          results->missing_names.push_back(name);
          results->missing_indices.push_back(index);
        }
        for (const std::string& name : results->missing_names) {
          results->missing_texts.push_back(name.c_str());
        }
        return results.release();
      });
}

void TF_GraphImportGraphDefWithReturnOutputs(TF_Graph* graph, const TF_Buffer* graph_def,
                                             const TF_ImportGraphDefOptions* options,
                                             TF_Output* return_outputs, int num_return_outputs,
                                             TF_Status* status) {
  Enter(status, [&]() -> Status {
    if (num_return_outputs != TF_ImportGraphDefOptionsNumReturnOutputs(options)) {
      return InvalidArgument("Expected 'num_return_outputs' to be ",
                             TF_ImportGraphDefOptionsNumReturnOutputs(options), ", got ",
                             num_return_outputs);
    }
    TFLEET_RETURN_IF_ERROR(CheckArray(return_outputs, num_return_outputs, "return_outputs"));
    TFLEET_ASSIGN_OR_RETURN(const ImportResults imported, Import(graph, graph_def, options));
    for (const Output& output : imported.outputs) *return_outputs++ = OutputTo(output);
    return OkStatus();
  });
}

void TF_GraphImportGraphDef(TF_Graph* graph, const TF_Buffer* graph_def,
                            const TF_ImportGraphDefOptions* options, TF_Status* status) {
  Enter(status, [&] { return Import(graph, graph_def, options).status(); });
}

}  // extern "C"
