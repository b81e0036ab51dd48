// Ops between bytes and tensors. Kernels: runtime/kernels/cpu/parsing.
#include "runtime/ops/constant_inputs.h"
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {
namespace {

constexpr int64_t kOpen = PartialShape::kUnknownDim;

Status PaddedRawShape(ShapeContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const DType type, ctx.Attr<DType>("out_type"));
  const std::optional<int64_t> length = shapes::ConstantInteger(ctx, 1);
  const int64_t size = static_cast<int64_t>(ElementSize(type));
  // Lengths that do not fit are for the kernel to refuse.
  const bool fits = length && *length > 0 && *length % size == 0;
  ctx.set_output(0, shapes::Joined(ctx.input(0), shapes::VectorOf(fits ? *length / size : kOpen)));
  return OkStatus();
}

Status CsvShape(ShapeContext& ctx) {
  for (int i = 1; i < ctx.num_inputs(); ++i) {
    const PartialShape& fallback = ctx.input(i);
    if (!fallback.has_rank()) continue;
    if (fallback.rank() > 1) {
      return InvalidArgument(
          "Shape of a default must be a length-0 or length-1 vector, or a "
          "scalar.");
    }
    if (fallback.rank() == 1 && fallback.dim(0) > 1) {
      return InvalidArgument("Shape of a default must be a length-0 or length-1 vector");
    }
  }
  for (int i = 0; i < ctx.num_outputs(); ++i) ctx.set_output(i, ctx.input(0));
  return OkStatus();
}

Status FingerprintShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRankAtLeast(0, 1));
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(1, 0));
  const PartialShape& data = ctx.input(0);
  ctx.set_output(0, PartialShape({data.has_rank() ? data.dim(0) : kOpen, 8}));
  return OkStatus();
}

}  // namespace

void RegisterDecodeOps(OpRegistry& ops) {
  ops.Add(OpSchemaBuilder("DecodeBase64")
              .Input("input: string")
              .Output("output: string")
              .Shape(shapes::Unchanged)
              .Doc("The bytes that web-safe base64 stands for, with or without its padding."));
  ops.Add(OpSchemaBuilder("EncodeBase64")
              .Input("input: string")
              .Output("output: string")
              .Attr("pad: bool = false")
              .Shape(shapes::Unchanged)
              .Doc("Bytes as web-safe base64."));
  ops.Add(OpSchemaBuilder("DecodeCompressed")
              .Input("bytes: string")
              .Output("output: string")
              .Attr("compression_type: string = ''")
              .Shape(shapes::Unchanged)
              .Doc("What was compressed by zlib or gzip."));
  ops.Add(
      OpSchemaBuilder("DecodePaddedRaw")
          .Input("input_bytes: string")
          .Input("fixed_length: int32")
          .Output("output: out_type")
          .Attr(
              "out_type: {half, float, double, int32, uint16, uint8, int16, int8, int64, bfloat16}")
          .Attr("little_endian: bool = true")
          .Shape(PaddedRawShape)
          .Doc("The bytes of strings as vectors of numbers, cut or filled up with zeros to a fixed "
               "length."));
  ops.Add(OpSchemaBuilder("DecodeCSV")
              .Input("records: string")
              .Input("record_defaults: OUT_TYPE")
              .Output("output: OUT_TYPE")
              .Attr("OUT_TYPE: list({float, double, int32, int64, string}) >= 1")
              .Attr("field_delim: string = ','")
              .Attr("use_quote_delim: bool = true")
              .Attr("na_value: string = ''")
              .Attr("select_cols: list(int) = []")
              .Shape(CsvShape)
              .Doc("Records of comma-separated values as one tensor for each column."));
  ops.Add(OpSchemaBuilder("DecodeJSONExample")
              .Input("json_examples: string")
              .Output("binary_examples: string")
              .Shape(shapes::Unchanged)
              .Doc("Examples written as JSON, serialized as protocol buffers."));
  ops.Add(OpSchemaBuilder("Fingerprint")
              .Input("data: T")
              .Input("method: string")
              .Output("fingerprint: uint8")
              .Attr("T: type")
              .Shape(FingerprintShape)
              .Doc("Eight bytes for each row that are the same everywhere and for ever."));
  ops.Add(OpSchemaBuilder("SerializeTensor")
              .Input("tensor: T")
              .Output("serialized: string")
              .Attr("T: type")
              .Shape(shapes::ScalarOutputs)
              .Doc("The tensor as a serialized TensorProto."));
  ops.Add(OpSchemaBuilder("ParseTensor")
              .Input("serialized: string")
              .Output("output: out_type")
              .Attr("out_type: type")
              .Shape(shapes::UnknownShapes)
              .Doc("The tensor in a serialized TensorProto."));
}

}  // namespace tensorfleet
