// Loopback addresses in place of the DNS names of replicas.
#pragma once

#include <map>
#include <string>

#include "absl/strings/string_view.h"
#include "operator/api/tfjob.h"
#include "runtime/base/status.h"

namespace tensorfleet::local {

class Addresses {
 public:
  // A free port for each replica of `job`, kept for the whole run, so that a replaced replica is
  // found where it was. They lie below the ports that the system hands out by itself. Error:
  // ResourceExhausted.
  static StatusOr<Addresses> Choose(const api::TFJob& job);

  // By replica name ("job-worker-0"), for tests.
  explicit Addresses(std::map<std::string, int> ports) : ports_(std::move(ports)) {}

  // TF_CONFIG with every "<replica>.<namespace>.svc...:<port>" replaced by "127.0.0.1:<port here>".
  // What is no TF_CONFIG of ours is returned as it is.
  std::string Localize(const std::string& tf_config) const;

 private:
  std::map<std::string, int> ports_;
};

}  // namespace tensorfleet::local
