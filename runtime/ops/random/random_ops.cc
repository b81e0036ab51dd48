// Random ops: those that go on where they stopped, and those whose result follows from their
// inputs.
#include "runtime/ops/constant_inputs.h"
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {
namespace {

constexpr int64_t kOpen = PartialShape::kUnknownDim;
constexpr char kFloats[] = "{half, bfloat16, float, double}";
constexpr char kInts[] = "{int32, int64}";

Status MultinomialShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(0, 2));
  const auto samples = shapes::ConstantInteger(ctx, 1);
  ctx.set_output(0, PartialShape({ctx.input(0).has_rank() ? ctx.input(0).dim(0) : kOpen,
                                  samples && *samples >= 0 ? *samples : kOpen}));
  return OkStatus();
}

Status KeyCounterShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(0, 1));
  ctx.set_output(0, PartialShape({1}));
  ctx.set_output(1, PartialShape({2}));
  if (ctx.num_outputs() == 3) ctx.set_output(2, shapes::ScalarShape());
  return OkStatus();
}

Status ReservedShape(ShapeContext& ctx) {
  ctx.set_output(0, PartialShape({1}));
  ctx.set_output(1, PartialShape({2}));
  return OkStatus();
}

OpSchemaBuilder& Seeds(OpSchemaBuilder& op) {
  return op.Attr("seed: int = 0").Attr("seed2: int = 0");
}

void RegisterStateful(OpRegistry& ops) {
  const auto floats = [&](const char* name, const char* doc) {
    OpSchemaBuilder op(name);
    op.Input("shape: T").Output("output: dtype");
    ops.Add(Seeds(op)
                .Attr(absl::StrCat("dtype: ", kFloats))
                .Attr(absl::StrCat("T: ", kInts))
                .Stateful()
                .Shape(shapes::ShapeFromVector<0>)
                .Doc(doc));
  };
  floats("RandomUniform", "Uniform numbers in [0, 1).");
  floats("RandomStandardNormal", "Normal numbers of mean 0 and deviation 1.");
  floats("TruncatedNormal", "Normal numbers, those of 2 deviations and more drawn again.");

  OpSchemaBuilder reserve("_ReserveRandom");
  reserve.Input("shape: T").Output("key: uint64").Output("counter: uint64");
  ops.Add(Seeds(reserve)
              .Attr(absl::StrCat("T: ", kInts))
              .Stateful()
              .Shape(ReservedShape)
              .Doc("Where a stateful op of that shape begins in its sequence, which goes on after "
                   "it; for the stateless ops that take its place on accelerators."));

  OpSchemaBuilder ints("RandomUniformInt");
  ints.Input("shape: T").Input("minval: Tout").Input("maxval: Tout").Output("output: Tout");
  ops.Add(Seeds(ints)
              .Attr(absl::StrCat("Tout: ", kInts))
              .Attr(absl::StrCat("T: ", kInts))
              .Stateful()
              .Shape(shapes::ShapeFromVector<0>)
              .Doc("Uniform integers in [minval, maxval)."));
  OpSchemaBuilder shuffle("RandomShuffle");
  shuffle.Input("value: T").Output("output: T");
  ops.Add(Seeds(shuffle)
              .Attr("T: type")
              .Stateful()
              .Shape(shapes::Unchanged)
              .Doc("The rows of a tensor in random order."));
  OpSchemaBuilder multinomial("Multinomial");
  multinomial.Input("logits: T").Input("num_samples: int32").Output("output: output_dtype");
  ops.Add(Seeds(multinomial)
              .Attr("T: realnumbertype")
              .Attr("output_dtype: {int32, int64} = DT_INT64")
              .Stateful()
              .Shape(MultinomialShape)
              .Doc("Samples of classes by unnormalised log-probabilities, row by row."));
}

