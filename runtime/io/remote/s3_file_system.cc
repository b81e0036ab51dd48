#include "runtime/io/remote/s3_file_system.h"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "runtime/base/log.h"
#include "runtime/io/io_interest.h"
#include "runtime/io/remote/ranged_file.h"
#include "runtime/io/remote/xml.h"

namespace tensorfleet {
namespace {

constexpr int kMostParts = 10'000;
constexpr size_t kFirstPartBytes = 8 << 20;
constexpr uint64_t kCopyLimit = uint64_t{5} << 30;  // one request copies no more

struct Location {
  std::string bucket, key;
  std::string url() const { return absl::StrCat("s3://", bucket, "/", key); }
};

StatusOr<Location> Locate(absl::string_view path) {
  absl::ConsumePrefix(&path, "s3://");
  const size_t slash = path.find('/');
  Location at;
  at.bucket = std::string(path.substr(0, slash));
  if (slash != absl::string_view::npos) at.key = std::string(path.substr(slash + 1));
  if (at.bucket.empty()) return InvalidArgument("s3://", path, " names no bucket");
  return at;
}

S3Request Make(const char* method) {
  S3Request request;
  request.method = method;
  return request;
}

StatusOr<uint64_t> SizeOf(const S3Client& client, const Location& at) {
  if (at.key.empty()) return FailedPrecondition(at.url(), " is a bucket, not an object");
  TFLEET_ASSIGN_OR_RETURN(const HttpResponse head, client.Call(Make("HEAD"), at.bucket, at.key));
  const auto length = head.headers.find("content-length");
  uint64_t size = 0;
  if (length == head.headers.end() || !absl::SimpleAtoi(length->second, &size)) {
    return DataLoss(at.url(), "; the store does not say how long it is");
  }
  return size;
}

// An upload in parts. What was sent is kept, and paid for, until the upload is completed or
// aborted.
class Upload {
 public:
  Upload(const S3Client* client, Location at) : client_(client), at_(std::move(at)) {}
  ~Upload() { Abort(); }
  Upload(const Upload&) = delete;
  Upload& operator=(const Upload&) = delete;

  bool has_begun() const { return !id_.empty(); }
  int next_number() const { return static_cast<int>(tags_.size()) + 1; }

  // `headers` say what is copied instead, where `body` is empty.
  Status Send(absl::string_view body, std::map<std::string, std::string> headers = {}) {
    if (!has_begun()) TFLEET_RETURN_IF_ERROR(Begin());
    if (next_number() > kMostParts) {
      return OutOfRange(at_.url(), "; the store keeps no object of more than 5 TiB");
    }
    S3Request put = Make("PUT");
    put.query = {{"partNumber", absl::StrCat(next_number())}, {"uploadId", id_}};
    const bool is_copy = !headers.empty();
    put.headers = std::move(headers);
    TFLEET_ASSIGN_OR_RETURN(const HttpResponse sent, client_->Call(put, at_.bucket, at_.key, body));
    const auto header = sent.headers.find("etag");
    std::string tag = is_copy                        ? XmlText(sent.body, "ETag")
                      : header == sent.headers.end() ? ""
                                                     : header->second;
    if (tag.empty()) return Failed(sent, "the store tags no part");
    tags_.push_back(std::move(tag));
    return OkStatus();
  }

  Status Complete() {
    std::string list = "<CompleteMultipartUpload>";
    for (size_t i = 0; i < tags_.size(); ++i) {
      absl::StrAppend(&list, "<Part><PartNumber>", i + 1, "</PartNumber><ETag>", tags_[i],
                      "</ETag></Part>");
    }
    absl::StrAppend(&list, "</CompleteMultipartUpload>");
    S3Request end = Make("POST");
    end.query["uploadId"] = id_;
    TFLEET_ASSIGN_OR_RETURN(const HttpResponse done, client_->Call(end, at_.bucket, at_.key, list));
    // A failure after the first byte of the answer comes with code 200.
    if (absl::StrContains(done.body, "<Error>")) return Failed(done, "the upload failed");
    id_.clear();
    return OkStatus();
  }

  // Drops what was sent, also for a step that was cancelled; tried once.
  void Abort() {
    if (!has_begun()) return;
    const ScopedIoInterest wanted(nullptr);
    S3Request abort = Make("DELETE");
    abort.query["uploadId"] = id_;
    const Status status = client_->Call(abort, at_.bucket, at_.key, "", /*attempts=*/1).status();
    if (!status.ok()) {
      LogWarning(
          "The parts of a broken upload stay in the store until a rule of its bucket, or its "
          "owner, aborts it",
          {{"upload", id_}, {"error", status.message()}});
    }
    id_.clear();
  }

