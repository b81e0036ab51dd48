#include "runtime/io/remote/hdfs_file_system.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "runtime/base/small_file.h"
#include "runtime/io/remote/http_client.h"
#include "runtime/io/remote/ranged_file.h"

namespace tensorfleet {
namespace {

using nlohmann::json;
using Query = std::map<std::string, std::string>;

constexpr size_t kPieceBytes = 8 << 20;
constexpr absl::string_view kAdvice =
    " (the user is HADOOP_USER_NAME; where Kerberos is in use, a delegation token is read from "
    "TENSORFLEET_HDFS_TOKEN_FILE)";

struct Location {
  std::string base;  // "http://host:9870"; "" for the configured ones
  std::string path;  // "/a/b"
  std::string url;   // as it was given
};

StatusOr<Location> Locate(const std::string& url) {
  const size_t colon = url.find("://");
  if (colon == std::string::npos) return InvalidArgument(url, " is no address of a file");
  const absl::string_view scheme = absl::string_view(url).substr(0, colon);
  const absl::string_view rest = absl::string_view(url).substr(colon + 3);
  const size_t slash = std::min(rest.find('/'), rest.size());
  absl::string_view host = rest.substr(0, slash);
  Location at;
  at.url = url;
  at.path = slash == rest.size() ? "/" : std::string(rest.substr(slash));
  if (scheme == "hdfs") {
    host = host.substr(0, host.rfind(':'));  // its port is that of Hadoop's own protocol
    if (!host.empty()) at.base = absl::StrCat("http://", host, ":9870");
  } else {
    if (host.empty()) return InvalidArgument(url, " names no host");
    at.base = absl::StrCat(scheme == "swebhdfs" ? "https://" : "http://", host);
  }
  return at;
}

// {"RemoteException": {"exception": …, "message": …}}
std::string RemoteException(const HttpResponse& response, const char* field) {
  const json body = json::parse(response.body, nullptr, /*allow_exceptions=*/false);
  if (!body.is_object()) return "";
  const auto exception = body.find("RemoteException");
  if (exception == body.end() || !exception->is_object()) return "";
  const auto text = exception->find(field);
  return text != exception->end() && text->is_string() ? text->get<std::string>() : "";
}

Status ErrorOf(const HttpResponse& response, const std::string& url) {
  const std::string exception = RemoteException(response, "exception");
  const std::string words = RemoteException(response, "message");
  if (exception == "FileAlreadyExistsException") return AlreadyExists(url, "; ", words);
  if (exception == "PathIsNotEmptyDirectoryException") return FailedPrecondition(url, "; ", words);
  return HttpError(response, url, words, kAdvice);
}

class HdfsClient {
 public:
  explicit HdfsClient(HdfsConfig config) : config_(std::move(config)) {}

  // The name node's answer; a success, or `passes`. Errors name the file.
  StatusOr<HttpResponse> Call(const std::string& method, const Location& at, Query query,
                              long passes = 0) const {
    if (config_.addresses.empty() && at.base.empty()) {
      return InvalidArgument(at.url, " names no host, and TENSORFLEET_WEBHDFS is not set");
    }
    std::vector<std::string> addresses = config_.addresses;
    if (addresses.empty() || !absl::StartsWith(at.url, "hdfs://")) addresses = {at.base};
    TFLEET_RETURN_IF_ERROR(AddIdentity(at, &query));
    const int attempts = addresses.size() > 1 ? 2 : kHttpAttempts;
    Status last;
    for (const std::string& address : addresses) {
      HttpRequest request;
      request.scheme = "hdfs";
      request.method = method;
      request.url =
          absl::StrCat(address, "/webhdfs/v1", UriEncoded(at.path, true), "?", EncodedQuery(query));
      StatusOr<HttpResponse> response = SendHttp(request, at.url, attempts);
      last = response.status();
      if (!response.ok()) {
        if (absl::IsUnavailable(last)) continue;
        return last;
      }
      if (IsSuccess(*response) || response->code == passes) return response;
      last = ErrorOf(*response, at.url);
      // The one that stands in answers nothing but this.
      if (RemoteException(*response, "exception") != "StandbyException") return last;
    }
    return last;
  }

  StatusOr<json> CallForJson(const std::string& method, const Location& at, Query query) const {
    TFLEET_ASSIGN_OR_RETURN(const HttpResponse response, Call(method, at, std::move(query)));
    json body = json::parse(response.body, nullptr, /*allow_exceptions=*/false);
    if (!body.is_object()) return DataLoss(at.url, "; the answer is no JSON");
    return body;
  }

  // What the name node has a data node do. The answer is that node's.
  StatusOr<HttpResponse> CallDataNode(const std::string& method, const Location& at, Query query,
                                      absl::string_view body, int attempts) const {
    constexpr long kTemporaryRedirect = 307;
    TFLEET_ASSIGN_OR_RETURN(HttpResponse response,
                            Call(method, at, std::move(query), kTemporaryRedirect));
    // A gateway may answer by itself when nothing is to be sent.
    if (response.code != kTemporaryRedirect) {
      if (method == "GET") return response;
      return Unavailable(at.url, "; the name node names no data node");
    }
    const auto location = response.headers.find("location");
    if (location == response.headers.end()) {
      return Unavailable(at.url, "; the name node names no data node");
    }
    HttpRequest request;
    request.scheme = "hdfs";
    request.method = method;
    request.url = location->second;
    request.body = body;
    if (method != "GET") request.headers["content-type"] = "application/octet-stream";
    TFLEET_ASSIGN_OR_RETURN(response, SendHttp(request, at.url, attempts));
    if (!IsSuccess(response)) return ErrorOf(response, at.url);
    return response;
  }

