// Saving and restoring. Kernels: runtime/kernels/portable/checkpoint.cc.
#include "runtime/graph/shape_context.h"
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {

void RegisterCheckpointOps(OpRegistry& ops) {
  ops.Add(OpSchemaBuilder("SaveV2")
              .Input("prefix: string")
              .Input("tensor_names: string")
              .Input("shape_and_slices: string")
              .Input("tensors: dtypes")
              .Attr("dtypes: list(type) >= 1")
              .Stateful()
              .Shape(shapes::UnknownShapes)
              .Doc("Writes tensors to a checkpoint."));
  // Ours: SaveV2 in two halves, so that a step can begin what another ends.
  ops.Add(OpSchemaBuilder("FleetBeginSave")
              .Input("stem: string")
              .Input("tensor_names: string")
              .Input("shape_and_slices: string")
              .Input("tensors: dtypes")
              .Attr("dtypes: list(type) >= 1")
              .Stateful()
              .Shape(shapes::UnknownShapes)
              .Doc("Fixes tensors for a part of a checkpoint, which is written from then on, under "
                   "a name of its own that begins with the stem."));
  ops.Add(OpSchemaBuilder("FleetEndSave")
              .Input("stem: string")
              .Output("part: string")
              .Stateful()
              .Shape(shapes::ScalarOutputs)
              .Doc("Waits until the last part of that stem is written; gives a CheckpointPart."));
  ops.Add(OpSchemaBuilder("RestoreV2")
              .Input("prefix: string")
              .Input("tensor_names: string")
              .Input("shape_and_slices: string")
              .Output("tensors: dtypes")
              .Attr("dtypes: list(type) >= 1")
              .Stateful()
              .Shape(shapes::UnknownShapes)
              .Doc("Reads tensors, or slices of them, from a checkpoint."));
  ops.Add(OpSchemaBuilder("Restore")
              .Input("file_pattern: string")
              .Input("tensor_name: string")
              .Output("tensor: dt")
              .Attr("dt: type")
              .Attr("preferred_shard: int = -1")
              .Stateful()
              .Shape(shapes::UnknownShapes)
              .Doc("Reads a tensor from a checkpoint of either kind."));
  ops.Add(OpSchemaBuilder("RestoreSlice")
              .Input("file_pattern: string")
              .Input("tensor_name: string")
              .Input("shape_and_slice: string")
              .Output("tensor: dt")
              .Attr("dt: type")
              .Attr("preferred_shard: int = -1")
              .Stateful()
              .Shape(shapes::UnknownShapes)
              .Doc("Reads a slice of a tensor from a checkpoint of either kind."));
  ops.Add(OpSchemaBuilder("MergeV2Checkpoints")
              .Input("checkpoint_prefixes: string")
              .Input("destination_prefix: string")
              .Attr("delete_old_dirs: bool = true")
              .Attr("allow_missing_files: bool = false")
              .Stateful()
              .Shape(shapes::UnknownShapes)
              .Doc("Makes one checkpoint of the shards that several tasks have written."));
  ops.Add(OpSchemaBuilder("ShardedFilename")
              .Input("basename: string")
              .Input("shard: int32")
              .Input("num_shards: int32")
              .Output("filename: string")
              .Shape(shapes::ScalarOutputs)
              .Doc("The name of one shard: BASENAME-00003-of-00012."));
  ops.Add(OpSchemaBuilder("ShardedFilespec")
              .Input("basename: string")
              .Input("num_shards: int32")
              .Output("filename: string")
              .Shape(shapes::ScalarOutputs)
              .Doc("A pattern for the names of all shards."));
}

}  // namespace tensorfleet
