// Rounding as if numbers had been quantized. Kernels: runtime/kernels/cpu/nn/fake_quant.cc and
// quantize_dequantize.cc.
#include "runtime/ops/constant_inputs.h"
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {
namespace {

// Gradients for the input and, where they are inputs, for the bounds.
template <int kFirstBound>
Status GradientShapes(ShapeContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(PartialShape out, ctx.input(0).MergedWith(ctx.input(1)));
  ctx.set_output(0, std::move(out));
  for (int i = 1; i < ctx.num_outputs(); ++i) ctx.set_output(i, ctx.input(kFirstBound + i - 1));
  return OkStatus();
}

}  // namespace

void RegisterQuantizeOps(OpRegistry& ops) {
  ops.Add(OpSchemaBuilder("FakeQuantWithMinMaxArgs")
              .Input("inputs: float")
              .Output("outputs: float")
              .Attr("min: float = -6.0")
              .Attr("max: float = 6.0")
              .Attr("num_bits: int = 8")
              .Attr("narrow_range: bool = false")
              .Shape(shapes::Unchanged)
              .Doc("The inputs rounded to the levels of num_bits between min and max."));
  ops.Add(OpSchemaBuilder("FakeQuantWithMinMaxArgsGradient")
              .Input("gradients: float")
              .Input("inputs: float")
              .Output("backprops: float")
              .Attr("min: float = -6.0")
              .Attr("max: float = 6.0")
              .Attr("num_bits: int = 8")
              .Attr("narrow_range: bool = false")
              .Shape(shapes::MergeInputs)
              .Doc("The gradient of FakeQuantWithMinMaxArgs."));
  ops.Add(OpSchemaBuilder("FakeQuantWithMinMaxVars")
              .Input("inputs: float")
              .Input("min: float")
              .Input("max: float")
              .Output("outputs: float")
              .Attr("num_bits: int = 8")
              .Attr("narrow_range: bool = false")
              .Shape(shapes::Unchanged)
              .Doc("FakeQuantWithMinMaxArgs with the range as inputs."));
  ops.Add(OpSchemaBuilder("FakeQuantWithMinMaxVarsGradient")
              .Input("gradients: float")
              .Input("inputs: float")
              .Input("min: float")
              .Input("max: float")
              .Output("backprops_wrt_input: float")
              .Output("backprop_wrt_min: float")
              .Output("backprop_wrt_max: float")
              .Attr("num_bits: int = 8")
              .Attr("narrow_range: bool = false")
              .Shape(GradientShapes<2>)
              .Doc("The gradient of FakeQuantWithMinMaxVars."));
  ops.Add(
      OpSchemaBuilder("FakeQuantWithMinMaxVarsPerChannel")
          .Input("inputs: float")
          .Input("min: float")
          .Input("max: float")
          .Output("outputs: float")
          .Attr("num_bits: int = 8")
          .Attr("narrow_range: bool = false")
          .Shape(shapes::Unchanged)
          .Doc("FakeQuantWithMinMaxVars with a range for each position along the last dimension."));
  ops.Add(OpSchemaBuilder("FakeQuantWithMinMaxVarsPerChannelGradient")
              .Input("gradients: float")
              .Input("inputs: float")
              .Input("min: float")
              .Input("max: float")
              .Output("backprops_wrt_input: float")
              .Output("backprop_wrt_min: float")
              .Output("backprop_wrt_max: float")
              .Attr("num_bits: int = 8")
              .Attr("narrow_range: bool = false")
              .Shape(GradientShapes<2>)
              .Doc("The gradient of FakeQuantWithMinMaxVarsPerChannel."));
  ops.Add(OpSchemaBuilder("QuantizeAndDequantize")
              .Input("input: T")
              .Output("output: T")
              .Attr("signed_input: bool = true")
              .Attr("num_bits: int = 8")
              .Attr("range_given: bool = false")
              .Attr("input_min: float = 0.0")
              .Attr("input_max: float = 0.0")
              .Attr("T: {bfloat16, half, float, double}")
              .Shape(shapes::Unchanged)
              .Doc("The input rounded to num_bits within a range."));
  ops.Add(OpSchemaBuilder("QuantizeAndDequantizeV2")
              .Input("input: T")
              .Input("input_min: T")
              .Input("input_max: T")
              .Output("output: T")
              .Attr("signed_input: bool = true")
              .Attr("num_bits: int = 8")
              .Attr("range_given: bool = false")
              .Attr("T: {bfloat16, half, float, double}")
              .Attr("round_mode: {'HALF_TO_EVEN', 'HALF_UP'} = 'HALF_TO_EVEN'")
              .Attr("narrow_range: bool = false")
              .Attr("axis: int = -1")
              .Shape(shapes::Unchanged)
              .Doc("QuantizeAndDequantize with the range as inputs."));
  ops.Add(OpSchemaBuilder("QuantizeAndDequantizeV3")
              .Input("input: T")
              .Input("input_min: T")
              .Input("input_max: T")
              .Input("num_bits: int32")
              .Output("output: T")
              .Attr("signed_input: bool = true")
              .Attr("range_given: bool = true")
              .Attr("T: {bfloat16, half, float, double}")
              .Attr("narrow_range: bool = false")
              .Attr("axis: int = -1")
              .Shape(shapes::Unchanged)
              .Doc("QuantizeAndDequantizeV2 with the number of bits as an input."));
  ops.Add(OpSchemaBuilder("QuantizeAndDequantizeV4")
              .Input("input: T")
              .Input("input_min: T")
              .Input("input_max: T")
              .Output("output: T")
              .Attr("signed_input: bool = true")
              .Attr("num_bits: int = 8")
              .Attr("range_given: bool = false")
              .Attr("T: {bfloat16, half, float, double}")
              .Attr("round_mode: {'HALF_TO_EVEN', 'HALF_UP'} = 'HALF_TO_EVEN'")
              .Attr("narrow_range: bool = false")
              .Attr("axis: int = -1")
              .Shape(shapes::Unchanged)
              .Doc("QuantizeAndDequantizeV2, whose gradient passes within the range only."));
  ops.Add(OpSchemaBuilder("QuantizeAndDequantizeV4Grad")
              .Input("gradients: T")
              .Input("input: T")
              .Input("input_min: T")
              .Input("input_max: T")
              .Output("input_backprop: T")
              .Output("input_min_backprop: T")
              .Output("input_max_backprop: T")
              .Attr("T: {bfloat16, half, float, double}")
              .Attr("axis: int = -1")
              .Shape(GradientShapes<2>)
              .Doc("The gradient of QuantizeAndDequantizeV4."));
}

}  // namespace tensorfleet
