#include "runtime/train/session/readiness.h"

#include <algorithm>
#include <chrono>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "runtime/base/log.h"
#include "runtime/train/checkpoint/saver.h"

namespace tensorfleet::train {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kFirstPoll(5), kLongestPoll(250);
constexpr auto kReminderPeriod = std::chrono::seconds(10);

Status RunTargets(const std::vector<std::string>& targets, Session& session) {
  if (targets.empty()) return OkStatus();
  StepRequest request;
  request.targets = targets;
  return session.Run(request).status();
}

std::string Abbreviated(const std::vector<std::string>& names) {
  constexpr size_t kShown = 5;
  if (names.size() <= kShown) return absl::StrJoin(names, ", ");
  const std::vector<std::string> first(names.begin(), names.begin() + kShown);
  return absl::StrCat(absl::StrJoin(first, ", "), " and ", names.size() - kShown, " more");
}

bool IsAssign(const tensorflow::NodeDef& node) {
  return node.op() == "Assign" || node.op() == "AssignVariableOp";
}

Status RestoreMissing(const TrainGraph& graph, const std::string& checkpoint,
                      const std::vector<std::string>& missing, Session& session) {
  std::optional<std::vector<std::string>> only;
  if (missing.size() < graph.variables.size()) {
    only = RestoreOnly(graph.graph, graph.saver.restore_op_name(), missing);
  }
  LogInfo(only ? "Restoring the variables that were lost" : "Restoring all variables",
          {{"checkpoint", checkpoint}, {"missing", Abbreviated(missing)}});
  if (!only || !only->empty()) {
    TFLEET_RETURN_IF_ERROR(
        Restore(graph.saver, checkpoint, only.value_or(std::vector<std::string>()), session));
  }
  TFLEET_ASSIGN_OR_RETURN(const std::vector<std::string> left,
                          MissingVariables(graph.ready_for_local_init, session));
  const absl::flat_hash_set<std::string> still(left.begin(), left.end());
  std::vector<std::string> initializers;
  for (const tensorflow::VariableDef& variable : graph.variables) {
    if (still.contains(NodeOf(variable.variable_name()))) {
      initializers.push_back(NodeOf(variable.initializer_name()));
    }
  }
  if (initializers.empty()) return OkStatus();
  LogWarning("Variables that the checkpoint does not hold are initialised anew",
             {{"variables", Abbreviated(left)}});
  return RunTargets(initializers, session);
}

}  // namespace

StatusOr<std::vector<std::string>> MissingVariables(const ReadyCheck& check, Session& session) {
  std::vector<std::string> missing;
  if (check.empty()) return missing;
  StepRequest request;
  if (!check.names.empty()) request.fetches.push_back(check.names);
  for (const auto& [variable, tensor] : check.is_initialized) request.fetches.push_back(tensor);
  const StatusOr<std::vector<Tensor>> values = session.Run(request);
  if (!values.ok()) {
    // A check that reads what is not there yet says no in its own way.
    if (absl::IsFailedPrecondition(values.status()) &&
        absl::StrContains(values.status().message(), "uninitialized")) {
      missing.emplace_back(values.status().message());
      return missing;
    }
    return values.status();
  }
  size_t i = 0;
  if (!check.names.empty()) {
    const Tensor& names = (*values)[i++];
    if (names.dtype() != DType::kString) {
      return InvalidArgument("the ready op ", check.names,
                             " must give the names of variables, not ", DTypeName(names.dtype()));
    }
    missing.assign(names.values<std::string>().begin(), names.values<std::string>().end());
  }
  for (const auto& [variable, tensor] : check.is_initialized) {
    const Tensor& value = (*values)[i++];
    if (value.dtype() != DType::kBool || value.num_elements() != 1) {
      return InvalidArgument("the tensor ", tensor, " must be one boolean");
    }
    if (!value.scalar<bool>()) missing.push_back(variable);
  }
  return missing;
}

