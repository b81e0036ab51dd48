#include "runtime/io/remote/gs_file_system.h"

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "runtime/io/io_interest.h"
#include "runtime/io/remote/http_client.h"
#include "runtime/io/remote/ranged_file.h"

namespace tensorfleet {
namespace {

using nlohmann::json;

// Pieces of an upload; the store wants multiples of 256 KiB.
constexpr size_t kPieceBytes = 8 << 20;
constexpr absl::string_view kAdvice =
    " (credentials come from GOOGLE_APPLICATION_CREDENTIALS, or from the pod's or the machine's "
    "identity)";

struct Location {
  std::string bucket, key;
  std::string url() const { return absl::StrCat("gs://", bucket, "/", key); }
};

StatusOr<Location> Locate(absl::string_view path) {
  absl::ConsumePrefix(&path, "gs://");
  const size_t slash = path.find('/');
  Location at;
  at.bucket = std::string(path.substr(0, slash));
  if (slash != absl::string_view::npos) at.key = std::string(path.substr(slash + 1));
  if (at.bucket.empty()) return InvalidArgument("gs://", path, " names no bucket");
  return at;
}

StatusOr<Location> LocateObject(absl::string_view path) {
  TFLEET_ASSIGN_OR_RETURN(Location at, Locate(path));
  if (at.key.empty()) return FailedPrecondition(at.url(), " is a bucket, not an object");
  return at;
}

// {"error": {"message": …}}; "" when the answer says nothing.
std::string WordsOf(const HttpResponse& response) {
  const json body = json::parse(response.body, nullptr, /*allow_exceptions=*/false);
  if (!body.is_object()) return "";
  const auto error = body.find("error");
  if (error == body.end() || !error->is_object()) return "";
  const auto message = error->find("message");
  return message != error->end() && message->is_string() ? message->get<std::string>() : "";
}

class GsClient {
 public:
  explicit GsClient(GsConfig config) : endpoint_(config.endpoint), tokens_(config.identity) {}

  std::string ObjectUrl(const Location& at) const {
    return absl::StrCat(endpoint_, "/storage/v1/b/", UriEncoded(at.bucket, false), "/o",
                        at.key.empty() ? "" : "/", UriEncoded(at.key, false));
  }
  std::string UploadUrl(const Location& at, absl::string_view type) const {
    return absl::StrCat(endpoint_, "/upload/storage/v1/b/", UriEncoded(at.bucket, false),
                        "/o?uploadType=", type, "&name=", UriEncoded(at.key, false));
  }

  // Errors name the location. `passes`: a code that is no success, and none either.
  StatusOr<HttpResponse> Call(HttpRequest request, const Location& at, long passes = 0,
                              int attempts = kHttpAttempts) const {
    request.scheme = "gs";
    StatusOr<std::string> token = tokens_.Get();
    if (!token.ok()) return Prefixed(absl::StrCat(at.url(), "; "), token.status());
    if (!token->empty()) request.headers["authorization"] = absl::StrCat("Bearer ", *token);
    TFLEET_ASSIGN_OR_RETURN(HttpResponse response, SendHttp(request, at.url(), attempts));
    if (IsSuccess(response) || response.code == passes) return response;
    return HttpError(response, at.url(), WordsOf(response), kAdvice);
  }

  StatusOr<json> CallForJson(HttpRequest request, const Location& at) const {
    TFLEET_ASSIGN_OR_RETURN(const HttpResponse response, Call(std::move(request), at));
    json body = json::parse(response.body, nullptr, /*allow_exceptions=*/false);
    if (!body.is_object()) return DataLoss(at.url(), "; the store's answer is no JSON");
    return body;
  }

