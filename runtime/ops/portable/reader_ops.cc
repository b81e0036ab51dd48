// Readers of files. Kernels: runtime/kernels/portable/readers. Ops of the second version take and
// give resource handles; those of the first, references to the names of reader and queue.
#include "runtime/ops/constant_inputs.h"
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {
namespace {

// Container and name.
Status NameShape(ShapeContext& ctx) {
  ctx.set_output(0, shapes::VectorOf(2));
  return OkStatus();
}

// Keys and values.
Status ManyShape(ShapeContext& ctx) {
  for (int i = 0; i < 2; ++i) ctx.set_output(i, shapes::VectorOf(PartialShape::kUnknownDim));
  return OkStatus();
}

void RegisterFirstVersion(OpRegistry& ops) {
  ops.Add(OpSchemaBuilder("TextLineReader")
              .Output("reader_handle: Ref(string)")
              .Attr("skip_header_lines: int = 0")
              .Attr("container: string = ''")
              .Attr("shared_name: string = ''")
              .Stateful()
              .Shape(NameShape)
              .Doc("Reads files line by line; keys are file and line number."));
  ops.Add(OpSchemaBuilder("TFRecordReader")
              .Output("reader_handle: Ref(string)")
              .Attr("container: string = ''")
              .Attr("shared_name: string = ''")
              .Attr("compression_type: string = ''")
              .Stateful()
              .Shape(NameShape)
              .Doc("Reads TFRecord files; keys are file and place."));
  ops.Add(OpSchemaBuilder("FixedLengthRecordReader")
              .Output("reader_handle: Ref(string)")
              .Attr("header_bytes: int = 0")
              .Attr("record_bytes: int")
              .Attr("footer_bytes: int = 0")
              .Attr("hop_bytes: int = 0")
              .Attr("container: string = ''")
              .Attr("shared_name: string = ''")
              .Stateful()
              .Shape(NameShape)
              .Doc("Reads files in pieces of one length; keys are file and number."));
  ops.Add(OpSchemaBuilder("WholeFileReader")
              .Output("reader_handle: Ref(string)")
              .Attr("container: string = ''")
              .Attr("shared_name: string = ''")
              .Stateful()
              .Shape(NameShape)
              .Doc("Reads whole files; keys are their names."));
  ops.Add(OpSchemaBuilder("IdentityReader")
              .Output("reader_handle: Ref(string)")
              .Attr("container: string = ''")
              .Attr("shared_name: string = ''")
              .Stateful()
              .Shape(NameShape)
              .Doc("Gives its work as key and value."));
  ops.Add(OpSchemaBuilder("ReaderRead")
              .Input("reader_handle: Ref(string)")
              .Input("queue_handle: Ref(string)")
              .Output("key: string")
              .Output("value: string")
              .Shape(shapes::ScalarOutputs)
              .Doc("The next record; takes work from the queue when it has none."));
  ops.Add(OpSchemaBuilder("ReaderReadUpTo")
              .Input("reader_handle: Ref(string)")
              .Input("queue_handle: Ref(string)")
              .Input("num_records: int64")
              .Output("keys: string")
              .Output("values: string")
              .Shape(ManyShape)
              .Doc("The next records of one file, as many as there are and at most num_records."));
  ops.Add(OpSchemaBuilder("ReaderNumRecordsProduced")
              .Input("reader_handle: Ref(string)")
              .Output("records_produced: int64")
              .Shape(shapes::ScalarOutputs)
              .Doc("How many records the reader has given."));
  ops.Add(OpSchemaBuilder("ReaderNumWorkUnitsCompleted")
              .Input("reader_handle: Ref(string)")
              .Output("units_completed: int64")
              .Shape(shapes::ScalarOutputs)
              .Doc("How many pieces of work the reader is through with."));
  ops.Add(OpSchemaBuilder("ReaderReset")
              .Input("reader_handle: Ref(string)")
              .Shape(shapes::UnknownShapes)
              .Doc("Makes the reader as if it had read nothing."));
  ops.Add(OpSchemaBuilder("ReaderSerializeState")
              .Input("reader_handle: Ref(string)")
              .Output("state: string")
              .Shape(shapes::ScalarOutputs)
              .Doc("The state of the reader, for ReaderRestoreState."));
  ops.Add(OpSchemaBuilder("ReaderRestoreState")
              .Input("reader_handle: Ref(string)")
              .Input("state: string")
              .Shape(shapes::UnknownShapes)
              .Doc("Gives the reader a state that it had before."));
}

void RegisterSecondVersion(OpRegistry& ops) {
  ops.Add(OpSchemaBuilder("TextLineReaderV2")
              .Output("reader_handle: resource")
              .Attr("skip_header_lines: int = 0")
              .Attr("container: string = ''")
              .Attr("shared_name: string = ''")
              .Stateful()
              .Shape(shapes::ScalarOutputs)
              .Doc("Reads files line by line; keys are file and line number."));
  ops.Add(OpSchemaBuilder("TFRecordReaderV2")
              .Output("reader_handle: resource")
              .Attr("container: string = ''")
              .Attr("shared_name: string = ''")
              .Attr("compression_type: string = ''")
              .Stateful()
              .Shape(shapes::ScalarOutputs)
              .Doc("Reads TFRecord files; keys are file and place."));
  ops.Add(OpSchemaBuilder("FixedLengthRecordReaderV2")
              .Output("reader_handle: resource")
              .Attr("header_bytes: int = 0")
              .Attr("record_bytes: int")
              .Attr("footer_bytes: int = 0")
              .Attr("hop_bytes: int = 0")
              .Attr("container: string = ''")
              .Attr("shared_name: string = ''")
              .Attr("encoding: string = ''")
              .Stateful()
              .Shape(shapes::ScalarOutputs)
              .Doc("Reads files in pieces of one length; keys are file and number."));
  ops.Add(OpSchemaBuilder("WholeFileReaderV2")
              .Output("reader_handle: resource")
              .Attr("container: string = ''")
              .Attr("shared_name: string = ''")
              .Stateful()
              .Shape(shapes::ScalarOutputs)
              .Doc("Reads whole files; keys are their names."));
  ops.Add(OpSchemaBuilder("IdentityReaderV2")
              .Output("reader_handle: resource")
              .Attr("container: string = ''")
              .Attr("shared_name: string = ''")
              .Stateful()
              .Shape(shapes::ScalarOutputs)
              .Doc("Gives its work as key and value."));
  ops.Add(OpSchemaBuilder("ReaderReadV2")
              .Input("reader_handle: resource")
              .Input("queue_handle: resource")
              .Output("key: string")
              .Output("value: string")
              .Stateful()
              .Shape(shapes::ScalarOutputs)
              .Doc("The next record; takes work from the queue when it has none."));
  ops.Add(OpSchemaBuilder("ReaderReadUpToV2")
              .Input("reader_handle: resource")
              .Input("queue_handle: resource")
              .Input("num_records: int64")
              .Output("keys: string")
              .Output("values: string")
              .Stateful()
              .Shape(ManyShape)
              .Doc("The next records of one file, as many as there are and at most num_records."));
  ops.Add(OpSchemaBuilder("ReaderNumRecordsProducedV2")
              .Input("reader_handle: resource")
              .Output("records_produced: int64")
              .Stateful()
              .Shape(shapes::ScalarOutputs)
              .Doc("How many records the reader has given."));
  ops.Add(OpSchemaBuilder("ReaderNumWorkUnitsCompletedV2")
              .Input("reader_handle: resource")
              .Output("units_completed: int64")
              .Stateful()
              .Shape(shapes::ScalarOutputs)
              .Doc("How many pieces of work the reader is through with."));
  ops.Add(OpSchemaBuilder("ReaderResetV2")
              .Input("reader_handle: resource")
              .Stateful()
              .Shape(shapes::UnknownShapes)
              .Doc("Makes the reader as if it had read nothing."));
  ops.Add(OpSchemaBuilder("ReaderSerializeStateV2")
              .Input("reader_handle: resource")
              .Output("state: string")
              .Stateful()
              .Shape(shapes::ScalarOutputs)
              .Doc("The state of the reader, for ReaderRestoreState."));
  ops.Add(OpSchemaBuilder("ReaderRestoreStateV2")
              .Input("reader_handle: resource")
              .Input("state: string")
              .Stateful()
              .Shape(shapes::UnknownShapes)
              .Doc("Gives the reader a state that it had before."));
}

}  // namespace

void RegisterReaderOps(OpRegistry& ops) {
  RegisterFirstVersion(ops);
  RegisterSecondVersion(ops);
}

}  // namespace tensorfleet
