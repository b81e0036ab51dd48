// Whole files. Kernels: runtime/kernels/portable/files.cc.
#include "runtime/graph/shape_context.h"
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {
namespace {

Status VectorOutput(ShapeContext& ctx) {
  ctx.set_output(0, PartialShape::UnknownOfRank(1));
  return OkStatus();
}

}  // namespace

void RegisterFileOps(OpRegistry& ops) {
  ops.Add(OpSchemaBuilder("ReadFile")
              .Input("filename: string")
              .Output("contents: string")
              .Shape(shapes::ScalarOutputs)
              .Doc("The contents of a file."));
  ops.Add(OpSchemaBuilder("WriteFile")
              .Input("filename: string")
              .Input("contents: string")
              .Stateful()
              .Shape(shapes::UnknownShapes)
              .Doc("Writes a file, whole or not at all; makes its directory."));
  ops.Add(OpSchemaBuilder("MatchingFiles")
              .Input("pattern: string")
              .Output("filenames: string")
              .Shape(VectorOutput)
              .Doc("The files that match any of the patterns, sorted."));
}

}  // namespace tensorfleet
