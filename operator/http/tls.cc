#include "operator/http/tls.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509_vfy.h>
#include <signal.h>

namespace tensorfleet::http {
namespace {

struct Free {
  void operator()(BIO* b) const { BIO_free(b); }
  void operator()(X509* x) const { X509_free(x); }
  void operator()(EVP_PKEY* k) const { EVP_PKEY_free(k); }
};

std::string LastError() {
  char text[256];
  const unsigned long code = ERR_peek_last_error();
  ERR_clear_error();
  if (code == 0) return "not PEM";
  ERR_error_string_n(code, text, sizeof(text));
  return text;
}

std::unique_ptr<BIO, Free> Bio(const std::string& pem) {
  return std::unique_ptr<BIO, Free>(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

Status AddCertificate(SSL_CTX* context, const std::string& certificate_pem,
                      const std::string& key_pem) {
  auto bio = Bio(certificate_pem);
  std::unique_ptr<X509, Free> leaf(PEM_read_bio_X509_AUX(bio.get(), nullptr, nullptr, nullptr));
  if (leaf == nullptr) return InvalidArgument("certificate: ", LastError());
  if (SSL_CTX_use_certificate(context, leaf.get()) != 1) {
    return InvalidArgument("certificate: ", LastError());
  }
  while (X509* next = PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)) {
    SSL_CTX_add0_chain_cert(context, next);  // takes it over
  }
  ERR_clear_error();
  auto key_bio = Bio(key_pem);
  std::unique_ptr<EVP_PKEY, Free> key(
      PEM_read_bio_PrivateKey(key_bio.get(), nullptr, nullptr, nullptr));
  if (key == nullptr) return InvalidArgument("private key: ", LastError());
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1) {
    return InvalidArgument("private key does not belong to the certificate: ", LastError());
  }
  return OkStatus();
}

// OpenSSL writes to sockets without MSG_NOSIGNAL: a peer that has gone would end the process.
void IgnoreBrokenPipes() {
  static const bool done = [] {
    struct sigaction current {};
    if (sigaction(SIGPIPE, nullptr, &current) == 0 && current.sa_handler == SIG_DFL) {
      signal(SIGPIPE, SIG_IGN);
    }
    return true;
  }();
  (void)done;
}

std::shared_ptr<SSL_CTX> NewContext(const SSL_METHOD* method) {
  IgnoreBrokenPipes();
  std::shared_ptr<SSL_CTX> context(SSL_CTX_new(method), SSL_CTX_free);
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  // Idle connections keep no 16 KiB record buffers; partial writes may be repeated from another
  // address.
  SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                      SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  return context;
}

}  // namespace

StatusOr<std::shared_ptr<SSL_CTX>> ClientContext(const TlsClientConfig& config) {
  auto context = NewContext(TLS_client_method());
  if (config.insecure_skip_verify) {
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_NONE, nullptr);
  } else {
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
    // What is trusted may be an intermediate authority, without the root above it, as in Go's
    // programs.
    X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context.get()), X509_V_FLAG_PARTIAL_CHAIN);
    if (config.ca_pem.empty()) {
      SSL_CTX_set_default_verify_paths(context.get());
    } else {
      auto bio = Bio(config.ca_pem);
      int added = 0;
      while (X509* ca = PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)) {
        X509_STORE_add_cert(SSL_CTX_get_cert_store(context.get()), ca);
        X509_free(ca);
        ++added;
      }
      ERR_clear_error();
      if (added == 0) return InvalidArgument("certificate authority: no PEM certificate in it");
    }
  }
  if (!config.certificate_pem.empty() || !config.key_pem.empty()) {
    if (config.certificate_pem.empty() || config.key_pem.empty()) {
      return InvalidArgument("a client certificate needs both the certificate and its key");
    }
    TFLEET_RETURN_IF_ERROR(
        Prefixed("client ", AddCertificate(context.get(), config.certificate_pem, config.key_pem)));
  }
  return context;
}

StatusOr<std::shared_ptr<SSL_CTX>> ServerContext(const std::string& certificate_pem,
                                                 const std::string& key_pem) {
  auto context = NewContext(TLS_server_method());
  TFLEET_RETURN_IF_ERROR(
      Prefixed("server ", AddCertificate(context.get(), certificate_pem, key_pem)));
  return context;
}

}  // namespace tensorfleet::http