 private:
  const std::string endpoint_;
  mutable GsTokenSource tokens_;
};

HttpRequest Make(std::string method, std::string url) {
  HttpRequest request;
  request.method = std::move(method);
  request.url = std::move(url);
  return request;
}

// Numbers of 64 bits are strings in the store's answers.
bool NumberIn(const json& object, const char* name, uint64_t* out) {
  const auto found = object.find(name);
  if (found == object.end()) return false;
  if (found->is_number_unsigned()) {
    *out = found->get<uint64_t>();
    return true;
  }
  return found->is_string() && absl::SimpleAtoi(found->get<std::string>(), out);
}

struct Object {
  uint64_t size = 0, generation = 0;
};

StatusOr<Object> Stat(const GsClient& client, const Location& at) {
  TFLEET_ASSIGN_OR_RETURN(
      const json answer,
      client.CallForJson(Make("GET", absl::StrCat(client.ObjectUrl(at), "?fields=size,generation")),
                         at));
  Object object;
  if (!NumberIn(answer, "size", &object.size)) {
    return DataLoss(at.url(), "; the store does not say how long it is");
  }
  NumberIn(answer, "generation", &object.generation);
  return object;
}

class GsReadFile final : public RangedFile {
 public:
  GsReadFile(const GsClient* client, Location at, const Object& object)
      : RangedFile(at.url(), object.size),
        client_(client),
        at_(std::move(at)),
        url_(absl::StrCat(
            client->ObjectUrl(at_), "?alt=media",
            object.generation == 0 ? "" : absl::StrCat("&generation=", object.generation))) {}

 private:
  StatusOr<std::string> Fetch(uint64_t offset, size_t n) const override {
    HttpRequest request = Make("GET", url_);
    request.headers["range"] = absl::StrCat("bytes=", offset, "-", offset + n - 1);
    TFLEET_ASSIGN_OR_RETURN(HttpResponse response, client_->Call(std::move(request), at_));
    return WholeRange(std::move(response.body), path(), offset, n);
  }

  const GsClient* const client_;
  const Location at_;
  const std::string url_;
};

// Gathers pieces; a file of one piece is sent as it is, more of them as a resumable upload, which
// the store forgets after a week when it is not finished.
class GsWriteFile final : public WritableFile {
 public:
  GsWriteFile(const GsClient* client, Location at) : client_(client), at_(std::move(at)) {}
  ~GsWriteFile() override { Abort(); }

  Status Append(absl::string_view data) override {
    if (is_closed_) return FailedPrecondition(at_.url(), " is closed");
    while (!data.empty()) {
      // The last piece must say that it is the last, so a full one waits for the next byte.
      if (piece_.size() == kPieceBytes) TFLEET_RETURN_IF_ERROR(SendPiece(/*is_last=*/false));
      const size_t n = std::min(data.size(), kPieceBytes - piece_.size());
      piece_.append(data.data(), n);
      data.remove_prefix(n);
      is_seen_ = false;
    }
    return OkStatus();
  }
  Status Sync() override { return session_.empty() ? PutWhole() : OkStatus(); }
  Status Close() override {
    if (is_closed_) return OkStatus();
    is_closed_ = true;
    if (session_.empty()) return PutWhole();
    TFLEET_RETURN_IF_ERROR(SendPiece(/*is_last=*/true));
    session_.clear();
    return OkStatus();
  }

 private:
  Status PutWhole() {
    if (is_seen_) return OkStatus();
    HttpRequest put = Make("POST", client_->UploadUrl(at_, "media"));
    put.headers["content-type"] = "application/octet-stream";
    put.body = piece_;
    TFLEET_RETURN_IF_ERROR(client_->Call(std::move(put), at_).status());
    is_seen_ = true;
    return OkStatus();
  }

  Status Begin() {
    HttpRequest begin = Make("POST", client_->UploadUrl(at_, "resumable"));
    begin.headers["x-upload-content-type"] = "application/octet-stream";
    TFLEET_ASSIGN_OR_RETURN(const HttpResponse begun, client_->Call(std::move(begin), at_));
    const auto location = begun.headers.find("location");
    if (location == begun.headers.end()) {
      return Unavailable(at_.url(), "; the store began no upload");
    }
    session_ = location->second;
    return OkStatus();
  }

