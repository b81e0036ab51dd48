// What bundle_interop_test.py asks of this side:
//   checkpoint_tool copy FROM TO            reads every tensor and writes it; prints the names
//   checkpoint_tool split FROM TO NAME      writes one matrix as four pieces
//   checkpoint_tool read FROM TO NAME...    writes these tensors of a checkpoint of either kind
//   checkpoint_tool records FROM TO [TYPE]  copies a record file
#include <cstdio>
#include <string>
#include <vector>

#include "runtime/io/checkpoint_reader.h"
#include "runtime/io/checkpoint_writer.h"
#include "runtime/io/record_file.h"
#include "runtime/io/saved_tensors.h"

namespace tensorfleet {
namespace {

Status Copy(const std::string& from, const std::string& to) {
  TFLEET_ASSIGN_OR_RETURN(auto reader, CheckpointReader::Open(FileSystem::Local(), from));
  TFLEET_ASSIGN_OR_RETURN(auto writer, CheckpointWriter::Open(FileSystem::Local(), to));
  TFLEET_ASSIGN_OR_RETURN(const std::vector<std::string> names, reader->Names());
  for (const std::string& name : names) {
    TFLEET_ASSIGN_OR_RETURN(const Tensor tensor, reader->Read(name));
    TFLEET_RETURN_IF_ERROR(writer->Add(name, tensor));
    std::puts(name.c_str());
  }
  return writer->Finish();
}

Status Split(const std::string& from, const std::string& to, const std::string& name) {
  TFLEET_ASSIGN_OR_RETURN(auto reader, CheckpointReader::Open(FileSystem::Local(), from));
  TFLEET_ASSIGN_OR_RETURN(auto writer, CheckpointWriter::Open(FileSystem::Local(), to));
  TFLEET_ASSIGN_OR_RETURN(const CheckpointReader::Entry entry, reader->Find(name));
  if (entry.shape.rank() != 2) return InvalidArgument(name, " is no matrix");
  const int64_t rows = entry.shape.dim(0), columns = entry.shape.dim(1);
  for (const auto& [row, height] :
       {std::pair{int64_t{0}, rows / 3}, std::pair{rows / 3, rows - rows / 3}}) {
    for (const auto& [column, width] :
         {std::pair{int64_t{0}, columns / 2}, std::pair{columns / 2, columns - columns / 2}}) {
      const TensorSlice slice(std::vector<TensorSlice::Extent>{{row, height}, {column, width}});
      TFLEET_ASSIGN_OR_RETURN(const Tensor piece, reader->ReadSlice(name, slice));
      TFLEET_RETURN_IF_ERROR(writer->AddSlice(name, entry.shape, slice, piece));
    }
  }
  return writer->Finish();
}

Status ReadNamed(const std::vector<std::string>& args) {
  TFLEET_ASSIGN_OR_RETURN(auto saved, OpenSavedTensors(FileSystem::Local(), args[1]));
  TFLEET_ASSIGN_OR_RETURN(auto writer, CheckpointWriter::Open(FileSystem::Local(), args[2]));
  for (size_t i = 3; i < args.size(); ++i) {
    TFLEET_ASSIGN_OR_RETURN(const Tensor tensor, saved->Read(args[i]));
    TFLEET_RETURN_IF_ERROR(writer->Add(args[i], tensor));
  }
  return writer->Finish();
}

Status CopyRecords(const std::string& from, const std::string& to, const std::string& type) {
  TFLEET_ASSIGN_OR_RETURN(const Compression compression, ParseCompression(type));
  TFLEET_ASSIGN_OR_RETURN(auto reader, RecordReader::Open(FileSystem::Local(), from, compression));
  TFLEET_ASSIGN_OR_RETURN(auto writer, RecordWriter::Open(FileSystem::Local(), to, compression));
  std::string record;
  while (true) {
    TFLEET_ASSIGN_OR_RETURN(const bool more, reader->Read(&record));
    if (!more) return writer->Close();
    TFLEET_RETURN_IF_ERROR(writer->Write(record));
  }
}

Status Run(const std::vector<std::string>& args) {
  if (args.size() == 3 && args[0] == "copy") return Copy(args[1], args[2]);
  if (args.size() == 4 && args[0] == "split") return Split(args[1], args[2], args[3]);
  if (args.size() > 3 && args[0] == "read") return ReadNamed(args);
  if (args.size() >= 3 && args[0] == "records") {
    return CopyRecords(args[1], args[2], args.size() > 3 ? args[3] : "");
  }
  return InvalidArgument("usage: checkpoint_tool copy|split|read|records FROM TO [NAME|TYPE]");
}

}  // namespace
}  // namespace tensorfleet

int main(int argc, char** argv) {
  const tensorfleet::Status status = tensorfleet::Run({argv + 1, argv + argc});
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}
