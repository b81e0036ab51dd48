// Putting the shards of a checkpoint together.
#include "runtime/io/checkpoint_reader.h"
#include "runtime/io/checkpoint_writer.h"

namespace tensorfleet {
namespace {

using tensorflow::BundleEntryProto;

// A checkpoint in the making: the entries of its sources, whose data files become its own.
class Merger {
 public:
  explicit Merger(FileSystem& files) : files_(files) {}

  // Entries of a source, whose shard k becomes number shards() + k.
  Status AddEntry(const std::string& prefix, const std::string& key,
                  const BundleEntryProto& entry) {
    const auto [it, is_new] = entries_.try_emplace(key, entry);
    if (is_new) {
      if (entry.slices().empty()) it->second.set_shard_id(shards() + entry.shard_id());
      return OkStatus();
    }
    BundleEntryProto& have = it->second;
    // Another shard holds other pieces of the same tensor.
    if (have.slices().empty() || entry.slices().empty()) {
      return InvalidArgument("Duplicate tensor keyed by ", key,
                             " encountered, when merging prefix: ", prefix);
    }
    if (have.dtype() != entry.dtype() ||
        have.shape().SerializeAsString() != entry.shape().SerializeAsString()) {
      return InvalidArgument("pieces of ", key,
                             " disagree in type or shape, when merging prefix: ", prefix);
    }
    have.mutable_slices()->MergeFrom(entry.slices());
    return OkStatus();
  }
  // After its entries.
  void AddDataFiles(const std::string& prefix, int count) {
    for (int k = 0; k < count; ++k) data_.push_back(DataPath(prefix, k, count));
  }
  int shards() const { return static_cast<int>(data_.size()); }

  Status Finish(const std::string& destination) {
    const std::string directory = DirectoryOf(destination);
    TFLEET_RETURN_IF_ERROR(files_.CreateDirs(directory));
    const std::string index = IndexPath(destination);
    const std::string temporary = TemporaryPath(index);
    const Status status = [&]() -> Status {
      TFLEET_RETURN_IF_ERROR(WriteCheckpointIndex(files_, temporary, shards(), entries_));
      if (files_.Exists(index)) TFLEET_RETURN_IF_ERROR(files_.Delete(index));
      for (int k = 0; k < shards(); ++k) {
        TFLEET_RETURN_IF_ERROR(files_.Rename(data_[k], DataPath(destination, k, shards())));
      }
      TFLEET_RETURN_IF_ERROR(files_.Rename(temporary, index));
      return files_.SyncDir(directory);
    }();
    if (!status.ok()) files_.Delete(temporary).IgnoreError();
    return status;
  }

 private:
  FileSystem& files_;
  std::map<std::string, BundleEntryProto> entries_;  // by key
  std::vector<std::string> data_;                    // paths
};

}  // namespace

Status MergeCheckpoints(FileSystem& files, const std::vector<std::string>& prefixes,
                        const std::string& destination, bool allow_missing) {
  Merger merger(files);
  std::vector<std::string> merged;
  for (const std::string& prefix : prefixes) {
    if (!files.Exists(IndexPath(prefix))) {
      if (allow_missing) continue;
      return InvalidArgument("allow_missing_files was set to false and ", prefix, " did not exist");
    }
    TFLEET_ASSIGN_OR_RETURN(const std::unique_ptr<CheckpointReader> reader,
                            CheckpointReader::Open(&files, prefix));
    TFLEET_RETURN_IF_ERROR(
        reader->ForEachEntry([&](const std::string& key, const BundleEntryProto& entry) {
          return merger.AddEntry(prefix, key, entry);
        }));
    merger.AddDataFiles(prefix, reader->num_shards());
    merged.push_back(prefix);
  }
  TFLEET_RETURN_IF_ERROR(merger.Finish(destination));
  for (const std::string& prefix : merged) {
    if (prefix != destination) TFLEET_RETURN_IF_ERROR(files.Delete(IndexPath(prefix)));
  }
  return OkStatus();
}

Status MergeParts(FileSystem& files, const std::vector<CheckpointPart>& parts,
                  const std::string& destination) {
  Merger merger(files);
  for (const CheckpointPart& part : parts) {
    for (const auto& [key, entry] : part.entries()) {
      TFLEET_RETURN_IF_ERROR(merger.AddEntry(part.prefix(), key, entry));
    }
    merger.AddDataFiles(part.prefix(), 1);
  }
  return merger.Finish(destination);
}

}  // namespace tensorfleet
