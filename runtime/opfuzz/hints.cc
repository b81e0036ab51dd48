#include "runtime/opfuzz/hints.h"

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "runtime/graph/attr.h"
#include "runtime/opfuzz/index_hints.h"
#include "runtime/opfuzz/name_hints.h"
#include "runtime/opfuzz/plan_edit.h"
#include "runtime/opfuzz/values.h"
#include "runtime/opfuzz/window_hints.h"

namespace tensorfleet::opfuzz {
namespace {

// All references and resources hold what the first one holds, as optimizers' slots do, and so does
// the gradient; the rest of an optimizer's inputs are scalars.
void LikeFirst(Random& random, const OpSchema& schema, NodePlan* plan) {
  const bool is_apply = absl::StrContains(schema.name, "Apply");
  for (size_t i = 1; i < schema.inputs.size() && i < plan->types.size(); ++i) {
    const std::string& name = schema.inputs[i].name;
    if (IsHandle(plan->types[i]) || name == "grad" || name == "value" ||
        (name == "delta" && is_apply)) {
      SetShape(random, plan, i, plan->shapes[0]);
    } else if (is_apply && name != "indices") {
      SetShape(random, plan, i, Shape());
    }
  }
}

void HintBatchNorm(Random& random, const OpSchema& schema, NodePlan* plan) {
  const int64_t c = random.Between(1, 4), n = random.Between(0, 2), h = random.Between(1, 3);
  const bool first = GetAttrOr<std::string>(plan->def, "data_format", "").value_or("") == "NCHW";
  const Shape image = first ? Shape({n, c, h, 2}) : Shape({n, h, 2, c});
  for (size_t i = 0; i < schema.inputs.size(); ++i) {
    const std::string& name = schema.inputs[i].name;
    SetShape(random, plan, i, name == "x" || name == "y_backprop" ? image : Shape({c}));
  }
  if (GetAttrOr<bool>(plan->def, "is_training", true).value_or(true) &&
      !absl::StrContains(schema.name, "Grad") && random.Percent(80)) {
    SetShape(random, plan, 3, Shape({0}));
    SetShape(random, plan, 4, Shape({0}));
  }
}

}  // namespace

void HintAttrs(Random& random, const OpSchema& schema, tensorflow::NodeDef* def) {
  HintWindowAttrs(random, schema, def);
  if (schema.name == "_ReadVariablesOp") {
    const int types = def->attr().at("dtypes").list().type_size();
    if (random.Percent(95)) SetAttr(def, "N", static_cast<int64_t>(types));
  }
  if (schema.FindAttr("fused_ops") != nullptr && random.Percent(90)) {
    std::vector<std::string> fused = {"BiasAdd"};
    if (random.Percent(60))
      fused.push_back(random.Pick<const char*>({"Relu", "Relu6", "Elu", "Tanh", "Sigmoid"}));
    SetAttr(def, "fused_ops", absl::MakeConstSpan(fused));
    SetAttr(def, "num_args", int64_t{1});
  }
  if (absl::StrContains(schema.name, "Table") && random.Percent(85)) {
    const DType key = random.Pick({DType::kString, DType::kInt64});
    const DType value = key == DType::kString
                            ? random.Pick({DType::kInt64, DType::kFloat, DType::kString})
                            : random.Pick({DType::kString, DType::kFloat});
    for (const char* attr : {"Tin", "Tkey", "Tkeys", "key_dtype"}) {
      if (schema.FindAttr(attr) != nullptr) SetAttr(def, attr, key);
    }
    for (const char* attr : {"Tout", "Tval", "Tvalues", "value_dtype"}) {
      if (schema.FindAttr(attr) != nullptr) SetAttr(def, attr, value);
    }
  }
}

void Hint(Random& random, const OpSchema& schema, NodePlan* plan) {
  if (plan->types.empty() || !random.Percent(80)) return;
  const absl::string_view op = schema.name;
  HintByNames(random, schema, plan);
  HintWindowInputs(random, schema, plan);
  if (IsHandle(plan->types[0]) && plan->types[0] != DType::kVariant)
    LikeFirst(random, schema, plan);
  if (absl::StrContains(op, "Nd") && !absl::StrContains(op, "ND"))
    return HintNd(random, schema, plan);
  if (absl::StartsWith(op, "TensorScatter")) return HintNd(random, schema, plan);
  if (absl::StartsWith(op, "FusedBatchNorm")) return HintBatchNorm(random, schema, plan);
  if (absl::StartsWith(op, "SparseSegment")) return HintSegments(random, schema, plan);
  HintSparse(random, schema, plan);
  if (absl::StrContains(op, "Sparse") || absl::StrContains(op, "Scatter"))
    HintRows(random, schema, plan);
}

}  // namespace tensorfleet::opfuzz
