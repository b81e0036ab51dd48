// Keeps the webhook's certificates usable: made and rotated by us in a Secret, or read from a
// folder that somebody else keeps. Thread-safe.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "operator/k8s/client.h"
#include "operator/main/certificates.h"
#include "runtime/base/clock.h"
#include "runtime/base/mutex.h"

namespace tensorfleet::operator_main {

struct CertificateKeeperOptions {
  std::string folder;  // with tls.crt and tls.key; empty: the Secret
  std::string ns;      // of the Secret
  std::string secret_name;
  std::string config_name;  // ValidatingWebhookConfiguration whose entry of ours gets our authority
  std::string service;      // in `ns`, in front of the webhook: what its entry calls
  std::vector<std::string> names;
  std::chrono::seconds check_every{300};
};

class CertificateKeeper {
 public:
  // `client` (may be null with a folder) and `clock` must outlive the keeper.
  CertificateKeeper(k8s::Client* client, const Clock* clock, CertificateKeeperOptions options);
  ~CertificateKeeper();

  // Looks once, and makes, renews or reads what is needed. Called by Start too.
  Status Refresh();
  // Refreshes now and again and again, in a thread.
  void Start();
  void Stop();

  // For a new connection; null before the first success.
  std::shared_ptr<SSL_CTX> context() const;
  bool is_ready() const { return context() != nullptr; }
  int64_t reads() const;
  int64_t read_errors() const;

 private:
  Status RefreshFromFolder();
  Status RefreshFromSecret();
  // The Secret's certificates; sets `*version`, empty when there is no Secret.
  StatusOr<CertificateSet> ReadSecret(std::string* version);
  Status WriteSecret(const CertificateSet& set, const std::string& version);
  // Puts the authority into our entry of the webhook configuration where it is another.
  Status PublishAuthority(const std::string& ca_pem);
  Status Use(const std::string& certificate_pem, const std::string& key_pem);

  k8s::Client* const client_;
  const Clock* const clock_;
  const CertificateKeeperOptions options_;
  CancellationManager cancel_;
  std::thread thread_;
  mutable Mutex mu_;
  std::shared_ptr<SSL_CTX> context_ ABSL_GUARDED_BY(mu_);
  std::string in_use_ ABSL_GUARDED_BY(mu_);
  int64_t reads_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t read_errors_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace tensorfleet::operator_main