  // A piece that was sent twice is taken once: its range says where it belongs.
  Status SendPiece(bool is_last) {
    if (session_.empty()) TFLEET_RETURN_IF_ERROR(Begin());
    constexpr long kResumeIncomplete = 308;
    const uint64_t end = sent_ + piece_.size();
    HttpRequest put = Make("PUT", session_);
    put.headers["content-range"] =
        absl::StrCat("bytes ", sent_, "-", end - 1, "/", is_last ? absl::StrCat(end) : "*");
    put.body = piece_;
    TFLEET_ASSIGN_OR_RETURN(const HttpResponse response,
                            client_->Call(std::move(put), at_, kResumeIncomplete));
    if (is_last == (response.code == kResumeIncomplete)) {
      return DataLoss(at_.url(), "; the store says ", response.code, " to bytes ", sent_, " to ",
                      end);
    }
    if (!is_last) {
      // How much of it was kept: all, or the upload is broken.
      const auto range = response.headers.find("range");
      const std::string kept = absl::StrCat("bytes=0-", end - 1);
      if (range == response.headers.end() || range->second != kept) {
        return Unavailable(at_.url(), "; the store kept ",
                           range == response.headers.end() ? "nothing" : range->second, " of ", end,
                           " bytes");
      }
    }
    sent_ = end;
    piece_.clear();
    return OkStatus();
  }

  // Drops what was sent, also for a step that was cancelled; tried once.
  void Abort() {
    if (session_.empty()) return;
    const ScopedIoInterest wanted(nullptr);
    constexpr long kClientClosedRequest = 499;  // what the store says to it
    client_->Call(Make("DELETE", session_), at_, kClientClosedRequest, /*attempts=*/1)
        .status()
        .IgnoreError();
  }

  const GsClient* const client_;
  const Location at_;
  std::string session_;  // the upload's address; empty before the second piece and after the end
  std::string piece_;    // what is not sent yet; all of it while there is no upload
  uint64_t sent_ = 0;
  bool is_seen_ = false, is_closed_ = false;
};

class GsFileSystem final : public FileSystem {
 public:
  explicit GsFileSystem(GsConfig config) : client_(std::move(config)) {}

