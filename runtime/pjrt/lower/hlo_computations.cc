// Computations inside a program: loops, branches and the functions of reductions; and the end of
// the program itself.
#include <algorithm>

#include "runtime/base/check.h"
#include "runtime/pjrt/lower/hlo_builder.h"
#include "runtime/pjrt/lower/hlo_types.h"

namespace tensorfleet::pjrt {
namespace {

void FillTupleShape(const HloBuilder::Values& like, hlo::Shape* out) {
  out->set_element_type(kTupleType);
  for (const Hlo& value : like) FillShape(value.dtype, value.shape, out->add_tuple_shapes());
}

bool AreAlike(const HloBuilder::Values& a, const HloBuilder::Values& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Hlo& x, const Hlo& y) {
    return x.dtype == y.dtype && x.shape == y.shape;
  });
}

}  // namespace

void HloBuilder::Begin(absl::string_view name) {
  open_.push_back(std::make_unique<hlo::Computation>());
  current().set_name(std::string(name));
}

int64_t HloBuilder::End(int64_t root) {
  hlo::Computation& done = current();
  done.set_id(next_id_++);
  done.set_root_id(root);
  for (const hlo::Instruction& instruction : done.instructions()) {
    if (instruction.id() == root) {
      *done.mutable_program_shape()->mutable_result() = instruction.shape();
    }
  }
  const int64_t id = done.id();
  *module_.add_computations() = std::move(done);
  open_.pop_back();
  return id;
}

hlo::Instruction* HloBuilder::StartTuple(const char* opcode, const Values& like) {
  hlo::Instruction* const out = Start(opcode, DType::kBool, Shape(), {});
  out->clear_shape();
  FillTupleShape(like, out->mutable_shape());
  return out;
}

int64_t HloBuilder::Tuple(const Values& values) {
  hlo::Instruction* const out = StartTuple("tuple", values);
  for (const Hlo& value : values) out->add_operand_ids(value.id);
  return out->id();
}

HloBuilder::Values HloBuilder::Parts(int64_t tuple, const Values& like) {
  Values parts;
  for (size_t i = 0; i < like.size(); ++i) {
    hlo::Instruction* const out = Start("get-tuple-element", like[i].dtype, like[i].shape, {});
    out->add_operand_ids(tuple);
    out->set_tuple_index(static_cast<int64_t>(i));
    parts.push_back(Result(*out, like[i].dtype, like[i].shape));
  }
  return parts;
}

HloBuilder::Values HloBuilder::TupleParameter(const Values& like) {
  hlo::Instruction* const out = StartTuple("parameter", like);
  hlo::ProgramShape* const program = current().mutable_program_shape();
  program->add_parameter_names(out->name());
  *program->add_parameters() = out->shape();
  return Parts(out->id(), like);
}

StatusOr<HloBuilder::Values> HloBuilder::While(
    const Values& initial, const std::function<StatusOr<Hlo>(const Values&)>& condition,
    const std::function<StatusOr<Values>(const Values&)>& body) {
  Begin(absl::StrCat("body_", next_id_));
  TFLEET_ASSIGN_OR_RETURN(const Values next, body(TupleParameter(initial)));
  if (!AreAlike(next, initial)) return Unimplemented("a loop whose shapes change");
  const int64_t body_id = End(Tuple(next));
  Begin(absl::StrCat("condition_", next_id_));
  TFLEET_ASSIGN_OR_RETURN(const Hlo goes_on, condition(TupleParameter(initial)));
  const int64_t condition_id = End(goes_on.id);
  const int64_t operand = Tuple(initial);
  hlo::Instruction* const loop = StartTuple("while", initial);
  loop->add_operand_ids(operand);
  loop->add_called_computation_ids(body_id);
  loop->add_called_computation_ids(condition_id);
  return Parts(loop->id(), initial);
}

