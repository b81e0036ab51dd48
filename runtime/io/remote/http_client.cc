#include "runtime/io/remote/http_client.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/io/io_interest.h"
#include "runtime/io/remote/curl.h"
#include "runtime/io/remote/store_counters.h"

namespace tensorfleet {
namespace {

constexpr std::chrono::milliseconds kFirstPause(100);

// What libcurl's callbacks work on.
struct Exchange {
  const HttpRequest* request;
  HttpResponse* response;
  absl::string_view rest;  // of the body, not yet sent
  bool is_too_long = false, is_own_link = false;
};

size_t TakeBody(char* data, size_t size, size_t count, void* exchange) {
  auto* const e = static_cast<Exchange*>(exchange);
  const size_t n = size * count;
  if (n > e->request->most_bytes - std::min(e->request->most_bytes, e->response->body.size())) {
    e->is_too_long = true;
    return 0;  // ends the transfer
  }
  e->response->body.append(data, n);
  return n;
}

size_t TakeHeader(char* data, size_t size, size_t count, void* exchange) {
  auto& headers = static_cast<Exchange*>(exchange)->response->headers;
  const absl::string_view line(data, size * count);
  const size_t colon = line.find(':');
  if (absl::StartsWith(line, "HTTP/")) {
    headers.clear();  // the next answer, after a redirection
  } else if (colon != absl::string_view::npos) {
    headers[absl::AsciiStrToLower(line.substr(0, colon))] =
        std::string(absl::StripAsciiWhitespace(line.substr(colon + 1)));
  }
  return size * count;
}

size_t GiveBody(char* out, size_t size, size_t count, void* exchange) {
  absl::string_view& rest = static_cast<Exchange*>(exchange)->rest;
  const size_t n = std::min(rest.size(), size * count);
  std::copy(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(n), out);
  rest.remove_prefix(n);
  return n;
}

// Called about once a second while a request waits.
int StopIfUnwanted(void*, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return IoInterest().ok() ? 0 : 1;
}

bool IsOwnLink(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(address);
    return ntohl(v4->sin_addr.s_addr) >> 16 == 0xA9FE;
  }
  if (address->sa_family != AF_INET6) return false;
  const in6_addr& v6 = reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
  if (IN6_IS_ADDR_V4MAPPED(&v6)) return v6.s6_addr[12] == 0xA9 && v6.s6_addr[13] == 0xFE;
  // Amazon's instances have their metadata at fd00:ec2::254, too.
  static constexpr uint8_t kAmazon[4] = {0xFD, 0x00, 0x0E, 0xC2};
  return IN6_IS_ADDR_LINKLOCAL(&v6) || std::equal(kAmazon, kAmazon + 4, v6.s6_addr);
}

curl_socket_t OpenSocket(void* exchange, curlsocktype, curl_sockaddr* address) {
  if (IsOwnLink(&address->addr)) {
    static_cast<Exchange*>(exchange)->is_own_link = true;
    return CURL_SOCKET_BAD;
  }
  return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

Status SetUp(CURL* handle, const Curl& curl, Exchange* exchange) {
  const HttpRequest& request = *exchange->request;
  if (!request.signing_scope.empty()) {
    if (curl.easy_setopt(handle, CURLOPT_AWS_SIGV4, request.signing_scope.c_str()) != CURLE_OK) {
      return FailedPrecondition(kCurlLibrary,
                                " cannot sign requests; s3:// needs libcurl 7.88 or later");
    }
    curl.easy_setopt(handle, CURLOPT_USERNAME, request.signing_key.c_str());
    curl.easy_setopt(handle, CURLOPT_PASSWORD, request.signing_secret.c_str());
  }
  constexpr long kProtocols = CURLPROTO_HTTP | CURLPROTO_HTTPS;
  curl.easy_setopt(handle, CURLOPT_URL, request.url.c_str());
  curl.easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl.easy_setopt(handle, CURLOPT_PROTOCOLS, kProtocols);
  curl.easy_setopt(handle, CURLOPT_PATH_AS_IS, 1L);
  curl.easy_setopt(handle, CURLOPT_CONNECTTIMEOUT, request.connect_seconds);
  curl.easy_setopt(handle, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl.easy_setopt(handle, CURLOPT_LOW_SPEED_TIME, request.silent_seconds);
  curl.easy_setopt(handle, CURLOPT_EXPECT_100_TIMEOUT_MS, 1L);  // no round trip before the body
  curl.easy_setopt(handle, CURLOPT_NOPROGRESS, 0L);
  curl.easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, &StopIfUnwanted);
  curl.easy_setopt(handle, CURLOPT_WRITEFUNCTION, &TakeBody);
  curl.easy_setopt(handle, CURLOPT_WRITEDATA, exchange);
  curl.easy_setopt(handle, CURLOPT_HEADERFUNCTION, &TakeHeader);
  curl.easy_setopt(handle, CURLOPT_HEADERDATA, exchange);
  if (request.follows_redirects) {
    curl.easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 1L);
    curl.easy_setopt(handle, CURLOPT_MAXREDIRS, 10L);
    curl.easy_setopt(handle, CURLOPT_REDIR_PROTOCOLS, kProtocols);
  }
  if (request.is_of_graph) {
    curl.easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, &OpenSocket);
    curl.easy_setopt(handle, CURLOPT_OPENSOCKETDATA, exchange);
  }
  if (request.method == "HEAD") {
    curl.easy_setopt(handle, CURLOPT_NOBODY, 1L);
    return OkStatus();
  }
  if (request.method == "PUT" || request.method == "POST") {
    curl.easy_setopt(handle, CURLOPT_UPLOAD, 1L);
    curl.easy_setopt(handle, CURLOPT_READFUNCTION, &GiveBody);
    curl.easy_setopt(handle, CURLOPT_READDATA, exchange);
    curl.easy_setopt(handle, CURLOPT_INFILESIZE_LARGE,
                     static_cast<curl_off_t>(request.body.size()));
  }
  curl.easy_setopt(handle, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  return OkStatus();
}

// One attempt; an answer's code is 0 when there was none.
Status Perform(const HttpRequest& request, HttpResponse* response) {
  const Curl& curl = LoadedCurl();
  TFLEET_RETURN_IF_ERROR(curl.status);
  CURL* const handle = ThreadCurlHandle(request.is_of_graph);
  if (handle == nullptr) return ResourceExhausted("libcurl has no memory for a request");
  Exchange exchange{&request, response, request.body};
  TFLEET_RETURN_IF_ERROR(SetUp(handle, curl, &exchange));
  curl_slist* headers = nullptr;
  for (const auto& [name, value] : request.headers) {
    headers = curl.slist_append(headers, absl::StrCat(name, ": ", value).c_str());
  }
  curl.easy_setopt(handle, CURLOPT_HTTPHEADER, headers);
  const CURLcode result = curl.easy_perform(handle);
  if (result == CURLE_OK) curl.easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &response->code);
  curl.slist_free_all(headers);
  if (result == CURLE_OK) return OkStatus();
  response->code = 0;
  if (exchange.is_too_long) {
    return ResourceExhausted("the answer has more than ", request.most_bytes, " bytes");
  }
  if (exchange.is_own_link) {
    return PermissionDenied("addresses of the machine's own link are not read for graphs");
  }
  return Unavailable(curl.easy_strerror(result));
}

