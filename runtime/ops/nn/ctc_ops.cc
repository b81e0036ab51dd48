// Connectionist temporal classification, and the edit distance of sequences. Kernels:
// runtime/kernels/cpu/nn/ctc.cc and sparse/edit_distance.cc.
#include <algorithm>

#include "runtime/ops/constant_inputs.h"
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {
namespace {

constexpr int64_t kOpen = PartialShape::kUnknownDim;

Status CheckInputs(const ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(0, 3));
  return ctx.RequireRank(ctx.num_inputs() - 1, 1);
}

int64_t BatchOf(const ShapeContext& ctx) {
  return ctx.input(0).has_rank() ? ctx.input(0).dim(1) : kOpen;
}

Status LossShapes(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(CheckInputs(ctx));
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(1, 2));
  TFLEET_RETURN_IF_ERROR(ctx.RequireRank(2, 1));
  ctx.set_output(0, shapes::VectorOf(BatchOf(ctx)));
  ctx.set_output(1, ctx.input(0));
  return OkStatus();
}

Status GreedyShapes(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(CheckInputs(ctx));
  ctx.set_output(0, PartialShape({kOpen, 2}));
  ctx.set_output(1, shapes::VectorOf(kOpen));
  ctx.set_output(2, shapes::VectorOf(2));
  ctx.set_output(3, PartialShape({BatchOf(ctx), 1}));
  return OkStatus();
}

Status DistanceShape(ShapeContext& ctx) {
  const auto hypothesis = shapes::ConstantIntegers(ctx, 2),
             truth = shapes::ConstantIntegers(ctx, 5);
  if (!hypothesis || !truth || hypothesis->size() != truth->size() || truth->empty()) {
    return OkStatus();
  }
  PartialShape out({});
  for (size_t i = 0; i + 1 < truth->size(); ++i) {
    const int64_t size = std::max((*hypothesis)[i], (*truth)[i]);
    if (size < 0) return InvalidArgument("a dimension is negative: ", size);
    out.AddDim(size);
  }
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

}  // namespace

void RegisterCtcOps(OpRegistry& ops) {
  ops.Add(OpSchemaBuilder("CTCGreedyDecoder")
              .Input("inputs: T")
              .Input("sequence_length: int32")
              .Output("decoded_indices: int64")
              .Output("decoded_values: int64")
              .Output("decoded_shape: int64")
              .Output("log_probability: T")
              .Attr("merge_repeated: bool = false")
              .Attr("blank_index: int = -1")
              .Attr("T: {float, double} = DT_FLOAT")
              .Shape(GreedyShapes)
              .Doc("The likeliest class of each step, without blanks, as a sparse tensor."));
  ops.Add(OpSchemaBuilder("CTCLoss")
              .Input("inputs: T")
              .Input("labels_indices: int64")
              .Input("labels_values: int32")
              .Input("sequence_length: int32")
              .Output("loss: T")
              .Output("gradient: T")
              .Attr("preprocess_collapse_repeated: bool = false")
              .Attr("ctc_merge_repeated: bool = true")
              .Attr("ignore_longer_outputs_than_inputs: bool = false")
              .Attr("T: {float, double} = DT_FLOAT")
              .Shape(LossShapes)
              .Doc("The CTC loss of sequences of labels, and its gradient."));
  ops.Add(OpSchemaBuilder("EditDistance")
              .Input("hypothesis_indices: int64")
              .Input("hypothesis_values: T")
              .Input("hypothesis_shape: int64")
              .Input("truth_indices: int64")
              .Input("truth_values: T")
              .Input("truth_shape: int64")
              .Output("output: float")
              .Attr("normalize: bool = true")
              .Attr("T: type")
              .Shape(DistanceShape)
              .Doc("The edit distances of the sequences of two sparse tensors, or their share of "
                   "the truth's length."));
}

}  // namespace tensorfleet
