#include "runtime/opfuzz/window_hints.h"

#include <optional>

#include "absl/strings/match.h"
#include "runtime/graph/shape_context.h"
#include "runtime/opfuzz/plan_edit.h"
#include "runtime/ops/all.h"

namespace tensorfleet::opfuzz {
namespace {

bool IsChannelsFirst(const tensorflow::NodeDef& def) {
  return GetAttrOr<std::string>(def, "data_format", "NHWC").value_or("") == "NCHW";
}

Shape InLayout(const tensorflow::NodeDef& def, int64_t n, int64_t h, int64_t w, int64_t c) {
  return IsChannelsFirst(def) ? Shape({n, c, h, w}) : Shape({n, h, w, c});
}

// The shape that `forward` would give with the attributes of `def`, when it takes the inputs.
std::optional<Shape> Forward(const char* forward, const tensorflow::NodeDef& def,
                             const std::vector<PartialShape>& inputs) {
  const StatusOr<const OpSchema*> schema = BuiltinOps().Find(forward);
  if (!schema.ok()) return std::nullopt;
  tensorflow::NodeDef node;
  node.set_name("forward");
  node.set_op(forward);
  for (const AttrSpec& attr : (*schema)->attrs) {
    if (def.attr().contains(attr.name))
      (*node.mutable_attr())[attr.name] = def.attr().at(attr.name);
  }
  Graph graph(&BuiltinOps(), nullptr);
  const StatusOr<Node*> added = graph.AddNode(std::move(node));
  if (!added.ok()) return std::nullopt;
  ShapeContext ctx(**added, inputs, std::vector<const Tensor*>(inputs.size(), nullptr));
  if (!(*schema)->shape_fn(ctx).ok()) return std::nullopt;
  StatusOr<Shape> shape = ctx.output(0).ToShape();
  if (!shape.ok()) return std::nullopt;
  return *std::move(shape);
}

void Set(Random& random, NodePlan* plan, size_t i, const Shape& shape) {
  if (i < plan->types.size()) SetShape(random, plan, static_cast<int>(i), shape);
}

// Input `i` is a shape, or what has that shape.
void SetSizes(Random& random, NodePlan* plan, size_t i, const Shape& shape, bool is_sizes) {
  if (!is_sizes) return Set(random, plan, i, shape);
  SetIntegers(plan, static_cast<int>(i), Shape({shape.rank()}), shape.dims());
}

// The pools that take their window as tensors.
void HintWindowTensors(Random& random, const OpSchema& schema, NodePlan* plan) {
  const int ksize = InputNamed(schema, *plan, "ksize"),
            strides = InputNamed(schema, *plan, "strides");
  if (ksize < 0 || strides < 0) return;
  const Shape image =
      InLayout(plan->def, random.Between(0, 2), 3, random.Between(2, 5), random.Between(1, 3));
  const bool first = IsChannelsFirst(plan->def);
  for (int i = 0; i < ksize; ++i) SetShape(random, plan, i, image);
  for (const int i : {ksize, strides}) {
    const int64_t h = random.Between(1, 2), w = random.Between(1, 2);
    const std::vector<int64_t> window =
        first ? std::vector<int64_t>{1, 1, h, w} : std::vector<int64_t>{1, h, w, 1};
    SetIntegers(plan, i, Shape({4}), window);
  }
}

}  // namespace

void HintWindowAttrs(Random& random, const OpSchema& schema, tensorflow::NodeDef* def) {
  if (schema.FindAttr("strides") == nullptr || schema.FindAttr("padding") == nullptr) return;
  const bool first = IsChannelsFirst(*def);
  for (const char* attr : {"strides", "ksize", "dilations"}) {
    if (schema.FindAttr(attr) == nullptr || random.Percent(3)) continue;
    const int64_t h = random.Pick({1, 1, 2, 3}), w = random.Percent(60) ? h : random.Between(1, 3);
    const std::vector<int64_t> window =
        first ? std::vector<int64_t>{1, 1, h, w} : std::vector<int64_t>{1, h, w, 1};
    SetAttr(def, attr, absl::MakeConstSpan(window));
  }
  if (schema.FindAttr("explicit_paddings") == nullptr) return;
  std::vector<int64_t> paddings;
  if (GetAttrOr<std::string>(*def, "padding", "").value_or("") == "EXPLICIT") {
    paddings.assign(8, 0);
    for (int i = first ? 4 : 2; i < (first ? 8 : 6); ++i) paddings[i] = random.Between(0, 2);
  }
  if (random.Percent(97)) SetAttr(def, "explicit_paddings", absl::MakeConstSpan(paddings));
}

void HintWindowInputs(Random& random, const OpSchema& schema, NodePlan* plan) {
  if (schema.FindAttr("padding") == nullptr) return;
  if (schema.FindAttr("strides") == nullptr) return HintWindowTensors(random, schema, plan);
  const bool is_conv = absl::StrContains(schema.name, "Conv2"),
             is_depthwise = absl::StrContains(schema.name, "Depthwise");
  const int64_t n = random.Between(0, 2), h = random.Between(1, 7), w = random.Between(1, 7),
                c = random.Between(1, 3);
  const Shape image = InLayout(plan->def, n, h, w, c);
  if (!is_conv && !is_depthwise) {
    // Pools: the image, then results of the pool or gradients of it.
    const std::optional<Shape> pooled =
        Forward(absl::StartsWith(schema.name, "Avg") ? "AvgPool" : "MaxPool", plan->def, {image});
    if (schema.name == "AvgPoolGrad") {
      SetSizes(random, plan, 0, image, /*is_sizes=*/true);
    } else {
      Set(random, plan, 0, image);
    }
    if (!pooled) return;
    const bool second = absl::StrContains(schema.name, "GradGrad");
    for (size_t i = 1; i < plan->types.size(); ++i) {
      const bool is_window = plan->types[i] == DType::kInt32 && absl::EndsWith(schema.name, "V2");
      if (!is_window) Set(random, plan, i, second && i == 2 ? image : *pooled);
    }
    return;
  }
  const Shape filter({random.Between(1, 3), random.Between(1, 3), c, random.Between(1, 3)});
  const std::optional<Shape> convolved =
      Forward(is_depthwise ? "DepthwiseConv2dNative" : "Conv2D", plan->def, {image, filter});
  SetSizes(random, plan, 0, image, absl::EndsWith(schema.name, "BackpropInput"));
  SetSizes(random, plan, 1, filter, absl::EndsWith(schema.name, "BackpropFilter"));
  if (convolved) Set(random, plan, 2, *convolved);
}

}  // namespace tensorfleet::opfuzz
