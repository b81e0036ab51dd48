// The command line: training-operator's flags and ours, in one table that parsing, --help and the
// documentation share.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "runtime/base/status.h"

namespace tensorfleet::operator_main {

struct Flags {
  // Cluster.
  std::string kubeconfig;
  std::string context;
  std::string ns;
  double kube_api_qps = 1000;
  int kube_api_burst = 2000;
  // Work.
  int controller_threads = 8;
  int parallel_requests = 32;
  std::chrono::milliseconds status_delay{1000};
  std::string gang_scheduler_name;
  std::vector<std::string> enable_scheme;
  // Leadership.
  bool leader_elect = false;
  std::string leader_election_id = "tensorfleet-operator.tensorfleet.dev";
  std::string leader_election_namespace;
  bool beside_others = false;
  std::chrono::milliseconds lease_duration{15'000};
  std::chrono::milliseconds renew_deadline{10'000};
  std::chrono::milliseconds retry_period{1'000};
  // Endpoints.
  std::string metrics_bind_address = ":8080";
  std::string health_probe_bind_address = ":8081";
  // Webhook.
  std::string webhook = "auto";  // auto, true, false
  int webhook_server_port = 9443;
  std::string webhook_service_name = "tensorfleet-operator";
  std::string webhook_secret_name = "tensorfleet-operator-webhook-cert";
  std::string webhook_config_name = "validator.tensorfleet-operator.tensorfleet.dev";
  std::string webhook_cert_dir;
  std::vector<std::string> webhook_extra_names;
  // Logs.
  bool zap_devel = true;
  std::string zap_encoder;
  std::string zap_log_level;
  // One-shot.
  std::string dry_run;
  bool print_crd = false;
  bool self_check = false;
  bool version = false;
  bool help = false;

  // What was given but has no effect here, as sentences for the log.
  std::vector<std::string> notices;
};

// Accepts --name=value, --name value and the same with one dash; a boolean flag alone is true. The
// environment's KUBEFLOW_NAMESPACE is the default of --namespace.
StatusOr<Flags> ParseFlags(const std::vector<std::string>& args);

// The text of --help.
std::string FlagsHelp();
// Every flag's name, for the test that compares them with operator/docs/flags.md.
std::vector<std::string> FlagNames();

}  // namespace tensorfleet::operator_main
