#include "runtime/train/testing/sync_model.h"

#include "runtime/base/check.h"
#include "runtime/client/ops.h"
#include "runtime/train/job/model_description.h"
#include "runtime/train/optimizer/optimizers.h"

namespace tensorfleet::train {

tensorflow::MetaGraphDef SyncModel(SyncReplicas::Options options) {
  Scope root;
  Variables variables;
  GradientDescent descent(1.0);
  SyncReplicas sync(options);
  const Variable w = variables.Make(root.Named("w"), Shape(), Zeros());
  ModelDescription model;
  model.loss = ops::Identity(root.Named("loss"), w.value);
  model.train_ops = {sync.Minimize(root, model.loss, descent, variables)};
  model.AddVariables(root, variables);
  StatusOr<tensorflow::MetaGraphDef> meta = ToMetaGraph(root, model);
  TFLEET_CHECK(meta.ok());
  return *std::move(meta);
}

}  // namespace tensorfleet::train
