// Writes TensorFlow's V2 checkpoints ("tensor bundles"); the bytes are in FORMAT.md.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "proto/checkpoint.pb.h"
#include "proto/tensorfleet/checkpoint_part.pb.h"
#include "runtime/base/status.h"
#include "runtime/io/file_system.h"
#include "runtime/io/tensor_slice.h"
#include "runtime/tensor/tensor.h"

namespace tensorfleet {

// A checkpoint's files: PREFIX.index and PREFIX.data-00000-of-00001.
std::string IndexPath(absl::string_view prefix);
std::string DataPath(absl::string_view prefix, int shard, int num_shards);

// The bytes of plain data, in order.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // The next of them, as many as suit the source; none at the end. Valid until the next call.
  virtual StatusOr<absl::string_view> Next() = 0;
};

// What is saved: a tensor, or the bytes of one. Refers to either.
class SavedValue {
 public:
  SavedValue(const Tensor& tensor)  // NOLINT(google-explicit-constructor): any tensor can be saved
      : dtype_(tensor.dtype()), shape_(tensor.shape()), tensor_(&tensor) {}
  SavedValue(DType dtype, const Shape& shape, ByteSource* bytes)
      : dtype_(dtype), shape_(shape), bytes_(bytes) {}
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  const Tensor* tensor() const { return tensor_; }  // null: bytes()
  ByteSource* bytes() const { return bytes_; }

 private:
  const DType dtype_;
  const Shape& shape_;
  const Tensor* const tensor_ = nullptr;
  ByteSource* const bytes_ = nullptr;
};

// One shard with its index. Everything goes to temporary files, which Finish renames; a writer that
// goes without Finish, or whose Finish fails, removes them and leaves an older checkpoint as it
// was. Not thread-safe.
class CheckpointWriter {
 public:
  // A part is going to be merged with others, and is no checkpoint before: it has a data file of
  // that name from the beginning, and no index.
  enum class Kind { kWhole, kPart };
  // Makes the prefix's directory when needed. Errors: those of the file system.
  static StatusOr<std::unique_ptr<CheckpointWriter>> Open(FileSystem* files, std::string prefix,
                                                          Kind kind = Kind::kWhole);
  ~CheckpointWriter();

  // Errors: InvalidArgument `Adding duplicate key: NAME`; Unimplemented for handles, and for
  // variants that cannot leave their process; those of the file system and of a source of bytes.
  Status Add(const std::string& name, const SavedValue& value);
  // A piece of a tensor of `full_shape`; `slice` is resolved and fits `piece`.
  Status AddSlice(const std::string& name, const Shape& full_shape, const TensorSlice& slice,
                  const SavedValue& piece);
  // Makes the checkpoint visible, whole. Nothing may be added afterwards.
  Status Finish();
  // Of a part, in its place: what MergeParts needs to know of it. Its data survives a crash of the
  // machine.
  StatusOr<CheckpointPart> FinishPart();

 private:
  CheckpointWriter(FileSystem* files, std::string prefix, Kind kind);
  Status Write(const SavedValue& value, tensorflow::BundleEntryProto* entry);
  Status WritePlain(const SavedValue& value, tensorflow::BundleEntryProto* entry);
  Status WriteStrings(const Tensor& tensor, tensorflow::BundleEntryProto* entry);
  Status WriteVariants(const Tensor& tensor, tensorflow::BundleEntryProto* entry);
  Status Append(absl::string_view bytes, uint32_t* crc);
  Status CloseData();

  FileSystem* const files_;
  const std::string prefix_;
  const Kind kind_;
  const std::string data_temporary_, index_temporary_;
  std::unique_ptr<WritableFile> data_;
  int64_t offset_ = 0;
  std::map<std::string, tensorflow::BundleEntryProto> entries_;  // by key
  bool finished_ = false;
};

// Writes `entries` (sorted by key) under a header for `num_shards` as a table at `path`, and syncs
// it.
Status WriteCheckpointIndex(FileSystem& files, const std::string& path, int num_shards,
                            const std::map<std::string, tensorflow::BundleEntryProto>& entries);

}  // namespace tensorfleet
