// Ops that the devices of a group run together. Kernels: runtime/kernels/portable/collective.
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {
namespace {

constexpr char kReduced[] = "T: {bfloat16, float, half, double, int32, int64}";
constexpr char kGathered[] = "T: {float, half, double, int32, int64}";
constexpr char kBroadcast[] = "T: {bool, float, half, double, int32, int64}";
constexpr char kMerge[] = "merge_op: {'Min', 'Max', 'Mul', 'Add'}";
constexpr char kFinal[] = "final_op: {'Id', 'Div'}";

// The first dimension of input 0 times or by the group's size, where that is known.
Status RowsOfAll(ShapeContext& ctx, bool multiply, int64_t group_size) {
  const PartialShape& input = ctx.input(0);
  if (!input.has_rank()) return OkStatus();
  TFLEET_RETURN_IF_ERROR(ctx.RequireRankAtLeast(0, 1));
  std::vector<int64_t> dims;
  for (int i = 0; i < input.rank(); ++i) dims.push_back(input.dim(i));
  const bool is_known = dims[0] >= 0 && group_size > 0;
  if (is_known && multiply) {
    int64_t rows = 0;
    if (__builtin_mul_overflow(dims[0], group_size, &rows)) {
      return InvalidArgument("a group of ", group_size, " with ", dims[0],
                             " rows each has too many rows");
    }
    dims[0] = rows;
  } else if (is_known) {
    if (dims[0] % group_size != 0) {
      return InvalidArgument("the first dimension of ", input.ToString(),
                             " cannot be split among a group of ", group_size);
    }
    dims[0] /= group_size;
  } else {
    dims[0] = -1;
  }
  ctx.set_output(0, PartialShape(dims));
  return OkStatus();
}

Status GatherShape(ShapeContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const int64_t group_size, ctx.Attr<int64_t>("group_size"));
  return RowsOfAll(ctx, /*multiply=*/true, group_size);
}

int64_t ConstantGroupSize(const ShapeContext& ctx) {
  const Tensor* size = ctx.constant_input(1);
  return size != nullptr && size->dtype() == DType::kInt32 && size->num_elements() == 1
             ? size->scalar<int32_t>()
             : -1;
}
Status GatherV2Shape(ShapeContext& ctx) {
  return RowsOfAll(ctx, /*multiply=*/true, ConstantGroupSize(ctx));
}
Status ReduceScatterShape(ShapeContext& ctx) {
  return RowsOfAll(ctx, /*multiply=*/false, ConstantGroupSize(ctx));
}

Status AttrShape(ShapeContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(PartialShape shape, ctx.Attr<PartialShape>("shape"));
  ctx.set_output(0, std::move(shape));
  return OkStatus();
}
Status InputShape(ShapeContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(PartialShape shape, ctx.InputAsShape(3));
  ctx.set_output(0, std::move(shape));
  return OkStatus();
}

// What all have: how to meet, and for how long to wait.
OpSchemaBuilder Common(OpSchemaBuilder op) {
  return op.Attr("communication_hint: string = 'auto'")
      .Attr("timeout_seconds: float = 0")
      .Stateful();
}

OpSchemaBuilder First(const char* name, const char* types) {
  OpSchemaBuilder op(name);
  op.Output("data: T").Attr(types).Attr("group_size: int").Attr("group_key: int");
  return Common(op.Attr("instance_key: int"));
}

OpSchemaBuilder Second(const char* name, const char* types, bool has_input = true) {
  OpSchemaBuilder op(name);
  if (has_input) op.Input("input: T");
  op.Input("group_size: int32").Input("group_key: int32").Input("instance_key: int32");
  return Common(op.Output("data: T").Attr(types));
}

// Tokens only make one op wait for another.
OpSchemaBuilder Ordered(OpSchemaBuilder op) {
  return op.Input("ordering_token: Nordering_token * resource")
      .Attr("is_stateless: bool = false")
      .Attr("Nordering_token: int >= 0 = 0");
}

OpSchemaBuilder Third(const char* name) {
  return OpSchemaBuilder(name)
      .Input("input: T")
      .Input("communicator: resource")
      .Input("group_assignment: int32")
      .Output("data: T")
      .Attr(kReduced)
      .Attr("timeout_seconds: float = 0")
      .Stateful()
      .Shape(shapes::Unchanged);
}

void RegisterFirst(OpRegistry& ops) {
  ops.Add(First("CollectiveReduce", kReduced)
              .Input("input: T")
              .Attr(kMerge)
              .Attr(kFinal)
              .Attr("subdiv_offsets: list(int)")
              .Attr("wait_for: list(int) = []")
              .Shape(shapes::Unchanged)
              .Doc("The inputs of all members merged element by element, at each of them."));
  ops.Add(First("CollectiveGather", kGathered)
              .Input("input: T")
              .Attr("shape: shape")
              .Shape(GatherShape)
              .Doc("The inputs of all members, joined along the first dimension."));
  ops.Add(First("CollectiveBcastSend", kBroadcast)
              .Input("input: T")
              .Attr("shape: shape")
              .Shape(AttrShape)
              .Doc("Its input, which the other members receive."));
  ops.Add(First("CollectiveBcastRecv", kBroadcast)
              .Attr("shape: shape")
              .Shape(AttrShape)
              .Doc("What the one member that sends has."));
}

void RegisterSecond(OpRegistry& ops) {
  ops.Add(Ordered(Second("CollectiveReduceV2", kReduced))
              .Attr(kMerge)
              .Attr(kFinal)
              .Attr("max_subdivs_per_device: int = -1")
              .Shape(shapes::Unchanged)
              .Doc("The inputs of all members merged element by element, at each of them."));
  ops.Add(
      Ordered(Second("CollectiveReduceScatterV2", kReduced))
          .Attr(kMerge)
          .Attr(kFinal)
          .Attr("max_subdivs_per_device: int = -1")
          .Shape(ReduceScatterShape)
          .Doc("The inputs of all members merged element by element, an equal share of the rows "
               "at each of them."));
  ops.Add(Ordered(Second("CollectiveGatherV2", kGathered))
              .Shape(GatherV2Shape)
              .Doc("The inputs of all members, joined along the first dimension."));
  ops.Add(Ordered(Second("CollectiveAllToAllV2", kReduced))
              .Shape(shapes::Unchanged)
              .Doc("Row i of the input goes to member i; row i of the output comes from it."));
  ops.Add(Second("CollectiveBcastSendV2", kBroadcast)
              .Shape(shapes::Unchanged)
              .Doc("Its input, which the other members receive."));
  ops.Add(Second("CollectiveBcastRecvV2", kBroadcast, /*has_input=*/false)
              .Input("shape: Tshape")
              .Attr("Tshape: {int32, int64} = DT_INT32")
              .Shape(InputShape)
              .Doc("What the one member that sends has."));
  ops.Add(
      OpSchemaBuilder("CollectiveAssignGroupV2")
          .Input("group_assignment: int32")
          .Input("device_index: int32")
          .Input("base_key: int32")
          .Output("group_size: int32")
          .Output("group_key: int32")
          .Stateful()
          .Shape(shapes::ScalarOutputs)
          .Doc("Size and key of the group that has the device in a table with a group per row."));
}

void RegisterThird(OpRegistry& ops) {
  ops.Add(Common(OpSchemaBuilder("CollectiveInitializeCommunicator")
                     .Input("group_key: int32")
                     .Input("rank: int32")
                     .Input("group_size: int32")
                     .Output("communicator: resource"))
              .Shape(shapes::ScalarOutputs)
              .Doc("Forms a group for the collective ops of the third version."));
  ops.Add(Third("CollectiveReduceV3")
              .Attr("reduction: {'Min', 'Max', 'Mul', 'Add'}")
              .Doc("The inputs of all members merged element by element, at each of them."));
  ops.Add(Third("CollectiveAllToAllV3")
              .Doc("Row i of the input goes to member i; row i of the output comes from it."));
}

}  // namespace

void RegisterCollectiveOps(OpRegistry& ops) {
  RegisterFirst(ops);
  RegisterSecond(ops);
  RegisterThird(ops);
}

}  // namespace tensorfleet
