#include "runtime/pjrt/lower/lower_call.h"

#include <algorithm>
#include <set>

#include "runtime/place/expand/compiled_calls.h"
#include "runtime/place/expand/expand_call.h"
#include "runtime/place/expand/function_calls.h"

namespace tensorfleet::pjrt {
namespace {

constexpr int kMaxDepth = 32;

struct Function {
  FunctionBody body;
  std::vector<Node*> order;
};

// Inside loops and branches every value is there already.
Hlo NoParameter(int argument) {
  throw std::logic_error("a value of a function has no instruction");
}
const std::function<Hlo(int)>& NoParameters() {
  static const auto* const none = new std::function<Hlo(int)>(NoParameter);
  return *none;
}

// The argument that a function returns unchanged as a result; -1 when it is another value.
int ArgumentBehind(const Node& retval) {
  const Node* at = retval.in_edge(0)->src;
  while (at->op() == "Identity") at = at->in_edge(0)->src;
  const StatusOr<int64_t> index = at->IsArg() ? GetAttr<int64_t>(at->def(), "index") : -1;
  return static_cast<int>(index.value_or(-1));
}

class CallLowering {
 public:
  CallLowering(GraphLowering& caller, const Node& node, const std::vector<Value*>& inputs,
               absl::Span<Value> outputs, std::vector<int>* needed)
      : caller_(caller),
        hlo_(*caller.program().hlo),
        node_(node),
        inputs_(inputs),
        outputs_(outputs),
        needed_(*needed) {}

  Status Run() {
    if (caller_.inputs().depth >= kMaxDepth) {
      return Unimplemented("functions inside functions, more than ", kMaxDepth, " deep");
    }
    const bool chooses = IsIf(node_) || IsCase(node_);
    first_ = chooses ? 1 : 0;
    TFLEET_RETURN_IF_ERROR(LoadFunctions());
    TFLEET_RETURN_IF_ERROR(FindVariables());
    if (IsWhile(node_)) return Loop();
    if (!chooses || functions_.size() == 1) return InPlace(functions_[0]);
    if (!inputs_[0]->shape.is_scalar() ||
        inputs_[0]->dtype != (IsIf(node_) ? DType::kBool : DType::kInt32)) {
      return Unimplemented("a condition of type ", DTypeName(inputs_[0]->dtype), " and shape ",
                           inputs_[0]->shape.ToString());
    }
    if (inputs_[0]->constant.is_valid()) {
      return InPlace(functions_[KnownBranch(inputs_[0]->constant)]);
    }
    return Branches();
  }

 private:
  // Their arguments and results must be the call's.
  Status LoadFunctions() {
    TFLEET_ASSIGN_OR_RETURN(const std::vector<tensorflow::NameAttrList> named,
                            FunctionsOf(node_, caller_.graph()));
    TFLEET_ASSIGN_OR_RETURN(std::vector<FunctionBody> bodies, BodiesOf(named, caller_.graph()));
    for (size_t f = 0; f < bodies.size(); ++f) {
      Function& function = functions_.emplace_back();
      function.body = std::move(bodies[f]);
      TFLEET_ASSIGN_OR_RETURN(function.order, NeededNodes(function.body));
      const bool is_condition = IsWhile(node_) && f == 0;
      if (!Fits(function.body, is_condition)) {
        return InvalidArgument("function ", named[f].name(), " does not fit its call ",
                               node_.name());
      }
    }
    return OkStatus();
  }

  bool Fits(const FunctionBody& body, bool is_condition) const {
    const int count = node_.num_inputs() - first_;
    if (static_cast<int>(body.args.size()) != count) return false;
    for (int i = 0; i < count; ++i) {
      const DType type = body.args[i]->output_type(0);
      if (type != node_.input_type(first_ + i) || IsRef(type)) return false;
    }
    if (is_condition) {
      return body.returns.size() == 1 && body.returns[0]->input_type(0) == DType::kBool;
    }
    if (static_cast<int>(body.returns.size()) != node_.num_outputs()) return false;
    for (int i = 0; i < node_.num_outputs(); ++i) {
      if (body.returns[i]->input_type(0) != node_.output_type(i)) return false;
    }
    return true;
  }

  // Which of the function's arguments are handles, and of which variables.
  Status FindVariables() {
    for (int i = first_; i < node_.num_inputs(); ++i) {
      int variable = -1;
      if (node_.input_type(i) == DType::kResource) {
        TFLEET_ASSIGN_OR_RETURN(variable, caller_.VariableOf(*node_.in_edge(i)->src));
        used_variables_.insert(variable);
      }
      variable_of_.push_back(variable);
    }
    return OkStatus();
  }

  // A Case takes its last branch for any number that names none.
  size_t KnownBranch(const Tensor& which) const {
    if (IsIf(node_)) return which.scalar<bool>() ? 0 : 1;
    const size_t last = functions_.size() - 1;
    const int32_t branch = which.scalar<int32_t>();
    return branch < 0 ? last : std::min<size_t>(branch, last);
  }

