// Which proxy leads to an endpoint: the one that a configuration names, else that of HTTPS_PROXY or
// HTTP_PROXY, unless NO_PROXY exempts the host, as curl and Go's programs have it.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "operator/http/stream.h"

namespace tensorfleet::http {

struct Proxy {
  Endpoint at;
  std::string authorization;  // value of Proxy-Authorization; empty for none
};

// Of "http://[user:password@]host[:port]" or "host:port". Other kinds are refused by name.
StatusOr<Proxy> ParseProxy(absl::string_view url);

// True when `no_proxy`, names, ".domains", addresses, networks such as 10.0.0.0/8, each with a port
// if it likes, or "*", by commas, exempts `to`. Loopback always is.
bool IsExempt(const Endpoint& to, absl::string_view no_proxy);

// `get` reads the environment.
StatusOr<std::optional<Proxy>> ProxyFor(const Endpoint& to, const std::string& configured,
                                        const std::function<std::string(const char*)>& get);

// Has the proxy at the other end of `stream` connect to `to`. Afterwards the stream is the
// endpoint's.
Status OpenTunnel(Stream* stream, const Proxy& proxy, const Endpoint& to, Deadline deadline);

}  // namespace tensorfleet::http
