#include "runtime/pjrt/compile_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "runtime/base/log.h"
#include "runtime/base/random_id.h"
#include "runtime/base/small_file.h"
#include "runtime/io/sha256.h"

namespace tensorfleet::pjrt {
namespace {

namespace fs = std::filesystem;

constexpr char kSuffix[] = ".program";
constexpr size_t kDigestSize = 64;

bool OthersMayWrite(const struct stat& info) {
  return info.st_uid != ::geteuid() || (info.st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

// A file of a folder that only its owner writes to can still be a link, or be somebody else's.
bool IsOurs(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && !OthersMayWrite(info);
}

}  // namespace

StatusOr<std::unique_ptr<CompileCache>> CompileCache::Open(const std::string& folder,
                                                           int64_t max_bytes) {
  std::error_code error;
  fs::create_directories(fs::path(folder).parent_path(), error);
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return Status(absl::ErrnoToStatusCode(errno),
                  absl::StrCat("cannot make ", folder, ": ", std::strerror(errno)));
  }
  struct stat info {};
  if (::stat(folder.c_str(), &info) != 0) {
    return Status(absl::ErrnoToStatusCode(errno),
                  absl::StrCat("cannot open ", folder, ": ", std::strerror(errno)));
  }
  if (!S_ISDIR(info.st_mode)) return FailedPrecondition(folder, " is not a folder");
  if (OthersMayWrite(info)) {
    return FailedPrecondition(folder,
                              " can be written to by others, who could so have their programs run "
                              "here: give it to this user (chown), with mode 0700");
  }
  return std::unique_ptr<CompileCache>(new CompileCache(folder, max_bytes));
}

std::string CompileCache::PathOf(absl::string_view key) const {
  return absl::StrCat(folder_, "/", Sha256Hex(key), kSuffix);
}

// A file is the digest of what follows it.
std::optional<std::string> CompileCache::Find(absl::string_view key) const {
  const std::string path = PathOf(key);
  if (!IsOurs(path)) return std::nullopt;
  StatusOr<std::string> content = ReadSmallFile(path);
  if (!content.ok()) return std::nullopt;
  const absl::string_view program =
      absl::string_view(*content).substr(std::min(kDigestSize, content->size()));
  if (content->size() < kDigestSize || Sha256Hex(program) != content->substr(0, kDigestSize)) {
    LogWarning("A file of the compile cache is damaged; the program is compiled again",
               {{"file", path}});
    Drop(key);
    return std::nullopt;
  }
  // Used now.
  ::utimensat(AT_FDCWD, path.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
  return std::string(program);
}

void CompileCache::Keep(absl::string_view key, absl::string_view program) const {
  if (program.size() > kMaxProgramBytes) {
    LogWarning("A compiled program is too large to be kept", {{"bytes", program.size()}});
    return;
  }
  const std::string path = PathOf(key);
  const std::string unfinished = absl::StrCat(path, ".", RandomNonZero64(), ".tmp");
  Status status = WriteSmallFile(unfinished, absl::StrCat(Sha256Hex(program), program));
  if (status.ok() && (::chmod(unfinished.c_str(), 0600) != 0 ||
                      std::rename(unfinished.c_str(), path.c_str()) != 0)) {
    status = Status(absl::ErrnoToStatusCode(errno),
                    absl::StrCat("cannot rename ", unfinished, ": ", std::strerror(errno)));
  }
  if (!status.ok()) {
    ::unlink(unfinished.c_str());
    LogWarning("A compiled program could not be kept", {{"why", status.message()}});
    return;
  }
  RemoveOldest();
}

void CompileCache::Drop(absl::string_view key) const { ::unlink(PathOf(key).c_str()); }

void CompileCache::RemoveOldest() const {
  struct File {
    fs::file_time_type used;
    fs::path path;
    int64_t bytes;
  };
  MutexLock lock(&mu_);
  std::vector<File> files;
  int64_t total = 0;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, error)) {
    std::error_code gone;  // by another process
    const int64_t bytes = static_cast<int64_t>(entry.file_size(gone));
    const fs::file_time_type used = entry.last_write_time(gone);
    if (gone || !absl::StrContains(entry.path().filename().string(), kSuffix)) continue;
    files.push_back({used, entry.path(), bytes});
    total += bytes;
  }
  std::sort(files.begin(), files.end(),
            [](const File& a, const File& b) { return a.used < b.used; });
  for (const File& file : files) {
    if (total <= max_bytes_) return;
    std::error_code gone;
    fs::remove(file.path, gone);
    total -= file.bytes;
  }
}

}  // namespace tensorfleet::pjrt
