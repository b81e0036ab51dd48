#include "runtime/io/checkpoint_reader.h"

#include <algorithm>
#include <functional>

#include "proto/tensor.pb.h"
#include "runtime/io/checkpoint_writer.h"
#include "runtime/io/crc32c.h"
#include "runtime/io/varint.h"
#include "runtime/tensor/tensor_proto.h"

namespace tensorfleet {
namespace {

constexpr int kMaxShards = 1 << 20;

uint32_t DecodeFixed32(const char* bytes) {
  uint32_t value = 0;
  for (int i = 3; i >= 0; --i) value = value << 8 | static_cast<uint8_t>(bytes[i]);
  return value;
}

}  // namespace

CheckpointReader::~CheckpointReader() = default;

StatusOr<std::unique_ptr<CheckpointReader>> CheckpointReader::Open(FileSystem* files,
                                                                   std::string prefix) {
  std::unique_ptr<CheckpointReader> reader(new CheckpointReader(files, std::move(prefix)));
  const std::string path = IndexPath(reader->prefix_);
  TFLEET_ASSIGN_OR_RETURN(std::unique_ptr<RandomAccessFile> file, files->Open(path));
  const uint64_t size = file->size();
  reader->source_ = std::make_unique<TableSource>(std::move(file));
  leveldb::Table* table = nullptr;
  const leveldb::Status opened =
      leveldb::Table::Open(TableOptions(), reader->source_.get(), size, &table);
  TFLEET_RETURN_IF_ERROR(FromLevelDb(path, opened));
  reader->table_.reset(table);
  TFLEET_RETURN_IF_ERROR(reader->ReadHeader());
  return reader;
}

Status CheckpointReader::ReadHeader() {
  const std::string path = IndexPath(prefix_);
  std::unique_ptr<leveldb::Iterator> it(table_->NewIterator(TableReadOptions()));
  it->SeekToFirst();
  TFLEET_RETURN_IF_ERROR(FromLevelDb(path, it->status()));
  tensorflow::BundleHeaderProto header;
  if (!it->Valid() || !it->key().empty() ||
      !header.ParseFromArray(it->value().data(), static_cast<int>(it->value().size()))) {
    return DataLoss(path, " does not begin with a checkpoint's header");
  }
  if (header.endianness() != tensorflow::BundleHeaderProto::LITTLE) {
    return Unimplemented(path, ": big-endian checkpoints cannot be read");
  }
  if (header.version().min_consumer() > 1) {
    return Unimplemented(path, " needs a reader of version ", header.version().min_consumer(),
                         "; this one is of version 1");
  }
  if (header.num_shards() < 0 || header.num_shards() > kMaxShards) {
    return DataLoss(path, " claims to have ", header.num_shards(), " shards");
  }
  num_shards_ = header.num_shards();
  MutexLock lock(&mu_);
  shards_.resize(num_shards_);
  return OkStatus();
}

StatusOr<CheckpointReader::Entry> CheckpointReader::Parse(const std::string& name,
                                                          absl::string_view value) const {
  const auto bad = [&](absl::string_view what) {
    return DataLoss(IndexPath(prefix_), ": the entry of ", name, " ", what);
  };
  tensorflow::BundleEntryProto proto;
  if (!proto.ParseFromArray(value.data(), static_cast<int>(value.size()))) {
    return bad("cannot be parsed");
  }
  if (!IsValidDType(proto.dtype()) || IsRef(static_cast<DType>(proto.dtype()))) {
    return bad(absl::StrCat("has the unknown type ", proto.dtype()));
  }
  Entry entry;
  entry.dtype = static_cast<DType>(proto.dtype());
  StatusOr<Shape> shape = Shape::FromProto(proto.shape());
  if (!shape.ok()) return bad(absl::StrCat("has a bad shape: ", shape.status().message()));
  entry.shape = *std::move(shape);
  for (const auto& slice : proto.slices()) {
    StatusOr<TensorSlice> parsed = TensorSlice::FromProto(slice);
    if (!parsed.ok() || !parsed->Resolved(entry.shape).ok())
      return bad("has a slice that does not fit");
    entry.slices.push_back(*std::move(parsed));
  }
  entry.shard = proto.shard_id();
  entry.offset = proto.offset();
  entry.size = proto.size();
  entry.masked_crc = proto.crc32c();
  if (entry.slices.empty()) {
    if (entry.shard < 0 || entry.shard >= num_shards_) {
      return bad(absl::StrCat("is in shard ", entry.shard, " of ", num_shards_));
    }
    if (entry.offset < 0 || entry.size < 0) return bad("lies at a negative place");
    const int64_t element = static_cast<int64_t>(ElementSize(entry.dtype));
    if (IsPlainData(entry.dtype) &&
        (entry.size % element != 0 || entry.size / element != entry.shape.num_elements())) {
      return bad(absl::StrCat("has ", entry.size, " bytes for a ", DTypeName(entry.dtype),
                              " of shape ", entry.shape.ToString()));
    }
  }
  return entry;
}

StatusOr<CheckpointReader::Entry> CheckpointReader::FindKey(const std::string& key,
                                                            const std::string& name) const {
  std::unique_ptr<leveldb::Iterator> it(table_->NewIterator(TableReadOptions()));
  it->Seek(key);
  TFLEET_RETURN_IF_ERROR(FromLevelDb(IndexPath(prefix_), it->status()));
  if (!it->Valid() || it->key() != leveldb::Slice(key)) {
    return NotFound("Key ", name, " not found in checkpoint");
  }
  return Parse(name, absl::string_view(it->value().data(), it->value().size()));
}

StatusOr<CheckpointReader::Entry> CheckpointReader::Find(const std::string& name) const {
  if (name.empty()) return NotFound("Key ", name, " not found in checkpoint");
  return FindKey(name, name);
}

Status CheckpointReader::ForEachEntry(
    const std::function<Status(const std::string& key, const tensorflow::BundleEntryProto& entry)>&
        visit) const {
  std::unique_ptr<leveldb::Iterator> it(table_->NewIterator(TableReadOptions()));
  it->SeekToFirst();
  if (it->Valid()) it->Next();  // the header
  for (; it->Valid(); it->Next()) {
    const std::string key = it->key().ToString();
    const leveldb::Slice value = it->value();
    TFLEET_RETURN_IF_ERROR(Parse(key, absl::string_view(value.data(), value.size())).status());
    tensorflow::BundleEntryProto entry;
    entry.ParseFromArray(value.data(), static_cast<int>(value.size()));
    TFLEET_RETURN_IF_ERROR(visit(key, entry));
  }
  return FromLevelDb(IndexPath(prefix_), it->status());
}

StatusOr<std::vector<std::string>> CheckpointReader::Names() const {
  std::vector<std::string> names;
  TFLEET_RETURN_IF_ERROR(
      ForEachEntry([&](const std::string& key, const tensorflow::BundleEntryProto&) {
        if (key[0] != '\0') names.push_back(key);  // keys of pieces begin with a zero
        return OkStatus();
      }));
  return names;
}

StatusOr<const RandomAccessFile*> CheckpointReader::Shard(int shard) const {
  MutexLock lock(&mu_);
  if (shards_[shard] == nullptr) {
    TFLEET_ASSIGN_OR_RETURN(shards_[shard], files_->Open(DataPath(prefix_, shard, num_shards_)));
  }
  return shards_[shard].get();
}

Status CheckpointReader::ChecksumError(int shard, uint32_t stored, uint32_t found) const {
  return DataLoss("TensorBundle at ", prefix_, " shard ", shard, " (",
                  DataPath(prefix_, shard, num_shards_), "): Checksum does not match: stored ",
                  UnmaskCrc(stored), " vs. calculated on the restored bytes ", found);
}

StatusOr<Tensor> CheckpointReader::ReadEntry(const std::string& name, const Entry& entry) const {
  if (entry.dtype == DType::kResource) {
    return Unimplemented("tensor ", name, " of type ", DTypeName(entry.dtype),
                         " cannot be read from a checkpoint");
  }
  TFLEET_ASSIGN_OR_RETURN(const RandomAccessFile* file, Shard(entry.shard));
  // Before memory is taken for what a damaged index only claims to be there.
  if (static_cast<uint64_t>(entry.offset) > file->size() ||
      static_cast<uint64_t>(entry.size) > file->size() - entry.offset) {
    return DataLoss("Read less bytes than requested: ", file->path(), " has ", file->size(),
                    " bytes, but ", name, " should be the ", entry.size, " bytes from ",
                    entry.offset);
  }
  if (!IsPlainData(entry.dtype) && entry.shape.num_elements() > entry.size) {
    return DataLoss(file->path(), ": ", entry.size, " bytes cannot hold the elements of ", name);
  }
  if (entry.dtype == DType::kVariant) return ReadVariants(entry, *file);
  TFLEET_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(entry.dtype, entry.shape));
  if (entry.dtype == DType::kString) {
    TFLEET_RETURN_IF_ERROR(ReadStrings(entry, *file, tensor));
    return tensor;
  }
  constexpr int64_t kChunk = 1 << 20;  // read and checksummed while it is in the cache
  char* const bytes = static_cast<char*>(tensor.mutable_raw());
  uint32_t crc = 0;
  for (int64_t at = 0; at < entry.size; at += kChunk) {
    const int64_t n = std::min(kChunk, entry.size - at);
    TFLEET_RETURN_IF_ERROR(file->Read(entry.offset + at, n, bytes + at));
    crc = ExtendCrc32c(crc, absl::string_view(bytes + at, n));
  }
  if (MaskCrc(crc) != entry.masked_crc) return ChecksumError(entry.shard, entry.masked_crc, crc);
  return tensor;
}