  // What a loop changes helps nobody by its first value.
  void AddNeeded(const std::vector<int>& arguments) {
    for (const int argument : arguments) {
      if (!IsWhile(node_) || is_invariant_[argument]) needed_.push_back(first_ + argument);
    }
    std::sort(needed_.begin(), needed_.end());
    needed_.erase(std::unique(needed_.begin(), needed_.end()), needed_.end());
  }

  // As a part of the caller's own computation.
  Status InPlace(const Function& function) {
    GraphInputs in = caller_.inputs();
    ++in.depth;
    in.variable_of = variable_of_;
    in.values.clear();
    for (int i = first_; i < node_.num_inputs(); ++i) {
      in.values.push_back(inputs_[i] == nullptr ? Value() : *inputs_[i]);
    }
    GraphLowering lowering(caller_.program(), *function.body.graph, std::move(in));
    const Status status = lowering.Run(function.order);
    AddNeeded(lowering.needed());
    TFLEET_RETURN_IF_ERROR(status);
    for (int i = 0; i < node_.num_outputs(); ++i) {
      if (node_.output_type(i) == DType::kResource) continue;
      outputs_[i] = lowering.Returned(*function.body.returns[i]);
    }
    return OkStatus();
  }

  // What a computation of its own is given: the arguments that are not known already, and the
  // variables' values.
  Status LoadOperands(const std::vector<bool>& may_be_known) {
    for (size_t i = 0; i < variable_of_.size(); ++i) {
      if (variable_of_[i] >= 0) continue;
      Value& value = *inputs_[first_ + i];
      if (value.constant.is_valid() && may_be_known[i]) continue;
      operand_of_.push_back(static_cast<int>(i));
      operands_.push_back(caller_.Emitted(value));
    }
    for (const int number : used_variables_) {
      VariableState& variable = (*caller_.inputs().variables)[number];
      if (!HloBuilder::HasType(variable.dtype)) {
        return Unimplemented("variables of type ", DTypeName(variable.dtype), " are not compiled");
      }
      TFLEET_ASSIGN_OR_RETURN(const Hlo value, ReadVariable(&variable, &hlo_));
      operands_.push_back(value);
    }
    return OkStatus();
  }

  // A function inside a computation of its own, with the values that this one is given.
  class Inside {
   public:
    Inside(CallLowering& call, const Function& function, const HloBuilder::Values& given)
        : call_(call),
          function_(function),
          variables_(*call.caller_.inputs().variables),
          faults_(&call.hlo_, /*gives_promises=*/false) {
      in_.variable_of = call.variable_of_;
      in_.values.resize(in_.variable_of.size());
      for (size_t i = 0; i < in_.values.size(); ++i) {
        if (in_.variable_of[i] >= 0) continue;
        const Value& outside = *call.inputs_[call.first_ + i];
        in_.values[i].dtype = outside.dtype;
        in_.values[i].shape = outside.shape;
        in_.values[i].constant = outside.constant;
      }
      size_t next = 0;
      for (const int argument : call.operand_of_) {
        in_.values[argument].constant = Tensor();
        in_.values[argument].hlo = given[next++];
      }
      for (VariableState& variable : variables_) {
        variable.value = Hlo();
        variable.is_initialized = variable.is_written = false;
      }
      for (const int number : call.used_variables_) {
        variables_[number].value = given[next++];
        variables_[number].is_initialized = true;
      }
      in_.variables = &variables_;
      in_.faults = &faults_;
      in_.parameter = &NoParameters();
      in_.depth = call.caller_.inputs().depth + 1;
    }

    Status Run() {
      lowering_.emplace(call_.caller_.program(), *function_.body.graph, std::move(in_));
      const Status status = lowering_->Run(function_.order);
      if (absl::IsUnimplemented(status)) call_.AddNeeded(lowering_->needed());
      return status;
    }
    Hlo Result(int i) {
      return lowering_->Emitted(lowering_->Returned(*function_.body.returns[i]));
    }
    // Whether there was a fault; a constant where none can be.
    Hlo Fault() { return faults_.Total(); }
    bool may_fail() const { return !faults_.empty(); }
    // The variables' values, in order; notes which were written.
    void AppendVariables(HloBuilder::Values* values) {
      for (const int number : call_.used_variables_) {
        if (variables_[number].is_written) call_.written_.insert(number);
        values->push_back(variables_[number].value);
      }
    }
    bool writes() const {
      return std::any_of(variables_.begin(), variables_.end(),
                         [](const VariableState& variable) { return variable.is_written; });
    }

   private:
    CallLowering& call_;
    const Function& function_;
    std::vector<VariableState> variables_;
    Faults faults_;
    GraphInputs in_;
    std::optional<GraphLowering> lowering_;
  };

  // After the call: its variables' values begin at `values[first]`, the fault is the last.
  void HandOver(const HloBuilder::Values& values, size_t first, bool may_fail) {
    for (const int number : used_variables_) {
      const Hlo value = values[first++];
      if (!written_.contains(number)) continue;
      VariableState& variable = (*caller_.inputs().variables)[number];
      variable.value = value;
      variable.shape = value.shape;
      variable.is_written = true;
      variable.needs_guard = true;
    }
    if (may_fail) caller_.inputs().faults->Add(values.back());
  }

