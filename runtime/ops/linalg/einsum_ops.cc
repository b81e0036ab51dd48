// Sums of products by Einstein's convention. Kernel: runtime/kernels/cpu/linalg/einsum.cc.
#include <string>
#include <vector>

#include "runtime/ops/shape_rules.h"
#include "runtime/tensor/einsum.h"

namespace tensorfleet {
namespace {

Status EinsumShape(ShapeContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const std::string text, ctx.Attr<std::string>("equation"));
  TFLEET_ASSIGN_OR_RETURN(const EinsumEquation equation, ParseEinsum(text));
  if (static_cast<int>(equation.inputs.size()) != ctx.num_inputs()) {
    return InvalidArgument("Expected ", equation.inputs.size(), " inputs in equation '", text,
                           "' but got: ", ctx.num_inputs());
  }
  std::vector<absl::Span<const int64_t>> shapes;
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    if (!ctx.input(i).has_rank()) return OkStatus();
    shapes.push_back(ctx.input(i).dims());
  }
  TFLEET_ASSIGN_OR_RETURN(const EinsumLabels labels, LabelDimensions(equation, shapes));
  PartialShape out({});
  for (const int label : labels.output) out.AddDim(labels.sizes[label]);
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

}  // namespace

void RegisterEinsumOps(OpRegistry& ops) {
  ops.Add(
      OpSchemaBuilder("Einsum")
          .Input("inputs: N * T")
          .Output("output: T")
          .Attr("equation: string")
          .Attr("N: int >= 1")
          .Attr("T: type")
          .Shape(EinsumShape)
          .Doc("Sums of products of one or two tensors, as an equation such as ij,jk->ik says."));
}

}  // namespace tensorfleet
