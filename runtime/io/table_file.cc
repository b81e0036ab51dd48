#include "runtime/io/table_file.h"

namespace tensorfleet {
namespace {

leveldb::Status ToLevelDb(const Status& status) {
  if (status.ok()) return leveldb::Status::OK();
  const std::string text(status.message());
  if (absl::IsNotFound(status)) return leveldb::Status::NotFound(text);
  if (absl::IsOutOfRange(status)) return leveldb::Status::Corruption(text);
  return leveldb::Status::IOError(text);
}

}  // namespace

leveldb::Status TableSource::Read(uint64_t offset, size_t n, leveldb::Slice* result,
                                  char* scratch) const {
  const Status status = file_->Read(offset, n, scratch);
  *result = leveldb::Slice(scratch, status.ok() ? n : 0);
  return ToLevelDb(status);
}

leveldb::Status TableSink::Append(const leveldb::Slice& data) {
  return ToLevelDb(file_->Append(absl::string_view(data.data(), data.size())));
}
leveldb::Status TableSink::Close() { return ToLevelDb(file_->Close()); }
leveldb::Status TableSink::Sync() { return ToLevelDb(file_->Sync()); }

leveldb::Options TableOptions() {
  leveldb::Options options;
  options.compression = leveldb::kNoCompression;
  options.block_size = 262144;
  options.block_restart_interval = 16;
  options.paranoid_checks = true;
  return options;
}

leveldb::ReadOptions TableReadOptions() {
  leveldb::ReadOptions options;
  options.verify_checksums = true;
  options.fill_cache = false;
  return options;
}

Status FromLevelDb(const std::string& path, const leveldb::Status& status) {
  if (status.ok()) return OkStatus();
  if (status.IsNotFound()) return NotFound(status.ToString());
  if (status.IsCorruption()) {
    return DataLoss(
        "Unable to read file (", path,
        "). Perhaps the file is corrupt or was produced by a newer version of TensorFlow "
        "with format changes (",
        status.ToString(), ")");
  }
  return Unknown(path, ": ", status.ToString());
}

}  // namespace tensorfleet
