#include "runtime/train/checkpoint/add_saver.h"

#include <map>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/graph/attr.h"
#include "runtime/tensor/tensor.h"
#include "runtime/train/job/graph_nodes.h"
#include "runtime/train/job/train_graph.h"

namespace tensorfleet::train {
namespace {

constexpr char kPrefix[] = "fleet_save/";

struct Shard {
  std::vector<const tensorflow::VariableDef*> variables;
  std::vector<std::string> names, slices;
  std::vector<DType> dtypes;
};

// "10 2 4,3:0,2": rows 4 to 6 of a 10 x 2 variable.
std::string SliceSpec(const tensorflow::SaveSliceInfoDef& info) {
  std::vector<std::string> extents;
  for (int i = 0; i < info.var_offset_size(); ++i) {
    extents.push_back(absl::StrCat(info.var_offset(i), ",", info.var_shape(i)));
  }
  return absl::StrCat(absl::StrJoin(info.full_shape(), " "), " ", absl::StrJoin(extents, ":"));
}

void AddShard(const Shard& shard, int i, int num_shards, const std::string& device,
              const std::string& basename, NodeWriter& build, std::vector<std::string>* files,
              std::vector<std::string>* saves, std::vector<std::string>* restores) {
  const auto named = [i](const char* name) { return absl::StrCat("shard_", i, "/", name); };
  const std::string names =
      build.Const(named("tensor_names"), device, Tensor::Vector<std::string>(shard.names));
  const std::string slices =
      build.Const(named("shape_and_slices"), device, Tensor::Vector<std::string>(shard.slices));
  const std::string index = build.Const(named("index"), device, Tensor::Scalar<int32_t>(i));
  const std::string count =
      build.Const(named("count"), device, Tensor::Scalar<int32_t>(num_shards));
  files->push_back(
      build.Add(named("filename"), "ShardedFilename", device, {basename, index, count})->name());

  std::vector<std::string> inputs = {files->back(), names, slices};
  for (const tensorflow::VariableDef* variable : shard.variables) {
    const std::string& tensor = variable->variable_name();
    if (!variable->is_resource()) {
      inputs.push_back(tensor);
      continue;
    }
    tensorflow::NodeDef* read =
        build.Add(absl::StrCat(named("read/"), NodeOf(tensor)), "ReadVariableOp", device, {tensor});
    SetAttr(read, "dtype", shard.dtypes[inputs.size() - 3]);
    inputs.push_back(read->name());
  }
  tensorflow::NodeDef* save = build.Add(named("SaveV2"), "SaveV2", device, inputs);
  SetAttr(save, "dtypes", absl::MakeConstSpan(shard.dtypes));
  saves->push_back(absl::StrCat("^", save->name()));

  tensorflow::NodeDef* restore = build.Add(named("RestoreV2"), "RestoreV2", device,
                                           {absl::StrCat(kPrefix, "filename"), names, slices});
  SetAttr(restore, "dtypes", absl::MakeConstSpan(shard.dtypes));
  for (size_t k = 0; k < shard.variables.size(); ++k) {
    const tensorflow::VariableDef& variable = *shard.variables[k];
    tensorflow::NodeDef* assign =
        build.Add(absl::StrCat(named("assign/"), NodeOf(variable.variable_name())),
                  variable.is_resource() ? "AssignVariableOp" : "Assign", device,
                  {variable.variable_name(), absl::StrCat(restore->name(), ":", k)});
    SetAttr(assign, variable.is_resource() ? "dtype" : "T", shard.dtypes[k]);
    restores->push_back(absl::StrCat("^", assign->name()));
  }
}

}  // namespace

StatusOr<tensorflow::SaverDef> AddSaver(const std::vector<tensorflow::VariableDef>& variables,
                                        tensorflow::GraphDef* graph) {
  if (variables.empty()) {
    return InvalidArgument("the meta graph's collection 'variables' is empty: nothing to save");
  }
  absl::flat_hash_map<std::string, const tensorflow::NodeDef*> nodes;
  for (const auto& node : graph->node()) nodes[node.name()] = &node;
  std::map<std::string, Shard> shards;  // by device
  for (const tensorflow::VariableDef& variable : variables) {
    const std::string name = NodeOf(variable.variable_name());
    const auto node = nodes.find(name);
    if (node == nodes.end()) return InvalidArgument("variable '", name, "' is not in the graph");
    TFLEET_ASSIGN_OR_RETURN(const DType dtype, GetAttr<DType>(*node->second, "dtype"));
    Shard& shard = shards[node->second->device()];
    const bool is_piece = variable.has_save_slice_info_def();
    shard.variables.push_back(&variable);
    shard.names.push_back(is_piece ? variable.save_slice_info_def().full_name() : name);
    shard.slices.push_back(is_piece ? SliceSpec(variable.save_slice_info_def()) : "");
    shard.dtypes.push_back(dtype);
  }

  NodeWriter build(kPrefix, graph);
  const std::string first = shards.begin()->first;
  tensorflow::NodeDef* filename = build.Add("filename", "Placeholder", first, {});
  SetAttr(filename, "dtype", DType::kString);
  SetAttr(filename, "shape", PartialShape(std::vector<int64_t>{}));
  const std::string filename_name = filename->name();
  const std::string part = build.Const("part", first, Tensor::Scalar("_temp/part"));
  tensorflow::NodeDef* basename = build.Add("basename", "StringJoin", first, {filename_name, part});
  SetAttr(basename, "N", 2);
  const std::string basename_name = basename->name();

  std::vector<std::string> files, saves, restores;
  int i = 0;
  for (const auto& [device, shard] : shards) {
    AddShard(shard, i++, static_cast<int>(shards.size()), device, basename_name, build, &files,
             &saves, &restores);
  }
  tensorflow::NodeDef* all = build.Add("shards", "Pack", first, files);
  SetAttr(all, "N", static_cast<int64_t>(files.size()));
  SetAttr(all, "T", DType::kString);
  std::vector<std::string> merge_inputs = {all->name(), filename_name};
  merge_inputs.insert(merge_inputs.end(), saves.begin(), saves.end());
  const std::string merge =
      build.Add("MergeV2Checkpoints", "MergeV2Checkpoints", first, merge_inputs)->name();
  tensorflow::NodeDef* saved =
      build.Add("saved", "Identity", first, {filename_name, absl::StrCat("^", merge)});
  SetAttr(saved, "T", DType::kString);
  tensorflow::SaverDef saver;
  saver.set_filename_tensor_name(absl::StrCat(filename_name, ":0"));
  saver.set_save_tensor_name(absl::StrCat(saved->name(), ":0"));
  saver.set_restore_op_name(build.Add("restore_all", "NoOp", first, restores)->name());
  saver.set_max_to_keep(5);
  saver.set_sharded(true);
  saver.set_keep_checkpoint_every_n_hours(10000);
  saver.set_version(tensorflow::SaverDef::V2);
  return saver;
}

}  // namespace tensorfleet::train
