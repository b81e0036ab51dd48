#include "runtime/client/gradients/builder.h"

#include <algorithm>

#include "runtime/client/gradients/calls.h"
#include "runtime/client/gradients/shape_math.h"
#include "runtime/client/ops.h"
#include "runtime/place/expand/function_calls.h"

namespace tensorfleet {
namespace {

// The op whose gradient function is to be called.
StatusOr<std::string> DifferentiatedOp(const Scope& scope, const Node& node) {
  if (const Node* call = scope.ReplacedBy(&node); call != nullptr) {
    if (!IsCallByName(*call, scope.graph())) return call->op();
    return call->schema().is_stateful ? "StatefulPartitionedCall" : "PartitionedCall";
  }
  // A graph may ask for another op's gradient (TensorFlow's gradient_override_map).
  return GetAttrOr<std::string>(node.def(), "_gradient_op_type", node.op());
}

}  // namespace

bool CarriesGradient(DType type) {
  const DType base = BaseType(type);
  return IsFloating(base) || IsComplex(base) || base == DType::kResource || base == DType::kVariant;
}

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
                                 ForwardValues* values, Loops& loops, Loop* level)
    : scope_(scope),
      options_(options),
      registry_(options.registry != nullptr ? *options.registry : BuiltinGradients()),
      values_(values),
      loops_(loops),
      level_(level),
      num_nodes_(scope.graph().num_node_ids()) {
  for (const Output& stop : options.stop_gradients) {
    if (stop.is_valid()) stops_.insert(KeyOf(scope.Current(stop)));
  }
}

int GradientBuilder::UnitOf(const Node* node) const {
  Loop* loop = node->IsEnter() ? loops_.Entered(node) : loops_.FrameOf(node);
  if (loop == level_) return node->id();
  while (loop != nullptr && loop->parent != level_) loop = loop->parent;
  return loop == nullptr ? node->id() : num_nodes_ + loop->index;
}

Loop* GradientBuilder::LoopOf(int unit) const {
  return unit < num_nodes_ ? nullptr : loops_.loop(unit - num_nodes_);
}

std::vector<const Edge*> GradientBuilder::InputsOf(int unit) const {
  if (const Loop* loop = LoopOf(unit); loop != nullptr) {
    std::vector<const Edge*> edges;
    for (const Loop::Variable& variable : loop->variables) {
      edges.push_back(variable.enter->in_edge(0));
    }
    for (const Node* constant : loop->constants) edges.push_back(constant->in_edge(0));
    return edges;
  }
  const Node* node = scope_.graph().node(unit);
  return std::vector<const Edge*>(node->in_edges().begin(), node->in_edges().end());
}

std::vector<bool> GradientBuilder::DependentsOf(absl::Span<const Output> xs) const {
  std::vector<bool> reached(num_nodes_, false), follows(num_nodes_, false);
  std::vector<Node*> todo;
  const auto reach = [&](Node* node) {
    if (!loops_.IsInBody(node, level_) || follows[node->id()]) return;
    reached[node->id()] = follows[node->id()] = true;
    todo.push_back(node);
  };
  const auto follow = [&](const Edge* edge) {
    if (edge->is_control() || edge->dst->id() >= num_nodes_) return;
    if (!CarriesGradient(edge->src->output_type(edge->src_output))) return;
    reach(edge->dst);
  };
  for (const Output& x : xs) {
    reached[x.node()->id()] = true;
    for (const Edge* edge : x.node()->out_edges()) {
      if (edge->src_output == x.index()) follow(edge);
    }
  }
  if (level_ != nullptr) {
    // What loops in this body pop comes from elsewhere.
    for (const auto& link : loops_.stacks().all()) {
      if (link->is_reached && loops_.FrameOf(link->pop) != level_) reach(link->pop);
    }
  }
  while (!todo.empty()) {
    Node* node = todo.back();
    todo.pop_back();
    for (const Edge* edge : node->out_edges()) follow(edge);
    if (StackLink* link = loops_.stacks().OfPush(node); link != nullptr) {
      link->is_reached = true;
      reach(link->pop);
    }
  }
  return reached;
}

bool GradientBuilder::IsOnPath(const Edge& edge) const {
  return !edge.is_control() && edge.src->id() < num_nodes_ && on_path_[edge.src->id()] &&
         CarriesGradient(edge.src->output_type(edge.src_output));
}

void GradientBuilder::FindPath(absl::Span<const Output> ys, absl::Span<const Output> xs) {
  const std::vector<bool> reached = DependentsOf(xs);
  on_path_.assign(num_nodes_, false);
  pending_.assign(num_nodes_ + loops_.size(), 0);
  popped_from_.clear();
  std::vector<Node*> todo, path;
  const auto add = [&](Node* node) {
    if (node->id() >= num_nodes_ || on_path_[node->id()] || !reached[node->id()]) return;
    on_path_[node->id()] = true;
    todo.push_back(node);
    path.push_back(node);
  };
  for (const Output& y : ys) add(y.node());
  for (const StackLink* link : ReturningPushes()) add(link->push);
  while (!todo.empty()) {
    Node* node = todo.back();
    todo.pop_back();
    if (const StackLink* link = loops_.stacks().OfPop(node); link != nullptr) add(link->push);
    for (const Edge* edge : node->in_edges()) {
      if (edge->is_control()) continue;
      if (CarriesGradient(edge->src->output_type(edge->src_output))) add(edge->src);
    }
  }
  for (Node* node : path) {
    for (const Edge* edge : node->in_edges()) {
      if (IsOnPath(*edge) && UnitOf(edge->src) != UnitOf(node)) ++pending_[UnitOf(edge->src)];
    }
    const StackLink* link = loops_.stacks().OfPop(node);
    if (link == nullptr || !on_path_[link->push->id()]) continue;
    const int source = UnitOf(link->push);
    if (source == UnitOf(node)) continue;
    ++pending_[source];
    popped_from_[UnitOf(node)].push_back(source);
  }
}

