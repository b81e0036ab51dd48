#include "runtime/train/job/in_graph_replicas.h"

#include "runtime/client/gradients/builder.h"
#include "runtime/client/gradients/shape_math.h"
#include "runtime/client/ops.h"
#include "runtime/client/term.h"

namespace tensorfleet::train {
namespace {

Output Share(const Scope& scope, const Output& sum, size_t count) {
  return Term(scope, sum) / static_cast<double>(count);
}

}  // namespace

std::vector<Output> SplitBatch(const Scope& scope, const Output& batch, int parts) {
  return ops::Split(scope, Int(scope, 0), batch, parts);
}

std::vector<GradientAndVariable> AverageGradients(
    const Scope& scope, absl::Span<const std::vector<GradientAndVariable>> towers) {
  std::vector<GradientAndVariable> averages;
  for (size_t k = 0; k < towers[0].size(); ++k) {
    const Variable& variable = towers[0][k].variable;
    std::vector<Gradient> parts;
    for (const auto& tower : towers) {
      if (!tower[k].gradient.is_absent()) parts.push_back(tower[k].gradient);
    }
    const Scope at = AtVariable(scope, variable);
    Gradient sum = SumOfGradients(at, parts);
    if (sum.is_sparse()) {
      IndexedSlices slices = sum.slices();
      slices.values = Share(at, slices.values, towers.size());
      sum = slices;
    } else if (!sum.is_absent()) {
      sum = Share(at, sum.dense(), towers.size());
    }
    averages.push_back({sum, variable});
  }
  return averages;
}

Replicas MinimizeInGraph(const Scope& scope, absl::Span<const std::string> devices,
                         const Tower& tower, Optimizer& optimizer, Variables& variables) {
  if (devices.empty()) scope.Fail(InvalidArgument("in-graph replication was given no device"));
  const size_t num_variables = variables.global().size();
  const std::vector<Variable> trained = variables.trainable();
  std::vector<Output> losses;
  std::vector<std::vector<GradientAndVariable>> towers;
  for (size_t i = 0; i < devices.size(); ++i) {
    const Scope at = scope.SubScope(absl::StrCat("tower_", i)).OnDevice(devices[i]);
    losses.push_back(tower(at, static_cast<int>(i)));
    if (variables.global().size() != num_variables) {
      scope.Fail(InvalidArgument("tower ", i, " makes the variable '",
                                 variables.global().back().name,
                                 "'; make variables once, before the towers that share them"));
    }
    if (!scope.status().ok()) return Replicas();
    towers.push_back(optimizer.ComputeGradients(at, losses.back(), trained));
  }
  if (!scope.status().ok()) return Replicas();
  const Scope average = scope.SubScope("average");
  Replicas all;
  all.loss = Share(average.Named("loss"), ops::AddN(average, losses), losses.size());
  const Variable step = variables.GlobalStep(scope);
  all.train = optimizer.ApplyGradients(scope, AverageGradients(average, towers), variables, step);
  return all;
}

}  // namespace tensorfleet::train