Status CheckpointReader::ReadStrings(const Entry& entry, const RandomAccessFile& file,
                                     Tensor& tensor) const {
  std::string bytes(entry.size, '\0');
  TFLEET_RETURN_IF_ERROR(file.Read(entry.offset, bytes.size(), bytes.data()));
  absl::string_view rest = bytes;
  std::vector<uint64_t> lengths;
  uint64_t total = 0;
  uint32_t crc = 0;
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    uint64_t length = 0;
    if (!ConsumeVarint(&rest, &length) || length > bytes.size()) {
      return DataLoss(file.path(), ": the length of a string is damaged");
    }
    lengths.push_back(length);
    total += length;
    char fixed[8];
    const int width = length <= UINT32_MAX ? 4 : 8;
    for (int b = 0; b < width; ++b) fixed[b] = static_cast<char>(length >> (8 * b));
    crc = ExtendCrc32c(crc, absl::string_view(fixed, width));
  }
  if (rest.size() < 4 || rest.size() - 4 != total) {
    return DataLoss(file.path(), ": strings of ", total, " bytes do not fit into ", entry.size);
  }
  const uint32_t lengths_crc = DecodeFixed32(rest.data());
  if (lengths_crc != MaskCrc(crc)) return ChecksumError(entry.shard, lengths_crc, crc);
  crc = ExtendCrc32c(crc, rest);
  if (MaskCrc(crc) != entry.masked_crc) return ChecksumError(entry.shard, entry.masked_crc, crc);
  rest.remove_prefix(4);
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    tensor.mutable_values<std::string>()[i] = std::string(rest.substr(0, lengths[i]));
    rest.remove_prefix(lengths[i]);
  }
  return OkStatus();
}