std::optional<std::vector<std::string>> RestoreOnly(const tensorflow::GraphDef& graph,
                                                    const std::string& restore_op,
                                                    const std::vector<std::string>& variables) {
  absl::flat_hash_map<std::string, const tensorflow::NodeDef*> nodes;
  for (const auto& node : graph.node()) nodes[node.name()] = &node;
  absl::flat_hash_map<std::string, std::string> assign_of;  // by variable
  std::vector<std::string> todo = {restore_op};
  absl::flat_hash_set<std::string> seen;
  while (!todo.empty()) {
    const std::string name = std::move(todo.back());
    todo.pop_back();
    const auto it = nodes.find(name);
    if (it == nodes.end() || !seen.insert(name).second) continue;
    const tensorflow::NodeDef& node = *it->second;
    if (IsAssign(node) && node.input_size() > 0) {
      assign_of[NodeOf(node.input(0))] = name;
    } else if (node.op() == "NoOp") {
      for (const std::string& input : node.input()) todo.push_back(NodeOf(input));
    } else {
      return std::nullopt;  // it does more than assign
    }
  }
  std::vector<std::string> out;
  for (const std::string& variable : variables) {
    const auto assign = assign_of.find(variable);
    if (assign != assign_of.end()) out.push_back(assign->second);
  }
  return out;
}

Status PrepareAsChief(const TrainGraph& graph, const std::optional<std::string>& checkpoint,
                      Session& session) {
  TFLEET_ASSIGN_OR_RETURN(std::vector<std::string> missing,
                          MissingVariables(graph.ready_for_local_init, session));
  if (missing.empty()) {
    LogInfo("The parameter servers hold all variables: nothing to restore");
  } else if (checkpoint) {
    TFLEET_RETURN_IF_ERROR(RestoreMissing(graph, *checkpoint, missing, session));
  } else {
    LogInfo("Initialising all variables", {{"missing", Abbreviated(missing)}});
    TFLEET_RETURN_IF_ERROR(RunTargets(graph.init_ops, session));
  }
  TFLEET_ASSIGN_OR_RETURN(missing, MissingVariables(graph.ready_for_local_init, session));
  if (!missing.empty()) {
    return FailedPrecondition("the init op left variables without a value: ", Abbreviated(missing));
  }
  TFLEET_RETURN_IF_ERROR(RunTargets(graph.local_init_ops, session));
  TFLEET_ASSIGN_OR_RETURN(missing, MissingVariables(graph.ready, session));
  if (missing.empty()) return OkStatus();
  return FailedPrecondition("the model is not ready after all init ops have run: ",
                            Abbreviated(missing));
}

Status WaitForChief(const TrainGraph& graph, CancellationManager* stop, Session& session) {
  Notification stopped;
  const CancellationManager::Token token = stop->Register([&stopped] { stopped.Notify(); });
  if (token < 0) return stop->status();
  struct Guard {
    CancellationManager* stop;
    CancellationManager::Token token;
    ~Guard() { stop->Deregister(token); }
  } guard{stop, token};

  milliseconds pause = kFirstPoll;
  steady_clock::time_point next_line;
  bool has_local_init = false;
  for (;;) {
    TFLEET_ASSIGN_OR_RETURN(std::vector<std::string> missing,
                            MissingVariables(graph.ready_for_local_init, session));
    if (missing.empty() && !has_local_init) {
      TFLEET_RETURN_IF_ERROR(RunTargets(graph.local_init_ops, session));
      has_local_init = true;
    }
    if (has_local_init) {
      TFLEET_ASSIGN_OR_RETURN(missing, MissingVariables(graph.ready, session));
      if (missing.empty()) return OkStatus();
    }
    if (steady_clock::now() >= next_line) {
      LogInfo("Waiting for the chief to give the variables their values",
              {{"missing", Abbreviated(missing)}});
      next_line = steady_clock::now() + kReminderPeriod;
    }
    if (stopped.WaitFor(pause)) return stop->status();
    pause = std::min(pause * 2, kLongestPoll);
  }
}

}  // namespace tensorfleet::train
