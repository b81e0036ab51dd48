// A file system that fails when a test wants it to; everything else it passes on to another one.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/io/file_system.h"

namespace tensorfleet {

class FaultyFileSystem final : public FileSystem {
 public:
  // Asked before every operation ("open", "create", "append", "sync", "close", "rename", "delete",
  // "mkdir", "rmdir", "syncdir", "read", "list"); an error is what the operation then returns.
  using Fault = std::function<Status(absl::string_view operation, const std::string& path)>;

  explicit FaultyFileSystem(FileSystem* base = FileSystem::Local()) : base_(base) {}
  void set_fault(Fault fault) { fault_ = std::move(fault); }
  // Fails every operation from the `n`-th (from 0) on, as when the machine has died.
  void DieAfter(int n);
  // Operations that were asked for so far.
  int operations() const { return operations_; }

  StatusOr<std::unique_ptr<RandomAccessFile>> Open(const std::string& path) override;
  StatusOr<std::unique_ptr<WritableFile>> Create(const std::string& path) override;
  bool Exists(const std::string& path) override { return base_->Exists(path); }
  StatusOr<bool> IsDirectory(const std::string& path) override { return base_->IsDirectory(path); }
  Status Rename(const std::string& from, const std::string& to) override;
  Status Link(const std::string& from, const std::string& to) override;
  Status Delete(const std::string& path) override;
  Status CreateDirs(const std::string& path) override;
  Status DeleteDir(const std::string& path) override;
  Status SyncDir(const std::string& path) override;
  StatusOr<std::vector<std::string>> List(const std::string& path) override;

  Status Ask(absl::string_view operation, const std::string& path);

 private:
  FileSystem* const base_;
  Fault fault_;
  int operations_ = 0;
};

}  // namespace tensorfleet
