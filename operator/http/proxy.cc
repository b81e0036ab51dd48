#include "operator/http/proxy.h"

#include <arpa/inet.h>

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace tensorfleet::http {
namespace {

// The bytes of an address; empty when `text` is none. Those of IPv4 are its own four.
std::string AddressBytes(const std::string& text) {
  char bytes[16];
  if (inet_pton(AF_INET, text.c_str(), bytes) == 1) return std::string(bytes, 4);
  if (inet_pton(AF_INET6, text.c_str(), bytes) == 1) return std::string(bytes, 16);
  return "";
}

bool IsInNetwork(const std::string& address, absl::string_view network) {
  const std::vector<std::string> parts = absl::StrSplit(network, absl::MaxSplits('/', 1));
  int bits = 0;
  if (parts.size() != 2 || !absl::SimpleAtoi(parts[1], &bits) || bits < 0) return false;
  const std::string base = AddressBytes(parts[0]);
  if (base.empty() || base.size() != address.size() || bits > static_cast<int>(base.size()) * 8) {
    return false;
  }
  for (int bit = 0; bit < bits; ++bit) {
    const int mask = 0x80 >> (bit % 8);
    if ((base[bit / 8] & mask) != (address[bit / 8] & mask)) return false;
  }
  return true;
}

bool Matches(const Endpoint& to, const std::string& address, absl::string_view entry) {
  if (entry == "*") return true;
  if (!address.empty() && IsInNetwork(address, entry)) return true;
  // A port, but not the last group of an IPv6 address.
  absl::string_view name = entry;
  if (absl::ConsumePrefix(&name, "[")) {
    const size_t end = name.find(']');
    if (end == absl::string_view::npos) return false;
    absl::string_view port = name.substr(end + 1);
    int number;
    if (absl::ConsumePrefix(&port, ":") && (!absl::SimpleAtoi(port, &number) || number != to.port))
      return false;
    name = name.substr(0, end);
  } else if (const size_t colon = name.find(':');
             colon != absl::string_view::npos && name.rfind(':') == colon) {
    int number;
    if (!absl::SimpleAtoi(name.substr(colon + 1), &number) || number != to.port) return false;
    name = name.substr(0, colon);
  }
  if (!address.empty()) return AddressBytes(std::string(name)) == address;
  const std::string host = absl::AsciiStrToLower(to.host);
  absl::ConsumePrefix(&name, "*");
  const std::string wanted = absl::AsciiStrToLower(name);
  if (absl::StartsWith(wanted, ".")) return absl::EndsWith(host, wanted);
  return !wanted.empty() && (host == wanted || absl::EndsWith(host, "." + wanted));
}

std::string HostAndPort(const Endpoint& to) {
  const bool v6 = to.host.find(':') != std::string::npos;
  return v6 ? absl::StrCat("[", to.host, "]:", to.port) : absl::StrCat(to.host, ":", to.port);
}

// Of "%40" an "@".
std::string PercentDecoded(absl::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && absl::ascii_isxdigit(text[i + 1]) &&
        absl::ascii_isxdigit(text[i + 2])) {
      out += absl::HexStringToBytes(text.substr(i + 1, 2));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace

StatusOr<Proxy> ParseProxy(absl::string_view url) {
  absl::string_view rest = url;
  if (const size_t scheme = rest.find("://"); scheme != absl::string_view::npos) {
    if (rest.substr(0, scheme) != "http") {
      return Unimplemented(
          "proxy ", rest.substr(0, scheme),
          "://… is not supported: only http:// proxies are, which tunnel HTTPS too");
    }
    rest.remove_prefix(scheme + 3);
  }
  Proxy proxy;
  rest = rest.substr(0, rest.find('/'));
  if (const size_t at = rest.rfind('@'); at != absl::string_view::npos) {
    const absl::string_view user = rest.substr(0, at);
    const size_t colon = user.find(':');
    const std::string plain = absl::StrCat(
        PercentDecoded(user.substr(0, colon)), ":",
        colon == absl::string_view::npos ? "" : PercentDecoded(user.substr(colon + 1)));
    proxy.authorization = "Basic " + absl::Base64Escape(plain);
    rest.remove_prefix(at + 1);
  }
  // Not the URL: it may hold a password.
  const StatusOr<Endpoint> at = ParseUrl(absl::StrCat("http://", rest), nullptr);
  if (!at.ok()) return Prefixed("proxy: ", at.status());
  proxy.at = *at;
  return proxy;
}

bool IsExempt(const Endpoint& to, absl::string_view no_proxy) {
  const std::string address = AddressBytes(to.host);
  if (absl::EqualsIgnoreCase(to.host, "localhost") || IsInNetwork(address, "127.0.0.0/8") ||
      IsInNetwork(address, "::1/128")) {
    return true;
  }
  for (const absl::string_view entry : absl::StrSplit(no_proxy, ',')) {
    const absl::string_view trimmed = absl::StripAsciiWhitespace(entry);
    if (!trimmed.empty() && Matches(to, address, trimmed)) return true;
  }
  return false;
}

StatusOr<std::optional<Proxy>> ProxyFor(const Endpoint& to, const std::string& configured,
                                        const std::function<std::string(const char*)>& get) {
  std::string url = configured;
  if (url.empty()) {
    const auto either = [&](const char* upper, const char* lower) {
      const std::string value = get(upper);
      return value.empty() ? get(lower) : value;
    };
    if (IsExempt(to, either("NO_PROXY", "no_proxy"))) return std::optional<Proxy>();
    url = to.tls ? either("HTTPS_PROXY", "https_proxy") : either("HTTP_PROXY", "http_proxy");
    if (url.empty()) return std::optional<Proxy>();
  }
  TFLEET_ASSIGN_OR_RETURN(Proxy proxy, ParseProxy(url));
  return std::optional<Proxy>(std::move(proxy));
}

Status OpenTunnel(Stream* stream, const Proxy& proxy, const Endpoint& to, Deadline deadline) {
  const std::string target = HostAndPort(to);
  std::string request = absl::StrCat("CONNECT ", target, " HTTP/1.1\r\nhost: ", target, "\r\n");
  if (!proxy.authorization.empty()) {
    absl::StrAppend(&request, "proxy-authorization: ", proxy.authorization, "\r\n");
  }
  TFLEET_RETURN_IF_ERROR(stream->Write(request + "\r\n", deadline));
  // Byte by byte: what follows the head is not ours to read.
  constexpr size_t kMaxHead = 16 * 1024;
  std::string head;
  while (!absl::EndsWith(head, "\r\n\r\n")) {
    char byte;
    TFLEET_ASSIGN_OR_RETURN(const size_t got, stream->Read(&byte, 1, deadline));
    if (got == 0 || head.size() == kMaxHead) {
      return Unavailable("proxy ", HostAndPort(proxy.at), " did not answer in HTTP");
    }
    head += byte;
  }
  const std::string line = head.substr(0, head.find("\r\n"));
  int code = 0;
  const std::vector<std::string> words = absl::StrSplit(line, ' ');
  if (words.size() < 2 || !absl::StartsWith(words[0], "HTTP/1.") ||
      !absl::SimpleAtoi(words[1], &code) || code < 200 || code > 299) {
    return Unavailable("proxy ", HostAndPort(proxy.at), " does not connect to ", target, ": ",
                       line.substr(0, 120));
  }
  return OkStatus();
}

}  // namespace tensorfleet::http
