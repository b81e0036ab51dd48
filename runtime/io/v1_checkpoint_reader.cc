#include "runtime/io/v1_checkpoint_reader.h"

#include "proto/checkpoint.pb.h"
#include "proto/tensor.pb.h"
#include "runtime/tensor/tensor_proto.h"

namespace tensorfleet {
namespace {

// The value under `key`. Errors: NotFound; DataLoss.
StatusOr<tensorflow::SavedTensorSlices> ReadValue(const leveldb::Table& table,
                                                  const std::string& path, const std::string& key) {
  std::unique_ptr<leveldb::Iterator> it(table.NewIterator(TableReadOptions()));
  it->Seek(key);
  TFLEET_RETURN_IF_ERROR(FromLevelDb(path, it->status()));
  if (!it->Valid() || it->key() != leveldb::Slice(key)) {
    return NotFound(path, " has no such entry");
  }
  tensorflow::SavedTensorSlices value;
  if (!value.ParseFromArray(it->value().data(), static_cast<int>(it->value().size()))) {
    return DataLoss(path, ": an entry cannot be parsed");
  }
  return value;
}

}  // namespace

StatusOr<std::unique_ptr<SavedTensors>> V1CheckpointReader::Open(FileSystem* files,
                                                                 const std::string& pattern) {
  std::vector<std::string> paths;
  if (files->Exists(pattern)) {
    paths.push_back(pattern);
  } else {
    TFLEET_ASSIGN_OR_RETURN(paths, Glob(*files, pattern));
  }
  if (paths.empty()) {
    return NotFound(
        "Unsuccessful TensorSliceReader constructor: Failed to find any matching files for ",
        pattern);
  }
  std::unique_ptr<V1CheckpointReader> reader(new V1CheckpointReader());
  for (const std::string& path : paths) {
    TFLEET_RETURN_IF_ERROR(reader->AddShard(files, path));
  }
  return std::unique_ptr<SavedTensors>(std::move(reader));
}

Status V1CheckpointReader::AddShard(FileSystem* files, const std::string& path) {
  TFLEET_ASSIGN_OR_RETURN(std::unique_ptr<RandomAccessFile> file, files->Open(path));
  const uint64_t size = file->size();
  Shard shard{path, std::make_unique<TableSource>(std::move(file)), nullptr};
  leveldb::Table* table = nullptr;
  const leveldb::Status opened =
      leveldb::Table::Open(TableOptions(), shard.source.get(), size, &table);
  TFLEET_RETURN_IF_ERROR(FromLevelDb(path, opened));
  shard.table.reset(table);
  StatusOr<tensorflow::SavedTensorSlices> value = ReadValue(*table, path, "");
  if (!value.ok()) {
    return absl::IsNotFound(value.status())
               ? DataLoss(path, " does not begin with a checkpoint's list of tensors")
               : value.status();
  }
  shards_.push_back(std::move(shard));
  for (const auto& meta : value->meta().tensor()) TFLEET_RETURN_IF_ERROR(AddEntry(meta));
  return OkStatus();
}

Status V1CheckpointReader::AddEntry(const tensorflow::SavedSliceMeta& meta) {
  const std::string& path = shards_.back().path;
  const auto bad = [&](absl::string_view what) {
    return DataLoss(path, ": the entry of ", meta.name(), " ", what);
  };
  const DType dtype = static_cast<DType>(meta.type());
  if (!IsValidDType(meta.type()) || IsRef(dtype)) return bad("has an unknown type");
  StatusOr<Shape> shape = Shape::FromProto(meta.shape());
  if (!shape.ok()) return bad("has a bad shape");
  const auto [it, is_new] = entries_.try_emplace(meta.name());
  Entry& entry = it->second;
  if (is_new) {
    entry.info = {dtype, *std::move(shape)};
  } else if (entry.info.dtype != dtype || entry.info.shape != *shape) {
    return bad("contradicts that of another shard");
  }
  for (const auto& proto : meta.slice()) {
    StatusOr<TensorSlice> slice = TensorSlice::FromProto(proto);
    if (!slice.ok() || !slice->Resolved(entry.info.shape).ok()) {
      return bad("has a slice that does not fit");
    }
    entry.pieces.push_back({*std::move(slice), shards_.size() - 1});
  }
  return OkStatus();
}

StatusOr<const V1CheckpointReader::Entry*> V1CheckpointReader::Find(const std::string& name) const {
  const auto it = entries_.find(name);
  if (it == entries_.end()) return NotFound("Key ", name, " not found in checkpoint");
  return &it->second;
}

StatusOr<SavedTensors::Info> V1CheckpointReader::Describe(const std::string& name) const {
  TFLEET_ASSIGN_OR_RETURN(const Entry* entry, Find(name));
  return entry->info;
}

StatusOr<std::vector<std::string>> V1CheckpointReader::Names() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : entries_) names.push_back(name);
  return names;
}

