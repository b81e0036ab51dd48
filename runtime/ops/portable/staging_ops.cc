// Staging areas, in order and by key. Kernels: runtime/kernels/portable/staging.
#include "absl/strings/str_cat.h"
#include "runtime/ops/constant_inputs.h"
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {
namespace {

Status NoKeyShape(ShapeContext& ctx) {
  ctx.set_output(0, shapes::ScalarShape());
  return OkStatus();
}

void RegisterQueuesOfTuples(OpRegistry& ops) {
  ops.Add(OpSchemaBuilder("Stage")
              .Input("values: dtypes")
              .Attr("capacity: int >= 0 = 0")
              .Attr("memory_limit: int >= 0 = 0")
              .Attr("dtypes: list(type) >= 1")
              .Attr("container: string = ''")
              .Attr("shared_name: string = ''")
              .Stateful()
              .Shape(shapes::UnknownShapes)
              .Doc("Puts a tuple into a staging area; waits for room."));
  ops.Add(OpSchemaBuilder("Unstage")
              .Output("values: dtypes")
              .Attr("capacity: int >= 0 = 0")
              .Attr("memory_limit: int >= 0 = 0")
              .Attr("dtypes: list(type) >= 1")
              .Attr("container: string = ''")
              .Attr("shared_name: string = ''")
              .Stateful()
              .Shape(shapes::UnknownShapes)
              .Doc("Takes the oldest tuple out of a staging area; waits for one."));
  ops.Add(OpSchemaBuilder("StagePeek")
              .Input("index: int32")
              .Output("values: dtypes")
              .Attr("capacity: int >= 0 = 0")
              .Attr("memory_limit: int >= 0 = 0")
              .Attr("dtypes: list(type) >= 1")
              .Attr("container: string = ''")
              .Attr("shared_name: string = ''")
              .Stateful()
              .Shape(shapes::UnknownShapes)
              .Doc("The tuple at a place of a staging area, which stays there; waits for it."));
  ops.Add(OpSchemaBuilder("StageSize")
              .Output("size: int32")
              .Attr("capacity: int >= 0 = 0")
              .Attr("memory_limit: int >= 0 = 0")
              .Attr("dtypes: list(type)")
              .Attr("container: string = ''")
              .Attr("shared_name: string = ''")
              .Stateful()
              .Shape(shapes::ScalarOutputs)
              .Doc("How many tuples a staging area holds."));
  ops.Add(OpSchemaBuilder("StageClear")
              .Attr("capacity: int >= 0 = 0")
              .Attr("memory_limit: int >= 0 = 0")
              .Attr("dtypes: list(type)")
              .Attr("container: string = ''")
              .Attr("shared_name: string = ''")
              .Stateful()
              .Shape(shapes::UnknownShapes)
              .Doc("Empties a staging area."));
}

// The same ops twice: `order` comes before their names, `which` says whose tuple goes without a
// key.
void RegisterMapsOfTuples(OpRegistry& ops, const char* order, const char* which) {
  ops.Add(OpSchemaBuilder(absl::StrCat(order, "MapStage"))
              .Input("key: int64")
              .Input("indices: int32")
              .Input("values: fake_dtypes")
              .Attr("capacity: int >= 0 = 0")
              .Attr("memory_limit: int >= 0 = 0")
              .Attr("dtypes: list(type)")
              .Attr("fake_dtypes: list(type) >= 1")
              .Attr("container: string = ''")
              .Attr("shared_name: string = ''")
              .Stateful()
              .Shape(shapes::UnknownShapes)
              .Doc("Puts tensors of a key's tuple into a staging area; waits for room."));
  ops.Add(OpSchemaBuilder(absl::StrCat(order, "MapUnstage"))
              .Input("key: int64")
              .Input("indices: int32")
              .Output("values: dtypes")
              .Attr("capacity: int >= 0 = 0")
              .Attr("memory_limit: int >= 0 = 0")
              .Attr("dtypes: list(type) >= 1")
              .Attr("container: string = ''")
              .Attr("shared_name: string = ''")
              .Stateful()
              .Shape(shapes::UnknownShapes)
              .Doc("Takes tensors of a key's tuple out of a staging area; waits until the tuple is "
                   "whole."));
  ops.Add(OpSchemaBuilder(absl::StrCat(order, "MapUnstageNoKey"))
              .Input("indices: int32")
              .Output("key: int64")
              .Output("values: dtypes")
              .Attr("capacity: int >= 0 = 0")
              .Attr("memory_limit: int >= 0 = 0")
              .Attr("dtypes: list(type) >= 1")
              .Attr("container: string = ''")
              .Attr("shared_name: string = ''")
              .Stateful()
              .Shape(NoKeyShape)
              .Doc(absl::StrCat("Takes tensors of the tuple of ", which,
                                " key out of a staging area; waits until one is whole.")));
  ops.Add(OpSchemaBuilder(absl::StrCat(order, "MapPeek"))
              .Input("key: int64")
              .Input("indices: int32")
              .Output("values: dtypes")
              .Attr("capacity: int >= 0 = 0")
              .Attr("memory_limit: int >= 0 = 0")
              .Attr("dtypes: list(type) >= 1")
              .Attr("container: string = ''")
              .Attr("shared_name: string = ''")
              .Stateful()
              .Shape(shapes::UnknownShapes)
              .Doc("Tensors of a key's tuple, which stay in the staging area; waits until the "
                   "tuple is whole."));
  ops.Add(OpSchemaBuilder(absl::StrCat(order, "MapSize"))
              .Output("size: int32")
              .Attr("capacity: int >= 0 = 0")
              .Attr("memory_limit: int >= 0 = 0")
              .Attr("dtypes: list(type)")
              .Attr("container: string = ''")
              .Attr("shared_name: string = ''")
              .Stateful()
              .Shape(shapes::ScalarOutputs)
              .Doc("How many whole tuples a staging area holds."));
  ops.Add(OpSchemaBuilder(absl::StrCat(order, "MapIncompleteSize"))
              .Output("size: int32")
              .Attr("capacity: int >= 0 = 0")
              .Attr("memory_limit: int >= 0 = 0")
              .Attr("dtypes: list(type)")
              .Attr("container: string = ''")
              .Attr("shared_name: string = ''")
              .Stateful()
              .Shape(shapes::ScalarOutputs)
              .Doc("How many tuples of a staging area are not whole yet."));
  ops.Add(OpSchemaBuilder(absl::StrCat(order, "MapClear"))
              .Attr("capacity: int >= 0 = 0")
              .Attr("memory_limit: int >= 0 = 0")
              .Attr("dtypes: list(type)")
              .Attr("container: string = ''")
              .Attr("shared_name: string = ''")
              .Stateful()
              .Shape(shapes::UnknownShapes)
              .Doc("Empties a staging area."));
}

}  // namespace

void RegisterStagingOps(OpRegistry& ops) {
  RegisterQueuesOfTuples(ops);
  RegisterMapsOfTuples(ops, "", "any");
  RegisterMapsOfTuples(ops, "Ordered", "the lowest");
}

}  // namespace tensorfleet
