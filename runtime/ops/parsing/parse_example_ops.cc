// Ops that turn serialized Examples and SequenceExamples into tensors. Kernels:
// runtime/kernels/cpu/parsing.
#include "runtime/ops/constant_inputs.h"
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {
namespace {

constexpr int64_t kOpen = PartialShape::kUnknownDim;

// Whether input 0 is a vector of serialized messages, or one.
enum class Batch { kAlways, kMaybe, kNever };

// Sets outputs one after the other: what is known of the shapes by the batch's.
class Outputs {
 public:
  Outputs(ShapeContext& ctx, Batch batch) : ctx_(ctx) {
    if (batch == Batch::kNever) batch_ = shapes::ScalarShape();
    if (batch == Batch::kAlways) batch_ = shapes::VectorOf(kOpen);
    const PartialShape& serialized = ctx.input(0);
    if (serialized.has_rank() && serialized.rank() <= 1) batch_ = serialized;
  }

  void Add(PartialShape shape) {
    if (next_ < ctx_.num_outputs()) ctx_.set_output(next_++, std::move(shape));
  }
  // Indices, values and shapes of `n` sparse tensors of `rank` dimensions beside the batch's.
  void AddSparse(size_t n, int rank) {
    const bool is_known = batch_.has_rank();
    const int64_t full = is_known ? rank + batch_.rank() : kOpen;
    for (size_t i = 0; i < n; ++i) Add(PartialShape({kOpen, full}));
    for (size_t i = 0; i < n; ++i) Add(shapes::VectorOf(kOpen));
    for (size_t i = 0; i < n; ++i) Add(shapes::VectorOf(full));
  }
  // The batch's dimension, if there is one, before `shape`.
  void AddBatched(const PartialShape& shape) { Add(shapes::Joined(batch_, shape)); }
  void AddUnknown(size_t n) {
    for (size_t i = 0; i < n; ++i) Add(PartialShape::Unknown());
  }
  void AddVectors(size_t n) {
    for (size_t i = 0; i < n; ++i) Add(shapes::VectorOf(kOpen));
  }

 private:
  ShapeContext& ctx_;
  PartialShape batch_;
  int next_ = 0;
};

template <Batch batch>
Status ExampleShape(ShapeContext& ctx) {
  TFLEET_RETURN_IF_ERROR(batch == Batch::kNever    ? ctx.RequireRank(0, 0)
                         : batch == Batch::kAlways ? ctx.RequireRank(0, 1)
                                                   : OkStatus());
  TFLEET_ASSIGN_OR_RETURN(const auto sparse, ctx.Attr<std::vector<DType>>("sparse_types"));
  TFLEET_ASSIGN_OR_RETURN(const auto dense, ctx.Attr<std::vector<PartialShape>>("dense_shapes"));
  Outputs outputs(ctx, batch);
  outputs.AddSparse(sparse.size(), 1);
  for (const PartialShape& shape : dense) outputs.AddBatched(shape);
  if (batch != Batch::kMaybe) return OkStatus();
  TFLEET_ASSIGN_OR_RETURN(const auto ragged, ctx.Attr<std::vector<DType>>("ragged_value_types"));
  outputs.AddVectors(2 * ragged.size());
  return OkStatus();
}

template <Batch batch>
Status SequenceShape(ShapeContext& ctx) {
  if (batch == Batch::kNever) TFLEET_RETURN_IF_ERROR(ctx.RequireRank(0, 0));
  const auto types = [&](absl::string_view name) { return ctx.Attr<std::vector<DType>>(name); };
  const auto dims = [&](absl::string_view name) {
    return ctx.Attr<std::vector<PartialShape>>(name);
  };
  TFLEET_ASSIGN_OR_RETURN(const auto sparse, types("context_sparse_types"));
  TFLEET_ASSIGN_OR_RETURN(const auto dense, dims("context_dense_shapes"));
  TFLEET_ASSIGN_OR_RETURN(const auto list_sparse, types("feature_list_sparse_types"));
  TFLEET_ASSIGN_OR_RETURN(const auto list_dense, dims("feature_list_dense_shapes"));
  size_t ragged = 0, list_ragged = 0;
  if (FindAttr(ctx.node().def(), "context_ragged_value_types") != nullptr) {
    TFLEET_ASSIGN_OR_RETURN(const auto context, types("context_ragged_value_types"));
    TFLEET_ASSIGN_OR_RETURN(const auto lists, types("feature_list_ragged_value_types"));
    ragged = context.size();
    list_ragged = lists.size();
  }
  Outputs outputs(ctx, batch);
  outputs.AddSparse(sparse.size(), 1);
  for (const PartialShape& shape : dense) outputs.AddBatched(shape);
  outputs.AddVectors(ragged);
  outputs.AddUnknown(ragged);  // splits, a scalar when there is no batch
  outputs.AddSparse(list_sparse.size(), 2);
  for (const PartialShape& shape : list_dense) {
    outputs.AddBatched(shapes::Joined(shapes::VectorOf(kOpen), shape));
  }
  if (batch != Batch::kNever) {
    for (size_t i = 0; i < list_dense.size(); ++i) outputs.AddBatched(shapes::ScalarShape());
  }
  outputs.AddVectors(list_ragged);
  outputs.AddUnknown(list_ragged);
  outputs.AddVectors(list_ragged);
  return OkStatus();
}

}  // namespace

void RegisterParseExampleOps(OpRegistry& ops) {
  ops.Add(OpSchemaBuilder("ParseExample")
              .Input("serialized: string")
              .Input("names: string")
              .Input("sparse_keys: Nsparse * string")
              .Input("dense_keys: Ndense * string")
              .Input("dense_defaults: Tdense")
              .Output("sparse_indices: Nsparse * int64")
              .Output("sparse_values: sparse_types")
              .Output("sparse_shapes: Nsparse * int64")
              .Output("dense_values: Tdense")
              .Attr("Nsparse: int >= 0")
              .Attr("Ndense: int >= 0")
              .Attr("sparse_types: list({float, int64, string}) >= 0")
              .Attr("Tdense: list({float, int64, string}) >= 0")
              .Attr("dense_shapes: list(shape) >= 0")
              .Shape(ExampleShape<Batch::kAlways>)
              .Doc("The features of a vector of serialized Examples as tensors; a missing dense "
                   "feature takes its default."));
  ops.Add(OpSchemaBuilder("ParseExampleV2")
              .Input("serialized: string")
              .Input("names: string")
              .Input("sparse_keys: string")
              .Input("dense_keys: string")
              .Input("ragged_keys: string")
              .Input("dense_defaults: Tdense")
              .Output("sparse_indices: num_sparse * int64")
              .Output("sparse_values: sparse_types")
              .Output("sparse_shapes: num_sparse * int64")
              .Output("dense_values: Tdense")
              .Output("ragged_values: ragged_value_types")
              .Output("ragged_row_splits: ragged_split_types")
              .Attr("Tdense: list({float, int64, string}) >= 0")
              .Attr("num_sparse: int >= 0")
              .Attr("sparse_types: list({float, int64, string}) >= 0")
              .Attr("ragged_value_types: list({float, int64, string}) >= 0")
              .Attr("ragged_split_types: list({int32, int64}) >= 0")
              .Attr("dense_shapes: list(shape) >= 0")
              .Shape(ExampleShape<Batch::kMaybe>)
              .Doc("The features of a serialized Example, or of a vector of them, as tensors."));
  ops.Add(OpSchemaBuilder("ParseSingleExample")
              .Input("serialized: string")
              .Input("dense_defaults: Tdense")
              .Output("sparse_indices: num_sparse * int64")
              .Output("sparse_values: sparse_types")
              .Output("sparse_shapes: num_sparse * int64")
              .Output("dense_values: Tdense")
              .Attr("num_sparse: int >= 0")
              .Attr("sparse_keys: list(string) >= 0")
              .Attr("dense_keys: list(string) >= 0")
              .Attr("sparse_types: list({float, int64, string}) >= 0")
              .Attr("Tdense: list({float, int64, string}) >= 0")
              .Attr("dense_shapes: list(shape) >= 0")
              .Shape(ExampleShape<Batch::kNever>)
              .Doc("The features of one serialized Example as tensors."));
  ops.Add(OpSchemaBuilder("ParseSequenceExample")
              .Input("serialized: string")
              .Input("debug_name: string")
              .Input("context_dense_defaults: Tcontext_dense")
              .Output("context_sparse_indices: Ncontext_sparse * int64")
              .Output("context_sparse_values: context_sparse_types")
              .Output("context_sparse_shapes: Ncontext_sparse * int64")
              .Output("context_dense_values: Tcontext_dense")
              .Output("feature_list_sparse_indices: Nfeature_list_sparse * int64")
              .Output("feature_list_sparse_values: feature_list_sparse_types")
              .Output("feature_list_sparse_shapes: Nfeature_list_sparse * int64")
              .Output("feature_list_dense_values: feature_list_dense_types")
              .Output("feature_list_dense_lengths: Nfeature_list_dense * int64")
              .Attr("feature_list_dense_missing_assumed_empty: list(string) >= 0")
              .Attr("context_sparse_keys: list(string) >= 0")
              .Attr("context_dense_keys: list(string) >= 0")
              .Attr("feature_list_sparse_keys: list(string) >= 0")
              .Attr("feature_list_dense_keys: list(string) >= 0")
              .Attr("Ncontext_sparse: int >= 0 = 0")
              .Attr("Ncontext_dense: int >= 0 = 0")
              .Attr("Nfeature_list_sparse: int >= 0 = 0")
              .Attr("Nfeature_list_dense: int >= 0 = 0")
              .Attr("context_sparse_types: list({float, int64, string}) >= 0 = []")
              .Attr("Tcontext_dense: list({float, int64, string}) >= 0 = []")
              .Attr("feature_list_dense_types: list({float, int64, string}) >= 0 = []")
              .Attr("context_dense_shapes: list(shape) >= 0 = []")
              .Attr("feature_list_sparse_types: list({float, int64, string}) >= 0 = []")
              .Attr("feature_list_dense_shapes: list(shape) >= 0 = []")
              .Shape(SequenceShape<Batch::kMaybe>)
              .Doc("The context and the feature lists of a vector of serialized SequenceExamples "
                   "as tensors."));
  ops.Add(OpSchemaBuilder("ParseSequenceExampleV2")
              .Input("serialized: string")
              .Input("debug_name: string")
              .Input("context_sparse_keys: string")
              .Input("context_dense_keys: string")
              .Input("context_ragged_keys: string")
              .Input("feature_list_sparse_keys: string")
              .Input("feature_list_dense_keys: string")
              .Input("feature_list_ragged_keys: string")
              .Input("feature_list_dense_missing_assumed_empty: bool")
              .Input("context_dense_defaults: Tcontext_dense")
              .Output("context_sparse_indices: Ncontext_sparse * int64")
              .Output("context_sparse_values: context_sparse_types")
              .Output("context_sparse_shapes: Ncontext_sparse * int64")
              .Output("context_dense_values: Tcontext_dense")
              .Output("context_ragged_values: context_ragged_value_types")
              .Output("context_ragged_row_splits: context_ragged_split_types")
              .Output("feature_list_sparse_indices: Nfeature_list_sparse * int64")
              .Output("feature_list_sparse_values: feature_list_sparse_types")
              .Output("feature_list_sparse_shapes: Nfeature_list_sparse * int64")
              .Output("feature_list_dense_values: feature_list_dense_types")
              .Output("feature_list_dense_lengths: Nfeature_list_dense * int64")
              .Output("feature_list_ragged_values: feature_list_ragged_value_types")
              .Output("feature_list_ragged_outer_splits: feature_list_ragged_split_types")
              .Output("feature_list_ragged_inner_splits: feature_list_ragged_split_types")
              .Attr("Ncontext_sparse: int >= 0 = 0")
              .Attr("Tcontext_dense: list({float, int64, string}) >= 0 = []")
              .Attr("context_sparse_types: list({float, int64, string}) >= 0 = []")
              .Attr("context_ragged_value_types: list({float, int64, string}) >= 0 = []")
              .Attr("context_ragged_split_types: list({int32, int64}) >= 0 = []")
              .Attr("context_dense_shapes: list(shape) >= 0 = []")
              .Attr("Nfeature_list_sparse: int >= 0 = 0")
              .Attr("Nfeature_list_dense: int >= 0 = 0")
              .Attr("feature_list_dense_types: list({float, int64, string}) >= 0 = []")
              .Attr("feature_list_sparse_types: list({float, int64, string}) >= 0 = []")
              .Attr("feature_list_ragged_value_types: list({float, int64, string}) >= 0 = []")
              .Attr("feature_list_ragged_split_types: list({int32, int64}) >= 0 = []")
              .Attr("feature_list_dense_shapes: list(shape) >= 0 = []")
              .Shape(SequenceShape<Batch::kMaybe>)
              .Doc("The context and the feature lists of a serialized SequenceExample, or of a "
                   "vector of them, as tensors."));
  ops.Add(
      OpSchemaBuilder("ParseSingleSequenceExample")
          .Input("serialized: string")
          .Input("feature_list_dense_missing_assumed_empty: string")
          .Input("context_sparse_keys: Ncontext_sparse * string")
          .Input("context_dense_keys: Ncontext_dense * string")
          .Input("feature_list_sparse_keys: Nfeature_list_sparse * string")
          .Input("feature_list_dense_keys: Nfeature_list_dense * string")
          .Input("context_dense_defaults: Tcontext_dense")
          .Input("debug_name: string")
          .Output("context_sparse_indices: Ncontext_sparse * int64")
          .Output("context_sparse_values: context_sparse_types")
          .Output("context_sparse_shapes: Ncontext_sparse * int64")
          .Output("context_dense_values: Tcontext_dense")
          .Output("feature_list_sparse_indices: Nfeature_list_sparse * int64")
          .Output("feature_list_sparse_values: feature_list_sparse_types")
          .Output("feature_list_sparse_shapes: Nfeature_list_sparse * int64")
          .Output("feature_list_dense_values: feature_list_dense_types")
          .Attr("Ncontext_sparse: int >= 0 = 0")
          .Attr("Ncontext_dense: int >= 0 = 0")
          .Attr("Nfeature_list_sparse: int >= 0 = 0")
          .Attr("Nfeature_list_dense: int >= 0 = 0")
          .Attr("context_sparse_types: list({float, int64, string}) >= 0 = []")
          .Attr("Tcontext_dense: list({float, int64, string}) >= 0 = []")
          .Attr("feature_list_dense_types: list({float, int64, string}) >= 0 = []")
          .Attr("context_dense_shapes: list(shape) >= 0 = []")
          .Attr("feature_list_sparse_types: list({float, int64, string}) >= 0 = []")
          .Attr("feature_list_dense_shapes: list(shape) >= 0 = []")
          .Shape(SequenceShape<Batch::kNever>)
          .Doc("The context and the feature lists of one serialized SequenceExample as tensors."));
}

}  // namespace tensorfleet