 private:
  Status Begin() {
    S3Request begin = Make("POST");
    begin.query["uploads"] = "";
    TFLEET_ASSIGN_OR_RETURN(const HttpResponse begun, client_->Call(begin, at_.bucket, at_.key));
    id_ = XmlText(begun.body, "UploadId");
    return has_begun() ? OkStatus() : Failed(begun, "the store began no upload");
  }
  Status Failed(const HttpResponse& response, absl::string_view what) const {
    const std::string words = XmlText(response.body, "Message");
    return Unavailable(at_.url(), "; ", words.empty() ? what : words);
  }

  const S3Client* const client_;
  const Location at_;
  std::string id_;  // empty before the first part and after the end
  std::vector<std::string> tags_;
};

class S3ReadFile final : public RangedFile {
 public:
  S3ReadFile(const S3Client* client, Location at, uint64_t size)
      : RangedFile(at.url(), size), client_(client), at_(std::move(at)) {}

 private:
  StatusOr<std::string> Fetch(uint64_t offset, size_t n) const override {
    S3Request request = Make("GET");
    request.headers["range"] = absl::StrCat("bytes=", offset, "-", offset + n - 1);
    TFLEET_ASSIGN_OR_RETURN(HttpResponse response, client_->Call(request, at_.bucket, at_.key));
    return WholeRange(std::move(response.body), path(), offset, n);
  }

  const S3Client* const client_;
  const Location at_;
};

// Gathers parts; a file of one part is sent as it is, more of them as a multipart upload.
class S3WriteFile final : public WritableFile {
 public:
  S3WriteFile(const S3Client* client, Location at)
      : client_(client), at_(std::move(at)), upload_(client, at_) {}

  Status Append(absl::string_view data) override {
    if (is_closed_) return FailedPrecondition(at_.url(), " is closed");
    while (!data.empty()) {
      const size_t part_bytes = S3PartBytes(upload_.next_number());
      const size_t n = std::min(data.size(), part_bytes - part_.size());
      part_.append(data.data(), n);
      data.remove_prefix(n);
      is_seen_ = false;
      if (part_.size() == part_bytes) TFLEET_RETURN_IF_ERROR(SendPart());
    }
    return OkStatus();
  }
  Status Sync() override {
    // Parts are kept by the store once they are sent, but only Close makes a file of them.
    return upload_.has_begun() ? OkStatus() : PutWhole();
  }
  Status Close() override {
    if (is_closed_) return OkStatus();
    is_closed_ = true;
    if (!upload_.has_begun()) return PutWhole();
    if (!part_.empty()) TFLEET_RETURN_IF_ERROR(SendPart());
    return upload_.Complete();
  }

 private:
  Status PutWhole() {
    if (is_seen_) return OkStatus();
    TFLEET_RETURN_IF_ERROR(client_->Call(Make("PUT"), at_.bucket, at_.key, part_).status());
    is_seen_ = true;
    return OkStatus();
  }
  Status SendPart() {
    TFLEET_RETURN_IF_ERROR(upload_.Send(part_));
    part_.clear();
    return OkStatus();
  }

  const S3Client* const client_;
  const Location at_;
  Upload upload_;     // aborted with the file, unless Close completes it
  std::string part_;  // what is not sent yet; all of it while there is no upload
  bool is_seen_ = false, is_closed_ = false;
};

class S3FileSystem final : public FileSystem {
 public:
  explicit S3FileSystem(S3Config config) : client_(std::move(config)) {}

