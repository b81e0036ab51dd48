#include "runtime/train/testing/counting_model.h"

#include "runtime/base/check.h"
#include "runtime/client/ops.h"
#include "runtime/train/job/model_description.h"

namespace tensorfleet::train {
namespace {

struct Counter {
  tensorflow::VariableDef def;
  Operation add;
  Output read;
};

Counter MakeCounter(const Scope& scope, const char* name, const Tensor& zero, const Tensor& one,
                    bool is_resource) {
  const std::string init = absl::StrCat(name, "/Assign"), read = absl::StrCat(name, "/read"),
                    add = absl::StrCat(name, "/add");
  Counter counter;
  const PartialShape shape(zero.shape());
  if (is_resource) {
    ops::VarHandleOpAttrs attrs;
    attrs.shared_name = name;
    const Output handle = ops::VarHandleOp(scope.Named(name), zero.dtype(), shape, attrs);
    const Operation assign = ops::AssignVariableOp(scope.Named(init), handle, Const(scope, zero));
    counter.read = ops::ReadVariableOp(scope.Named(read), handle, zero.dtype());
    counter.add = ops::AssignAddVariableOp(scope.Named(add), handle, Const(scope, one));
    counter.def = DescribeVariable(handle, assign, counter.read);
  } else {
    const Output ref = ops::VariableV2(scope.Named(name), shape, zero.dtype());
    const Output assign = ops::Assign(scope.Named(init), ref, Const(scope, zero));
    counter.read = ops::Identity(scope.ColocatedWith(ref.op()).Named(read), ref);
    counter.add = ops::AssignAdd(scope.Named(add), ref, Const(scope, one)).op();
    counter.def = DescribeVariable(ref, assign.op(), counter.read);
  }
  return counter;
}

}  // namespace

tensorflow::MetaGraphDef CountingModel(bool uses_resources) {
  Scope root;
  const Counter step = MakeCounter(root, "global_step", Tensor::Scalar<int64_t>(0),
                                   Tensor::Scalar<int64_t>(1), uses_resources);
  const Counter w = MakeCounter(root, "w", Tensor::Vector<float>({0, 0}),
                                Tensor::Vector<float>({1, 1}), uses_resources);
  ModelDescription model;
  model.variables = {step.def, w.def};
  model.global_step = step.def;
  model.loss = ops::Cast(root.Named("loss"), step.read, DType::kFloat);
  model.summaries = {
      ops::ScalarSummary(root.Named("loss_summary"), Const(root, "loss"), model.loss)};
  model.train_ops = {Group(root.After({model.loss.op()}).Named("train"), {step.add, w.add})};
  StatusOr<tensorflow::MetaGraphDef> meta = ToMetaGraph(root, model);
  TFLEET_CHECK(meta.ok());
  return *std::move(meta);
}

}  // namespace tensorfleet::train
