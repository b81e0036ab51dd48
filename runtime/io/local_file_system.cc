// The machine's own files.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "runtime/io/file_system.h"

namespace tensorfleet {
namespace {

Status ErrnoStatus(absl::string_view path, int error) {
  const std::string text = absl::StrCat(path, "; ", std::strerror(error));
  switch (error) {
    case ENOENT:
      return NotFound(text);
    case EEXIST:
      return AlreadyExists(text);
    case EACCES:
    case EPERM:
    case EROFS:
      return PermissionDenied(text);
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EMFILE:
    case ENFILE:
      return ResourceExhausted(text);
    case EISDIR:
    case ENOTDIR:
    case ENOTEMPTY:
    case EBUSY:
      return FailedPrecondition(text);
    case EINVAL:
    case ENAMETOOLONG:
      return InvalidArgument(text);
    default:
      return Unknown(text);
  }
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  int Release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

class LocalRandomAccessFile final : public RandomAccessFile {
 public:
  LocalRandomAccessFile(std::string path, int fd, uint64_t size)
      : path_(std::move(path)), fd_(fd), size_(size) {}

  Status Read(uint64_t offset, size_t n, char* out) const override {
    const uint64_t start = offset;
    const size_t wanted = n;
    while (n > 0) {
      const ssize_t got = ::pread(fd_.get(), out, n, static_cast<off_t>(offset));
      if (got < 0) {
        if (errno == EINTR) continue;
        return ErrnoStatus(path_, errno);
      }
      if (got == 0) {
        return OutOfRange(path_, "; Read less bytes than requested: the file ends at ", offset,
                          ", wanted ", wanted, " bytes from ", start);
      }
      n -= got;
      out += got;
      offset += got;
    }
    return OkStatus();
  }
  uint64_t size() const override { return size_; }
  const std::string& path() const override { return path_; }

 private:
  const std::string path_;
  const Descriptor fd_;
  const uint64_t size_;
};

// Small pieces are gathered; big ones go straight to the system.
class LocalWritableFile final : public WritableFile {
 public:
  LocalWritableFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

  Status Append(absl::string_view data) override {
    if (buffer_.size() + data.size() <= kBufferBytes) {
      buffer_.append(data.data(), data.size());
      return OkStatus();
    }
    TFLEET_RETURN_IF_ERROR(Flush());
    if (data.size() >= kBufferBytes) return Write(data);
    buffer_.assign(data.data(), data.size());
    return OkStatus();
  }
  Status Flush() override {
    const Status written = Write(buffer_);
    buffer_.clear();
    return written;
  }
  Status Sync() override {
    TFLEET_RETURN_IF_ERROR(Flush());
    return ::fsync(fd_.get()) == 0 ? OkStatus() : ErrnoStatus(path_, errno);
  }
  Status Close() override {
    if (fd_.get() < 0) return OkStatus();
    const Status flushed = Flush();
    const int closed = ::close(fd_.Release());
    if (!flushed.ok()) return flushed;
    return closed == 0 ? OkStatus() : ErrnoStatus(path_, errno);
  }

 private:
  static constexpr size_t kBufferBytes = 65536;
  static constexpr int64_t kStartBytes = 8 << 20;

  Status Write(absl::string_view data) {
    while (!data.empty()) {
      const ssize_t put = ::write(fd_.get(), data.data(), data.size());
      if (put < 0) {
        if (errno == EINTR) continue;
        return ErrnoStatus(path_, errno);
      }
      data.remove_prefix(put);
      written_ += put;
    }
    // The disk starts on what is there while more is being made, so that Sync has little to wait
    // for. Where the system cannot, Sync does it all.
    if (written_ - started_ >= kStartBytes) {
      ::sync_file_range(fd_.get(), started_, written_ - started_, SYNC_FILE_RANGE_WRITE);
      started_ = written_;
    }
    return OkStatus();
  }

  const std::string path_;
  Descriptor fd_;
  std::string buffer_;
  int64_t written_ = 0, started_ = 0;  // bytes that the system has, and that it was told to store
};

class LocalFileSystem final : public FileSystem {
 public:
  StatusOr<std::unique_ptr<RandomAccessFile>> Open(const std::string& path) override {
    Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (fd.get() < 0) return ErrnoStatus(path, errno);
    struct stat info;
    if (::fstat(fd.get(), &info) != 0) return ErrnoStatus(path, errno);
    if (S_ISDIR(info.st_mode)) return ErrnoStatus(path, EISDIR);
    return std::make_unique<LocalRandomAccessFile>(path, fd.Release(), info.st_size);
  }
  StatusOr<std::unique_ptr<WritableFile>> Create(const std::string& path) override {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0) return ErrnoStatus(path, errno);
    return std::make_unique<LocalWritableFile>(path, fd);
  }
  bool Exists(const std::string& path) override { return ::access(path.c_str(), F_OK) == 0; }
  StatusOr<bool> IsDirectory(const std::string& path) override {
    struct stat info;
    if (::stat(path.c_str(), &info) != 0) return ErrnoStatus(path, errno);
    return S_ISDIR(info.st_mode) != 0;
  }
  Status Rename(const std::string& from, const std::string& to) override {
    return ::rename(from.c_str(), to.c_str()) == 0 ? OkStatus() : ErrnoStatus(from, errno);
  }
  Status Link(const std::string& from, const std::string& to) override {
    return ::link(from.c_str(), to.c_str()) == 0 ? OkStatus() : ErrnoStatus(to, errno);
  }
  Status Delete(const std::string& path) override {
    return ::unlink(path.c_str()) == 0 ? OkStatus() : ErrnoStatus(path, errno);
  }
  Status CreateDirs(const std::string& path) override {
    if (path.empty() || path == "/") return OkStatus();
    if (::mkdir(path.c_str(), 0755) == 0) return OkStatus();
    const int error = errno;
    if (error == EEXIST) {
      TFLEET_ASSIGN_OR_RETURN(const bool is_directory, IsDirectory(path));
      return is_directory ? OkStatus() : ErrnoStatus(path, ENOTDIR);
    }
    if (error != ENOENT) return ErrnoStatus(path, error);
    TFLEET_RETURN_IF_ERROR(CreateDirs(DirectoryOf(path)));
    if (::mkdir(path.c_str(), 0755) == 0 || errno == EEXIST) return OkStatus();
    return ErrnoStatus(path, errno);
  }
  Status DeleteDir(const std::string& path) override {
    return ::rmdir(path.c_str()) == 0 ? OkStatus() : ErrnoStatus(path, errno);
  }
  Status SyncDir(const std::string& path) override {
    const std::string name = path.empty() ? "." : path;
    const Descriptor fd(::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (fd.get() < 0) return ErrnoStatus(name, errno);
    // Some network file systems cannot; their renames are safe without.
    if (::fsync(fd.get()) == 0 || errno == EINVAL) return OkStatus();
    return ErrnoStatus(name, errno);
  }
  StatusOr<std::vector<std::string>> List(const std::string& path) override {
    const std::string name = path.empty() ? "." : path;
    DIR* dir = ::opendir(name.c_str());
    if (dir == nullptr) return ErrnoStatus(name, errno);
    std::vector<std::string> names;
    while (const dirent* entry = ::readdir(dir)) {
      const absl::string_view found = entry->d_name;
      if (found != "." && found != "..") names.emplace_back(found);
    }
    ::closedir(dir);
    return names;
  }
};

}  // namespace

FileSystem* FileSystem::Local() {
  static FileSystem* const files = new LocalFileSystem();
  return files;
}

}  // namespace tensorfleet