  StatusOr<std::unique_ptr<RandomAccessFile>> Open(const std::string& path) override {
    TFLEET_ASSIGN_OR_RETURN(Location at, Locate(path));
    TFLEET_ASSIGN_OR_RETURN(const uint64_t size, SizeOf(client_, at));
    return std::make_unique<S3ReadFile>(&client_, std::move(at), size);
  }
  StatusOr<std::unique_ptr<WritableFile>> Create(const std::string& path) override {
    TFLEET_ASSIGN_OR_RETURN(Location at, Locate(path));
    if (at.key.empty()) return FailedPrecondition(at.url(), " is a bucket, not an object");
    return std::make_unique<S3WriteFile>(&client_, std::move(at));
  }
  bool Exists(const std::string& path) override {
    const StatusOr<Location> at = Locate(path);
    if (!at.ok()) return false;
    if (!at->key.empty() && SizeOf(client_, *at).ok()) return true;
    return IsDirectory(path).value_or(false);
  }
  StatusOr<bool> IsDirectory(const std::string& path) override {
    TFLEET_ASSIGN_OR_RETURN(const Location at, Locate(path));
    TFLEET_ASSIGN_OR_RETURN(const std::vector<std::string> names, Names(at, /*only_one=*/true));
    if (!names.empty()) return true;
    TFLEET_RETURN_IF_ERROR(SizeOf(client_, at).status());
    return false;
  }
  Status Rename(const std::string& from, const std::string& to) override {
    TFLEET_ASSIGN_OR_RETURN(const Location source, Locate(from));
    TFLEET_ASSIGN_OR_RETURN(const Location target, Locate(to));
    TFLEET_ASSIGN_OR_RETURN(const uint64_t size, SizeOf(client_, source));
    if (size > kCopyLimit) TFLEET_RETURN_IF_ERROR(CopyInParts(source, target, size));
    if (size <= kCopyLimit) {
      S3Request copy = Make("PUT");
      copy.headers["x-amz-copy-source"] = Source(source);
      TFLEET_ASSIGN_OR_RETURN(const HttpResponse copied,
                              client_.Call(copy, target.bucket, target.key));
      if (absl::StrContains(copied.body, "<Error>")) {
        return Unavailable(target.url(), "; ", XmlText(copied.body, "Message"));
      }
    }
    return client_.Call(Make("DELETE"), source.bucket, source.key).status();
  }
  Status Delete(const std::string& path) override {
    TFLEET_ASSIGN_OR_RETURN(const Location at, Locate(path));
    // The store does not say whether there was anything to delete.
    TFLEET_RETURN_IF_ERROR(SizeOf(client_, at).status());
    return client_.Call(Make("DELETE"), at.bucket, at.key).status();
  }
  Status CreateDirs(const std::string& path) override { return Locate(path).status(); }
  Status DeleteDir(const std::string& path) override { return Locate(path).status(); }
  Status SyncDir(const std::string& path) override { return OkStatus(); }
  StatusOr<std::vector<std::string>> List(const std::string& path) override {
    TFLEET_ASSIGN_OR_RETURN(const Location at, Locate(path));
    TFLEET_ASSIGN_OR_RETURN(std::vector<std::string> names, Names(at, /*only_one=*/false));
    if (names.empty()) return NotFound(at.url(), "; there is nothing in it");
    return names;
  }

 private:
  static std::string Source(const Location& at) {
    return absl::StrCat("/", at.bucket, "/", UriEncoded(at.key, /*keep_slashes=*/true));
  }

  Status CopyInParts(const Location& source, const Location& target, uint64_t size) {
    constexpr uint64_t kPart = uint64_t{1} << 30;
    Upload upload(&client_, target);
    for (uint64_t offset = 0; offset < size; offset += kPart) {
      const std::string range =
          absl::StrCat("bytes=", offset, "-", std::min(size, offset + kPart) - 1);
      TFLEET_RETURN_IF_ERROR(upload.Send(
          "", {{"x-amz-copy-source", Source(source)}, {"x-amz-copy-source-range", range}}));
    }
    return upload.Complete();
  }

  // Names right below a prefix, folders included.
  StatusOr<std::vector<std::string>> Names(const Location& at, bool only_one) {
    std::string prefix = at.key;
    if (!prefix.empty() && prefix.back() != '/') prefix += '/';
    std::vector<std::string> names;
    std::string token;
    for (;;) {
      S3Request list = Make("GET");
      list.query = {{"list-type", "2"}, {"prefix", prefix}, {"delimiter", "/"}};
      if (only_one) list.query["max-keys"] = "1";
      if (!token.empty()) list.query["continuation-token"] = token;
      TFLEET_ASSIGN_OR_RETURN(const HttpResponse page, client_.Call(list, at.bucket, ""));
      for (const auto& [kind, field] :
           {std::pair{"Contents", "Key"}, {"CommonPrefixes", "Prefix"}}) {
        for (const std::string& entry : XmlElements(page.body, kind)) {
          const std::string full = XmlText(entry, field);
          absl::string_view name = full;
          if (!absl::ConsumePrefix(&name, prefix)) continue;
          absl::ConsumeSuffix(&name, "/");
          if (!name.empty()) names.emplace_back(name);
        }
      }
      token = XmlText(page.body, "NextContinuationToken");
      if (only_one || token.empty()) return names;
    }
  }

  const S3Client client_;
};

const char* Env(const char* name) { return std::getenv(name); }

}  // namespace

size_t S3PartBytes(int number) {
  constexpr size_t kPartsOfOneSize = 75;
  return kFirstPartBytes * (1 + (static_cast<size_t>(number) - 1) / kPartsOfOneSize);
}

std::unique_ptr<FileSystem> MakeS3FileSystem(S3Config config) {
  return std::make_unique<S3FileSystem>(std::move(config));
}

FileSystem* DefaultS3FileSystem() {
  static FileSystem* const files = MakeS3FileSystem(S3ConfigFromEnv(&Env)).release();
  return files;
}

}  // namespace tensorfleet
