// A file of a store that gives any range of it. Small reads in sequence, as those of records and
// table blocks, are served from a window that grows while they go on, so that a long file costs few
// requests and a short read few bytes.
#pragma once

#include <string>

#include "runtime/base/mutex.h"
#include "runtime/io/file_system.h"

namespace tensorfleet {

class RangedFile : public RandomAccessFile {
 public:
  RangedFile(std::string path, uint64_t size) : path_(std::move(path)), size_(size) {}

  Status Read(uint64_t offset, size_t n, char* out) const override;
  uint64_t size() const override { return size_; }
  const std::string& path() const override { return path_; }

 protected:
  // Exactly these bytes, which lie within the file; n > 0. Called by several threads.
  virtual StatusOr<std::string> Fetch(uint64_t offset, size_t n) const = 0;
  // What was fetched already.
  void SetWindow(uint64_t offset, std::string bytes);

 private:
  const std::string path_;
  const uint64_t size_;
  mutable Mutex mu_;
  mutable std::string window_ ABSL_GUARDED_BY(mu_);
  mutable uint64_t window_begin_ ABSL_GUARDED_BY(mu_) = 0;
  mutable size_t window_bytes_ ABSL_GUARDED_BY(mu_) = 0;  // of the last that was asked for
};

// `body` where it has n bytes. Errors: DataLoss.
StatusOr<std::string> WholeRange(std::string body, const std::string& path, uint64_t offset,
                                 size_t n);

}  // namespace tensorfleet
