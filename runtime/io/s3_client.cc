#include "runtime/io/s3_client.h"

#include <curl/curl.h>
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "runtime/base/log.h"
#include "runtime/io/io_interest.h"
#include "runtime/io/sha256.h"

namespace tensorfleet {
namespace {

constexpr char kLibrary[] = "libcurl.so.4";
constexpr std::chrono::milliseconds kFirstPause(100);
constexpr long kConnectSeconds = 10, kSilentSeconds = 60;

// The functions of libcurl that are used; loaded once, so that programs that never see s3:// do not
// pay for it.
struct Curl {
  decltype(&curl_global_init) global_init = nullptr;
  decltype(&curl_easy_init) easy_init = nullptr;
  decltype(&curl_easy_setopt) easy_setopt = nullptr;
  decltype(&curl_easy_perform) easy_perform = nullptr;
  decltype(&curl_easy_getinfo) easy_getinfo = nullptr;
  decltype(&curl_easy_reset) easy_reset = nullptr;
  decltype(&curl_easy_cleanup) easy_cleanup = nullptr;
  decltype(&curl_easy_strerror) easy_strerror = nullptr;
  decltype(&curl_slist_append) slist_append = nullptr;
  decltype(&curl_slist_free_all) slist_free_all = nullptr;
  Status status;
};

const Curl& LoadedCurl() {
  static const Curl* const curl = [] {
    auto* out = new Curl();
    void* library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      out->status = FailedPrecondition(
          "s3:// needs ", kLibrary, ", which cannot be loaded: ", dlerror(), " (Debian: libcurl4)");
      return out;
    }
    const auto find = [&](auto* function, const char* name) {
      *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(dlsym(library, name));
      if (*function == nullptr) out->status = FailedPrecondition(kLibrary, " has no ", name);
    };
    find(&out->global_init, "curl_global_init");
    find(&out->easy_init, "curl_easy_init");
    find(&out->easy_setopt, "curl_easy_setopt");
    find(&out->easy_perform, "curl_easy_perform");
    find(&out->easy_getinfo, "curl_easy_getinfo");
    find(&out->easy_reset, "curl_easy_reset");
    find(&out->easy_cleanup, "curl_easy_cleanup");
    find(&out->easy_strerror, "curl_easy_strerror");
    find(&out->slist_append, "curl_slist_append");
    find(&out->slist_free_all, "curl_slist_free_all");
    if (out->status.ok()) out->global_init(CURL_GLOBAL_DEFAULT);
    return out;
  }();
  return *curl;
}

// One handle for each thread: it keeps its connections open between requests.
CURL* ThreadHandle() {
  struct Owner {
    CURL* handle = LoadedCurl().easy_init();
    ~Owner() {
      if (handle != nullptr) LoadedCurl().easy_cleanup(handle);
    }
  };
  static thread_local Owner owner;
  if (owner.handle != nullptr) LoadedCurl().easy_reset(owner.handle);
  return owner.handle;
}

size_t TakeBody(char* data, size_t size, size_t count, void* out) {
  static_cast<std::string*>(out)->append(data, size * count);
  return size * count;
}

size_t TakeHeader(char* data, size_t size, size_t count, void* out) {
  const absl::string_view line(data, size * count);
  const size_t colon = line.find(':');
  if (colon != absl::string_view::npos) {
    (*static_cast<std::map<std::string, std::string>*>(
        out))[absl::AsciiStrToLower(line.substr(0, colon))] =
        std::string(absl::StripAsciiWhitespace(line.substr(colon + 1)));
  }
  return size * count;
}

struct Upload {
  absl::string_view rest;
};
size_t GiveBody(char* out, size_t size, size_t count, void* from) {
  absl::string_view& rest = static_cast<Upload*>(from)->rest;
  const size_t n = std::min(rest.size(), size * count);
  std::copy(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(n), out);
  rest.remove_prefix(n);
  return n;
}

// Called about once a second while a request waits.
int StopIfUnwanted(void*, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return IoInterest().ok() ? 0 : 1;
}

// Lets libcurl sign the request. Its headers hold the payload's hash already, and none without a
// value: libcurl signs those, too, though it does not send them.
Status Sign(const S3Credentials& credentials, CURL* handle) {
  const Curl& curl = LoadedCurl();
  const std::string scope = absl::StrCat("aws:amz:", credentials.region, ":s3");
  if (curl.easy_setopt(handle, CURLOPT_AWS_SIGV4, scope.c_str()) != CURLE_OK) {
    return FailedPrecondition(kLibrary, " cannot sign requests; s3:// needs libcurl 7.88 or later");
  }
  curl.easy_setopt(handle, CURLOPT_USERNAME, credentials.access_key.c_str());
  curl.easy_setopt(handle, CURLOPT_PASSWORD, credentials.secret_key.c_str());
  return OkStatus();
}

// One attempt. `*code` is the HTTP status; 0 when there was no answer.
Status Perform(const S3Request& request, const S3Credentials& credentials, const std::string& url,
               absl::string_view body, long* code, S3Response* response) {
  const Curl& curl = LoadedCurl();
  TFLEET_RETURN_IF_ERROR(curl.status);
  CURL* const handle = ThreadHandle();
  if (handle == nullptr) return ResourceExhausted("libcurl has no memory for a request");
  if (!credentials.access_key.empty()) TFLEET_RETURN_IF_ERROR(Sign(credentials, handle));
  curl_slist* headers = nullptr;
  for (const auto& [name, value] : request.headers) {
    headers = curl.slist_append(headers, absl::StrCat(name, ": ", value).c_str());
  }
  curl.easy_setopt(handle, CURLOPT_URL, url.c_str());
  curl.easy_setopt(handle, CURLOPT_HTTPHEADER, headers);
  curl.easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl.easy_setopt(handle, CURLOPT_PROTOCOLS, static_cast<long>(CURLPROTO_HTTP | CURLPROTO_HTTPS));
  curl.easy_setopt(handle, CURLOPT_PATH_AS_IS, 1L);
  curl.easy_setopt(handle, CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  curl.easy_setopt(handle, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl.easy_setopt(handle, CURLOPT_LOW_SPEED_TIME, kSilentSeconds);
  curl.easy_setopt(handle, CURLOPT_EXPECT_100_TIMEOUT_MS, 1L);  // no round trip before the body
  curl.easy_setopt(handle, CURLOPT_NOPROGRESS, 0L);
  curl.easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, &StopIfUnwanted);
  curl.easy_setopt(handle, CURLOPT_WRITEFUNCTION, &TakeBody);
  curl.easy_setopt(handle, CURLOPT_WRITEDATA, &response->body);
  curl.easy_setopt(handle, CURLOPT_HEADERFUNCTION, &TakeHeader);
  curl.easy_setopt(handle, CURLOPT_HEADERDATA, &response->headers);
  Upload upload{body};
  if (request.method == "HEAD") {
    curl.easy_setopt(handle, CURLOPT_NOBODY, 1L);
  } else if (request.method == "PUT" || request.method == "POST") {
    curl.easy_setopt(handle, CURLOPT_UPLOAD, 1L);
    curl.easy_setopt(handle, CURLOPT_READFUNCTION, &GiveBody);
    curl.easy_setopt(handle, CURLOPT_READDATA, &upload);
    curl.easy_setopt(handle, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(body.size()));
    curl.easy_setopt(handle, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  } else {
    curl.easy_setopt(handle, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  }
  const CURLcode result = curl.easy_perform(handle);
  *code = 0;
  if (result == CURLE_OK) curl.easy_getinfo(handle, CURLINFO_RESPONSE_CODE, code);
  curl.slist_free_all(headers);
  return result == CURLE_OK ? OkStatus() : Unavailable(curl.easy_strerror(result));
}

Status FromHttp(long code, const std::string& what, const std::string& body) {
  const std::string words = XmlText(body, "Message");
  const std::string text =
      absl::StrCat(what, "; the store says ", code, words.empty() ? "" : ": ", words);
  if (code == 404) return NotFound(text);
  if (code == 401) return Unauthenticated(text);
  if (code == 403) {
    return PermissionDenied(text,
                            " (credentials come from AWS_ACCESS_KEY_ID and "
                            "AWS_SECRET_ACCESS_KEY)");
  }
  if (code == 416) return OutOfRange(text);
  if (code == 429 || code >= 500) return Unavailable(text);
  return Unknown(text);
}

bool MayHelpToRepeat(long code) { return code == 0 || code == 429 || code >= 500; }

std::string Decoded(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"&lt;", "<"},
                                    {"&gt;", ">"},
                                    {"&quot;", "\""},
                                    {"&#34;", "\""},
                                    {"&apos;", "'"},
                                    {"&#39;", "'"},
                                    {"&amp;", "&"}});
}

}  // namespace

