// The variables of a model: made once, initialized by the chief, trained, saved. Names and nodes
// are those that TensorFlow's front-end makes, so that checkpoints fit both ways.
//
//   Variables variables;
//   const Variable w = variables.Make(scope.Named("w"), Shape::Make({784, 10}), GlorotUniform());
//   const Output y = ops::MatMul(scope, x, w.value);
//   session->Run(scope, {}, {}, {variables.InitOp(scope)});
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/client/scope.h"
#include "runtime/train/model/initializers.h"

namespace tensorfleet::train {

// One variable. A small value; the nodes belong to the graph.
struct Variable {
  std::string name;
  Shape shape;
  DType dtype = DType::kInvalid;
  Output handle;          // VarHandleOp's, or VariableV2's reference
  Output value;           // read in every step, before the step's updates are certain to be seen
  Operation initializer;  // assigns the initial value
  bool is_resource() const { return handle.dtype() == DType::kResource; }
  bool is_valid() const { return handle.is_valid(); }
};

// Ops on a variable, put where the variable is.
Output Read(const Scope& scope, const Variable& variable);
Operation Assign(const Scope& scope, const Variable& variable, const Output& value);
Operation AssignAdd(const Scope& scope, const Variable& variable, const Output& delta);
Operation AssignSub(const Scope& scope, const Variable& variable, const Output& delta);
// Adds rows to, or subtracts them from, the rows that `indices` names; repeated ones add up.
Operation ScatterAdd(const Scope& scope, const Variable& variable, const Output& indices,
                     const Output& rows);
Operation ScatterSub(const Scope& scope, const Variable& variable, const Output& indices,
                     const Output& rows);
Output IsInitialized(const Scope& scope, const Variable& variable);
// The scope in which an op belongs to the variable: colocated, and on its device.
Scope AtVariable(const Scope& scope, const Variable& variable);

struct VariableOptions {
  DType dtype = DType::kFloat;
  bool trainable = true;
  // Local ones belong to one worker: they are not saved, and each worker initializes its own.
  bool local = false;
};

class Variables {
 public:
  // Chooses the device of each variable that is made without one: see device_setter.h.
  using DeviceFunction = std::function<std::string(const Shape& shape, DType dtype)>;
  struct Options {
    bool use_resource = true;  // VarHandleOp; else VariableV2, by reference
    DeviceFunction device;
  };

  Variables() = default;
  explicit Variables(Options options) : options_(std::move(options)) {}

  // A variable whose name is `scope`'s prefix with the name set by Named ("Variable" without one).
  // A shape that can't be made fails the scope.
  Variable Make(const Scope& scope, const StatusOr<Shape>& shape, const Initializer& initializer,
                const VariableOptions& options = {});
  // A variable that goes with another one, at its place: `primary`/`slot`. Not trained.
  Variable MakeSlot(const Scope& scope, const Variable& primary, absl::string_view slot,
                    const Shape& shape, DType dtype, const Initializer& initializer);

  // A global variable, not trained, exactly where `scope` says: nobody chooses its device.
  Variable MakeBeside(const Scope& scope, const Shape& shape, const Initializer& initializer,
                      DType dtype);

  // The step counter, made when first asked for: int64, named "global_step".
  Variable GlobalStep(const Scope& scope);

  const std::vector<Variable>& global() const { return global_; }
  const std::vector<Variable>& trainable() const { return trainable_; }
  const std::vector<Variable>& local() const { return local_; }
  bool has_global_step() const { return global_step_.is_valid(); }

  // An op that initializes all global ("init") or local ("init_local") variables made so far.
  Operation InitOp(const Scope& scope) const;
  Operation LocalInitOp(const Scope& scope) const;
  // The names of the global variables that hold nothing yet: a vector of strings.
  Output ReportUninitialized(const Scope& scope) const;

 private:
  Variable Build(const Scope& scope, const Shape& shape, const Initializer& initializer,
                 DType dtype);

  Options options_;
  std::vector<Variable> global_, trainable_, local_;
  Variable global_step_;
};

}  // namespace tensorfleet::train
