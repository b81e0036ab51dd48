// Files as the runtime sees them. One interface, so that tests can run on a file system that fails
// on demand and other stores can come later. Thread-safe; of files, see each. Errors name the path:
// `/a/b; No such file or directory` (NotFound), and so on.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "runtime/base/status.h"

namespace tensorfleet {

// Reads may run at the same time.
class RandomAccessFile {
 public:
  virtual ~RandomAccessFile() = default;
  // Reads exactly `n` bytes. Errors: OutOfRange when the file ends before that.
  virtual Status Read(uint64_t offset, size_t n, char* out) const = 0;
  virtual uint64_t size() const = 0;  // bytes, when it was opened
  virtual const std::string& path() const = 0;
};

// For one thread. Closing twice is fine; a file that goes without Close may have lost what was
// appended last.
class WritableFile {
 public:
  virtual ~WritableFile() = default;
  virtual Status Append(absl::string_view data) = 0;
  // What was appended so far can be read by others.
  virtual Status Flush() { return Sync(); }
  // It survives a crash of the machine, too.
  virtual Status Sync() = 0;
  virtual Status Close() = 0;
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;

  // The machine's own; lives for ever.
  static FileSystem* Local();

  virtual StatusOr<std::unique_ptr<RandomAccessFile>> Open(const std::string& path) = 0;
  // An empty file, in place of one that is there. Its directory must exist.
  virtual StatusOr<std::unique_ptr<WritableFile>> Create(const std::string& path) = 0;
  virtual bool Exists(const std::string& path) = 0;
  virtual StatusOr<bool> IsDirectory(const std::string& path) = 0;
  // Replaces `to`; seen whole or not at all, also after a crash when the directory is synced.
  virtual Status Rename(const std::string& from, const std::string& to) = 0;
  // Makes `to` another name of a file that nobody changes any more; as durable as a rename. Errors:
  // Unimplemented, where there is no such thing; AlreadyExists.
  virtual Status Link(const std::string& from, const std::string& to) {
    return Unimplemented(from, ": files have one name here");
  }
  virtual Status Delete(const std::string& path) = 0;
  // With all that lead to it; one that exists is fine.
  virtual Status CreateDirs(const std::string& path) = 0;
  // An empty one.
  virtual Status DeleteDir(const std::string& path) = 0;
  // Renames inside the directory survive a crash of the machine.
  virtual Status SyncDir(const std::string& path) = 0;
  // Whether List works at all.
  virtual bool has_lists() const { return true; }
  // Names in a directory, "." and ".." excepted, in no particular order.
  virtual StatusOr<std::vector<std::string>> List(const std::string& path) = 0;
};

// The file system that a path belongs to, and the path as that file system knows it: a bare path or
// "file://" is the local one; "s3://", "gs://", "hdfs://" ("webhdfs://", "swebhdfs://"), "http://"
// and "https://" are stores of other machines (remote/). Errors: Unimplemented
// `File system scheme 'ftp' not implemented (file: '...')`.
struct ResolvedPath {
  FileSystem* file_system = nullptr;
  std::string path;
};
StatusOr<ResolvedPath> ResolvePath(absl::string_view path);

// Sorted paths that match `pattern`: "*" and "?" within one name, "[...]" sets. No match is no
// error. Where files cannot be listed, a pattern is the name of one file.
StatusOr<std::vector<std::string>> Glob(FileSystem& files, const std::string& pattern);

StatusOr<std::string> ReadWholeFile(FileSystem& files, const std::string& path);
// Through a temporary file beside it and a rename: `path` is seen whole or not at all.
Status WriteWholeFile(FileSystem& files, const std::string& path, absl::string_view contents);

// "a" of "a/b", "/" of "/b", "" of "b".
std::string DirectoryOf(absl::string_view path);
// `path` with ".tempstate" and a random number: where a file is written before it is renamed.
std::string TemporaryPath(absl::string_view path);
bool IsTemporaryPath(absl::string_view path);

}  // namespace tensorfleet
