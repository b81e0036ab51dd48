// Summaries for TensorBoard. Kernels: runtime/kernels/cpu/io/summaries.cc.
#include "runtime/graph/shape_context.h"
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {

void RegisterSummaryOps(OpRegistry& ops) {
  constexpr char kReal[] =
      "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, "
      "uint64}";
  ops.Add(OpSchemaBuilder("ScalarSummary")
              .Input("tags: string")
              .Input("values: T")
              .Output("summary: string")
              .Attr(kReal)
              .Shape(shapes::ScalarOutputs)
              .Doc("One value a tag."));
  ops.Add(OpSchemaBuilder("HistogramSummary")
              .Input("tag: string")
              .Input("values: T")
              .Output("summary: string")
              .Attr("T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, "
                    "uint32, "
                    "uint64} = DT_FLOAT")
              .Shape(shapes::ScalarOutputs)
              .Doc("How often values of each size occur."));
  ops.Add(OpSchemaBuilder("ImageSummary")
              .Input("tag: string")
              .Input("tensor: T")
              .Output("summary: string")
              .Attr("max_images: int >= 1 = 3")
              .Attr("T: {uint8, float, half, double} = DT_FLOAT")
              .Attr("bad_color: tensor = { dtype: DT_UINT8 tensor_shape { dim { size: 4 } } "
                    "int_val: 255 int_val: 0 int_val: 0 int_val: 255 }")
              .Shape(shapes::ScalarOutputs)
              .Doc("Pictures, as PNG."));
  ops.Add(OpSchemaBuilder("AudioSummary")
              .Input("tag: string")
              .Input("tensor: float")
              .Output("summary: string")
              .Attr("sample_rate: float")
              .Attr("max_outputs: int >= 1 = 3")
              .Shape(shapes::ScalarOutputs)
              .Doc("Sounds, as WAV."));
  ops.Add(OpSchemaBuilder("AudioSummaryV2")
              .Input("tag: string")
              .Input("tensor: float")
              .Input("sample_rate: float")
              .Output("summary: string")
              .Attr("max_outputs: int >= 1 = 3")
              .Shape(shapes::ScalarOutputs)
              .Doc("Sounds, as WAV."));
  ops.Add(OpSchemaBuilder("TensorSummaryV2")
              .Input("tag: string")
              .Input("tensor: T")
              .Input("serialized_summary_metadata: string")
              .Output("summary: string")
              .Attr("T: type")
              .Shape(shapes::ScalarOutputs)
              .Doc("Any tensor; the metadata says who can show it."));
  ops.Add(OpSchemaBuilder("MergeSummary")
              .Input("inputs: N * string")
              .Output("summary: string")
              .Attr("N: int >= 1")
              .Shape(shapes::ScalarOutputs)
              .Doc("Several summaries as one; a tag may come up once."));
}

}  // namespace tensorfleet
