#include "runtime/data/dataset_kernel.h"

#include <algorithm>

#include "runtime/graph/graph.h"
#include "runtime/kernels/function_runner.h"

namespace tensorfleet::data {
namespace {

bool NamesFunction(const tensorflow::NodeDef& node) {
  return std::any_of(node.attr().begin(), node.attr().end(), [](const auto& attr) {
    return attr.second.has_func() || attr.second.list().func_size() > 0;
  });
}

}  // namespace

DatasetKernel::DatasetKernel(KernelInit& init) {
  recipe_.node = std::make_shared<const tensorflow::NodeDef>(init.def());
  if (!init.node().schema().outputs.empty()) recipe_.output = init.node().schema().outputs[0].name;
  if (init.functions() != nullptr && NamesFunction(init.def())) {
    recipe_.functions = init.functions()->Source();
  }
  if (FindAttr(init.def(), "output_types") != nullptr) init.Get("output_types", &declared_.types);
  if (FindAttr(init.def(), "output_shapes") != nullptr) {
    init.Get("output_shapes", &declared_.shapes);
  }
  if (init.status().ok() && !declared_.types.empty() &&
      declared_.types.size() != declared_.shapes.size()) {
    init.Fail(InvalidArgument("output_types has ", declared_.types.size(),
                              " entries and output_shapes ", declared_.shapes.size(),
                              ": there must be as many"));
  }
}

Status DatasetKernel::Compute(KernelContext& ctx) const {
  Recipe recipe = recipe_;
  for (int i = 0; i < ctx.num_inputs(); ++i) recipe.inputs.push_back(ctx.input(i));
  TFLEET_ASSIGN_OR_RETURN(DatasetRef dataset, Make(ctx));
  const bool is_new =
      std::none_of(recipe.inputs.begin(), recipe.inputs.end(), [&](const Tensor& input) {
        return input.dtype() == DType::kVariant && input.shape().is_scalar() &&
               input.scalar<Variant>().value() == dataset.get();
      });
  if (is_new) dataset->SetRecipe(std::move(recipe));
  if (dataset->depth() > Dataset::kMaxDepth) {
    return ResourceExhausted("data sets are nested more than ", Dataset::kMaxDepth, " deep");
  }
  ctx.SetOutput(0, DatasetTensor(std::move(dataset)));
  return OkStatus();
}

StatusOr<std::vector<std::string>> StringsInput(const KernelContext& ctx, int i,
                                                absl::string_view name) {
  const Tensor& input = ctx.input(i);
  if (input.rank() > 1) return InvalidArgument("`", name, "` must be a scalar or a vector.");
  const auto values = input.values<std::string>();
  return std::vector<std::string>(values.begin(), values.end());
}

FunctionAttr::FunctionAttr(KernelInit& init, absl::string_view attr, absl::string_view captured) {
  init.Get(attr, &function_);
  if (init.status().ok()) init.Fail(Bind(init, captured));
}

Status FunctionAttr::Bind(KernelInit& init, absl::string_view captured) {
  FunctionRunner* const runner = init.functions();
  if (runner == nullptr) {
    return Unimplemented("function '", function_.name(),
                         "' cannot be called here: the graph has no functions");
  }
  TFLEET_RETURN_IF_ERROR(runner->Instantiate(function_).status());
  source_ = runner->Source();
  if (captured.empty()) return OkStatus();
  TFLEET_ASSIGN_OR_RETURN(const ArgRange range,
                          InputRange(init.node().schema(), init.def(), captured));
  begin_ = range.begin;
  end_ = range.end;
  return OkStatus();
}

CapturedFunctionRef FunctionAttr::Capture(const KernelContext& ctx) const {
  auto captured = std::make_shared<CapturedFunction>();
  captured->function = function_;
  captured->source = source_;
  for (int i = begin_; i < end_; ++i) captured->captured.push_back(ctx.input(i));
  return captured;
}

Order OrderAttr(KernelInit& init, absl::string_view attr) {
  std::string value = "default";
  init.Get(attr, &value);
  if (value == "default") return Order::kByOptions;
  if (value == "true" || value == "True") return Order::kDeterministic;
  if (value == "false" || value == "False") return Order::kSloppy;
  init.Fail(InvalidArgument("`", attr, "` must be \"true\", \"false\" or \"default\", not \"",
                            value, "\""));
  return Order::kByOptions;
}

}  // namespace tensorfleet::data