 private:
  Status AddIdentity(const Location& at, Query* query) const {
    if (config_.token_file.empty()) {
      if (!config_.user.empty()) (*query)["user.name"] = config_.user;
      return OkStatus();
    }
    const StatusOr<std::string> token = ReadSmallFile(config_.token_file);
    if (!token.ok()) return Prefixed(absl::StrCat(at.url, "; "), token.status());
    (*query)["delegation"] = std::string(absl::StripAsciiWhitespace(*token));
    return OkStatus();
  }

  const HdfsConfig config_;
};

struct FileInfo {
  uint64_t length = 0;
  bool is_directory = false;
};

StatusOr<FileInfo> Stat(const HdfsClient& client, const Location& at) {
  TFLEET_ASSIGN_OR_RETURN(const json answer,
                          client.CallForJson("GET", at, {{"op", "GETFILESTATUS"}}));
  const auto status = answer.find("FileStatus");
  if (status == answer.end() || !status->is_object()) {
    return DataLoss(at.url, "; the answer has no FileStatus");
  }
  const auto type = status->find("type"), length = status->find("length");
  if (type == status->end() || !type->is_string() || length == status->end() ||
      !length->is_number_unsigned()) {
    return DataLoss(at.url, "; the answer has no type and length");
  }
  return FileInfo{length->get<uint64_t>(), type->get<std::string>() == "DIRECTORY"};
}

class HdfsReadFile final : public RangedFile {
 public:
  HdfsReadFile(const HdfsClient* client, Location at, uint64_t size)
      : RangedFile(at.url, size), client_(client), at_(std::move(at)) {}

 private:
  StatusOr<std::string> Fetch(uint64_t offset, size_t n) const override {
    TFLEET_ASSIGN_OR_RETURN(
        HttpResponse response,
        client_->CallDataNode(
            "GET", at_,
            {{"op", "OPEN"}, {"offset", absl::StrCat(offset)}, {"length", absl::StrCat(n)}}, "",
            kHttpAttempts));
    return WholeRange(std::move(response.body), path(), offset, n);
  }

  const HdfsClient* const client_;
  const Location at_;
};

class HdfsWriteFile final : public WritableFile {
 public:
  HdfsWriteFile(const HdfsClient* client, Location at) : client_(client), at_(std::move(at)) {}

  // The file, empty, in place of one that is there.
  Status Begin() {
    return client_
        ->CallDataNode("PUT", at_, {{"op", "CREATE"}, {"overwrite", "true"}}, "", kHttpAttempts)
        .status();
  }
  Status Append(absl::string_view data) override {
    if (is_closed_) return FailedPrecondition(at_.url, " is closed");
    while (!data.empty()) {
      const size_t n = std::min(data.size(), kPieceBytes - piece_.size());
      piece_.append(data.data(), n);
      data.remove_prefix(n);
      if (piece_.size() == kPieceBytes) TFLEET_RETURN_IF_ERROR(Send());
    }
    return OkStatus();
  }
  Status Sync() override { return Send(); }
  Status Close() override {
    if (is_closed_) return OkStatus();
    is_closed_ = true;
    return Send();
  }

 private:
  // A piece whose sending failed may have arrived: the file's length tells. It is sent again only
  // where it did not.
  Status Send() {
    if (piece_.empty()) return OkStatus();
    Status sent;
    for (int attempt = 0; attempt < kHttpAttempts; ++attempt) {
      sent =
          client_->CallDataNode("POST", at_, {{"op", "APPEND"}}, piece_, /*attempts=*/1).status();
      if (sent.ok()) break;
      if (!absl::IsUnavailable(sent)) return sent;
      TFLEET_ASSIGN_OR_RETURN(const FileInfo info, Stat(*client_, at_));
      if (info.length == sent_ + piece_.size()) break;
      if (info.length != sent_) {
        return DataLoss(at_.url, "; it has ", info.length, " bytes after an append to ", sent_,
                        " that failed: ", sent.message());
      }
      if (attempt + 1 == kHttpAttempts) return sent;
    }
    sent_ += piece_.size();
    piece_.clear();
    return OkStatus();
  }

  const HdfsClient* const client_;
  const Location at_;
  std::string piece_;
  uint64_t sent_ = 0;
  bool is_closed_ = false;
};

class HdfsFileSystem final : public FileSystem {
 public:
  explicit HdfsFileSystem(HdfsConfig config) : client_(std::move(config)) {}

