#include "runtime/opfuzz/node_plan.h"

#include "absl/strings/match.h"
#include "runtime/graph/shape_context.h"
#include "runtime/opfuzz/attrs.h"
#include "runtime/opfuzz/hints.h"
#include "runtime/opfuzz/values.h"
#include "runtime/ops/all.h"

namespace tensorfleet::opfuzz {
namespace {

PartialShape SeenShape(DType type, const Shape& shape) {
  if (type == RefTo(DType::kString)) return PartialShape();
  return IsHandle(type) && !IsRef(type) ? PartialShape(Shape()) : PartialShape(shape);
}

// Completes the attributes and gives the types that follow. Errors: what the schema says.
Status TakeTypes(const OpSchema& schema, NodePlan* plan) {
  TFLEET_RETURN_IF_ERROR(CompleteAttrs(schema, &plan->def));
  TFLEET_ASSIGN_OR_RETURN(NodeTypes types, TypesOf(schema, plan->def));
  if (types.inputs.size() > 40) return InvalidArgument("too many inputs to be of use");
  plan->types = std::move(types.inputs);
  return OkStatus();
}

// Whether one run leaves nothing behind and needs nothing but its inputs.
bool IsPure(const OpSchema& schema) {
  if (schema.is_stateful) return false;
  for (const ArgSpec& arg : schema.inputs) {
    if (arg.is_ref || arg.type == DType::kResource || arg.type == DType::kVariant) return false;
  }
  for (const AttrSpec& attr : schema.attrs) {
    if (absl::StrContains(attr.kind, "func")) return false;
  }
  return !absl::StartsWith(schema.name, "_");
}

}  // namespace

NodePlanner::NodePlanner(const KernelRegistry* kernels)
    : kernels_(kernels), device_(MakeCpuDevice("/job:localhost/replica:0/task:0", &pool_)) {}

NodePlan NodePlanner::Draw(Random& random, const OpSchema& schema, bool has_to_run) {
  NodePlan plan;
  plan.def = RandomNodeDef(random, schema, *kernels_);
  HintAttrs(random, schema, &plan.def);
  if (!TakeTypes(schema, &plan).ok()) return plan;
  const ShapeFamily family(random);
  for (const DType type : plan.types) {
    plan.shapes.push_back(family.Next(random));
    plan.values.push_back(
        IsHandle(type) ? Tensor() : RandomTensor(random, type, plan.shapes.back(), Manner::kUsual));
  }
  Hint(random, schema, &plan);
  plan.fits = Fits(plan, has_to_run);
  return plan;
}

bool NodePlanner::Fits(const NodePlan& plan, bool has_to_run) {
  Graph graph(&BuiltinOps(), nullptr);
  tensorflow::NodeDef def = plan.def;
  def.set_name("op");
  const StatusOr<Node*> node = graph.AddNode(std::move(def));
  if (!node.ok()) return false;
  std::vector<PartialShape> shapes;
  std::vector<const Tensor*> constants;
  for (size_t i = 0; i < plan.types.size(); ++i) {
    shapes.push_back(SeenShape(plan.types[i], plan.shapes[i]));
    constants.push_back(plan.values[i].is_valid() ? &plan.values[i] : nullptr);
  }
  ShapeContext ctx(**node, std::move(shapes), std::move(constants));
  if ((*node)->schema().shape_fn != nullptr && !(*node)->schema().shape_fn(ctx).ok()) return false;
  KernelInit init(**node, device_.get(), &resources_, nullptr);
  const StatusOr<std::unique_ptr<Kernel>> kernel = kernels_->Make(init, kCpu);
  if (!kernel.ok()) return false;
  return !has_to_run || (*kernel)->AsAsync() != nullptr || Runs(**node, **kernel, plan);
}

bool NodePlanner::Runs(const Node& node, const Kernel& kernel, const NodePlan& plan) {
  std::vector<EdgeValue> inputs(plan.values.size()), outputs(node.num_outputs());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const StatusOr<Tensor> copy = plan.values[i].Clone();  // kernels may write their inputs
    if (!copy.ok()) return false;
    inputs[i].tensor = *copy;
  }
  StepContext step;
  step.step_id = 1;
  step.device = device_.get();
  step.cancellation = &cancellation_;
  step.resources = &resources_;
  step.step_resources = &step_resources_;
  KernelContext ctx(&node, &step, absl::MakeSpan(inputs), absl::MakeSpan(outputs));
  return kernel.Compute(ctx).ok();
}

NodePlan NodePlanner::Make(Random& random, const OpSchema& schema, int tries, bool has_to_run) {
  NodePlan plan;
  for (int i = 0; i < tries && !plan.fits; ++i)
    plan = Draw(random, schema, has_to_run && IsPure(schema));
  return plan;
}

void NodePlanner::Disturb(Random& random, const OpSchema& schema, NodePlan* plan) {
  for (int changes = random.Pick({1, 1, 2, 3}); changes > 0; --changes) {
    if (plan->types.empty() || random.Percent(20)) {
      NodePlan changed = *plan;
      DisturbAttr(random, schema, &changed.def);
      // One that the schema takes, and that leaves the inputs as they are.
      if (TakeTypes(schema, &changed).ok() && changed.types == plan->types)
        *plan = std::move(changed);
      continue;
    }
    const int64_t i = random.Below(plan->types.size());
    const Manner manner = random.Percent(60) ? Manner::kHostile : Manner::kUsual;
    if (random.Percent(50)) plan->shapes[i] = RandomShape(random, manner);
    if (plan->values[i].is_valid())
      plan->values[i] = RandomTensor(random, plan->types[i], plan->shapes[i], manner);
  }
}

}  // namespace tensorfleet::opfuzz
