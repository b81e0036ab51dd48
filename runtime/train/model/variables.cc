#include "runtime/train/model/variables.h"

#include "runtime/client/gradients/shape_math.h"
#include "runtime/client/ops.h"
#include "runtime/graph/attr.h"

namespace tensorfleet::train {

Scope AtVariable(const Scope& scope, const Variable& variable) {
  if (!variable.is_valid()) return scope;
  const Scope there = scope.ColocatedWith(variable.handle.op());
  return there.OnDevice("").OnDevice(variable.handle.node()->requested_device());
}

Output Read(const Scope& scope, const Variable& variable) {
  const Scope there = AtVariable(scope, variable);
  if (variable.is_resource()) return ops::ReadVariableOp(there, variable.handle, variable.dtype);
  return ops::Identity(there, variable.handle);
}

Operation Assign(const Scope& scope, const Variable& variable, const Output& value) {
  const Scope there = AtVariable(scope, variable);
  if (variable.is_resource()) return ops::AssignVariableOp(there, variable.handle, value);
  return ops::Assign(there, variable.handle, value).op();
}

Operation AssignAdd(const Scope& scope, const Variable& variable, const Output& delta) {
  const Scope there = AtVariable(scope, variable);
  if (variable.is_resource()) return ops::AssignAddVariableOp(there, variable.handle, delta);
  return ops::AssignAdd(there, variable.handle, delta).op();
}

Operation AssignSub(const Scope& scope, const Variable& variable, const Output& delta) {
  const Scope there = AtVariable(scope, variable);
  if (variable.is_resource()) return ops::AssignSubVariableOp(there, variable.handle, delta);
  return ops::AssignSub(there, variable.handle, delta).op();
}

Operation ScatterAdd(const Scope& scope, const Variable& variable, const Output& indices,
                     const Output& rows) {
  const Scope there = AtVariable(scope, variable);
  if (variable.is_resource()) {
    return ops::ResourceScatterAdd(there, variable.handle, indices, rows);
  }
  return ops::ScatterAdd(there, variable.handle, indices, rows).op();
}

Operation ScatterSub(const Scope& scope, const Variable& variable, const Output& indices,
                     const Output& rows) {
  const Scope there = AtVariable(scope, variable);
  if (variable.is_resource()) {
    return ops::ResourceScatterSub(there, variable.handle, indices, rows);
  }
  return ops::ScatterSub(there, variable.handle, indices, rows).op();
}

Output IsInitialized(const Scope& scope, const Variable& variable) {
  const Scope there = AtVariable(scope, variable);
  if (variable.is_resource()) return ops::VarIsInitializedOp(there, variable.handle);
  return ops::IsVariableInitialized(there, variable.handle);
}

Variable Variables::Build(const Scope& scope, const Shape& shape, const Initializer& initializer,
                          DType dtype) {
  const std::string own_name = scope.op_name().empty() ? "Variable" : scope.op_name();
  const Scope named = scope.Named(own_name);
  Variable made;
  made.shape = shape;
  made.dtype = dtype;
  if (options_.use_resource) {
    made.handle = ops::VarHandleOp(named, dtype, shape);
    // Graphs share a variable by its name, which is known once the node is there.
    if (made.is_valid()) {
      SetAttr(&made.handle.node()->mutable_def(), "shared_name", made.handle.op().name());
    }
  } else {
    made.handle = ops::VariableV2(named, shape, dtype);
  }
  if (!made.is_valid()) return made;
  made.name = made.handle.op().name();
  const Scope at = AtVariable(scope.Below(made.handle.op()), made);
  made.initializer = Assign(at.Named("Assign"), made, initializer(at, shape, dtype));
  made.value = Read(at.Named(options_.use_resource ? "Read/ReadVariableOp" : "read"), made);
  return made;
}

Variable Variables::Make(const Scope& scope, const StatusOr<Shape>& shape,
                         const Initializer& initializer, const VariableOptions& options) {
  if (!shape.ok()) {
    scope.Fail(Prefixed(absl::StrCat("variable '", scope.op_name(), "': "), shape.status()));
    return {};
  }
  Scope place = scope;
  if (options_.device && !options.local) {
    place = scope.OnDevice("").OnDevice(options_.device(*shape, options.dtype));
  }
  const Variable made = Build(place, *shape, initializer, options.dtype);
  if (!made.is_valid()) return made;
  (options.local ? local_ : global_).push_back(made);
  if (options.trainable && !options.local) trainable_.push_back(made);
  return made;
}

Variable Variables::MakeSlot(const Scope& scope, const Variable& primary, absl::string_view slot,
                             const Shape& shape, DType dtype, const Initializer& initializer) {
  if (!primary.is_valid()) return {};
  const Scope place = AtVariable(scope.Below(primary.handle.op()).Named(slot), primary);
  return MakeBeside(place, shape, initializer, dtype);
}

Variable Variables::MakeBeside(const Scope& scope, const Shape& shape,
                               const Initializer& initializer, DType dtype) {
  const Variable made = Build(scope, shape, initializer, dtype);
  if (made.is_valid()) global_.push_back(made);
  return made;
}

Variable Variables::GlobalStep(const Scope& scope) {
  if (!global_step_.is_valid()) {
    global_step_ = Make(scope.Named("global_step"), Shape(), Zeros(),
                        {.dtype = DType::kInt64, .trainable = false});
  }
  return global_step_;
}

namespace {

Operation InitializeAll(const Scope& scope, const char* name, const std::vector<Variable>& all) {
  std::vector<Operation> initializers;
  for (const Variable& variable : all) initializers.push_back(variable.initializer);
  return Group(scope.Named(name), initializers);
}

}  // namespace

Operation Variables::InitOp(const Scope& scope) const {
  return InitializeAll(scope, "init", global_);
}

Operation Variables::LocalInitOp(const Scope& scope) const {
  return InitializeAll(scope, "init_local", local_);
}

Output Variables::ReportUninitialized(const Scope& scope) const {
  const Scope at = scope.SubScope("report_uninitialized_variables");
  if (global_.empty()) return Const(at, Tensor::Vector<std::string>({}));
  std::vector<Output> initialized;
  std::vector<std::string> names;
  for (const Variable& variable : global_) {
    initialized.push_back(IsInitialized(at, variable));
    names.push_back(variable.name);
  }
  const Output missing = ops::LogicalNot(at, ops::Pack(at, initialized));
  const Output which = ops::Reshape(at, ops::Where(at, missing), Ints(at, {-1}));
  return ops::Gather(at, Const(at, Tensor::Vector<std::string>(names)), which);
}

}  // namespace tensorfleet::train
