// Putting the shards of a checkpoint together.
#include <set>

#include "runtime/io/checkpoint_reader.h"
#include "runtime/io/checkpoint_writer.h"

namespace tensorfleet {
namespace {

using Entries = std::map<std::string, tensorflow::BundleEntryProto>;

// Adds the entries of one source, whose shard k becomes shard first_shard + k.
Status AddEntries(const CheckpointReader& source, int first_shard, Entries* merged) {
  return source.ForEachEntry([&](const std::string& key,
                                 const tensorflow::BundleEntryProto& entry) {
    const auto [it, is_new] = merged->try_emplace(key, entry);
    if (is_new) {
      if (entry.slices().empty()) it->second.set_shard_id(first_shard + entry.shard_id());
      return OkStatus();
    }
    tensorflow::BundleEntryProto& have = it->second;
    // Another shard holds other pieces of the same tensor.
    if (have.slices().empty() || entry.slices().empty()) {
      return InvalidArgument("Duplicate tensor keyed by ", key,
                             " encountered, when merging prefix: ", source.prefix());
    }
    if (have.dtype() != entry.dtype() ||
        have.shape().SerializeAsString() != entry.shape().SerializeAsString()) {
      return InvalidArgument("pieces of ", key,
                             " disagree in type or shape, when merging prefix: ", source.prefix());
    }
    have.mutable_slices()->MergeFrom(entry.slices());
    return OkStatus();
  });
}

}  // namespace

Status MergeCheckpoints(FileSystem& files, const std::vector<std::string>& prefixes,
                        const std::string& destination, bool allow_missing) {
  Entries merged;
  struct Source {
    std::string prefix;
    int num_shards;
  };
  std::vector<Source> sources;
  int num_shards = 0;
  for (const std::string& prefix : prefixes) {
    if (!files.Exists(IndexPath(prefix))) {
      if (allow_missing) continue;
      return InvalidArgument("allow_missing_files was set to false and ", prefix, " did not exist");
    }
    TFLEET_ASSIGN_OR_RETURN(const std::unique_ptr<CheckpointReader> reader,
                            CheckpointReader::Open(&files, prefix));
    TFLEET_RETURN_IF_ERROR(AddEntries(*reader, num_shards, &merged));
    num_shards += reader->num_shards();
    sources.push_back({prefix, reader->num_shards()});
  }
  const std::string directory = DirectoryOf(destination);
  TFLEET_RETURN_IF_ERROR(files.CreateDirs(directory));
  const std::string index = IndexPath(destination);
  const std::string temporary = TemporaryPath(index);
  Status status = [&]() -> Status {
    TFLEET_RETURN_IF_ERROR(WriteCheckpointIndex(files, temporary, num_shards, merged));
    if (files.Exists(index)) TFLEET_RETURN_IF_ERROR(files.Delete(index));
    int shard = 0;
    for (const Source& source : sources) {
      for (int k = 0; k < source.num_shards; ++k) {
        TFLEET_RETURN_IF_ERROR(files.Rename(DataPath(source.prefix, k, source.num_shards),
                                            DataPath(destination, shard++, num_shards)));
      }
    }
    TFLEET_RETURN_IF_ERROR(files.Rename(temporary, index));
    return files.SyncDir(directory);
  }();
  if (!status.ok()) {
    files.Delete(temporary).IgnoreError();
    return status;
  }
  for (const Source& source : sources) {
    if (source.prefix != destination)
      TFLEET_RETURN_IF_ERROR(files.Delete(IndexPath(source.prefix)));
  }
  return OkStatus();
}

}  // namespace tensorfleet
