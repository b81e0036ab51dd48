// Gamma, Poisson and binomial distributions, and random numbers of generators that are variables.
// Kernels: runtime/kernels/cpu/random/distributions.cc and stateful_random.cc.
#include "runtime/ops/constant_inputs.h"
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {
namespace {

// The shape asked for, then that of the parameters.
Status SamplesShape(ShapeContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const PartialShape asked, ctx.InputAsShape(0));
  ctx.set_output(0, shapes::Joined(asked, ctx.input(1)));
  return OkStatus();
}

template <int kInput>
Status ShapeAsked(ShapeContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(PartialShape asked, ctx.InputAsShape(kInput));
  ctx.set_output(0, std::move(asked));
  return OkStatus();
}

Status StateShape(ShapeContext& ctx) {
  ctx.set_output(0, shapes::VectorOf(3));
  return OkStatus();
}

}  // namespace

void RegisterDistributionOps(OpRegistry& ops) {
  ops.Add(OpSchemaBuilder("NonDeterministicInts")
              .Input("shape: shape_dtype")
              .Output("output: dtype")
              .Attr("dtype: type = DT_INT64")
              .Attr("shape_dtype: type = DT_INT64")
              .Stateful()
              .Shape(ShapeAsked<0>)
              .Doc("Random integers that are never the same again."));
  ops.Add(OpSchemaBuilder("RandomGamma")
              .Input("shape: S")
              .Input("alpha: T")
              .Output("output: T")
              .Attr("seed: int = 0")
              .Attr("seed2: int = 0")
              .Attr("S: {int32, int64}")
              .Attr("T: {half, float, double}")
              .Stateful()
              .Shape(SamplesShape)
              .Doc("Numbers of the gamma distributions with shapes alpha."));
  ops.Add(OpSchemaBuilder("RandomPoisson")
              .Input("shape: S")
              .Input("rate: dtype")
              .Output("output: dtype")
              .Attr("seed: int = 0")
              .Attr("seed2: int = 0")
              .Attr("S: {int32, int64}")
              .Attr("dtype: {half, float, double}")
              .Stateful()
              .Shape(SamplesShape)
              .Doc("Numbers of Poisson distributions."));
  ops.Add(OpSchemaBuilder("RandomPoissonV2")
              .Input("shape: S")
              .Input("rate: R")
              .Output("output: dtype")
              .Attr("seed: int = 0")
              .Attr("seed2: int = 0")
              .Attr("S: {int32, int64}")
              .Attr("R: {half, float, double, int32, int64} = DT_DOUBLE")
              .Attr("dtype: {half, float, double, int32, int64} = DT_INT64")
              .Stateful()
              .Shape(SamplesShape)
              .Doc("Numbers of Poisson distributions."));
  ops.Add(OpSchemaBuilder("RngReadAndSkip")
              .Input("resource: resource")
              .Input("alg: int32")
              .Input("delta: uint64")
              .Output("value: int64")
              .Stateful()
              .Shape(StateShape)
              .Doc("The state of a generator, which then steps over delta outputs."));
  ops.Add(OpSchemaBuilder("RngSkip")
              .Input("resource: resource")
              .Input("algorithm: int64")
              .Input("delta: int64")
              .Stateful()
              .Doc("Steps a generator over delta outputs."));
  ops.Add(OpSchemaBuilder("StatefulRandomBinomial")
              .Input("resource: resource")
              .Input("algorithm: int64")
              .Input("shape: S")
              .Input("counts: T")
              .Input("probs: T")
              .Output("output: dtype")
              .Attr("S: {int32, int64}")
              .Attr("T: {half, float, double, int32, int64} = DT_DOUBLE")
              .Attr("dtype: {half, float, double, int32, int64} = DT_INT64")
              .Stateful()
              .Shape(ShapeAsked<2>)
              .Doc("Numbers of binomial distributions, of a generator that is a variable."));
  ops.Add(OpSchemaBuilder("StatefulStandardNormal")
              .Input("resource: resource")
              .Input("shape: shape_dtype")
              .Output("output: dtype")
              .Attr("dtype: type = DT_FLOAT")
              .Attr("shape_dtype: type = DT_INT64")
              .Stateful()
              .Shape(ShapeAsked<1>)
              .Doc("Normally distributed numbers of a generator that is a variable, and says its "
                   "algorithm."));
  ops.Add(OpSchemaBuilder("StatefulStandardNormalV2")
              .Input("resource: resource")
              .Input("algorithm: int64")
              .Input("shape: shape_dtype")
              .Output("output: dtype")
              .Attr("dtype: type = DT_FLOAT")
              .Attr("shape_dtype: type = DT_INT64")
              .Stateful()
              .Shape(ShapeAsked<2>)
              .Doc("Normally distributed numbers of a generator that is a variable."));
  ops.Add(OpSchemaBuilder("StatefulTruncatedNormal")
              .Input("resource: resource")
              .Input("algorithm: int64")
              .Input("shape: shape_dtype")
              .Output("output: dtype")
              .Attr("dtype: type = DT_FLOAT")
              .Attr("shape_dtype: type = DT_INT64")
              .Stateful()
              .Shape(ShapeAsked<2>)
              .Doc("Normally distributed numbers within two standard deviations, of a generator "
                   "that is a variable."));
  ops.Add(OpSchemaBuilder("StatefulUniform")
              .Input("resource: resource")
              .Input("algorithm: int64")
              .Input("shape: shape_dtype")
              .Output("output: dtype")
              .Attr("dtype: type = DT_FLOAT")
              .Attr("shape_dtype: type = DT_INT64")
              .Stateful()
              .Shape(ShapeAsked<2>)
              .Doc("Numbers from 0 to 1 of a generator that is a variable."));
  ops.Add(OpSchemaBuilder("StatefulUniformFullInt")
              .Input("resource: resource")
              .Input("algorithm: int64")
              .Input("shape: shape_dtype")
              .Output("output: dtype")
              .Attr("dtype: type = DT_UINT64")
              .Attr("shape_dtype: type = DT_INT64")
              .Stateful()
              .Shape(ShapeAsked<2>)
              .Doc("Integers of the whole range of a type, of a generator that is a variable."));
  ops.Add(OpSchemaBuilder("StatefulUniformInt")
              .Input("resource: resource")
              .Input("algorithm: int64")
              .Input("shape: shape_dtype")
              .Input("minval: dtype")
              .Input("maxval: dtype")
              .Output("output: dtype")
              .Attr("dtype: type = DT_INT64")
              .Attr("shape_dtype: type = DT_INT64")
              .Stateful()
              .Shape(ShapeAsked<2>)
              .Doc("Integers from minval to below maxval, of a generator that is a variable."));
  ops.Add(OpSchemaBuilder("StatelessRandomBinomial")
              .Input("shape: S")
              .Input("seed: Tseed")
              .Input("counts: T")
              .Input("probs: T")
              .Output("output: dtype")
              .Attr("S: {int32, int64}")
              .Attr("Tseed: {int32, int64} = DT_INT64")
              .Attr("T: {half, float, double, int32, int64} = DT_DOUBLE")
              .Attr("dtype: {half, float, double, int32, int64} = DT_INT64")
              .Shape(ShapeAsked<0>)
              .Doc("Numbers of binomial distributions that follow from a seed."));
  ops.Add(OpSchemaBuilder("StatelessRandomGammaV2")
              .Input("shape: T")
              .Input("seed: Tseed")
              .Input("alpha: dtype")
              .Output("output: dtype")
              .Attr("dtype: {half, float, double}")
              .Attr("T: {int32, int64}")
              .Attr("Tseed: {int32, int64} = DT_INT64")
              .Shape(ShapeAsked<0>)
              .Doc("Numbers of gamma distributions that follow from a seed."));
  ops.Add(OpSchemaBuilder("StatelessRandomGammaV3")
              .Input("shape: shape_dtype")
              .Input("key: uint64")
              .Input("counter: uint64")
              .Input("alg: int32")
              .Input("alpha: dtype")
              .Output("output: dtype")
              .Attr("dtype: {half, float, double}")
              .Attr("shape_dtype: {int32, int64} = DT_INT32")
              .Shape(ShapeAsked<0>)
              .Doc("Numbers of gamma distributions that follow from a key and a counter."));
  ops.Add(OpSchemaBuilder("StatelessRandomPoisson")
              .Input("shape: T")
              .Input("seed: Tseed")
              .Input("lam: Rtype")
              .Output("output: dtype")
              .Attr("Rtype: {half, float, double, int32, int64}")
              .Attr("dtype: {half, float, double, int32, int64}")
              .Attr("T: {int32, int64}")
              .Attr("Tseed: {int32, int64} = DT_INT64")
              .Shape(ShapeAsked<0>)
              .Doc("Numbers of Poisson distributions that follow from a seed."));
  ops.Add(
      OpSchemaBuilder("StatelessShuffle")
          .Input("value: T")
          .Input("key: uint64")
          .Input("counter: uint64")
          .Input("alg: int32")
          .Output("output: T")
          .Attr("T: type")
          .Shape(shapes::Unchanged)
          .Doc("The rows of a tensor in a random order that follows from a key and a counter."));
}

}  // namespace tensorfleet
