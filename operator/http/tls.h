// TLS contexts from certificates in memory.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "runtime/base/status.h"

namespace tensorfleet::http {

struct TlsClientConfig {
  std::string ca_pem;           // empty: the system's certificate authorities
  std::string certificate_pem;  // with its chain; empty: none is shown
  std::string key_pem;
  bool insecure_skip_verify = false;
};
StatusOr<std::shared_ptr<SSL_CTX>> ClientContext(const TlsClientConfig& config);

// A server's; `certificate_pem` may hold the chain after the certificate.
StatusOr<std::shared_ptr<SSL_CTX>> ServerContext(const std::string& certificate_pem,
                                                 const std::string& key_pem);

}  // namespace tensorfleet::http
