// What data sets share from run to run. Kernels: runtime/data/kernel/shared_state.cc.
#include "runtime/ops/data/data_shapes.h"
#include "runtime/ops/families.h"
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {

void RegisterDataSharedOps(OpRegistry& ops) {
  ops.Add(OpSchemaBuilder("AnonymousMemoryCache")
              .Output("handle: resource")
              .Output("deleter: variant")
              .Stateful()
              .Shape(shapes::ScalarOutputs)
              .Doc("A memory cache that goes with its step and the data sets that use it."));
  ops.Add(OpSchemaBuilder("AnonymousRandomSeedGenerator")
              .Input("seed: int64")
              .Input("seed2: int64")
              .Output("handle: resource")
              .Output("deleter: variant")
              .Stateful()
              .Shape(shapes::ScalarOutputs)
              .Doc("Seeds for the runs of a shuffled data set."));
  ops.Add(OpSchemaBuilder("AnonymousSeedGenerator")
              .Input("seed: int64")
              .Input("seed2: int64")
              .Input("reshuffle: bool")
              .Output("handle: resource")
              .Output("deleter: variant")
              .Stateful()
              .Shape(shapes::ScalarOutputs)
              .Doc("Seeds for the runs of a shuffled data set."));
  ops.Add(OpSchemaBuilder("DeleteMemoryCache")
              .Input("handle: resource")
              .Input("deleter: variant")
              .Stateful()
              .Shape(shapes::UnknownShapes)
              .Doc("Deletes what its anonymous op made."));
  ops.Add(OpSchemaBuilder("DeleteRandomSeedGenerator")
              .Input("handle: resource")
              .Input("deleter: variant")
              .Stateful()
              .Shape(shapes::UnknownShapes)
              .Doc("Deletes what its anonymous op made."));
  ops.Add(OpSchemaBuilder("DeleteSeedGenerator")
              .Input("handle: resource")
              .Input("deleter: variant")
              .Stateful()
              .Shape(shapes::UnknownShapes)
              .Doc("Deletes what its anonymous op made."));
  ops.Add(OpSchemaBuilder("DummyMemoryCache")
              .Output("handle: resource")
              .Stateful()
              .Shape(shapes::ScalarOutputs)
              .Doc("No shared state: the data set makes its own."));
  ops.Add(OpSchemaBuilder("DummySeedGenerator")
              .Output("handle: resource")
              .Stateful()
              .Shape(shapes::ScalarOutputs)
              .Doc("No shared state: the data set makes its own."));
}

}  // namespace tensorfleet