bool MayHelpToRepeat(long code) { return code == 0 || code == 429 || code >= 500; }

}  // namespace

StatusOr<HttpResponse> SendHttp(const HttpRequest& request, absl::string_view what, int attempts) {
  TFLEET_RETURN_IF_ERROR(IoInterest());
  auto pause = kFirstPause;
  for (int attempt = 1;; ++attempt) {
    HttpResponse response;
    const Status sent = Perform(request, &response);
    CountRequest(request.scheme, request.body.size(), response.body.size(), attempt > 1);
    if (sent.ok() && !MayHelpToRepeat(response.code)) return response;
    if (Status unwanted = IoInterest(); !unwanted.ok()) return unwanted;
    const bool is_final = !sent.ok() && !absl::IsUnavailable(sent);
    if (is_final || attempt >= attempts) {
      if (sent.ok()) return response;
      return Prefixed(absl::StrCat(what, "; "), sent);
    }
    TFLEET_RETURN_IF_ERROR(PauseIo(pause));
    pause *= 2;
  }
}

Status HttpError(const HttpResponse& response, absl::string_view what, absl::string_view words,
                 absl::string_view advice) {
  const std::string text =
      absl::StrCat(what, "; the store says ", response.code, words.empty() ? "" : ": ", words);
  switch (response.code) {
    case 404:
    case 410:
      return NotFound(text);
    case 401:
      return Unauthenticated(text, advice);
    case 403:
      return PermissionDenied(text, advice);
    case 416:
      return OutOfRange(text);
    default:
      return MayHelpToRepeat(response.code) ? Unavailable(text) : Unknown(text);
  }
}

std::string UriEncoded(absl::string_view text, bool keep_slashes) {
  std::string out;
  for (const char c : text) {
    if (absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.' || c == '~' ||
        (c == '/' && keep_slashes)) {
      out.push_back(c);
    } else {
      const std::string hex = absl::BytesToHexString(absl::string_view(&c, 1));
      absl::StrAppend(&out, "%", absl::AsciiStrToUpper(hex));
    }
  }
  return out;
}

std::string EncodedQuery(const std::map<std::string, std::string>& query) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : query) {
    parts.push_back(absl::StrCat(UriEncoded(name, false), "=", UriEncoded(value, false)));
  }
  return absl::StrJoin(parts, "&");
}

}  // namespace tensorfleet
