#include "runtime/client/gradients/builder.h"

#include <algorithm>

#include "runtime/client/gradients/shape_math.h"
#include "runtime/client/ops.h"

namespace tensorfleet {
namespace {

// Types that gradients flow through: a variable's handle stands for its value.
bool CarriesGradient(DType type) {
  const DType base = BaseType(type);
  return IsFloating(base) || IsComplex(base) || base == DType::kResource;
}

}  // namespace

Gradient SumOfGradients(const Scope& scope, absl::Span<const Gradient> parts) {
  if (parts.empty()) return Gradient();
  if (parts.size() == 1) return parts[0];
  if (std::all_of(parts.begin(), parts.end(), [](const Gradient& g) { return g.is_sparse(); })) {
    const DType type =
        std::all_of(parts.begin(), parts.end(),
                    [](const Gradient& g) { return g.slices().indices.dtype() == DType::kInt32; })
            ? DType::kInt32
            : DType::kInt64;
    std::vector<Output> values, indices;
    for (const Gradient& part : parts) {
      values.push_back(part.slices().values);
      indices.push_back(CastTo(scope, part.slices().indices, type));
    }
    return IndexedSlices{Joined(scope, values), Joined(scope, indices),
                         parts[0].slices().dense_shape};
  }
  std::vector<Output> dense;
  for (const Gradient& part : parts) dense.push_back(ToDense(scope, part));
  return ops::AddN(scope, dense);
}

GradientBuilder::GradientBuilder(const Scope& scope, const GradientOptions& options,
                                 ForwardValues* values)
    : scope_(scope),
      options_(options),
      registry_(options.registry != nullptr ? *options.registry : BuiltinGradients()),
      values_(values) {
  for (const Output& stop : options.stop_gradients) {
    if (stop.is_valid()) stops_.insert(KeyOf(stop));
  }
}

std::vector<bool> GradientBuilder::DependentsOf(absl::Span<const Output> xs) const {
  std::vector<bool> reached(scope_.graph().num_node_ids(), false);
  std::vector<Node*> todo;
  for (const Output& x : xs) {
    if (!reached[x.node()->id()]) todo.push_back(x.node());
    reached[x.node()->id()] = true;
  }
  while (!todo.empty()) {
    Node* node = todo.back();
    todo.pop_back();
    for (const Edge* edge : node->out_edges()) {
      if (edge->is_control() || !CarriesGradient(node->output_type(edge->src_output))) continue;
      if (reached[edge->dst->id()]) continue;
      reached[edge->dst->id()] = true;
      todo.push_back(edge->dst);
    }
  }
  return reached;
}

bool GradientBuilder::IsOnPath(const Edge& edge) const {
  return !edge.is_control() && on_path_[edge.src->id()] &&
         CarriesGradient(edge.src->output_type(edge.src_output));
}

void GradientBuilder::FindPath(absl::Span<const Output> ys, absl::Span<const Output> xs) {
  const std::vector<bool> reached = DependentsOf(xs);
  on_path_.assign(reached.size(), false);
  pending_.assign(reached.size(), 0);
  std::vector<Node*> todo, path;
  const auto add = [&](Node* node) {
    if (on_path_[node->id()] || !reached[node->id()]) return;
    on_path_[node->id()] = true;
    todo.push_back(node);
    path.push_back(node);
  };
  for (const Output& y : ys) add(y.node());
  while (!todo.empty()) {
    Node* node = todo.back();
    todo.pop_back();
    for (const Edge* edge : node->in_edges()) {
      if (edge->is_control()) continue;
      if (CarriesGradient(edge->src->output_type(edge->src_output))) add(edge->src);
    }
  }
  for (Node* node : path) {
    for (const Edge* edge : node->in_edges()) {
      if (IsOnPath(*edge)) ++pending_[edge->src->id()];
    }
  }
}

std::vector<Gradient> GradientBuilder::Run(absl::Span<const Output> ys,
                                           absl::Span<const Gradient> grad_ys,
                                           absl::Span<const Output> xs) {
  FindPath(ys, xs);
  std::vector<Node*> ready;
  for (size_t i = 0; i < ys.size(); ++i) {
    Node* node = ys[i].node();
    if (!on_path_[node->id()]) continue;
    if (!grad_ys[i].is_absent()) parts_[KeyOf(ys[i])].push_back(grad_ys[i]);
    if (pending_[node->id()] == 0 && std::find(ready.begin(), ready.end(), node) == ready.end()) {
      ready.push_back(node);
    }
  }
  while (!ready.empty() && scope_.status().ok()) {
    Node* node = ready.back();
    ready.pop_back();
    // The edges as they are now: differentiating adds users, not inputs.
    Visit(node);
    for (const Edge* edge : node->in_edges()) {
      if (IsOnPath(*edge) && --pending_[edge->src->id()] == 0) ready.push_back(edge->src);
    }
  }
  std::vector<Gradient> results;
  for (const Output& x : xs) {
    const auto it = sums_.find(KeyOf(x));
    results.push_back(it == sums_.end() ? Gradient() : it->second);
  }
  return results;
}

void GradientBuilder::Visit(Node* node) {
  std::vector<Gradient> gradients(node->num_outputs());
  bool flows = false;
  for (int i = 0; i < node->num_outputs(); ++i) {
    const Key key{node->id(), i};
    const auto parts = parts_.find(key);
    if (parts == parts_.end()) continue;
    const Gradient sum = SumOfGradients(scope_, parts->second);
    sums_[key] = sum;
    if (stops_.contains(key)) continue;
    gradients[i] = sum;
    flows = true;
  }
  std::vector<bool> wanted(node->num_inputs(), false);
  for (int i = 0; i < node->num_inputs(); ++i) wanted[i] = IsOnPath(*node->in_edge(i));
  if (!flows || std::find(wanted.begin(), wanted.end(), true) == wanted.end()) return;
  Differentiate(node, std::move(gradients), std::move(wanted));
}

void GradientBuilder::Differentiate(Node* node, std::vector<Gradient> gradients,
                                    std::vector<bool> wanted) {
  // A graph may ask for another op's gradient (TensorFlow's gradient_override_map).
  const std::string op =
      GetAttrOr<std::string>(node->def(), "_gradient_op_type", node->op()).value_or(node->op());
  const GradientRegistry::Entry* entry = registry_.Find(op);
  if (entry == nullptr || !entry->missing.empty()) {
    scope_.Fail(Unimplemented("there is no gradient of op ", op, " (node '", node->name(), "')",
                              entry == nullptr ? "" : absl::StrCat(": ", entry->missing)));
    return;
  }
  if (entry->fn == nullptr) return;
  Scope scope = scope_.SubScope(absl::StrCat(node->name(), "_grad"));
  if (options_.colocate_with_ops) scope = scope.ColocatedWith(Operation(node));
  GradientContext context(scope, node, std::move(gradients), wanted, values_);
  entry->fn(context);
  if (!scope_.status().ok()) return;
  for (int i = 0; i < node->num_inputs(); ++i) {
    const Gradient& gradient = context.results()[i];
    if (!wanted[i] || gradient.is_absent()) continue;
    const Edge* edge = node->in_edge(i);
    parts_[{edge->src->id(), edge->src_output}].push_back(gradient);
  }
}

}  // namespace tensorfleet
