#include "runtime/io/checkpoint_writer.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "leveldb/table_builder.h"
#include "proto/tensor.pb.h"
#include "runtime/io/crc32c.h"
#include "runtime/io/table_file.h"
#include "runtime/io/varint.h"
#include "runtime/tensor/tensor_proto.h"
#include "runtime/tensor/variant.h"

namespace tensorfleet {
namespace {

constexpr int kProducer = 1;  // the version of the format that is written
constexpr size_t kChunk = 1 << 17;

void AppendFixed(uint64_t value, int bytes, std::string* out) {
  for (int i = 0; i < bytes; ++i) out->push_back(static_cast<char>((value >> (8 * i)) & 0xff));
}

}  // namespace

std::string IndexPath(absl::string_view prefix) { return absl::StrCat(prefix, ".index"); }

std::string DataPath(absl::string_view prefix, int shard, int num_shards) {
  return absl::StrFormat("%s.data-%05d-of-%05d", prefix, shard, num_shards);
}

CheckpointWriter::CheckpointWriter(FileSystem* files, std::string prefix, Kind kind)
    : files_(files),
      prefix_(std::move(prefix)),
      kind_(kind),
      data_temporary_(kind == Kind::kPart ? DataPath(prefix_, 0, 1)
                                          : TemporaryPath(DataPath(prefix_, 0, 1))),
      index_temporary_(TemporaryPath(IndexPath(prefix_))) {}

StatusOr<std::unique_ptr<CheckpointWriter>> CheckpointWriter::Open(FileSystem* files,
                                                                   std::string prefix, Kind kind) {
  TFLEET_RETURN_IF_ERROR(files->CreateDirs(DirectoryOf(prefix)));
  std::unique_ptr<CheckpointWriter> writer(new CheckpointWriter(files, std::move(prefix), kind));
  TFLEET_ASSIGN_OR_RETURN(writer->data_, files->Create(writer->data_temporary_));
  return writer;
}

CheckpointWriter::~CheckpointWriter() {
  if (finished_) return;
  data_.reset();
  files_->Delete(data_temporary_).IgnoreError();
  if (kind_ == Kind::kWhole) files_->Delete(index_temporary_).IgnoreError();
}

Status CheckpointWriter::Append(absl::string_view bytes, uint32_t* crc) {
  offset_ += static_cast<int64_t>(bytes.size());
  // Checksum and write a chunk while it is in the cache.
  while (!bytes.empty()) {
    const absl::string_view chunk = bytes.substr(0, kChunk);
    *crc = ExtendCrc32c(*crc, chunk);
    TFLEET_RETURN_IF_ERROR(data_->Append(chunk));
    bytes.remove_prefix(chunk.size());
  }
  return OkStatus();
}

Status CheckpointWriter::WriteStrings(const Tensor& tensor, tensorflow::BundleEntryProto* entry) {
  // Lengths as varints; their own checksum, which is taken over fixed-size lengths; then the texts.
  // The entry's checksum covers fixed-size lengths, the lengths' checksum as written, and the
  // texts.
  std::string varints, fixed;
  for (const std::string& s : tensor.values<std::string>()) {
    AppendVarint(s.size(), &varints);
    AppendFixed(s.size(), s.size() <= UINT32_MAX ? 4 : 8, &fixed);
  }
  std::string lengths_crc;
  AppendFixed(MaskCrc(Crc32c(fixed)), 4, &lengths_crc);
  uint32_t crc = Crc32c(fixed), not_counted = 0;
  TFLEET_RETURN_IF_ERROR(Append(varints, &not_counted));
  TFLEET_RETURN_IF_ERROR(Append(lengths_crc, &crc));
  for (const std::string& s : tensor.values<std::string>()) TFLEET_RETURN_IF_ERROR(Append(s, &crc));
  entry->set_crc32c(MaskCrc(crc));
  return OkStatus();
}

Status CheckpointWriter::WriteVariants(const Tensor& tensor, tensorflow::BundleEntryProto* entry) {
  // For each its length as a varint, its message, and the checksum of all so far, which is taken
  // over lengths of 8 bytes.
  uint32_t crc = 0, not_counted = 0;
  for (const Variant& variant : tensor.values<Variant>()) {
    // Content is the length and the message, too.
    std::string content, varint, fixed;
    TFLEET_RETURN_IF_ERROR(EncodeTensorContent(Tensor::Scalar(variant), &content));
    absl::string_view message = content;
    uint64_t length = 0;
    if (!ConsumeVarint(&message, &length) || length != message.size()) {
      return ResourceExhausted("a variant is too large for a checkpoint: 2 GiB is the most");
    }
    AppendVarint(length, &varint);
    AppendFixed(length, 8, &fixed);
    crc = ExtendCrc32c(crc, fixed);
    TFLEET_RETURN_IF_ERROR(Append(varint, &not_counted));
    TFLEET_RETURN_IF_ERROR(Append(message, &crc));
    std::string so_far;
    AppendFixed(MaskCrc(crc), 4, &so_far);
    TFLEET_RETURN_IF_ERROR(Append(so_far, &crc));
  }
  entry->set_crc32c(MaskCrc(crc));
  return OkStatus();
}

Status CheckpointWriter::WritePlain(const SavedValue& value, tensorflow::BundleEntryProto* entry) {
  const int64_t wanted =
      static_cast<int64_t>(ElementSize(value.dtype())) * value.shape().num_elements();
  uint32_t crc = 0;
  if (value.tensor() != nullptr) {
    const char* const bytes = static_cast<const char*>(value.tensor()->raw());
    TFLEET_RETURN_IF_ERROR(Append(absl::string_view(bytes, wanted), &crc));
  } else {
    while (true) {
      TFLEET_ASSIGN_OR_RETURN(const absl::string_view bytes, value.bytes()->Next());
      if (bytes.empty()) break;
      TFLEET_RETURN_IF_ERROR(Append(bytes, &crc));
    }
    TFLEET_CHECK(offset_ - entry->offset() == wanted);
  }
  entry->set_crc32c(MaskCrc(crc));
  return OkStatus();
}

Status CheckpointWriter::Write(const SavedValue& value, tensorflow::BundleEntryProto* entry) {
  TFLEET_CHECK(!finished_);
  entry->set_dtype(static_cast<tensorflow::DataType>(value.dtype()));
  value.shape().ToProto(entry->mutable_shape());
  entry->set_offset(offset_);
  if (value.dtype() == DType::kString) {
    TFLEET_CHECK(value.tensor() != nullptr);
    TFLEET_RETURN_IF_ERROR(WriteStrings(*value.tensor(), entry));
  } else if (value.dtype() == DType::kVariant) {
    TFLEET_CHECK(value.tensor() != nullptr);
    TFLEET_RETURN_IF_ERROR(WriteVariants(*value.tensor(), entry));
  } else if (IsPlainData(value.dtype())) {
    TFLEET_RETURN_IF_ERROR(WritePlain(value, entry));
  } else {
    return Unimplemented("a tensor of type ", DTypeName(value.dtype()),
                         " cannot be saved in a checkpoint");
  }
  entry->set_size(offset_ - entry->offset());
  return OkStatus();
}

Status CheckpointWriter::Add(const std::string& name, const SavedValue& value) {
  if (name.empty()) return InvalidArgument("a tensor in a checkpoint needs a name");
  const auto [it, is_new] = entries_.try_emplace(name);
  if (!is_new) return InvalidArgument("Adding duplicate key: ", name);
  return Write(value, &it->second);
}

Status CheckpointWriter::AddSlice(const std::string& name, const Shape& full_shape,
                                  const TensorSlice& slice, const SavedValue& piece) {
  if (slice.Covers(full_shape)) return Add(name, piece);
  if (name.empty()) return InvalidArgument("a tensor in a checkpoint needs a name");
  if (piece.dtype() == DType::kVariant) {
    return Unimplemented("tensor ", name, ": variants cannot be saved in pieces");
  }
  tensorflow::BundleEntryProto& full = entries_[name];
  if (full.dtype() == tensorflow::DT_INVALID) {
    full.set_dtype(static_cast<tensorflow::DataType>(piece.dtype()));
    full_shape.ToProto(full.mutable_shape());
  } else {
    TFLEET_ASSIGN_OR_RETURN(const Shape before, Shape::FromProto(full.shape()));
    if (full.slices().empty() || before != full_shape ||
        static_cast<DType>(full.dtype()) != piece.dtype()) {
      return InvalidArgument("Adding duplicate key: ", name,
                             " (its pieces must agree in type and in the shape of the whole)");
    }
  }
  const auto [it, is_new] = entries_.try_emplace(EncodeSliceKey(name, slice));
  if (!is_new) return InvalidArgument("Adding duplicate key: ", name, ", slice ", slice.ToString());
  slice.ToProto(entries_[name].add_slices());
  return Write(piece, &it->second);
}

Status CheckpointWriter::Finish() {
  TFLEET_CHECK(kind_ == Kind::kWhole);
  TFLEET_RETURN_IF_ERROR(CloseData());
  TFLEET_RETURN_IF_ERROR(
      WriteCheckpointIndex(*files_, index_temporary_, /*num_shards=*/1, entries_));
  // An older checkpoint of this name ends here: its index must never be seen with the new data.
  const std::string index = IndexPath(prefix_);
  if (files_->Exists(index)) TFLEET_RETURN_IF_ERROR(files_->Delete(index));
  TFLEET_RETURN_IF_ERROR(files_->Rename(data_temporary_, DataPath(prefix_, 0, 1)));
  TFLEET_RETURN_IF_ERROR(files_->Rename(index_temporary_, index));
  finished_ = true;
  return files_->SyncDir(DirectoryOf(prefix_));
}

StatusOr<CheckpointPart> CheckpointWriter::FinishPart() {
  TFLEET_CHECK(kind_ == Kind::kPart);
  TFLEET_RETURN_IF_ERROR(CloseData());
  finished_ = true;
  CheckpointPart part;
  part.set_prefix(prefix_);
  for (auto& [key, entry] : entries_) (*part.mutable_entries())[key] = std::move(entry);
  return part;
}

Status CheckpointWriter::CloseData() {
  TFLEET_CHECK(!finished_);
  TFLEET_RETURN_IF_ERROR(data_->Sync());
  return data_->Close();
}

Status WriteCheckpointIndex(FileSystem& files, const std::string& path, int num_shards,
                            const std::map<std::string, tensorflow::BundleEntryProto>& entries) {
  tensorflow::BundleHeaderProto header;
  header.set_num_shards(num_shards);
  header.set_endianness(tensorflow::BundleHeaderProto::LITTLE);
  header.mutable_version()->set_producer(kProducer);
  TFLEET_ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file, files.Create(path));
  TableSink sink(std::move(file));
  leveldb::TableBuilder table(TableOptions(), &sink);
  table.Add("", header.SerializeAsString());
  for (const auto& [key, entry] : entries) table.Add(key, entry.SerializeAsString());
  leveldb::Status status = table.Finish();
  if (status.ok()) status = sink.Sync();
  if (status.ok()) status = sink.Close();
  return FromLevelDb(path, status);
}

}  // namespace tensorfleet
