#include "runtime/train/job/model_description.h"

#include "runtime/train/job/collections.h"

namespace tensorfleet::train {

tensorflow::VariableDef DescribeVariable(const Output& variable, const Operation& initializer,
                                         const Output& read) {
  tensorflow::VariableDef def;
  def.set_variable_name(variable.name());
  def.set_initializer_name(initializer.name());
  def.set_snapshot_name(read.name());
  def.set_is_resource(variable.dtype() == DType::kResource);
  def.set_trainable(true);
  return def;
}

tensorflow::VariableDef DescribeVariable(const Variable& variable) {
  return DescribeVariable(variable.handle, variable.initializer, variable.value);
}

void ModelDescription::AddVariables(const Scope& scope, Variables& made) {
  global_step = DescribeVariable(made.GlobalStep(scope));
  for (const Variable& variable : made.global()) variables.push_back(DescribeVariable(variable));
  for (const Variable& variable : made.local()) {
    local_variables.push_back(DescribeVariable(variable));
  }
}

StatusOr<tensorflow::MetaGraphDef> ToMetaGraph(const Scope& scope, const ModelDescription& model) {
  if (model.train_ops.empty()) return InvalidArgument("the model has no train op");
  if (model.global_step.variable_name().empty()) {
    return InvalidArgument("the model has no global step");
  }
  tensorflow::MetaGraphDef meta;
  TFLEET_ASSIGN_OR_RETURN(*meta.mutable_graph_def(), scope.ToGraphDef());
  for (const auto& variable : model.variables) AddMessage("variables", variable, &meta);
  for (const auto& variable : model.local_variables) AddMessage("local_variables", variable, &meta);
  AddMessage("global_step", model.global_step, &meta);
  for (const Operation& op : model.train_ops) AddName("train_op", op.name(), &meta);
  if (model.loss.is_valid()) AddName("losses", model.loss.name(), &meta);
  for (const Output& summary : model.summaries) AddName("summaries", summary.name(), &meta);
  return meta;
}

}  // namespace tensorfleet::train
