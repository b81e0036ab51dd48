// Data sets out of tensors, numbers and files. Kernels: runtime/data/source.
//
// Unlike TensorFlow's these are not stateful: that would tie them to a task, but they belong where
// their iterator is.
#include "runtime/ops/data/data_shapes.h"
#include "runtime/ops/families.h"
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {

void RegisterDataSourceOps(OpRegistry& ops) {
  constexpr char kTypes[] = "output_types: list(type) >= 1";
  constexpr char kShapes[] = "output_shapes: list(shape) >= 1";
  constexpr char kMetadata[] = "metadata: string = ''";
  ops.Add(OpSchemaBuilder("FixedLengthRecordDataset")
              .Input("filenames: string")
              .Input("header_bytes: int64")
              .Input("record_bytes: int64")
              .Input("footer_bytes: int64")
              .Input("buffer_size: int64")
              .Output("handle: variant")
              .Attr(kMetadata)
              .Shape(shapes::ScalarOutputs)
              .Doc("The records of files, each of as many bytes, between a header and a footer."));
  ops.Add(OpSchemaBuilder("FixedLengthRecordDatasetV2")
              .Input("filenames: string")
              .Input("header_bytes: int64")
              .Input("record_bytes: int64")
              .Input("footer_bytes: int64")
              .Input("buffer_size: int64")
              .Input("compression_type: string")
              .Output("handle: variant")
              .Attr(kMetadata)
              .Shape(shapes::ScalarOutputs)
              .Doc("The records of files, each of as many bytes, between a header and a footer."));
  ops.Add(OpSchemaBuilder("ListDataset")
              .Input("tensors: Tinput_types")
              .Output("handle: variant")
              .Attr("Tinput_types: list(type) >= 1")
              .Attr(kTypes)
              .Attr(kShapes)
              .Attr(kMetadata)
              .Shape(shapes::ScalarOutputs)
              .Doc("The given elements, one by one."));
  ops.Add(OpSchemaBuilder("RandomDataset")
              .Input("seed: int64")
              .Input("seed2: int64")
              .Output("handle: variant")
              .Attr(kTypes)
              .Attr(kShapes)
              .Attr(kMetadata)
              .Stateful()
              .Shape(shapes::ScalarOutputs)
              .Doc("Random numbers without end."));
  ops.Add(OpSchemaBuilder("ExperimentalRandomDataset")
              .Input("seed: int64")
              .Input("seed2: int64")
              .Output("handle: variant")
              .Attr(kTypes)
              .Attr(kShapes)
              .Stateful()
              .Shape(shapes::ScalarOutputs)
              .Doc("Random numbers without end."));
  ops.Add(OpSchemaBuilder("RandomDatasetV2")
              .Input("seed: int64")
              .Input("seed2: int64")
              .Input("seed_generator: resource")
              .Output("handle: variant")
              .Attr("rerandomize_each_iteration: bool = false")
              .Attr(kTypes)
              .Attr(kShapes)
              .Attr(kMetadata)
              .Stateful()
              .Shape(shapes::ScalarOutputs)
              .Doc("Random numbers without end."));
  ops.Add(OpSchemaBuilder("RangeDataset")
              .Input("start: int64")
              .Input("stop: int64")
              .Input("step: int64")
              .Output("handle: variant")
              .Attr(kTypes)
              .Attr(kShapes)
              .Attr(kMetadata)
              .Attr("replicate_on_split: bool = false")
              .Shape(shapes::ScalarOutputs)
              .Doc("The numbers from start to stop, without stop."));
  ops.Add(OpSchemaBuilder("TensorDataset")
              .Input("components: Toutput_types")
              .Output("handle: variant")
              .Attr("Toutput_types: list(type) >= 1")
              .Attr(kShapes)
              .Attr(kMetadata)
              .Shape(shapes::ScalarOutputs)
              .Doc("The components as one element."));
  ops.Add(OpSchemaBuilder("SparseTensorSliceDataset")
              .Input("indices: int64")
              .Input("values: Tvalues")
              .Input("dense_shape: int64")
              .Output("handle: variant")
              .Attr("Tvalues: type")
              .Shape(shapes::ScalarOutputs)
              .Doc("The rows of a sparse tensor, each as the three parts of one."));
  ops.Add(OpSchemaBuilder("TensorSliceDataset")
              .Input("components: Toutput_types")
              .Output("handle: variant")
              .Attr("Toutput_types: list(type) >= 1")
              .Attr(kShapes)
              .Attr("is_files: bool = false")
              .Attr(kMetadata)
              .Attr("replicate_on_split: bool = false")
              .Shape(shapes::ScalarOutputs)
              .Doc("The rows of the components."));
  ops.Add(OpSchemaBuilder("TextLineDataset")
              .Input("filenames: string")
              .Input("compression_type: string")
              .Input("buffer_size: int64")
              .Output("handle: variant")
              .Attr(kMetadata)
              .Shape(shapes::ScalarOutputs)
              .Doc("The lines of files."));
  ops.Add(OpSchemaBuilder("TFRecordDataset")
              .Input("filenames: string")
              .Input("compression_type: string")
              .Input("buffer_size: int64")
              .Output("handle: variant")
              .Attr(kMetadata)
              .Shape(shapes::ScalarOutputs)
              .Doc("The records of TFRecord files."));
  ops.Add(OpSchemaBuilder("TFRecordDatasetV2")
              .Input("filenames: string")
              .Input("compression_type: string")
              .Input("buffer_size: int64")
              .Input("byte_offsets: int64")
              .Output("handle: variant")
              .Attr(kMetadata)
              .Shape(shapes::ScalarOutputs)
              .Doc("The records of TFRecord files."));
}

}  // namespace tensorfleet