void RegisterKeys(OpRegistry& ops) {
  for (const bool with_alg : {false, true}) {
    OpSchemaBuilder op(with_alg ? "StatelessRandomGetKeyCounterAlg"
                                : "StatelessRandomGetKeyCounter");
    op.Input("seed: Tseed").Output("key: uint64").Output("counter: uint64");
    if (with_alg) op.Output("alg: int32");
    ops.Add(op.Attr("Tseed: {int32, int64} = DT_INT64")
                .Shape(KeyCounterShape)
                .Doc("Where the sequence of a pair of seeds begins."));
  }
  ops.Add(OpSchemaBuilder("StatelessRandomGetAlg")
              .Output("alg: int32")
              .Stateful()
              .Shape(shapes::ScalarOutputs)
              .Doc("The number of the algorithm that suits this device best: Philox, 1."));
}

// `dtype` is the specification of the attribute of that name.
void RegisterStateless(OpRegistry& ops, const char* distribution, absl::string_view dtype,
                       const char* doc) {
  ops.Add(OpSchemaBuilder(absl::StrCat(distribution, "V2"))
              .Input("shape: Tshape")
              .Input("key: uint64")
              .Input("counter: uint64")
              .Input("alg: int32")
              .Output("output: dtype")
              .Attr(dtype)
              .Attr("Tshape: {int32, int64} = DT_INT32")
              .Shape(shapes::ShapeFromVector<0>)
              .Doc(doc));
  const bool full_int = absl::string_view(distribution) == "StatelessRandomUniformFullInt";
  ops.Add(OpSchemaBuilder(distribution)
              .Input("shape: T")
              .Input("seed: Tseed")
              .Output("output: dtype")
              .Attr(dtype)
              .Attr("T: {int32, int64} = DT_INT32")
              .Attr(full_int ? "Tseed: {int32, int64, uint32, uint64} = DT_INT64"
                             : "Tseed: {int32, int64} = DT_INT64")
              .Shape(shapes::ShapeFromVector<0>)
              .Doc(doc));
}

void RegisterStatelessInts(OpRegistry& ops) {
  ops.Add(OpSchemaBuilder("StatelessRandomUniformIntV2")
              .Input("shape: Tshape")
              .Input("key: uint64")
              .Input("counter: uint64")
              .Input("alg: int32")
              .Input("minval: dtype")
              .Input("maxval: dtype")
              .Output("output: dtype")
              .Attr("dtype: {int32, int64, uint32, uint64}")
              .Attr("Tshape: {int32, int64} = DT_INT32")
              .Shape(shapes::ShapeFromVector<0>)
              .Doc("Uniform integers in [minval, maxval)."));
  ops.Add(OpSchemaBuilder("StatelessRandomUniformInt")
              .Input("shape: T")
              .Input("seed: Tseed")
              .Input("minval: dtype")
              .Input("maxval: dtype")
              .Output("output: dtype")
              .Attr("dtype: {int32, int64}")
              .Attr("T: {int32, int64}")
              .Attr("Tseed: {int32, int64} = DT_INT64")
              .Shape(shapes::ShapeFromVector<0>)
              .Doc("Uniform integers in [minval, maxval)."));
  ops.Add(OpSchemaBuilder("StatelessMultinomial")
              .Input("logits: T")
              .Input("num_samples: int32")
              .Input("seed: Tseed")
              .Output("output: output_dtype")
              .Attr("T: realnumbertype")
              .Attr("Tseed: {int32, int64} = DT_INT64")
              .Attr("output_dtype: {int32, int64} = DT_INT64")
              .Shape(MultinomialShape)
              .Doc("Samples of classes by unnormalised log-probabilities, row by row."));
}

}  // namespace

void RegisterRandomOps(OpRegistry& ops) {
  RegisterStateful(ops);
  RegisterKeys(ops);
  const std::string floats = absl::StrCat("dtype: ", kFloats, " = DT_FLOAT");
  RegisterStateless(ops, "StatelessRandomUniform", floats, "Uniform numbers in [0, 1).");
  RegisterStateless(ops, "StatelessRandomNormal", floats,
                    "Normal numbers of mean 0 and deviation 1.");
  RegisterStateless(ops, "StatelessTruncatedNormal", floats,
                    "Normal numbers, those of 2 deviations and more drawn again.");
  RegisterStateless(ops, "StatelessRandomUniformFullInt",
                    "dtype: {int32, int64, uint32, uint64} = DT_UINT64",
                    "Uniform integers over all values of the type.");
  RegisterStatelessInts(ops);
}

}  // namespace tensorfleet