StatusOr<Tensor> CheckpointReader::ReadVariants(const Entry& entry,
                                                const RandomAccessFile& file) const {
  std::string bytes(entry.size, '\0');
  TFLEET_RETURN_IF_ERROR(file.Read(entry.offset, bytes.size(), bytes.data()));
  absl::string_view rest = bytes;
  tensorflow::TensorProto proto;
  proto.set_dtype(tensorflow::DT_VARIANT);
  entry.shape.ToProto(proto.mutable_tensor_shape());
  uint32_t crc = 0;
  for (int64_t i = 0; i < entry.shape.num_elements(); ++i) {
    uint64_t length = 0;
    if (!ConsumeVarint(&rest, &length) || rest.size() < 4 || length > rest.size() - 4 ||
        length > INT32_MAX) {
      return DataLoss(file.path(), ": the length of a variant is damaged");
    }
    char fixed[8];
    for (int b = 0; b < 8; ++b) fixed[b] = static_cast<char>(length >> (8 * b));
    crc = ExtendCrc32c(crc, absl::string_view(fixed, 8));
    crc = ExtendCrc32c(crc, rest.substr(0, length));
    const uint32_t stored = DecodeFixed32(rest.data() + length);
    if (stored != MaskCrc(crc)) return ChecksumError(entry.shard, stored, crc);
    if (!proto.add_variant_val()->ParseFromArray(rest.data(), static_cast<int>(length))) {
      return DataLoss(file.path(), ": a variant cannot be parsed");
    }
    crc = ExtendCrc32c(crc, rest.substr(length, 4));
    rest.remove_prefix(length + 4);
  }
  if (!rest.empty()) return DataLoss(file.path(), ": ", rest.size(), " bytes behind variants");
  if (MaskCrc(crc) != entry.masked_crc) return ChecksumError(entry.shard, entry.masked_crc, crc);
  return TensorFromProto(proto);
}