StatusOr<HloBuilder::Values> HloBuilder::Conditional(const Hlo& which, const Values& operands,
                                                     absl::Span<const Branch> branches) {
  std::vector<int64_t> ids;
  Values results;
  for (const Branch& branch : branches) {
    Begin(absl::StrCat("branch_", next_id_));
    TFLEET_ASSIGN_OR_RETURN(const Values given, branch(TupleParameter(operands)));
    if (!ids.empty() && !AreAlike(given, results)) {
      return Unimplemented("branches that give different shapes");
    }
    results = given;
    ids.push_back(End(Tuple(given)));
  }
  const int64_t operand = Tuple(operands);
  hlo::Instruction* const out = StartTuple("conditional", results);
  out->add_operand_ids(which.id);
  for (const int64_t id : ids) {
    out->add_operand_ids(operand);
    out->add_called_computation_ids(id);
  }
  return Parts(out->id(), results);
}

int64_t HloBuilder::ScalarFunction(const char* opcode, DType dtype) {
  const std::pair<std::string, DType> key(opcode, dtype);
  if (const auto it = functions_.find(key); it != functions_.end()) return it->second;
  Begin(absl::StrCat(opcode, "_", DTypeName(dtype)));
  const Hlo a = Parameter(dtype, Shape()), b = Parameter(dtype, Shape());
  const absl::string_view what = opcode;
  const Hlo result = what == "ge"       ? Compare("GE", a, b)
                     : what == "second" ? b
                                        : Binary(opcode, a, b);
  return functions_[key] = End(result.id);
}

Hlo HloBuilder::Promise(DType dtype, const Shape& shape) {
  const Hlo promise{next_id_++, dtype, shape};
  promises_[promise.id] = -1;
  return promise;
}

void HloBuilder::Keep(const Hlo& promise, const Hlo& value) {
  TFLEET_CHECK(promise.dtype == value.dtype && promise.shape == value.shape);
  promises_[promise.id] = value.id;
}

// Instructions that use a promise come after the one that keeps it.
Status HloBuilder::PutInOrder() {
  auto& list = *current().mutable_instructions();
  absl::flat_hash_map<int64_t, int> place;
  for (int i = 0; i < list.size(); ++i) place[list[i].id()] = i;
  for (hlo::Instruction& instruction : list) {
    for (int64_t& id : *instruction.mutable_operand_ids()) {
      if (const auto it = promises_.find(id); it != promises_.end()) id = it->second;
    }
  }
  std::vector<int> order;
  enum State : char { kNew, kOpen, kDone };
  std::vector<State> state(list.size(), kNew);
  std::vector<std::pair<int, int>> open;  // an instruction and its next operand
  for (int first = 0; first < list.size(); ++first) {
    if (state[first] == kNew) open.push_back({first, 0});
    while (!open.empty()) {
      auto& [at, next] = open.back();
      state[at] = kOpen;
      if (next == list[at].operand_ids_size()) {
        state[at] = kDone;
        order.push_back(at);
        open.pop_back();
        continue;
      }
      const int operand = place.at(list[at].operand_ids(next++));
      if (state[operand] == kOpen) return Aborted("a check that depends on what it guards");
      if (state[operand] == kNew) open.push_back({operand, 0});
    }
  }
  google::protobuf::RepeatedPtrField<hlo::Instruction> sorted;
  sorted.Reserve(list.size());
  for (const int i : order) sorted.Add()->Swap(list.Mutable(i));
  list.Swap(&sorted);
  return OkStatus();
}

StatusOr<std::string> HloBuilder::Finish(absl::Span<const Hlo> results,
                                         absl::Span<const Alias> aliases) {
  const int64_t root = Tuple(Values(results.begin(), results.end()));
  if (!promises_.empty()) TFLEET_RETURN_IF_ERROR(PutInOrder());
  for (const Alias& alias : aliases) {
    hlo::Aliases::Entry* const entry = module_.mutable_aliases()->add_entries();
    entry->add_output_index(alias.result);
    entry->set_parameter_number(alias.parameter);
    entry->set_kind(1);
  }
  module_.set_entry_computation_id(End(root));
  *module_.mutable_program_shape() = module_.computations().rbegin()->program_shape();
  return module_.SerializeAsString();
}

}  // namespace tensorfleet::pjrt
