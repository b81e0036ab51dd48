#include "runtime/base/small_file.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace tensorfleet {
namespace {

constexpr int64_t kMaxBytes = 64 << 20;

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

Status SystemError(absl::string_view doing, const std::string& path, int error) {
  return Status(absl::ErrnoToStatusCode(error),
                absl::StrCat("cannot ", doing, " ", path, ": ", std::strerror(error)));
}

}  // namespace

StatusOr<std::string> ReadSmallFile(const std::string& path) {
  File file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (file == nullptr) return SystemError("read", path, errno);
  struct stat info {};
  if (fstat(fileno(file.get()), &info) == 0 && S_ISDIR(info.st_mode)) {
    return InvalidArgument("cannot read ", path, ": it is a directory");
  }
  std::string content;
  char block[16 << 10];
  while (const size_t n = std::fread(block, 1, sizeof(block), file.get())) {
    content.append(block, n);
    if (static_cast<int64_t>(content.size()) > kMaxBytes) {
      return InvalidArgument("cannot read ", path, ": it is larger than ", kMaxBytes, " bytes");
    }
  }
  if (std::ferror(file.get()) != 0) return SystemError("read", path, errno);
  return content;
}

Status WriteSmallFile(const std::string& path, absl::string_view content) {
  File file(std::fopen(path.c_str(), "wb"), &std::fclose);
  if (file == nullptr) return SystemError("write", path, errno);
  if (std::fwrite(content.data(), 1, content.size(), file.get()) != content.size() ||
      std::fflush(file.get()) != 0) {
    return SystemError("write", path, errno);
  }
  return OkStatus();
}

}  // namespace tensorfleet
