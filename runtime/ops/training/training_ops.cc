// Optimizer steps: Apply* (dense gradients) and SparseApply* (gradients of rows), each on variables
// by reference edge and, with "Resource" in front, by handle. Kernels:
// runtime/kernels/cpu/training/apply_*.cc.
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/graph/shape_context.h"
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {
namespace {

constexpr int kRefForm = 1;
constexpr int kResourceForm = 2;
constexpr int kBothForms = 3;

struct Rule {
  const char* name;
  const char* variables;  // separated by blanks, as are the values
  const char* values;
  const char* attr = "";  // one more attribute
  int forms = kBothForms;
};

// Order of inputs as in TensorFlow (facts: tf-ops.md, section 4).
constexpr Rule kRules[] = {
    {"ApplyGradientDescent", "var", "alpha delta"},
    {"ApplyMomentum", "var accum", "lr grad momentum", "use_nesterov: bool = false"},
    {"ApplyKerasMomentum", "var accum", "lr grad momentum", "use_nesterov: bool = false",
     kResourceForm},
    {"ApplyAdam", "var m v", "beta1_power beta2_power lr beta1 beta2 epsilon grad",
     "use_nesterov: bool = false"},
    {"ApplyAdaMax", "var m v", "beta1_power lr beta1 beta2 epsilon grad"},
    {"ApplyAdamWithAmsgrad", "var m v vhat", "beta1_power beta2_power lr beta1 beta2 epsilon grad",
     "", kResourceForm},
    {"ApplyAddSign", "var m", "lr alpha sign_decay beta grad"},
    {"ApplyPowerSign", "var m", "lr logbase sign_decay beta grad"},
    {"ApplyAdagrad", "var accum", "lr grad", "update_slots: bool = true"},
    {"ApplyAdagradV2", "var accum", "lr epsilon grad", "update_slots: bool = true"},
    {"ApplyAdagradDA", "var gradient_accumulator gradient_squared_accumulator",
     "grad lr l1 l2 global_step"},
    {"ApplyRMSProp", "var ms mom", "lr rho momentum epsilon grad"},
    {"ApplyCenteredRMSProp", "var mg ms mom", "lr rho momentum epsilon grad"},
    {"ApplyFtrl", "var accum linear", "grad lr l1 l2 lr_power",
     "multiply_linear_by_lr: bool = false"},
    {"ApplyFtrlV2", "var accum linear", "grad lr l1 l2 l2_shrinkage lr_power",
     "multiply_linear_by_lr: bool = false"},
    {"ApplyAdadelta", "var accum accum_update", "lr rho epsilon grad"},
    {"ApplyProximalGradientDescent", "var", "alpha l1 l2 delta"},
    {"ApplyProximalAdagrad", "var accum", "lr l1 l2 grad"},
    {"SparseApplyMomentum", "var accum", "lr grad indices momentum", "use_nesterov: bool = false"},
    {"SparseApplyKerasMomentum", "var accum", "lr grad indices momentum",
     "use_nesterov: bool = false", kResourceForm},
    {"SparseApplyAdagrad", "var accum", "lr grad indices", "update_slots: bool = true"},
    {"SparseApplyAdagradV2", "var accum", "lr epsilon grad indices", "update_slots: bool = true"},
    {"SparseApplyAdagradDA", "var gradient_accumulator gradient_squared_accumulator",
     "grad indices lr l1 l2 global_step"},
    {"SparseApplyRMSProp", "var ms mom", "lr rho momentum epsilon grad indices"},
    {"SparseApplyCenteredRMSProp", "var mg ms mom", "lr rho momentum epsilon grad indices"},
    {"SparseApplyFtrl", "var accum linear", "grad indices lr l1 l2 lr_power",
     "multiply_linear_by_lr: bool = false"},
    {"SparseApplyFtrlV2", "var accum linear", "grad indices lr l1 l2 l2_shrinkage lr_power",
     "multiply_linear_by_lr: bool = false"},
    {"SparseApplyAdadelta", "var accum accum_update", "lr rho epsilon grad indices"},
    {"SparseApplyProximalGradientDescent", "var", "alpha l1 l2 grad indices"},
    {"SparseApplyProximalAdagrad", "var accum", "lr l1 l2 grad indices"},
};

// Variables and gradients have one shape; of sparse gradients, and of resources, only a step knows
// it.
Status UpdatedShape(ShapeContext& ctx) {
  PartialShape shape = ctx.input(0);
  for (int i = 1; i < ctx.num_inputs() && IsRef(ctx.node().input_type(i)); ++i) {
    TFLEET_ASSIGN_OR_RETURN(shape, shape.MergedWith(ctx.input(i)));
  }
  ctx.set_output(0, std::move(shape));
  return OkStatus();
}

void AddRule(OpRegistry& ops, const Rule& rule, bool by_handle) {
  OpSchemaBuilder op(absl::StrCat(by_handle ? "Resource" : "", rule.name));
  for (absl::string_view name : absl::StrSplit(rule.variables, ' ')) {
    op.Input(absl::StrCat(name, by_handle ? ": resource" : ": Ref(T)"));
  }
  bool is_sparse = false;
  for (absl::string_view name : absl::StrSplit(rule.values, ' ')) {
    is_sparse |= name == "indices";
    op.Input(absl::StrCat(name, name == "indices"       ? ": Tindices"
                                : name == "global_step" ? ": int64"
                                                        : ": T"));
  }
  op.Attr("T: numbertype");
  if (is_sparse) op.Attr("Tindices: {int32, int64}");
  op.Attr("use_locking: bool = false");
  if (rule.attr[0] != '\0') op.Attr(rule.attr);
  if (by_handle) {
    op.Stateful().Shape(shapes::UnknownShapes);
  } else {
    op.Output("out: Ref(T)").Shape(UpdatedShape);
  }
  ops.Add(op.Doc("One step of an optimizer on a variable and its slots."));
}

}  // namespace

void RegisterTrainingOps(OpRegistry& ops) {
  for (const Rule& rule : kRules) {
    if (rule.forms & kRefForm) AddRule(ops, rule, /*by_handle=*/false);
    if (rule.forms & kResourceForm) AddRule(ops, rule, /*by_handle=*/true);
  }
}

}  // namespace tensorfleet