  StatusOr<std::unique_ptr<RandomAccessFile>> Open(const std::string& path) override {
    TFLEET_ASSIGN_OR_RETURN(Location at, Locate(path));
    TFLEET_ASSIGN_OR_RETURN(const FileInfo info, Stat(client_, at));
    if (info.is_directory) return FailedPrecondition(at.url, "; Is a directory");
    return std::make_unique<HdfsReadFile>(&client_, std::move(at), info.length);
  }
  StatusOr<std::unique_ptr<WritableFile>> Create(const std::string& path) override {
    TFLEET_ASSIGN_OR_RETURN(Location at, Locate(path));
    auto file = std::make_unique<HdfsWriteFile>(&client_, std::move(at));
    TFLEET_RETURN_IF_ERROR(file->Begin());
    return file;
  }
  bool Exists(const std::string& path) override {
    const StatusOr<Location> at = Locate(path);
    return at.ok() && Stat(client_, *at).ok();
  }
  StatusOr<bool> IsDirectory(const std::string& path) override {
    TFLEET_ASSIGN_OR_RETURN(const Location at, Locate(path));
    TFLEET_ASSIGN_OR_RETURN(const FileInfo info, Stat(client_, at));
    return info.is_directory;
  }
  Status Rename(const std::string& from, const std::string& to) override {
    TFLEET_ASSIGN_OR_RETURN(const Location source, Locate(from));
    TFLEET_ASSIGN_OR_RETURN(const Location target, Locate(to));
    // Without the option an existing file is left alone; the answer has no body with it.
    return client_
        .Call("PUT", source,
              {{"op", "RENAME"}, {"destination", target.path}, {"renameoptions", "OVERWRITE"}})
        .status();
  }
  Status Delete(const std::string& path) override { return Remove(path); }
  Status DeleteDir(const std::string& path) override { return Remove(path); }
  Status CreateDirs(const std::string& path) override {
    return ExpectTrue("PUT", path, {{"op", "MKDIRS"}}, "cannot be made");
  }
  Status SyncDir(const std::string& path) override { return OkStatus(); }
  StatusOr<std::vector<std::string>> List(const std::string& path) override {
    TFLEET_ASSIGN_OR_RETURN(const Location at, Locate(path));
    TFLEET_ASSIGN_OR_RETURN(const json answer,
                            client_.CallForJson("GET", at, {{"op", "LISTSTATUS"}}));
    const auto statuses = answer.find("FileStatuses");
    if (statuses == answer.end() || !statuses->is_object() ||
        !statuses->value("FileStatus", json()).is_array()) {
      return DataLoss(at.url, "; the answer has no FileStatuses");
    }
    std::vector<std::string> names;
    for (const json& status : statuses->at("FileStatus")) {
      if (!status.is_object()) continue;
      const auto name = status.find("pathSuffix");
      if (name == status.end() || !name->is_string()) continue;
      names.push_back(name->get<std::string>());
    }
    // Of a file, itself: one name, an empty one.
    if (names.size() == 1 && names[0].empty()) {
      return FailedPrecondition(at.url, "; Not a directory");
    }
    return names;
  }

 private:
  Status Remove(const std::string& path) {
    return ExpectTrue("DELETE", path, {{"op", "DELETE"}, {"recursive", "false"}},
                      "No such file or directory");
  }
  // {"boolean": true}; false is NotFound with `otherwise`.
  Status ExpectTrue(const std::string& method, const std::string& path, Query query,
                    absl::string_view otherwise) {
    TFLEET_ASSIGN_OR_RETURN(const Location at, Locate(path));
    TFLEET_ASSIGN_OR_RETURN(const json answer, client_.CallForJson(method, at, std::move(query)));
    const auto truth = answer.find("boolean");
    if (truth == answer.end() || !truth->is_boolean()) {
      return DataLoss(at.url, "; the answer has no truth value");
    }
    return truth->get<bool>() ? OkStatus() : NotFound(at.url, "; ", otherwise);
  }

  const HdfsClient client_;
};

const char* Env(const char* name) { return std::getenv(name); }

}  // namespace

HdfsConfig HdfsConfigFromEnv(const char* (*env)(const char* name)) {
  const auto text = [env](const char* name) -> std::string {
    const char* const value = env(name);
    return value == nullptr ? "" : value;
  };
  HdfsConfig config;
  for (absl::string_view address :
       absl::StrSplit(text("TENSORFLEET_WEBHDFS"), ',', absl::SkipWhitespace())) {
    address = absl::StripSuffix(absl::StripAsciiWhitespace(address), "/");
    config.addresses.push_back(absl::StrContains(address, "://")
                                   ? std::string(address)
                                   : absl::StrCat("http://", address));
  }
  config.token_file = text("TENSORFLEET_HDFS_TOKEN_FILE");
  config.user = text("HADOOP_USER_NAME");
  if (config.user.empty()) config.user = text("USER");
  return config;
}

std::unique_ptr<FileSystem> MakeHdfsFileSystem(HdfsConfig config) {
  return std::make_unique<HdfsFileSystem>(std::move(config));
}

FileSystem* DefaultHdfsFileSystem() {
  static FileSystem* const files = MakeHdfsFileSystem(HdfsConfigFromEnv(&Env)).release();
  return files;
}

}  // namespace tensorfleet
