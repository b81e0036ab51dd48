// TFRecord files: records with checksums, one after the other; event files and data sets are made
// of them. The bytes are in FORMAT.md.
#pragma once

#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "runtime/base/status.h"
#include "runtime/io/byte_stream.h"
#include "runtime/io/file_system.h"

namespace tensorfleet {

// Not thread-safe.
class RecordWriter {
 public:
  static StatusOr<std::unique_ptr<RecordWriter>> Open(FileSystem* files, const std::string& path,
                                                      Compression compression = Compression::kNone);
  virtual ~RecordWriter() = default;
  virtual Status Write(absl::string_view record) = 0;
  // What was written so far can be read by others. Compressed files can only be closed.
  virtual Status Flush() = 0;
  virtual Status Close() = 0;
};

// Not thread-safe.
class RecordReader {
 public:
  static StatusOr<std::unique_ptr<RecordReader>> Open(FileSystem* files, const std::string& path,
                                                      Compression compression = Compression::kNone);
  virtual ~RecordReader() = default;
  // The next record in `*record`; false, and nothing, at the end of the file.
  // Errors: DataLoss, naming the file and the place, for a record that is damaged or cut off.
  virtual StatusOr<bool> Read(std::string* record) = 0;
  // Where the next record begins, in the uncompressed stream.
  virtual uint64_t offset() const = 0;
  // Goes on at a record that begins there, behind what has been read.
  virtual Status GoTo(uint64_t offset) = 0;
};

}  // namespace tensorfleet
