// Iterators and what runs through a data set. Kernels: runtime/data/kernel.
#include "runtime/ops/data/data_shapes.h"
#include "runtime/ops/families.h"
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {

void RegisterDataIteratorOps(OpRegistry& ops) {
  constexpr char kTypes[] = "output_types: list(type) >= 1";
  constexpr char kShapes[] = "output_shapes: list(shape) >= 1";
  constexpr char kMetadata[] = "metadata: string = ''";
  ops.Add(OpSchemaBuilder("AnonymousIterator")
              .Output("handle: resource")
              .Attr(kTypes)
              .Attr(kShapes)
              .Stateful()
              .Shape(shapes::ScalarOutputs)
              .Doc("An iterator that goes with its step."));
  ops.Add(OpSchemaBuilder("AnonymousIteratorV2")
              .Output("handle: resource")
              .Output("deleter: variant")
              .Attr(kTypes)
              .Attr(kShapes)
              .Stateful()
              .Shape(shapes::ScalarOutputs)
              .Doc("An iterator that goes with its step."));
  ops.Add(OpSchemaBuilder("AnonymousIteratorV3")
              .Output("handle: resource")
              .Attr(kTypes)
              .Attr(kShapes)
              .Stateful()
              .Shape(shapes::ScalarOutputs)
              .Doc("An iterator that goes with its step."));
  ops.Add(OpSchemaBuilder("DatasetCardinality")
              .Input("input_dataset: variant")
              .Output("cardinality: int64")
              .Attr("cardinality_options: string = ''")
              .Shape(shapes::ScalarOutputs)
              .Doc("How many elements there are: -1 for no end, -2 when that is not known."));
  ops.Add(OpSchemaBuilder("ExperimentalDatasetCardinality")
              .Input("input_dataset: variant")
              .Output("cardinality: int64")
              .Shape(shapes::ScalarOutputs)
              .Doc("How many elements there are: -1 for no end, -2 when that is not known."));
  ops.Add(OpSchemaBuilder("DatasetToSingleElement")
              .Input("dataset: variant")
              .Output("components: output_types")
              .Attr(kTypes)
              .Attr(kShapes)
              .Attr(kMetadata)
              .Stateful()
              .Shape(shapes::IteratorElement)
              .Doc("The only element of a data set."));
  ops.Add(OpSchemaBuilder("DeleteIterator")
              .Input("handle: resource")
              .Input("deleter: variant")
              .Stateful()
              .Shape(shapes::UnknownShapes)
              .Doc("Deletes an anonymous iterator."));
  ops.Add(OpSchemaBuilder("Iterator")
              .Output("handle: resource")
              .Attr("shared_name: string")
              .Attr("container: string")
              .Attr(kTypes)
              .Attr(kShapes)
              .Stateful()
              .Shape(shapes::ScalarOutputs)
              .Doc("An iterator, to be initialized by MakeIterator."));
  ops.Add(OpSchemaBuilder("IteratorV2")
              .Output("handle: resource")
              .Attr("shared_name: string")
              .Attr("container: string")
              .Attr(kTypes)
              .Attr(kShapes)
              .Stateful()
              .Shape(shapes::ScalarOutputs)
              .Doc("An iterator, to be initialized by MakeIterator."));
  ops.Add(OpSchemaBuilder("IteratorFromStringHandle")
              .Input("string_handle: string")
              .Output("resource_handle: resource")
              .Attr("output_types: list(type) >= 0 = []")
              .Attr("output_shapes: list(shape) >= 0 = []")
              .Stateful()
              .Shape(shapes::ScalarOutputs)
              .Doc("The iterator that a string names."));
  ops.Add(OpSchemaBuilder("IteratorFromStringHandleV2")
              .Input("string_handle: string")
              .Output("resource_handle: resource")
              .Attr("output_types: list(type) >= 0 = []")
              .Attr("output_shapes: list(shape) >= 0 = []")
              .Stateful()
              .Shape(shapes::ScalarOutputs)
              .Doc("The iterator that a string names."));
  ops.Add(OpSchemaBuilder("IteratorGetDevice")
              .Input("resource: resource")
              .Output("device: string")
              .Stateful()
              .Shape(shapes::ScalarOutputs)
              .Doc("The device that an iterator is on."));
  ops.Add(OpSchemaBuilder("ExperimentalIteratorGetDevice")
              .Input("resource: resource")
              .Output("device: string")
              .Stateful()
              .Shape(shapes::ScalarOutputs)
              .Doc("The device that an iterator is on."));
  ops.Add(OpSchemaBuilder("IteratorGetNext")
              .Input("iterator: resource")
              .Output("components: output_types")
              .Attr(kTypes)
              .Attr(kShapes)
              .Stateful()
              .Shape(shapes::IteratorElement)
              .Doc("The next element; OutOfRange at the end."));
  ops.Add(OpSchemaBuilder("IteratorGetNextSync")
              .Input("iterator: resource")
              .Output("components: output_types")
              .Attr(kTypes)
              .Attr(kShapes)
              .Stateful()
              .Shape(shapes::IteratorElement)
              .Doc("The next element; OutOfRange at the end."));
  ops.Add(OpSchemaBuilder("IteratorGetNextAsOptional")
              .Input("iterator: resource")
              .Output("optional: variant")
              .Attr(kTypes)
              .Attr(kShapes)
              .Stateful()
              .Shape(shapes::ScalarOutputs)
              .Doc("The next element as an optional; none at the end."));
  ops.Add(OpSchemaBuilder("SerializeIterator")
              .Input("resource_handle: resource")
              .Output("serialized: variant")
              .Attr("external_state_policy: int = 0")
              .Stateful()
              .Shape(shapes::UnknownShapes)
              .Doc("The place where an iterator stands, with its data set, for a checkpoint."));
  ops.Add(OpSchemaBuilder("DeserializeIterator")
              .Input("resource_handle: resource")
              .Input("serialized: variant")
              .Stateful()
              .Shape(shapes::UnknownShapes)
              .Doc("Sets an iterator to the place and the data set that SerializeIterator kept."));
  ops.Add(OpSchemaBuilder("IteratorToStringHandle")
              .Input("resource_handle: resource")
              .Output("string_handle: string")
              .Stateful()
              .Shape(shapes::ScalarOutputs)
              .Doc("A string that names an iterator."));
  ops.Add(OpSchemaBuilder("MakeIterator")
              .Input("dataset: variant")
              .Input("iterator: resource")
              .Stateful()
              .Shape(shapes::UnknownShapes)
              .Doc("Sets an iterator to the beginning of a data set."));
  ops.Add(OpSchemaBuilder("OneShotIterator")
              .Output("handle: resource")
              .Attr("dataset_factory: func")
              .Attr(kTypes)
              .Attr(kShapes)
              .Attr("container: string = ''")
              .Attr("shared_name: string = ''")
              .Stateful()
              .Shape(shapes::ScalarOutputs)
              .Doc("An iterator that sets itself to the beginning of the data set that a function "
                   "makes."));
  ops.Add(OpSchemaBuilder("ReduceDataset")
              .Input("input_dataset: variant")
              .Input("initial_state: Tstate")
              .Input("other_arguments: Targuments")
              .Output("components: output_types")
              .Attr("f: func")
              .Attr("Tstate: list(type) >= 1")
              .Attr("Targuments: list(type) >= 0")
              .Attr(kTypes)
              .Attr(kShapes)
              .Attr("use_inter_op_parallelism: bool = true")
              .Attr(kMetadata)
              .Stateful()
              .Shape(shapes::IteratorElement)
              .Doc("Folds the elements into a state by a function."));
}

}  // namespace tensorfleet