  StatusOr<std::unique_ptr<RandomAccessFile>> Open(const std::string& path) override {
    TFLEET_ASSIGN_OR_RETURN(Location at, LocateObject(path));
    TFLEET_ASSIGN_OR_RETURN(const Object object, Stat(client_, at));
    return std::make_unique<GsReadFile>(&client_, std::move(at), object);
  }
  StatusOr<std::unique_ptr<WritableFile>> Create(const std::string& path) override {
    TFLEET_ASSIGN_OR_RETURN(Location at, LocateObject(path));
    return std::make_unique<GsWriteFile>(&client_, std::move(at));
  }
  bool Exists(const std::string& path) override {
    const StatusOr<Location> at = Locate(path);
    if (!at.ok()) return false;
    if (!at->key.empty() && Stat(client_, *at).ok()) return true;
    return IsDirectory(path).value_or(false);
  }
  StatusOr<bool> IsDirectory(const std::string& path) override {
    TFLEET_ASSIGN_OR_RETURN(const Location at, Locate(path));
    TFLEET_ASSIGN_OR_RETURN(const std::vector<std::string> names, Names(at, /*only_one=*/true));
    if (!names.empty()) return true;
    TFLEET_ASSIGN_OR_RETURN(const Location object, LocateObject(path));
    TFLEET_RETURN_IF_ERROR(Stat(client_, object).status());
    return false;
  }
  Status Rename(const std::string& from, const std::string& to) override {
    TFLEET_ASSIGN_OR_RETURN(const Location source, LocateObject(from));
    TFLEET_ASSIGN_OR_RETURN(const Location target, LocateObject(to));
    const std::string url =
        absl::StrCat(client_.ObjectUrl(source), "/rewriteTo/b/", UriEncoded(target.bucket, false),
                     "/o/", UriEncoded(target.key, false));
    // A large object between places is copied in several calls.
    for (std::string token;;) {
      TFLEET_ASSIGN_OR_RETURN(
          const json answer,
          client_.CallForJson(Make("POST", absl::StrCat(url, token.empty() ? "" : "?rewriteToken=",
                                                        UriEncoded(token, false))),
                              source));
      const auto done = answer.find("done");
      if (done != answer.end() && done->is_boolean() && done->get<bool>()) break;
      const auto next = answer.find("rewriteToken");
      if (next == answer.end() || !next->is_string()) {
        return Unavailable(source.url(), "; the store neither copied it nor says how to go on");
      }
      token = next->get<std::string>();
    }
    return client_.Call(Make("DELETE", client_.ObjectUrl(source)), source).status();
  }
  Status Delete(const std::string& path) override {
    TFLEET_ASSIGN_OR_RETURN(const Location at, LocateObject(path));
    return client_.Call(Make("DELETE", client_.ObjectUrl(at)), at).status();
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
  // Names right below a prefix, folders included.
  StatusOr<std::vector<std::string>> Names(const Location& at, bool only_one) {
    std::string prefix = at.key;
    if (!prefix.empty() && prefix.back() != '/') prefix += '/';
    std::vector<std::string> names;
    const auto add = [&](const json& full) {
      if (!full.is_string()) return;
      const std::string text = full.get<std::string>();
      absl::string_view name = text;
      if (!absl::ConsumePrefix(&name, prefix)) return;
      absl::ConsumeSuffix(&name, "/");
      if (!name.empty()) names.emplace_back(name);
    };
    std::map<std::string, std::string> query = {{"prefix", prefix}, {"delimiter", "/"}};
    // A folder's own marker may be the first.
    if (only_one) query["maxResults"] = "2";
    for (;;) {
      TFLEET_ASSIGN_OR_RETURN(
          const json page,
          client_.CallForJson(Make("GET", absl::StrCat(client_.ObjectUrl({at.bucket, ""}), "?",
                                                       EncodedQuery(query))),
                              at));
      if (const auto items = page.find("items"); items != page.end() && items->is_array()) {
        for (const json& item : *items) {
          if (item.is_object() && item.contains("name")) add(item["name"]);
        }
      }
      if (const auto found = page.find("prefixes"); found != page.end() && found->is_array()) {
        for (const json& full : *found) add(full);
      }
      const auto next = page.find("nextPageToken");
      const bool has_more =
          next != page.end() && next->is_string() && !next->get_ref<const std::string&>().empty();
      if (only_one || !has_more) return names;
      query["pageToken"] = next->get<std::string>();
    }
  }

  const GsClient client_;
};

const char* Env(const char* name) { return std::getenv(name); }

}  // namespace

GsConfig GsConfigFromEnv(const char* (*env)(const char* name)) {
  const auto text = [env](const char* name) -> std::string {
    const char* const value = env(name);
    return value == nullptr ? "" : std::string(absl::StripSuffix(value, "/"));
  };
  const auto with_scheme = [](const std::string& host) {
    return absl::StrContains(host, "://") ? host : absl::StrCat("http://", host);
  };
  GsConfig config;
  if (const std::string emulator = text("STORAGE_EMULATOR_HOST"); !emulator.empty()) {
    config.endpoint = with_scheme(emulator);
    return config;
  }
  config.identity.file = text("GOOGLE_APPLICATION_CREDENTIALS");
  const std::string metadata = text("GCE_METADATA_HOST");
  config.identity.metadata_url =
      with_scheme(metadata.empty() ? "metadata.google.internal" : metadata);
  return config;
}

std::unique_ptr<FileSystem> MakeGsFileSystem(GsConfig config) {
  return std::make_unique<GsFileSystem>(std::move(config));
}

FileSystem* DefaultGsFileSystem() {
  static FileSystem* const files = MakeGsFileSystem(GsConfigFromEnv(&Env)).release();
  return files;
}

}  // namespace tensorfleet
