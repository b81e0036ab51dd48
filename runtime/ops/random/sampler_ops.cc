// Candidate samplers: classes to compare the true ones with. Kernels:
// runtime/kernels/cpu/random/candidate_samplers.cc.
#include "runtime/ops/constant_inputs.h"
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {
namespace {

Status SamplerShapes(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(0, 2));
  TFLEET_ASSIGN_OR_RETURN(const int64_t num_true, ctx.Attr<int64_t>("num_true"));
  TFLEET_ASSIGN_OR_RETURN(const int64_t num_sampled, ctx.Attr<int64_t>("num_sampled"));
  const PartialShape& classes = ctx.input(0);
  const int64_t batch = classes.has_rank() ? classes.dim(0) : PartialShape::kUnknownDim;
  ctx.set_output(0, shapes::VectorOf(num_sampled));
  ctx.set_output(1, PartialShape({batch, num_true}));
  ctx.set_output(2, shapes::VectorOf(num_sampled));
  return OkStatus();
}

Status HitShapes(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(0, 2));
  for (int i = 0; i < 3; ++i) ctx.set_output(i, shapes::VectorOf(PartialShape::kUnknownDim));
  return OkStatus();
}

}  // namespace

void RegisterSamplerOps(OpRegistry& ops) {
  ops.Add(OpSchemaBuilder("AllCandidateSampler")
              .Input("true_classes: int64")
              .Output("sampled_candidates: int64")
              .Output("true_expected_count: float")
              .Output("sampled_expected_count: float")
              .Attr("num_true: int >= 1")
              .Attr("num_sampled: int >= 1")
              .Attr("unique: bool")
              .Attr("seed: int = 0")
              .Attr("seed2: int = 0")
              .Stateful()
              .Shape(SamplerShapes)
              .Doc("All classes."));
  ops.Add(OpSchemaBuilder("ComputeAccidentalHits")
              .Input("true_classes: int64")
              .Input("sampled_candidates: int64")
              .Output("indices: int32")
              .Output("ids: int64")
              .Output("weights: float")
              .Attr("num_true: int")
              .Attr("seed: int = 0")
              .Attr("seed2: int = 0")
              .Shape(HitShapes)
              .Doc("Where sampled classes are among the true ones, with a weight that takes them "
                   "out of a softmax."));
  ops.Add(OpSchemaBuilder("FixedUnigramCandidateSampler")
              .Input("true_classes: int64")
              .Output("sampled_candidates: int64")
              .Output("true_expected_count: float")
              .Output("sampled_expected_count: float")
              .Attr("num_true: int >= 1")
              .Attr("num_sampled: int >= 1")
              .Attr("unique: bool")
              .Attr("range_max: int >= 1")
              .Attr("vocab_file: string = ''")
              .Attr("distortion: float = 1.0")
              .Attr("num_reserved_ids: int = 0")
              .Attr("num_shards: int >= 1 = 1")
              .Attr("shard: int >= 0 = 0")
              .Attr("unigrams: list(float) = []")
              .Attr("seed: int = 0")
              .Attr("seed2: int = 0")
              .Stateful()
              .Shape(SamplerShapes)
              .Doc("Classes by given weights."));
  ops.Add(OpSchemaBuilder("LearnedUnigramCandidateSampler")
              .Input("true_classes: int64")
              .Output("sampled_candidates: int64")
              .Output("true_expected_count: float")
              .Output("sampled_expected_count: float")
              .Attr("num_true: int >= 1")
              .Attr("num_sampled: int >= 1")
              .Attr("unique: bool")
              .Attr("range_max: int >= 1")
              .Attr("seed: int = 0")
              .Attr("seed2: int = 0")
              .Stateful()
              .Shape(SamplerShapes)
              .Doc("Classes by how often each was a true one so far."));
  ops.Add(OpSchemaBuilder("LogUniformCandidateSampler")
              .Input("true_classes: int64")
              .Output("sampled_candidates: int64")
              .Output("true_expected_count: float")
              .Output("sampled_expected_count: float")
              .Attr("num_true: int >= 1")
              .Attr("num_sampled: int >= 1")
              .Attr("unique: bool")
              .Attr("range_max: int >= 1")
              .Attr("seed: int = 0")
              .Attr("seed2: int = 0")
              .Stateful()
              .Shape(SamplerShapes)
              .Doc("Classes by a distribution that falls as Zipf's law has it."));
  ops.Add(OpSchemaBuilder("ThreadUnsafeUnigramCandidateSampler")
              .Input("true_classes: int64")
              .Output("sampled_candidates: int64")
              .Output("true_expected_count: float")
              .Output("sampled_expected_count: float")
              .Attr("num_true: int >= 1")
              .Attr("num_sampled: int >= 1")
              .Attr("unique: bool")
              .Attr("range_max: int >= 1")
              .Attr("seed: int = 0")
              .Attr("seed2: int = 0")
              .Stateful()
              .Shape(SamplerShapes)
              .Doc("LearnedUnigramCandidateSampler under another name."));
  ops.Add(OpSchemaBuilder("UniformCandidateSampler")
              .Input("true_classes: int64")
              .Output("sampled_candidates: int64")
              .Output("true_expected_count: float")
              .Output("sampled_expected_count: float")
              .Attr("num_true: int >= 1")
              .Attr("num_sampled: int >= 1")
              .Attr("unique: bool")
              .Attr("range_max: int >= 1")
              .Attr("seed: int = 0")
              .Attr("seed2: int = 0")
              .Stateful()
              .Shape(SamplerShapes)
              .Doc("Classes that are all as likely."));
}

}  // namespace tensorfleet
