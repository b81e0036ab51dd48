#include "runtime/io/testing/faulty_file_system.h"

namespace tensorfleet {
namespace {

class FaultyReader final : public RandomAccessFile {
 public:
  FaultyReader(FaultyFileSystem* files, std::unique_ptr<RandomAccessFile> base)
      : files_(files), base_(std::move(base)) {}
  Status Read(uint64_t offset, size_t n, char* out) const override {
    TFLEET_RETURN_IF_ERROR(files_->Ask("read", path()));
    return base_->Read(offset, n, out);
  }
  uint64_t size() const override { return base_->size(); }
  const std::string& path() const override { return base_->path(); }

 private:
  FaultyFileSystem* const files_;
  const std::unique_ptr<RandomAccessFile> base_;
};

class FaultyWriter final : public WritableFile {
 public:
  FaultyWriter(FaultyFileSystem* files, std::string path, std::unique_ptr<WritableFile> base)
      : files_(files), path_(std::move(path)), base_(std::move(base)) {}
  Status Append(absl::string_view data) override {
    TFLEET_RETURN_IF_ERROR(files_->Ask("append", path_));
    return base_->Append(data);
  }
  Status Sync() override {
    TFLEET_RETURN_IF_ERROR(files_->Ask("sync", path_));
    return base_->Sync();
  }
  Status Close() override {
    TFLEET_RETURN_IF_ERROR(files_->Ask("close", path_));
    return base_->Close();
  }

 private:
  FaultyFileSystem* const files_;
  const std::string path_;
  const std::unique_ptr<WritableFile> base_;
};

}  // namespace

void FaultyFileSystem::DieAfter(int n) {
  operations_ = 0;
  fault_ = [this, n](absl::string_view, const std::string& path) {
    return operations_ > n ? Unavailable(path, "; the machine has died") : OkStatus();
  };
}

Status FaultyFileSystem::Ask(absl::string_view operation, const std::string& path) {
  ++operations_;
  return fault_ ? fault_(operation, path) : OkStatus();
}

StatusOr<std::unique_ptr<RandomAccessFile>> FaultyFileSystem::Open(const std::string& path) {
  TFLEET_RETURN_IF_ERROR(Ask("open", path));
  TFLEET_ASSIGN_OR_RETURN(std::unique_ptr<RandomAccessFile> file, base_->Open(path));
  return std::make_unique<FaultyReader>(this, std::move(file));
}
StatusOr<std::unique_ptr<WritableFile>> FaultyFileSystem::Create(const std::string& path) {
  TFLEET_RETURN_IF_ERROR(Ask("create", path));
  TFLEET_ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file, base_->Create(path));
  return std::make_unique<FaultyWriter>(this, path, std::move(file));
}
Status FaultyFileSystem::Link(const std::string& from, const std::string& to) {
  TFLEET_RETURN_IF_ERROR(Ask("link", to));
  return base_->Link(from, to);
}

Status FaultyFileSystem::Rename(const std::string& from, const std::string& to) {
  TFLEET_RETURN_IF_ERROR(Ask("rename", from));
  return base_->Rename(from, to);
}
Status FaultyFileSystem::Delete(const std::string& path) {
  TFLEET_RETURN_IF_ERROR(Ask("delete", path));
  return base_->Delete(path);
}
Status FaultyFileSystem::CreateDirs(const std::string& path) {
  TFLEET_RETURN_IF_ERROR(Ask("mkdir", path));
  return base_->CreateDirs(path);
}
Status FaultyFileSystem::DeleteDir(const std::string& path) {
  TFLEET_RETURN_IF_ERROR(Ask("rmdir", path));
  return base_->DeleteDir(path);
}
Status FaultyFileSystem::SyncDir(const std::string& path) {
  TFLEET_RETURN_IF_ERROR(Ask("syncdir", path));
  return base_->SyncDir(path);
}
StatusOr<std::vector<std::string>> FaultyFileSystem::List(const std::string& path) {
  TFLEET_RETURN_IF_ERROR(Ask("list", path));
  return base_->List(path);
}

}  // namespace tensorfleet
