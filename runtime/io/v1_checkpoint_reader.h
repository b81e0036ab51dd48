// Reads checkpoints of the kind that TensorFlow wrote before its tensor bundles (V1); the bytes are
// in FORMAT.md. They are never written.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "leveldb/table.h"
#include "runtime/io/saved_tensors.h"
#include "runtime/io/table_file.h"

namespace tensorfleet {

// Everything in the files is checked; errors about their contents are DataLoss and name the file.
class V1CheckpointReader final : public SavedTensors {
 public:
  // `pattern`: the checkpoint's file, or a glob pattern for its shards.
  // Errors: NotFound when there is none; DataLoss, also when shards contradict each other.
  static StatusOr<std::unique_ptr<SavedTensors>> Open(FileSystem* files,
                                                      const std::string& pattern);

  StatusOr<std::vector<std::string>> Names() const override;
  StatusOr<Info> Describe(const std::string& name) const override;
  StatusOr<Tensor> Read(const std::string& name) const override;
  StatusOr<Tensor> ReadSlice(const std::string& name, const TensorSlice& slice) const override;

 private:
  struct Shard {
    std::string path;
    std::unique_ptr<TableSource> source;
    std::unique_ptr<leveldb::Table> table;
  };
  struct Piece {
    TensorSlice slice;  // as the file spells it
    size_t shard;
  };
  struct Entry {
    Info info;
    std::vector<Piece> pieces;
  };

  V1CheckpointReader() = default;
  Status AddShard(FileSystem* files, const std::string& path);
  Status AddEntry(const tensorflow::SavedSliceMeta& meta);
  StatusOr<const Entry*> Find(const std::string& name) const;
  StatusOr<Tensor> ReadPiece(const std::string& name, const Info& info, const Piece& piece,
                             const Shape& shape) const;

  std::vector<Shard> shards_;
  std::map<std::string, Entry> entries_;
};

}  // namespace tensorfleet