StatusOr<Tensor> V1CheckpointReader::ReadPiece(const std::string& name, const Info& info,
                                               const Piece& piece, const Shape& shape) const {
  const Shard& shard = shards_[piece.shard];
  StatusOr<tensorflow::SavedTensorSlices> value =
      ReadValue(*shard.table, shard.path, EncodeSliceKey(name, piece.slice));
  const auto bad = [&](const Status& why) {
    return DataLoss(shard.path, ": slice ", piece.slice.ToString(), " of ", name,
                    " cannot be read: ", why.message());
  };
  if (!value.ok()) return absl::IsNotFound(value.status()) ? bad(value.status()) : value.status();
  tensorflow::TensorProto& data = *value->mutable_data()->mutable_data();
  data.set_dtype(static_cast<tensorflow::DataType>(info.dtype));
  shape.ToProto(data.mutable_tensor_shape());
  StatusOr<Tensor> tensor = TensorFromProto(data);
  if (!tensor.ok() && !absl::IsResourceExhausted(tensor.status())) return bad(tensor.status());
  return tensor;
}

StatusOr<Tensor> V1CheckpointReader::ReadSlice(const std::string& name,
                                               const TensorSlice& slice) const {
  TFLEET_ASSIGN_OR_RETURN(const Entry* entry, Find(name));
  TFLEET_ASSIGN_OR_RETURN(const TensorSlice wanted, slice.Resolved(entry->info.shape));
  TFLEET_ASSIGN_OR_RETURN(const Shape shape, wanted.PieceShape());
  Tensor out;
  int64_t copied = 0;
  for (const Piece& piece : entry->pieces) {
    TFLEET_ASSIGN_OR_RETURN(const TensorSlice at, piece.slice.Resolved(entry->info.shape));
    if (!at.Overlaps(wanted)) continue;
    TFLEET_ASSIGN_OR_RETURN(const Shape piece_shape, at.PieceShape());
    TFLEET_ASSIGN_OR_RETURN(Tensor data, ReadPiece(name, entry->info, piece, piece_shape));
    if (at == wanted) return data;
    if (!out.is_valid()) {
      TFLEET_ASSIGN_OR_RETURN(out, Tensor::Allocate(entry->info.dtype, shape));
    }
    copied += CopyOverlap(at, data, wanted, out);
  }
  if (!out.is_valid()) {
    TFLEET_ASSIGN_OR_RETURN(out, Tensor::Allocate(entry->info.dtype, shape));
  }
  if (copied < out.num_elements()) {
    return InvalidArgument("Does not have sufficient slices for partitioned tensor ", name,
                           " to restore in slice_spec: ", wanted.ToString());
  }
  return out;
}

StatusOr<Tensor> V1CheckpointReader::Read(const std::string& name) const {
  TFLEET_ASSIGN_OR_RETURN(const Entry* entry, Find(name));
  return ReadSlice(name, TensorSlice::Full(entry->info.shape.rank()));
}

}  // namespace tensorfleet