  Status Branches() {
    const std::vector<bool> may_be_known(variable_of_.size(), true);
    TFLEET_RETURN_IF_ERROR(LoadOperands(may_be_known));
    for (const DType type : node_.output_types()) {
      if (type == DType::kResource) return Unimplemented("a branch that gives a handle");
    }
    bool may_fail = false;
    std::vector<HloBuilder::Branch> branches;
    for (const Function& function : functions_) {
      branches.push_back([this, &function, &may_fail](
                             const HloBuilder::Values& given) -> StatusOr<HloBuilder::Values> {
        Inside inside(*this, function, given);
        TFLEET_RETURN_IF_ERROR(inside.Run());
        HloBuilder::Values results;
        for (int i = 0; i < node_.num_outputs(); ++i) results.push_back(inside.Result(i));
        inside.AppendVariables(&results);
        may_fail |= inside.may_fail();
        results.push_back(inside.Fault());
        return results;
      });
    }
    TFLEET_ASSIGN_OR_RETURN(const HloBuilder::Values results,
                            hlo_.Conditional(caller_.Emitted(*inputs_[0]), operands_, branches));
    for (int i = 0; i < node_.num_outputs(); ++i) SetOutput(i, results[i]);
    HandOver(results, node_.num_outputs(), may_fail);
    return OkStatus();
  }

  void SetOutput(int i, const Hlo& value) {
    outputs_[i].dtype = value.dtype;
    outputs_[i].shape = value.shape;
    outputs_[i].hlo = value;
  }

  Status Loop() {
    const Function &condition = functions_[0], &body = functions_[1];
    for (size_t i = 0; i < variable_of_.size(); ++i) {
      is_invariant_.push_back(ArgumentBehind(*body.body.returns[i]) == static_cast<int>(i));
      if (variable_of_[i] >= 0 && !is_invariant_[i]) {
        return Unimplemented("a loop that changes which variable it works on");
      }
    }
    TFLEET_RETURN_IF_ERROR(LoadOperands(is_invariant_));
    HloBuilder::Values initial = operands_;
    initial.push_back(hlo_.Scalar(DType::kBool, 0));  // whether there was a fault
    bool may_fail = false;
    const auto next = [&](const HloBuilder::Values& given) -> StatusOr<HloBuilder::Values> {
      Inside inside(*this, body, given);
      TFLEET_RETURN_IF_ERROR(inside.Run());
      HloBuilder::Values values;
      for (size_t k = 0; k < operand_of_.size(); ++k) {
        const int argument = operand_of_[k];
        values.push_back(is_invariant_[argument] ? given[k] : inside.Result(argument));
      }
      inside.AppendVariables(&values);
      may_fail = inside.may_fail();
      values.push_back(may_fail ? hlo_.Binary("or", given.back(), inside.Fault()) : given.back());
      return values;
    };
    // What a fault leaves behind may never fulfil the condition: the loop ends with the fault.
    const auto goes_on = [&](const HloBuilder::Values& given) -> StatusOr<Hlo> {
      Inside inside(*this, condition, given);
      TFLEET_RETURN_IF_ERROR(inside.Run());
      if (inside.may_fail() || inside.writes()) {
        return Unimplemented("a loop's condition that may fail or changes variables");
      }
      const Hlo wanted = inside.Result(0);
      if (!wanted.shape.is_scalar()) return Unimplemented("a condition that is no scalar");
      return may_fail ? hlo_.Binary("and", wanted, hlo_.Unary("not", given.back())) : wanted;
    };
    TFLEET_ASSIGN_OR_RETURN(const HloBuilder::Values results, hlo_.While(initial, goes_on, next));
    for (size_t i = 0; i < variable_of_.size(); ++i) {
      if (variable_of_[i] < 0 && is_invariant_[i]) outputs_[i] = *inputs_[i];
    }
    for (size_t k = 0; k < operand_of_.size(); ++k) {
      if (!is_invariant_[operand_of_[k]]) SetOutput(operand_of_[k], results[k]);
    }
    HandOver(results, operand_of_.size(), may_fail);
    return OkStatus();
  }

  GraphLowering& caller_;
  HloBuilder& hlo_;
  const Node& node_;
  const std::vector<Value*>& inputs_;
  const absl::Span<Value> outputs_;
  std::vector<int>& needed_;
  std::vector<bool> is_invariant_;  // by argument, of a loop
  int first_ = 0;                   // the call's input that is its functions' first argument
  std::vector<Function> functions_;
  std::vector<int> variable_of_;  // by argument
  std::set<int> used_variables_;  // of all arguments
  std::set<int> written_;         // of those
  std::vector<int> operand_of_;   // the arguments among the operands
  HloBuilder::Values operands_;   // they, then the variables
};

}  // namespace

Status LowerCall(GraphLowering& caller, const Node& node, const std::vector<Value*>& inputs,
                 absl::Span<Value> outputs, std::vector<int>* needed) {
  return CallLowering(caller, node, inputs, outputs, needed).Run();
}

}  // namespace tensorfleet::pjrt
