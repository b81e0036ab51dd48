// TF_LoadSessionFromSavedModel: reads the directory, imports the graph that has the tags, restores
// its variables and runs its initialization.
#include <algorithm>
#include <memory>
#include <set>

#include "absl/strings/str_join.h"
#include "proto/checkpoint.pb.h"
#include "proto/meta_graph.pb.h"
#include "proto/saved_model.pb.h"
#include "runtime/capi/buffer.h"
#include "runtime/capi/import_graph.h"
#include "runtime/capi/session.h"
#include "runtime/io/file_system.h"

namespace tensorfleet::capi {
namespace {

constexpr char kMainOp[] = "saved_model_main_op";
constexpr char kInitOp[] = "saved_model_init_op";
constexpr char kLegacyInitOp[] = "legacy_init_op";
constexpr char kAssets[] = "saved_model_assets";

StatusOr<std::string> ReadWhole(const std::string& path) {
  TFLEET_ASSIGN_OR_RETURN(const ResolvedPath resolved, ResolvePath(path));
  TFLEET_ASSIGN_OR_RETURN(const auto file, resolved.file_system->Open(resolved.path));
  std::string bytes(file->size(), '\0');
  TFLEET_RETURN_IF_ERROR(file->Read(0, bytes.size(), bytes.data()));
  return bytes;
}

bool Exists(const std::string& path) {
  const StatusOr<ResolvedPath> resolved = ResolvePath(path);
  return resolved.ok() && resolved->file_system->Exists(resolved->path);
}

StatusOr<tensorflow::SavedModel> ReadSavedModel(const std::string& directory) {
  const std::string path = directory + "/saved_model.pb";
  if (!Exists(path)) {
    return NotFound("Could not find SavedModel .pb at supplied export directory path: ", directory,
                    Exists(directory + "/saved_model.pbtxt")
                        ? " (saved_model.pbtxt is not read: save the model in binary form)"
                        : "");
  }
  TFLEET_ASSIGN_OR_RETURN(const std::string bytes, ReadWhole(path));
  tensorflow::SavedModel model;
  TFLEET_RETURN_IF_ERROR(ParseMessage(bytes.data(), bytes.size(), "SavedModel", &model));
  return model;
}

// The one graph whose tags are these.
StatusOr<tensorflow::MetaGraphDef*> FindGraph(tensorflow::SavedModel* model,
                                              const std::set<std::string>& tags) {
  for (tensorflow::MetaGraphDef& graph : *model->mutable_meta_graphs()) {
    const auto& own = graph.meta_info_def().tags();
    if (std::set<std::string>(own.begin(), own.end()) == tags) return &graph;
  }
  return NotFound("Could not find meta graph def matching supplied tags: { ",
                  absl::StrJoin(tags, " "), " }");
}

// The initialization op: "" where there is none.
StatusOr<std::string> InitOp(const tensorflow::MetaGraphDef& graph) {
  // TF2's is a signature of its own.
  if (const auto signature = graph.signature_def().find("__saved_model_init_op");
      signature != graph.signature_def().end()) {
    const auto& outputs = signature->second.outputs();
    if (const auto op = outputs.find("__saved_model_init_op"); op != outputs.end()) {
      return op->second.name();
    }
  }
  for (const char* name : {kMainOp, kInitOp, kLegacyInitOp}) {
    const auto collection = graph.collection_def().find(name);
    if (collection == graph.collection_def().end()) continue;
    const auto& nodes = collection->second.node_list().value();
    if (nodes.size() != 1) {
      return FailedPrecondition("Expected exactly one initialization op in collection '", name,
                                "'; it has ", nodes.size());
    }
    return nodes[0];
  }
  return std::string();
}

Status AssetsIn(const tensorflow::MetaGraphDef& graph,
                std::vector<tensorflow::AssetFileDef>* assets) {
  assets->assign(graph.asset_file_def().begin(), graph.asset_file_def().end());
  if (!assets->empty()) return OkStatus();
  const auto collection = graph.collection_def().find(kAssets);
  if (collection == graph.collection_def().end()) return OkStatus();
  for (const auto& any : collection->second.any_list().value()) {
    // Unpacked by hand: the messages here have names of files of their own, but the same types.
    TFLEET_RETURN_IF_ERROR(ParseMessage(any.value().data(), any.value().size(), "AssetFileDef",
                                        &assets->emplace_back()));
  }
  return OkStatus();
}

// Names in messages may be of tensors: "restore_all:0".
std::string OpName(const std::string& name) { return name.substr(0, name.find(':')); }

Status Initialize(Session& session, const tensorflow::MetaGraphDef& graph,
                  const std::string& directory, const tensorflow::RunOptions& options) {
  std::vector<tensorflow::AssetFileDef> assets;
  TFLEET_RETURN_IF_ERROR(AssetsIn(graph, &assets));
  StepRequest step;
  step.options = options;
  for (const tensorflow::AssetFileDef& asset : assets) {
    step.feeds.emplace_back(asset.tensor_info().name(),
                            Tensor::Scalar(directory + "/assets/" + asset.filename()));
  }
  const tensorflow::SaverDef& saver = graph.saver_def();
  const std::string variables = directory + "/variables/variables";
  if (!saver.restore_op_name().empty() && Exists(variables + ".index")) {
    StepRequest restore = step;
    restore.feeds.emplace_back(saver.filename_tensor_name(), Tensor::Scalar(variables));
    restore.targets.push_back(OpName(saver.restore_op_name()));
    TFLEET_RETURN_IF_ERROR(Prefixed("restoring the variables: ", session.Run(restore).status()));
  }
  TFLEET_ASSIGN_OR_RETURN(const std::string init_op, InitOp(graph));
  if (init_op.empty()) return OkStatus();
  step.targets.push_back(OpName(init_op));
  return Prefixed("running the initialization: ", session.Run(step).status());
}

StatusOr<TF_Session*> Load(const TF_SessionOptions* options, const TF_Buffer* run_options,
                           const std::string& directory, const std::set<std::string>& tags,
                           TF_Graph* graph, TF_Buffer* meta_graph_def) {
  tensorflow::RunOptions step_options;
  if (run_options != nullptr) {
    TFLEET_RETURN_IF_ERROR(ParseMessage(run_options, "RunOptions", &step_options));
  }
  TFLEET_ASSIGN_OR_RETURN(tensorflow::SavedModel model, ReadSavedModel(directory));
  TFLEET_ASSIGN_OR_RETURN(tensorflow::MetaGraphDef * found, FindGraph(&model, tags));
  TFLEET_ASSIGN_OR_RETURN(std::unique_ptr<Session> opened, OpenSession(options));
  {
    MutexLock lock(&graph->mu);
    if (graph->scope.graph().num_nodes() != 0) {
      return InvalidArgument("Graph is non-empty.");
    }
    TFLEET_RETURN_IF_ERROR(ImportInto(graph->scope, found->graph_def(), {}).status());
  }
  auto session = std::make_unique<TF_Session>(graph, std::move(opened));
  {
    MutexLock lock(&session->graph->mu);
    TFLEET_RETURN_IF_ERROR(SendNew(*session));
  }
  TFLEET_RETURN_IF_ERROR(Initialize(*session->session, *found, directory, step_options));
  if (meta_graph_def != nullptr) TFLEET_RETURN_IF_ERROR(FillBuffer(*found, meta_graph_def));
  return session.release();
}

}  // namespace
}  // namespace tensorfleet::capi

using namespace tensorfleet;        // NOLINT: the functions of C are outside of it
using namespace tensorfleet::capi;  // NOLINT

extern "C" {

TF_Session* TF_LoadSessionFromSavedModel(const TF_SessionOptions* session_options,
                                         const TF_Buffer* run_options, const char* export_dir,
                                         const char* const* tags, int tags_len, TF_Graph* graph,
                                         TF_Buffer* meta_graph_def, TF_Status* status) {
  return EnterFor<TF_Session*>(status, nullptr, [&]() -> StatusOr<TF_Session*> {
    TFLEET_NOT_NULL(export_dir);
    TFLEET_NOT_NULL(graph);
    TFLEET_RETURN_IF_ERROR(CheckArray(tags, tags_len, "tags"));
    if (meta_graph_def != nullptr && meta_graph_def->data != nullptr) {
      return InvalidArgument("meta_graph_def must be an empty TF_Buffer");
    }
    std::set<std::string> wanted;
    for (int i = 0; i < tags_len; ++i) {
      TFLEET_NOT_NULL(tags[i]);
      wanted.insert(tags[i]);
    }
    return Load(session_options, run_options, export_dir, wanted, graph, meta_graph_def);
  });
}

}  // extern "C"