StatusOr<Tensor> CheckpointReader::ReadPieces(const std::string& name, const Entry& entry,
                                              const TensorSlice& wanted) const {
  if (entry.dtype == DType::kVariant) {
    return Unimplemented("tensor ", name, ": variants cannot be read in pieces");
  }
  TFLEET_ASSIGN_OR_RETURN(const Shape shape, wanted.PieceShape());
  TFLEET_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(entry.dtype, shape));
  int64_t copied = 0;
  for (const TensorSlice& stored : entry.slices) {
    TFLEET_ASSIGN_OR_RETURN(const TensorSlice slice, stored.Resolved(entry.shape));
    TFLEET_ASSIGN_OR_RETURN(const Entry piece, FindKey(EncodeSliceKey(name, stored), name));
    TFLEET_ASSIGN_OR_RETURN(const Shape piece_shape, slice.PieceShape());
    if (piece.shape != piece_shape || piece.dtype != entry.dtype || !piece.slices.empty()) {
      return DataLoss(IndexPath(prefix_), ": a piece of ", name, " does not fit its slice ",
                      stored.ToString());
    }
    if (!slice.Overlaps(wanted)) continue;
    TFLEET_ASSIGN_OR_RETURN(const Tensor data, ReadEntry(name, piece));
    copied += CopyOverlap(slice, data, wanted, out);
  }
  // Pieces of one tensor are written once each and never overlap.
  if (copied < out.num_elements()) {
    return InvalidArgument("Does not have sufficient slices for partitioned tensor ", name,
                           " to restore in slice_spec: ", wanted.ToString());
  }
  return out;
}

StatusOr<SavedTensors::Info> CheckpointReader::Describe(const std::string& name) const {
  TFLEET_ASSIGN_OR_RETURN(const Entry entry, Find(name));
  return Info{entry.dtype, entry.shape};
}

StatusOr<Tensor> CheckpointReader::Read(const std::string& name) const {
  TFLEET_ASSIGN_OR_RETURN(const Entry entry, Find(name));
  if (entry.slices.empty()) return ReadEntry(name, entry);
  TFLEET_ASSIGN_OR_RETURN(const TensorSlice whole,
                          TensorSlice::Full(entry.shape.rank()).Resolved(entry.shape));
  return ReadPieces(name, entry, whole);
}

StatusOr<Tensor> CheckpointReader::ReadSlice(const std::string& name,
                                             const TensorSlice& slice) const {
  TFLEET_ASSIGN_OR_RETURN(const Entry entry, Find(name));
  TFLEET_ASSIGN_OR_RETURN(const TensorSlice wanted, slice.Resolved(entry.shape));
  if (!entry.slices.empty()) return ReadPieces(name, entry, wanted);
  TFLEET_ASSIGN_OR_RETURN(const Tensor whole, ReadEntry(name, entry));
  if (wanted.Covers(entry.shape)) return whole;
  if (entry.dtype == DType::kVariant) {
    return Unimplemented("tensor ", name, ": variants cannot be read in pieces");
  }
  TFLEET_ASSIGN_OR_RETURN(const Shape shape, wanted.PieceShape());
  TFLEET_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(entry.dtype, shape));
  TFLEET_ASSIGN_OR_RETURN(const TensorSlice all,
                          TensorSlice::Full(entry.shape.rank()).Resolved(entry.shape));
  CopyOverlap(all, whole, wanted, out);
  return out;
}

}  // namespace tensorfleet
