#include "runtime/io/remote/web_file_system.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "runtime/io/remote/http_client.h"
#include "runtime/io/remote/ranged_file.h"

namespace tensorfleet {
namespace {

constexpr size_t kFirstRange = 1 << 20;
constexpr long kPartialContent = 206, kRangeNotSatisfiable = 416;

// Bytes that no address holds as they are; those that are encoded already stay.
std::string AsAddress(absl::string_view path) {
  std::string out;
  for (const char c : path) {
    if (absl::ascii_isgraph(c) && c != '"' && c != '<' && c != '>') {
      out.push_back(c);
    } else {
      absl::StrAppend(&out, UriEncoded(absl::string_view(&c, 1), false));
    }
  }
  return out.substr(0, out.find('#'));
}

StatusOr<HttpResponse> GetRange(const std::string& path, uint64_t offset, size_t n) {
  HttpRequest request;
  request.scheme = "http";
  request.url = AsAddress(path);
  request.follows_redirects = true;
  request.is_of_graph = true;
  request.headers["range"] = absl::StrCat("bytes=", offset, "-", offset + n - 1);
  // Ranges are of the bytes as they are kept, not of a compressed form.
  request.headers["accept-encoding"] = "identity";
  request.most_bytes = std::max(n, kMostOfWholeFile);
  StatusOr<HttpResponse> response = SendHttp(request, path);
  if (absl::IsResourceExhausted(response.status())) {
    return ResourceExhausted(path, "; its server gives no ranges of it, and it has more than ",
                             kMostOfWholeFile, " bytes");
  }
  return response;
}

// "bytes 0-99/1234", "bytes */1234": what is behind the slash.
bool WholeSize(const HttpResponse& response, uint64_t* size) {
  const auto range = response.headers.find("content-range");
  if (range == response.headers.end()) return false;
  const size_t slash = range->second.rfind('/');
  return slash != std::string::npos && absl::SimpleAtoi(range->second.substr(slash + 1), size);
}

// Which version of the file an answer is of; "" where its server does not tell.
std::string VersionOf(const HttpResponse& response) {
  const auto tag = response.headers.find("etag");
  if (tag != response.headers.end()) return tag->second;
  const auto time = response.headers.find("last-modified");
  return time != response.headers.end() ? time->second : "";
}

bool BeginsAt(const HttpResponse& response, uint64_t offset) {
  const auto range = response.headers.find("content-range");
  return range != response.headers.end() &&
         absl::StartsWith(range->second, absl::StrCat("bytes ", offset, "-"));
}

class WebFile final : public RangedFile {
 public:
  WebFile(std::string path, uint64_t size, const HttpResponse& first)
      : RangedFile(std::move(path), size), version_(VersionOf(first)) {
    SetWindow(0, first.body);
  }

 private:
  StatusOr<std::string> Fetch(uint64_t offset, size_t n) const override {
    TFLEET_ASSIGN_OR_RETURN(HttpResponse response, GetRange(path(), offset, n));
    if (response.code != kPartialContent || !BeginsAt(response, offset)) {
      if (!IsSuccess(response)) return HttpError(response, path(), "");
      return DataLoss(path(), "; its server gave ranges of it, and now does not");
    }
    if (VersionOf(response) != version_) {
      return DataLoss(path(), "; it changed while it was read");
    }
    return WholeRange(std::move(response.body), path(), offset, n);
  }

  const std::string version_;
};

// One that was fetched whole.
class FetchedFile final : public RangedFile {
 public:
  FetchedFile(std::string path, std::string bytes) : RangedFile(std::move(path), bytes.size()) {
    bytes_ = std::move(bytes);
  }

 private:
  StatusOr<std::string> Fetch(uint64_t offset, size_t n) const override {
    return bytes_.substr(offset, n);
  }

  std::string bytes_;
};

class WebFiles final : public FileSystem {
 public:
  StatusOr<std::unique_ptr<RandomAccessFile>> Open(const std::string& path) override {
    TFLEET_ASSIGN_OR_RETURN(HttpResponse first, GetRange(path, 0, kFirstRange));
    uint64_t size = 0;
    if (first.code == kRangeNotSatisfiable && WholeSize(first, &size) && size == 0) {
      return std::make_unique<FetchedFile>(path, "");
    }
    if (!IsSuccess(first)) return HttpError(first, path, "");
    if (first.code != kPartialContent) {
      return std::make_unique<FetchedFile>(path, std::move(first.body));
    }
    if (!WholeSize(first, &size) || !BeginsAt(first, 0) ||
        first.body.size() != std::min<uint64_t>(size, kFirstRange)) {
      return DataLoss(path, "; its server gave a range that was not asked for");
    }
    return std::make_unique<WebFile>(path, size, first);
  }
  bool Exists(const std::string& path) override { return Open(path).ok(); }
  StatusOr<bool> IsDirectory(const std::string& path) override {
    TFLEET_RETURN_IF_ERROR(Open(path).status());
    return false;
  }
  bool has_lists() const override { return false; }
  StatusOr<std::vector<std::string>> List(const std::string& path) override {
    return Unimplemented(path, ": files of the web cannot be listed; name each");
  }
  StatusOr<std::unique_ptr<WritableFile>> Create(const std::string& path) override {
    return ReadOnly(path);
  }
  Status Rename(const std::string& from, const std::string& to) override { return ReadOnly(to); }
  Status Delete(const std::string& path) override { return ReadOnly(path); }
  Status CreateDirs(const std::string& path) override { return ReadOnly(path); }
  Status DeleteDir(const std::string& path) override { return ReadOnly(path); }
  Status SyncDir(const std::string& path) override { return ReadOnly(path); }

 private:
  static Status ReadOnly(const std::string& path) {
    return PermissionDenied(path, ": files of the web can only be read");
  }
};

}  // namespace

FileSystem* WebFileSystem() {
  static FileSystem* const files = new WebFiles();
  return files;
}

}  // namespace tensorfleet
