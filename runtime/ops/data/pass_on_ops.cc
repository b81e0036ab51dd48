// Data sets with their input's elements, and what is said about them. Kernels:
// runtime/data/transform/pass_on.cc.
#include "runtime/ops/data/data_shapes.h"
#include "runtime/ops/families.h"
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {

void RegisterDataPassOnOps(OpRegistry& ops) {
  constexpr char kTypes[] = "output_types: list(type) >= 1";
  constexpr char kShapes[] = "output_shapes: list(shape) >= 1";
  constexpr char kMetadata[] = "metadata: string = ''";
  ops.Add(OpSchemaBuilder("AssertCardinalityDataset")
              .Input("input_dataset: variant")
              .Input("cardinality: int64")
              .Output("handle: variant")
              .Attr(kTypes)
              .Attr(kShapes)
              .Shape(shapes::ScalarOutputs)
              .Doc("The data set, which fails where it has another number of elements."));
  ops.Add(OpSchemaBuilder("FinalizeDataset")
              .Input("input_dataset: variant")
              .Output("handle: variant")
              .Attr("has_captured_ref: bool = false")
              .Attr(kTypes)
              .Attr(kShapes)
              .Shape(shapes::ScalarOutputs)
              .Doc("The data set as it is."));
  ops.Add(OpSchemaBuilder("MaxIntraOpParallelismDataset")
              .Input("input_dataset: variant")
              .Input("max_intra_op_parallelism: int64")
              .Output("handle: variant")
              .Attr(kTypes)
              .Attr(kShapes)
              .Shape(shapes::ScalarOutputs)
              .Doc("The data set as it is: threads are as many as are busy."));
  ops.Add(OpSchemaBuilder("ExperimentalMaxIntraOpParallelismDataset")
              .Input("input_dataset: variant")
              .Input("max_intra_op_parallelism: int64")
              .Output("handle: variant")
              .Attr(kTypes)
              .Attr(kShapes)
              .Shape(shapes::ScalarOutputs)
              .Doc("The data set as it is: threads are as many as are busy."));
  ops.Add(OpSchemaBuilder("PrivateThreadPoolDataset")
              .Input("input_dataset: variant")
              .Input("num_threads: int64")
              .Output("handle: variant")
              .Attr(kTypes)
              .Attr(kShapes)
              .Shape(shapes::ScalarOutputs)
              .Doc("The data set as it is: threads are as many as are busy."));
  ops.Add(OpSchemaBuilder("ExperimentalPrivateThreadPoolDataset")
              .Input("input_dataset: variant")
              .Input("num_threads: int64")
              .Output("handle: variant")
              .Attr(kTypes)
              .Attr(kShapes)
              .Shape(shapes::ScalarOutputs)
              .Doc("The data set as it is: threads are as many as are busy."));
  ops.Add(OpSchemaBuilder("GetOptions")
              .Input("input_dataset: variant")
              .Output("serialized_options: string")
              .Shape(shapes::ScalarOutputs)
              .Doc("The options of a data set, serialized."));
  ops.Add(
      OpSchemaBuilder("ModelDataset")
          .Input("input_dataset: variant")
          .Output("handle: variant")
          .Attr("algorithm: int = 0")
          .Attr("cpu_budget: int = 0")
          .Attr("ram_budget: int = 0")
          .Attr(kTypes)
          .Attr(kShapes)
          .Shape(shapes::ScalarOutputs)
          .Doc("The data set as it is: what is left to autotuning, each transformation decides."));
  ops.Add(OpSchemaBuilder("NonSerializableDataset")
              .Input("input_dataset: variant")
              .Output("handle: variant")
              .Attr(kTypes)
              .Attr(kShapes)
              .Shape(shapes::ScalarOutputs)
              .Doc("The data set as it is."));
  ops.Add(OpSchemaBuilder("ExperimentalNonSerializableDataset")
              .Input("input_dataset: variant")
              .Output("handle: variant")
              .Attr(kTypes)
              .Attr(kShapes)
              .Shape(shapes::ScalarOutputs)
              .Doc("The data set as it is."));
  ops.Add(OpSchemaBuilder("OptimizeDataset")
              .Input("input_dataset: variant")
              .Input("optimizations: string")
              .Output("handle: variant")
              .Attr(kTypes)
              .Attr(kShapes)
              .Attr("optimization_configs: list(string) = []")
              .Shape(shapes::ScalarOutputs)
              .Doc("The data set as it is: rewrites of TensorFlow's do not change elements."));
  ops.Add(OpSchemaBuilder("OptimizeDatasetV2")
              .Input("input_dataset: variant")
              .Input("optimizations_enabled: string")
              .Input("optimizations_disabled: string")
              .Input("optimizations_default: string")
              .Output("handle: variant")
              .Attr(kTypes)
              .Attr(kShapes)
              .Attr("optimization_configs: list(string) = []")
              .Shape(shapes::ScalarOutputs)
              .Doc("The data set as it is: rewrites of TensorFlow's do not change elements."));
  ops.Add(OpSchemaBuilder("RewriteDataset")
              .Input("input_dataset: variant")
              .Input("rewrite_name: string")
              .Output("handle: variant")
              .Attr(kTypes)
              .Attr(kShapes)
              .Shape(shapes::ScalarOutputs)
              .Doc("The data set as it is: rewrites of TensorFlow's do not change elements."));
  ops.Add(OpSchemaBuilder("OptionsDataset")
              .Input("input_dataset: variant")
              .Output("handle: variant")
              .Attr("serialized_options: string")
              .Attr(kTypes)
              .Attr(kShapes)
              .Attr(kMetadata)
              .Shape(shapes::ScalarOutputs)
              .Doc("The data set with options, which later ones override."));
}

}  // namespace tensorfleet