S3Config S3ConfigFromEnv(const char* (*env)(const char* name)) {
  const auto first = [&](std::initializer_list<const char*> names) -> std::string {
    for (const char* name : names) {
      const char* const value = env(name);
      if (value != nullptr && *value != '\0') return value;
    }
    return "";
  };
  S3Config config;
  config.credentials.access_key = first({"AWS_ACCESS_KEY_ID"});
  config.credentials.secret_key = first({"AWS_SECRET_ACCESS_KEY"});
  config.credentials.session_token = first({"AWS_SESSION_TOKEN"});
  config.credentials.region = first({"AWS_REGION", "AWS_DEFAULT_REGION"});
  if (config.credentials.region.empty()) config.credentials.region = "us-east-1";
  config.endpoint = first({"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"});
  if (const std::string host = first({"S3_ENDPOINT"}); config.endpoint.empty() && !host.empty()) {
    const std::string scheme = first({"S3_USE_HTTPS"}) == "0" ? "http://" : "https://";
    config.endpoint = absl::StrContains(host, "://") ? host : absl::StrCat(scheme, host);
  }
  config.endpoint = std::string(absl::StripSuffix(config.endpoint, "/"));
  return config;
}

StatusOr<S3Response> S3Client::Call(S3Request request, const std::string& bucket,
                                    const std::string& key, absl::string_view body,
                                    int attempts) const {
  std::string scheme = "https://";
  if (config_.endpoint.empty()) {
    request.host = absl::StrCat(bucket, ".s3.", config_.credentials.region, ".amazonaws.com");
    request.path = absl::StrCat("/", key);
  } else {
    const size_t colon = config_.endpoint.find("://");
    if (colon == std::string::npos) {
      return InvalidArgument("the S3 endpoint '", config_.endpoint,
                             "' must begin with http:// or https://");
    }
    scheme = config_.endpoint.substr(0, colon + 3);
    request.host = config_.endpoint.substr(colon + 3);
    request.path = absl::StrCat("/", bucket, key.empty() ? "" : "/", key);
  }
  const std::string query = EncodedQuery(request);
  const std::string url = absl::StrCat(scheme, request.host, UriEncoded(request.path, true),
                                       query.empty() ? "" : "?", query);
  const std::string what = absl::StrCat("s3://", bucket, "/", key);
  const S3Credentials& credentials = config_.credentials;
  if (!credentials.access_key.empty()) {
    request.headers["x-amz-content-sha256"] = Sha256Hex(body);
    if (!credentials.session_token.empty()) {
      request.headers["x-amz-security-token"] = credentials.session_token;
    }
  }
  TFLEET_RETURN_IF_ERROR(IoInterest());
  auto pause = kFirstPause;
  for (int attempt = 1;; ++attempt) {
    S3Response response;
    long code = 0;
    const Status sent = Perform(request, credentials, url, body, &code, &response);
    if (code >= 200 && code < 300) return response;
    if (Status unwanted = IoInterest(); !unwanted.ok()) return unwanted;
    const Status status =
        sent.ok() ? FromHttp(code, what, response.body) : Prefixed(absl::StrCat(what, "; "), sent);
    const bool is_ours = !sent.ok() && !absl::IsUnavailable(sent);
    if (is_ours || attempt >= attempts || !MayHelpToRepeat(code)) return status;
    TFLEET_RETURN_IF_ERROR(PauseIo(pause));
    pause *= 2;
  }
}

std::vector<std::string> XmlElements(absl::string_view xml, absl::string_view name) {
  const std::string open = absl::StrCat("<", name, ">"), close = absl::StrCat("</", name, ">");
  std::vector<std::string> found;
  for (;;) {
    const size_t begin = xml.find(open);
    if (begin == absl::string_view::npos) return found;
    xml.remove_prefix(begin + open.size());
    const size_t end = xml.find(close);
    if (end == absl::string_view::npos) return found;
    found.emplace_back(xml.substr(0, end));
    xml.remove_prefix(end + close.size());
  }
}

std::string XmlText(absl::string_view xml, absl::string_view name) {
  const std::vector<std::string> found = XmlElements(xml, name);
  return found.empty() ? "" : Decoded(found[0]);
}

}  // namespace tensorfleet
