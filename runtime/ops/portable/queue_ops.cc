// Queues. Kernels: runtime/kernels/portable/queue_ops.cc.
#include <string>

#include "runtime/graph/shape_context.h"
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {
namespace {

OpSchemaBuilder QueueSchema(const char* name, const char* types, const char* shapes) {
  OpSchemaBuilder op(name);
  op.Output("handle: resource").Attr(types).Attr(shapes).Attr("capacity: int = -1");
  op.Attr("container: string = ''").Attr("shared_name: string = ''").Stateful();
  return op.Shape(shapes::ScalarOutputs);
}

OpSchemaBuilder DequeueSchema(const char* name, bool takes_count) {
  OpSchemaBuilder op(name);
  op.Input("handle: resource");
  if (takes_count) op.Input("n: int32");
  op.Output("components: component_types").Attr("component_types: list(type) >= 1");
  // What a queue holds is not part of the graph.
  return op.Attr("timeout_ms: int = -1").Stateful().Shape(shapes::UnknownShapes);
}

OpSchemaBuilder EnqueueSchema(const char* name) {
  OpSchemaBuilder op(name);
  op.Input("handle: resource").Input("components: Tcomponents");
  op.Attr("Tcomponents: list(type) >= 1").Attr("timeout_ms: int = -1").Stateful();
  return op.Shape(shapes::UnknownShapes);
}

}  // namespace

void RegisterQueueOps(OpRegistry& ops) {
  constexpr char kTypes[] = "component_types: list(type) >= 1";
  constexpr char kShapes[] = "shapes: list(shape) >= 0 = []";
  ops.Add(QueueSchema("FIFOQueueV2", kTypes, kShapes).Doc("A queue, first in, first out."));
  ops.Add(QueueSchema("PaddingFIFOQueueV2", kTypes, kShapes)
              .Doc("A queue, first in, first out, that fills up smaller elements when several are "
                   "taken."));
  ops.Add(QueueSchema("PriorityQueueV2", "component_types: list(type) >= 0 = []",
                      "shapes: list(shape) >= 0")
              .Doc("A queue that gives out the element with the lowest first component."));
  ops.Add(QueueSchema("RandomShuffleQueueV2", kTypes, kShapes)
              .Attr("min_after_dequeue: int = 0")
              .Attr("seed: int = 0")
              .Attr("seed2: int = 0")
              .Doc("A queue that gives out any of its elements."));
  ops.Add(EnqueueSchema("QueueEnqueueV2").Doc("Adds one element; waits for room."));
  ops.Add(EnqueueSchema("QueueEnqueueManyV2").Doc("Adds the rows of its inputs; waits for room."));
  ops.Add(DequeueSchema("QueueDequeueV2", false).Doc("Takes one element; waits for it."));
  ops.Add(DequeueSchema("QueueDequeueManyV2", true)
              .Doc("Takes n elements as one batch; waits for them."));
  ops.Add(DequeueSchema("QueueDequeueUpToV2", true)
              .Doc("Takes n elements as one batch, or what a closed queue has left."));
  ops.Add(OpSchemaBuilder("QueueCloseV2")
              .Input("handle: resource")
              .Attr("cancel_pending_enqueues: bool = false")
              .Stateful()
              .Shape(shapes::UnknownShapes)
              .Doc("Lets nothing more in."));
  ops.Add(OpSchemaBuilder("QueueIsClosedV2")
              .Input("handle: resource")
              .Output("is_closed: bool")
              .Stateful()
              .Shape(shapes::ScalarOutputs)
              .Doc("Whether the queue is closed."));
  ops.Add(OpSchemaBuilder("QueueSizeV2")
              .Input("handle: resource")
              .Output("size: int32")
              .Stateful()
              .Shape(shapes::ScalarOutputs)
              .Doc("How many elements the queue holds."));
}

}  // namespace tensorfleet
