// Queues. Kernels: runtime/kernels/portable/queue_ops.cc.
#include "absl/strings/str_cat.h"

#include "runtime/graph/shape_context.h"
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {
namespace {

// Container and name.
Status NameShape(ShapeContext& ctx) {
  ctx.set_output(0, PartialShape({2}));
  return OkStatus();
}

// Ops of the second version take and give resource handles; those of the first, references to the
// queue's name, and only what makes a queue is stateful there.
struct Version {
  const char* suffix;
  const char* handle;
  bool is_stateful;
};
constexpr Version kVersions[] = {{"", "handle: Ref(string)", false},
                                 {"V2", "handle: resource", true}};

OpSchemaBuilder QueueSchema(const Version& version, const char* name, const char* types,
                            const char* shapes) {
  OpSchemaBuilder op(absl::StrCat(name, version.suffix));
  op.Output(version.handle).Attr(types).Attr(shapes).Attr("capacity: int = -1");
  op.Attr("container: string = ''").Attr("shared_name: string = ''").Stateful();
  return op.Shape(version.is_stateful ? shapes::ScalarOutputs : NameShape);
}

OpSchemaBuilder UseSchema(const Version& version, const char* name) {
  OpSchemaBuilder op(absl::StrCat(name, version.suffix));
  op.Input(version.handle).Shape(shapes::UnknownShapes);
  if (version.is_stateful) op.Stateful();
  return op;
}

OpSchemaBuilder DequeueSchema(const Version& version, const char* name, bool takes_count) {
  OpSchemaBuilder op = UseSchema(version, name);
  if (takes_count) op.Input("n: int32");
  op.Output("components: component_types").Attr("component_types: list(type) >= 1");
  // What a queue holds is not part of the graph.
  return op.Attr("timeout_ms: int = -1");
}

OpSchemaBuilder EnqueueSchema(const Version& version, const char* name) {
  return UseSchema(version, name)
      .Input("components: Tcomponents")
      .Attr("Tcomponents: list(type) >= 1")
      .Attr("timeout_ms: int = -1");
}

void RegisterVersion(OpRegistry& ops, const Version& v) {
  constexpr char kTypes[] = "component_types: list(type) >= 1";
  constexpr char kShapes[] = "shapes: list(shape) >= 0 = []";
  ops.Add(QueueSchema(v, "FIFOQueue", kTypes, kShapes).Doc("A queue, first in, first out."));
  ops.Add(QueueSchema(v, "PaddingFIFOQueue", kTypes, kShapes)
              .Doc("A queue, first in, first out, that fills up smaller elements when several are "
                   "taken."));
  ops.Add(QueueSchema(v, "PriorityQueue", "component_types: list(type) >= 0 = []",
                      "shapes: list(shape) >= 0")
              .Doc("A queue that gives out the element with the lowest first component."));
  ops.Add(QueueSchema(v, "RandomShuffleQueue", kTypes, kShapes)
              .Attr("min_after_dequeue: int = 0")
              .Attr("seed: int = 0")
              .Attr("seed2: int = 0")
              .Doc("A queue that gives out any of its elements."));
  ops.Add(EnqueueSchema(v, "QueueEnqueue").Doc("Adds one element; waits for room."));
  ops.Add(EnqueueSchema(v, "QueueEnqueueMany").Doc("Adds the rows of its inputs; waits for room."));
  ops.Add(DequeueSchema(v, "QueueDequeue", false).Doc("Takes one element; waits for it."));
  ops.Add(DequeueSchema(v, "QueueDequeueMany", true)
              .Doc("Takes n elements as one batch; waits for them."));
  ops.Add(DequeueSchema(v, "QueueDequeueUpTo", true)
              .Doc("Takes n elements as one batch, or what a closed queue has left."));
  ops.Add(UseSchema(v, "QueueClose")
              .Attr("cancel_pending_enqueues: bool = false")
              .Doc("Lets nothing more in."));
  ops.Add(UseSchema(v, "QueueIsClosed")
              .Output("is_closed: bool")
              .Shape(shapes::ScalarOutputs)
              .Doc("Whether the queue is closed."));
  ops.Add(UseSchema(v, "QueueSize")
              .Output("size: int32")
              .Shape(shapes::ScalarOutputs)
              .Doc("How many elements the queue holds."));
}

}  // namespace

void RegisterQueueOps(OpRegistry& ops) {
  for (const Version& version : kVersions) RegisterVersion(ops, version);
  ops.Add(OpSchemaBuilder("FakeQueue")
              .Input("resource: resource")
              .Output("handle: Ref(string)")
              .Stateful()
              .Shape(NameShape)
              .Doc("The name of the queue behind a handle, for ops of the first version."));
}

}  // namespace tensorfleet
