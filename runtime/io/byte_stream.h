// The bytes of a file in order, decompressed where it is compressed.
#pragma once

#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "runtime/base/status.h"
#include "runtime/io/file_system.h"

namespace tensorfleet {

// Of the file as a whole. The file does not say which: its reader is told.
enum class Compression { kNone, kZlib, kGzip };
// "" or "NONE", "ZLIB", "GZIP". Errors: InvalidArgument.
StatusOr<Compression> ParseCompression(absl::string_view name);

// Not thread-safe.
class ByteStream {
 public:
  static StatusOr<std::unique_ptr<ByteStream>> Open(FileSystem* files, const std::string& path,
                                                    Compression compression = Compression::kNone);
  virtual ~ByteStream() = default;
  // Up to `n` bytes; fewer only at the end. Errors: DataLoss for compressed data that is damaged.
  virtual StatusOr<size_t> Read(size_t n, char* out) = 0;
  // Leaves out `n` bytes; cheap where nothing has to be decompressed. Errors: OutOfRange.
  virtual Status Skip(uint64_t n) = 0;
};

}  // namespace tensorfleet