std::vector<const StackLink*> GradientBuilder::ReturningPushes() const {
  std::vector<const StackLink*> pushes;
  if (level_ == nullptr) return pushes;
  for (const auto& link : loops_.stacks().all()) {
    if (link->gradients.is_valid() && loops_.FrameOf(link->push) != level_ &&
        loops_.IsInBody(link->push, level_)) {
      pushes.push_back(link.get());
    }
  }
  return pushes;
}

std::vector<Gradient> GradientBuilder::Run(absl::Span<const Output> ys,
                                           absl::Span<const Gradient> grad_ys,
                                           absl::Span<const Output> xs) {
  FindPath(ys, xs);
  std::vector<int> ready;
  const auto start_from = [&](const Node* node) {
    const int unit = UnitOf(node);
    if (pending_[unit] == 0 && std::find(ready.begin(), ready.end(), unit) == ready.end()) {
      ready.push_back(unit);
    }
  };
  for (size_t i = 0; i < ys.size(); ++i) {
    if (!on_path_[ys[i].node()->id()]) continue;
    if (!grad_ys[i].is_absent()) parts_[KeyOf(ys[i])].push_back(grad_ys[i]);
    start_from(ys[i].node());
  }
  for (const StackLink* link : ReturningPushes()) {
    if (on_path_[link->push->id()]) start_from(link->push);
  }
  while (!ready.empty() && scope_.status().ok()) {
    const int unit = ready.back();
    ready.pop_back();
    if (Loop* loop = LoopOf(unit); loop != nullptr) {
      VisitLoop(loop);
    } else {
      VisitNode(scope_.graph().node(unit));
    }
    for (const Edge* edge : InputsOf(unit)) {
      if (!IsOnPath(*edge) || !on_path_[edge->dst->id()]) continue;
      const int source = UnitOf(edge->src);
      if (source != unit && --pending_[source] == 0) ready.push_back(source);
    }
    for (const int source : popped_from_[unit]) {
      if (--pending_[source] == 0) ready.push_back(source);
    }
  }
  std::vector<Gradient> results;
  for (const Output& x : xs) {
    const auto it = sums_.find(KeyOf(x));
    results.push_back(it == sums_.end() ? Gradient() : it->second);
  }
  return results;
}

Gradient GradientBuilder::SumFor(Node* node, int output) {
  const Key key{node->id(), output};
  const auto parts = parts_.find(key);
  if (parts == parts_.end()) return Gradient();
  const Gradient sum = SumOfGradients(scope_, parts->second);
  sums_[key] = sum;
  return stops_.contains(key) ? Gradient() : sum;
}

void GradientBuilder::Contribute(const Edge& edge, const Gradient& gradient) {
  if (!gradient.is_absent()) parts_[{edge.src->id(), edge.src_output}].push_back(gradient);
}

void GradientBuilder::VisitNode(Node* node) {
  std::vector<Gradient> gradients;
  bool flows = false;
  for (int i = 0; i < node->num_outputs(); ++i) {
    gradients.push_back(SumFor(node, i));
    flows |= !gradients.back().is_absent();
  }
  std::vector<bool> wanted(node->num_inputs(), false);
  for (int i = 0; i < node->num_inputs(); ++i) wanted[i] = IsOnPath(*node->in_edge(i));
  if (!flows || std::find(wanted.begin(), wanted.end(), true) == wanted.end()) return;
  Differentiate(node, std::move(gradients), std::move(wanted));
}

void GradientBuilder::Differentiate(Node* node, std::vector<Gradient> gradients,
                                    std::vector<bool> wanted) {
  const std::string given = GivenGradientOf(*node, scope_.graph());
  const std::string op = DifferentiatedOp(scope_, *node).value_or(node->op());
  const GradientRegistry::Entry* entry = registry_.Find(op);
  if (given.empty() && (entry == nullptr || !entry->missing.empty())) {
    scope_.Fail(Unimplemented("there is no gradient of op ", op, " (node '", node->name(), "')",
                              entry == nullptr ? "" : absl::StrCat(": ", entry->missing)));
    return;
  }
  if (given.empty() && entry->fn == nullptr) return;
  Scope scope = scope_.SubScope(absl::StrCat(node->name(), "_grad"));
  if (options_.colocate_with_ops) scope = scope.ColocatedWith(Operation(node));
  GradientContext context(scope, node, std::move(gradients), wanted, values_);
  if (given.empty()) {
    entry->fn(context);
  } else {
    CallGivenGradient(context, given);
  }
  if (!scope_.status().ok()) return;
  for (int i = 0; i < node->num_inputs(); ++i) {
    if (wanted[i]) Contribute(*node->in_edge(i), context.results()[i]);
  }
}

}  // namespace tensorfleet
