// Who we are to the API server: a token, from wherever it comes, or a client certificate.
// Thread-safe.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "operator/http/stream.h"
#include "runtime/base/clock.h"
#include "runtime/base/status.h"

namespace tensorfleet::k8s {

struct Credential {
  std::string authorization;    // value of the header; empty for none
  std::string certificate_pem;  // from exec plug-ins that give certificates
  std::string key_pem;
  bool operator==(const Credential&) const = default;
};

class Credentials {
 public:
  virtual ~Credentials() = default;
  // What to present now. May read a file or run a program, but usually answers from memory. By
  // `deadline` there is an answer; a program that is still running then answers whoever asks next.
  virtual StatusOr<Credential> Get(http::Deadline deadline) = 0;
  StatusOr<Credential> Get() { return Get(http::kNoDeadline); }
  // The server refused what Get returned: forget it.
  virtual void Invalidate() {}
};

std::shared_ptr<Credentials> StaticToken(std::string token);
std::shared_ptr<Credentials> BasicAuth(const std::string& user, const std::string& password);
// A file that somebody else rewrites: read again every minute and after a refusal.
std::shared_ptr<Credentials> TokenFile(std::string path, const Clock* clock);

// client.authentication.k8s.io exec plug-in: run when there is no credential or it is about to
// expire.
struct ExecPlugin {
  std::string api_version;  // client.authentication.k8s.io/v1 or v1beta1
  std::string command;  // absolute, relative to the kubeconfig (resolved by the caller), or on PATH
  std::vector<std::string> args;
  // Added to ours; of two variables of one name these win.
  std::vector<std::pair<std::string, std::string>> env;
  std::string install_hint;
  std::string
      cluster_info_json;  // spec.cluster for plug-ins that want it; empty when not asked for
  std::chrono::milliseconds time_limit{60'000};  // after which it is killed
};
std::shared_ptr<Credentials> ExecCredentials(ExecPlugin plugin, const Clock* clock);

}  // namespace tensorfleet::k8s
