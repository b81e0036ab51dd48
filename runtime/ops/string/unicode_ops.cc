// Ops on characters and on runs of strings. Kernels: runtime/kernels/cpu/string.
#include "runtime/ops/constant_inputs.h"
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {
namespace {

constexpr int64_t kOpen = PartialShape::kUnknownDim;

Status NGramsShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(0, 1));
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(1, 1));
  ctx.set_output(0, shapes::VectorOf(kOpen));
  ctx.set_output(1, ctx.input(1));
  return OkStatus();
}

// Row splits of as many rows as there are strings, then characters and perhaps offsets.
Status DecodeShape(ShapeContext& ctx) {
  const PartialShape& in = ctx.input(0);
  const StatusOr<Shape> known = in.ToShape();
  ctx.set_output(0,
                 shapes::VectorOf(known.ok() ? shapes::AddDims(known->num_elements(), 1) : kOpen));
  for (int i = 1; i < ctx.num_outputs(); ++i) ctx.set_output(i, shapes::VectorOf(kOpen));
  return OkStatus();
}

Status EncodeShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(0, 1));
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(1, 1));
  const PartialShape& splits = ctx.input(1);
  const bool is_known = splits.has_rank() && splits.has_dim(0) && splits.dim(0) > 0;
  ctx.set_output(0, shapes::VectorOf(is_known ? splits.dim(0) - 1 : kOpen));
  return OkStatus();
}

}  // namespace

void RegisterUnicodeOps(OpRegistry& ops) {
  ops.Add(OpSchemaBuilder("StringNGrams")
              .Input("data: string")
              .Input("data_splits: Tsplits")
              .Output("ngrams: string")
              .Output("ngrams_splits: Tsplits")
              .Attr("separator: string")
              .Attr("ngram_widths: list(int) >= 0")
              .Attr("left_pad: string")
              .Attr("right_pad: string")
              .Attr("pad_width: int")
              .Attr("preserve_short_sequences: bool")
              .Attr("Tsplits: {int32, int64} = DT_INT64")
              .Shape(NGramsShape)
              .Doc("Joins neighbouring strings of each row of a ragged tensor, in runs of given "
                   "widths."));
  ops.Add(OpSchemaBuilder("UnicodeDecode")
              .Input("input: string")
              .Output("row_splits: Tsplits")
              .Output("char_values: int32")
              .Attr("input_encoding: string")
              .Attr("errors: {'strict', 'replace', 'ignore'} = 'replace'")
              .Attr("replacement_char: int = 65533")
              .Attr("replace_control_characters: bool = false")
              .Attr("Tsplits: {int32, int64} = DT_INT64")
              .Shape(DecodeShape)
              .Doc("The code points of each string, as a ragged tensor."));
  ops.Add(OpSchemaBuilder("UnicodeDecodeWithOffsets")
              .Input("input: string")
              .Output("row_splits: Tsplits")
              .Output("char_values: int32")
              .Output("char_to_byte_starts: int64")
              .Attr("input_encoding: string")
              .Attr("errors: {'strict', 'replace', 'ignore'} = 'replace'")
              .Attr("replacement_char: int = 65533")
              .Attr("replace_control_characters: bool = false")
              .Attr("Tsplits: {int32, int64} = DT_INT64")
              .Shape(DecodeShape)
              .Doc("The code points of each string and the bytes at which they begin, as ragged "
                   "tensors."));
  ops.Add(OpSchemaBuilder("UnicodeEncode")
              .Input("input_values: int32")
              .Input("input_splits: Tsplits")
              .Output("output: string")
              .Attr("errors: {'ignore', 'replace', 'strict'} = 'replace'")
              .Attr("output_encoding: {'UTF-8', 'UTF-16-BE', 'UTF-32-BE'}")
              .Attr("replacement_char: int = 65533")
              .Attr("Tsplits: {int32, int64} = DT_INT64")
              .Shape(EncodeShape)
              .Doc("The code points of each row of a ragged tensor as a string."));
  ops.Add(OpSchemaBuilder("UnicodeTranscode")
              .Input("input: string")
              .Output("output: string")
              .Attr("input_encoding: string")
              .Attr("output_encoding: {'UTF-8', 'UTF-16-BE', 'UTF-32-BE'}")
              .Attr("errors: {'strict', 'replace', 'ignore'} = 'replace'")
              .Attr("replacement_char: int = 65533")
              .Attr("replace_control_characters: bool = false")
              .Shape(shapes::Unchanged)
              .Doc("Strings in another encoding."));
  ops.Add(OpSchemaBuilder("UnicodeScript")
              .Input("input: int32")
              .Output("output: int32")
              .Shape(shapes::Unchanged)
              .Doc("The number of the script that each code point belongs to, by ICU."));
}

}  // namespace tensorfleet
