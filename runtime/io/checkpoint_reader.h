// Reads TensorFlow's V2 checkpoints ("tensor bundles"); the bytes are in FORMAT.md.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "leveldb/table.h"
#include "proto/checkpoint.pb.h"
#include "proto/tensorfleet/checkpoint_part.pb.h"
#include "runtime/base/mutex.h"
#include "runtime/base/status.h"
#include "runtime/io/file_system.h"
#include "runtime/io/saved_tensors.h"
#include "runtime/io/table_file.h"
#include "runtime/io/tensor_slice.h"
#include "runtime/tensor/tensor.h"

namespace tensorfleet {

// An open checkpoint. Thread-safe. Everything in the files is checked; errors about their contents
// are DataLoss and name the file.
class CheckpointReader final : public SavedTensors {
 public:
  // Errors: NotFound when there is no index; DataLoss; Unimplemented for big-endian files.
  static StatusOr<std::unique_ptr<CheckpointReader>> Open(FileSystem* files, std::string prefix);
  ~CheckpointReader() override;

  const std::string& prefix() const { return prefix_; }
  int num_shards() const { return num_shards_; }

  struct Entry {
    DType dtype = DType::kInvalid;
    Shape shape;                      // of the whole tensor
    std::vector<TensorSlice> slices;  // not empty: stored in these pieces, as the file spells them
    int shard = 0;
    int64_t offset = 0;
    int64_t size = 0;
    uint32_t masked_crc = 0;
  };
  // Errors: NotFound `Key NAME not found in checkpoint`.
  StatusOr<Entry> Find(const std::string& name) const;

  StatusOr<std::vector<std::string>> Names() const override;
  StatusOr<Info> Describe(const std::string& name) const override;
  StatusOr<Tensor> Read(const std::string& name) const override;
  StatusOr<Tensor> ReadSlice(const std::string& name, const TensorSlice& slice) const override;

  // The entries as they are stored, pieces included, in the order of their keys: for merging.
  Status ForEachEntry(
      const std::function<Status(const std::string& key,
                                 const tensorflow::BundleEntryProto& entry)>& visit) const;

 private:
  CheckpointReader(FileSystem* files, std::string prefix)
      : files_(files), prefix_(std::move(prefix)) {}
  Status ReadHeader();
  StatusOr<Entry> Parse(const std::string& name, absl::string_view value) const;
  StatusOr<Entry> FindKey(const std::string& key, const std::string& name) const;
  StatusOr<Tensor> ReadEntry(const std::string& name, const Entry& entry) const;
  Status ReadStrings(const Entry& entry, const RandomAccessFile& file, Tensor& tensor) const;
  StatusOr<Tensor> ReadVariants(const Entry& entry, const RandomAccessFile& file) const;
  StatusOr<Tensor> ReadPieces(const std::string& name, const Entry& entry,
                              const TensorSlice& wanted) const;
  StatusOr<const RandomAccessFile*> Shard(int shard) const;
  Status ChecksumError(int shard, uint32_t stored, uint32_t found) const;

  FileSystem* const files_;
  const std::string prefix_;
  std::unique_ptr<TableSource> source_;
  std::unique_ptr<leveldb::Table> table_;
  int num_shards_ = 0;
  mutable Mutex mu_;
  mutable std::vector<std::unique_ptr<RandomAccessFile>> shards_
      ABSL_GUARDED_BY(mu_);  // opened when asked for
};

// Puts the checkpoints at `prefixes` together into one at `destination`: renames their data files
// and merges their indexes, which it deletes. Sources that are not there are an error unless
// `allow_missing`. Errors: InvalidArgument for a tensor that two of them hold whole, and as above.
Status MergeCheckpoints(FileSystem& files, const std::vector<std::string>& prefixes,
                        const std::string& destination, bool allow_missing);

// The same of parts, as CheckpointWriter has told of them.
Status MergeParts(FileSystem& files, const std::vector<CheckpointPart>& parts,
                  const std::string& destination);

}  // namespace tensorfleet
