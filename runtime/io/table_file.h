// Our files as LevelDB's table library wants them: a checkpoint's index is a LevelDB table.
#pragma once

#include <memory>
#include <string>

#include "leveldb/env.h"
#include "leveldb/options.h"
#include "runtime/base/status.h"
#include "runtime/io/file_system.h"

namespace tensorfleet {

class TableSource final : public leveldb::RandomAccessFile {
 public:
  explicit TableSource(std::unique_ptr<tensorfleet::RandomAccessFile> file)
      : file_(std::move(file)) {}
  leveldb::Status Read(uint64_t offset, size_t n, leveldb::Slice* result,
                       char* scratch) const override;
  const tensorfleet::RandomAccessFile& file() const { return *file_; }

 private:
  const std::unique_ptr<tensorfleet::RandomAccessFile> file_;
};

class TableSink final : public leveldb::WritableFile {
 public:
  explicit TableSink(std::unique_ptr<tensorfleet::WritableFile> file) : file_(std::move(file)) {}
  leveldb::Status Append(const leveldb::Slice& data) override;
  leveldb::Status Close() override;
  leveldb::Status Flush() override { return leveldb::Status::OK(); }
  leveldb::Status Sync() override;

 private:
  const std::unique_ptr<tensorfleet::WritableFile> file_;
};

// The options under which TensorFlow writes and reads its tables.
leveldb::Options TableOptions();
leveldb::ReadOptions TableReadOptions();

// `path` in front of what LevelDB says; corruption is DataLoss.
Status FromLevelDb(const std::string& path, const leveldb::Status& status);

}  // namespace tensorfleet
