// Ops on strings, element by element unless said otherwise.
#include "runtime/ops/constant_inputs.h"
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {
namespace {

constexpr int64_t kOpen = PartialShape::kUnknownDim;

// Scalars go with every shape; the kernel refuses other mixtures.
Status StringJoinShape(ShapeContext& ctx) {
  PartialShape out = shapes::ScalarShape();
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    const PartialShape& in = ctx.input(i);
    if (!in.has_rank()) {
      ctx.set_output(0, PartialShape::Unknown());
      return OkStatus();
    }
    if (in.rank() == 0) continue;
    StatusOr<PartialShape> merged =
        out.rank() == 0 ? StatusOr<PartialShape>(in) : out.MergedWith(in);
    if (!merged.ok()) return OkStatus();
    out = *std::move(merged);
  }
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

Status DecodeRawShape(ShapeContext& ctx) {
  ctx.set_output(0, shapes::Joined(ctx.input(0), shapes::VectorOf(kOpen)));
  return OkStatus();
}

// Indices, values and shape of a sparse matrix.
Status StringSplitShape(ShapeContext& ctx) {
  ctx.set_output(0, PartialShape({kOpen, 2}));
  ctx.set_output(1, shapes::VectorOf(kOpen));
  ctx.set_output(2, shapes::VectorOf(2));
  return OkStatus();
}

constexpr char kUnit[] = "unit: {'BYTE', 'UTF8_CHAR'} = 'BYTE'";

void RegisterChanges(OpRegistry& ops) {
  ops.Add(OpSchemaBuilder("StringJoin")
              .Input("inputs: N * string")
              .Output("output: string")
              .Attr("N: int >= 0")
              .Attr("separator: string = ''")
              .Shape(StringJoinShape)
              .Doc("Joins strings with a separator; scalars go with every element."));
  for (const char* name : {"StringLower", "StringUpper"}) {
    ops.Add(
        OpSchemaBuilder(name)
            .Input("input: string")
            .Output("output: string")
            .Attr("encoding: string = ''")
            .Shape(shapes::Unchanged)
            .Doc("Letters in lower or upper case; only ASCII ones unless the encoding is utf-8."));
  }
  ops.Add(OpSchemaBuilder("StringStrip")
              .Input("input: string")
              .Output("output: string")
              .Shape(shapes::Unchanged)
              .Doc("Without the white space at both ends."));
  ops.Add(OpSchemaBuilder("StringLength")
              .Input("input: string")
              .Output("output: int32")
              .Attr(kUnit)
              .Shape(shapes::Unchanged)
              .Doc("Lengths in bytes or characters."));
  ops.Add(
      OpSchemaBuilder("Substr")
          .Input("input: string")
          .Input("pos: T")
          .Input("len: T")
          .Output("output: string")
          .Attr("T: {int32, int64}")
          .Attr(kUnit)
          .Shape(shapes::Broadcast)
          .Doc("The part of given length at a given place; a negative one counts from the end."));
  ops.Add(OpSchemaBuilder("ReduceJoin")
              .Input("inputs: string")
              .Input("reduction_indices: int32")
              .Output("output: string")
              .Attr("keep_dims: bool = false")
              .Attr("separator: string = ''")
              .Shape(shapes::Reduction)
              .Doc("Joins strings along axes, in the order in which the axes are given."));
  ops.Add(OpSchemaBuilder("StringSplit")
              .Input("input: string")
              .Input("delimiter: string")
              .Output("indices: int64")
              .Output("values: string")
              .Output("shape: int64")
              .Attr("skip_empty: bool = true")
              .Shape(StringSplitShape)
              .Doc("Splits at any character of the delimiter; the pieces form a sparse matrix."));
  ops.Add(OpSchemaBuilder("StringSplitV2")
              .Input("input: string")
              .Input("sep: string")
              .Output("indices: int64")
              .Output("values: string")
              .Output("shape: int64")
              .Attr("maxsplit: int = -1")
              .Shape(StringSplitShape)
              .Doc("Splits at a separator, or at white space when it is empty; the pieces form a "
                   "sparse matrix."));
}

void RegisterRegex(OpRegistry& ops) {
  ops.Add(OpSchemaBuilder("StaticRegexFullMatch")
              .Input("input: string")
              .Output("output: bool")
              .Attr("pattern: string")
              .Shape(shapes::Unchanged)
              .Doc("Whether the whole string matches a regular expression (RE2)."));
  ops.Add(OpSchemaBuilder("RegexFullMatch")
              .Input("input: string")
              .Input("pattern: string")
              .Output("output: bool")
              .Shape(shapes::Unchanged)
              .Doc("Whether the whole string matches a regular expression (RE2)."));
  ops.Add(OpSchemaBuilder("StaticRegexReplace")
              .Input("input: string")
              .Output("output: string")
              .Attr("pattern: string")
              .Attr("rewrite: string")
              .Attr("replace_global: bool = true")
              .Shape(shapes::Unchanged)
              .Doc("Replaces what matches a regular expression (RE2), everywhere or once."));
  ops.Add(OpSchemaBuilder("RegexReplace")
              .Input("input: string")
              .Input("pattern: string")
              .Input("rewrite: string")
              .Output("output: string")
              .Attr("replace_global: bool = true")
              .Shape(shapes::Unchanged)
              .Doc("Replaces what matches a regular expression (RE2), everywhere or once."));
}

void RegisterConversions(OpRegistry& ops) {
  ops.Add(OpSchemaBuilder("StringFormat")
              .Input("inputs: T")
              .Output("output: string")
              .Attr("T: list(type) >= 0")
              .Attr("template: string = '%s'")
              .Attr("placeholder: string = '%s'")
              .Attr("summarize: int = 3")
              .Shape(shapes::ScalarOutputs)
              .Doc("Tensors as text in place of the placeholders of a template."));
  ops.Add(OpSchemaBuilder("AsString")
              .Input("input: T")
              .Output("output: string")
              .Attr("T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, "
                    "uint32, uint64, complex64, complex128, bool, variant, string}")
              .Attr("precision: int = -1")
              .Attr("scientific: bool = false")
              .Attr("shortest: bool = false")
              .Attr("width: int = -1")
              .Attr("fill: string = ''")
              .Shape(shapes::Unchanged)
              .Doc("Elements as text."));
  ops.Add(OpSchemaBuilder("StringToNumber")
              .Input("string_tensor: string")
              .Output("output: out_type")
              .Attr("out_type: {float, double, int32, int64} = DT_FLOAT")
              .Shape(shapes::Unchanged)
              .Doc("Texts as numbers."));
  ops.Add(
      OpSchemaBuilder("StringToHashBucketFast")
          .Input("input: string")
          .Output("output: int64")
          .Attr("num_buckets: int >= 1")
          .Shape(shapes::Unchanged)
          .Doc("A number below num_buckets for each string, the same everywhere and for ever."));
  ops.Add(OpSchemaBuilder("StringToHashBucket")
              .Input("string_tensor: string")
              .Output("output: int64")
              .Attr("num_buckets: int >= 1")
              .Shape(shapes::Unchanged)
              .Doc("A number below num_buckets for each string."));
  ops.Add(OpSchemaBuilder("StringToHashBucketStrong")
              .Input("input: string")
              .Output("output: int64")
              .Attr("num_buckets: int >= 1")
              .Attr("key: list(int)")
              .Shape(shapes::Unchanged)
              .Doc("A number below num_buckets for each string; without the key nobody can tell "
                   "which strings share one."));
  ops.Add(OpSchemaBuilder("DecodeRaw")
              .Input("bytes: string")
              .Output("output: out_type")
              .Attr("out_type: {half, float, double, int32, uint16, uint8, int16, int8, int64, "
                    "complex64, complex128, bool, bfloat16}")
              .Attr("little_endian: bool = true")
              .Shape(DecodeRawShape)
              .Doc("The bytes of strings of one length as vectors of numbers."));
}

}  // namespace

void RegisterStringOps(OpRegistry& ops) {
  RegisterChanges(ops);
  RegisterRegex(ops);
  RegisterConversions(ops);
}

}  // namespace tensorfleet
