#include "operator/main/flags.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"

namespace tensorfleet::operator_main {
namespace {

struct Flag {
  std::string name;
  std::string fallback;  // as --help shows it
  std::string help;
  bool is_bool = false;
  std::function<Status(const std::string& value, Flags& flags)> set;
};

Status Bad(const std::string& value, absl::string_view wanted) {
  return InvalidArgument("\"", value, "\" is not ", wanted);
}

Flag Text(std::string name, std::string fallback, std::string help, std::string Flags::*field) {
  return {std::move(name), std::move(fallback), std::move(help), false,
          [field](const auto& value, Flags& flags) {
            flags.*field = value;
            return OkStatus();
          }};
}

Flag Int(std::string name, std::string fallback, std::string help, int Flags::*field, int least) {
  return {std::move(name), std::move(fallback), std::move(help), false,
          [field, least](const std::string& value, Flags& flags) -> Status {
            int number;
            if (!absl::SimpleAtoi(value, &number) || number < least) {
              return Bad(value, absl::StrCat("a whole number of at least ", least));
            }
            flags.*field = number;
            return OkStatus();
          }};
}

Flag Bool(std::string name, std::string fallback, std::string help, bool Flags::*field) {
  return {std::move(name), std::move(fallback), std::move(help), true,
          [field](const std::string& value, Flags& flags) -> Status {
            const std::string word = absl::AsciiStrToLower(value);
            if (word == "true" || word == "t" || word == "1") {
              flags.*field = true;
            } else if (word == "false" || word == "f" || word == "0") {
              flags.*field = false;
            } else {
              return Bad(value, "true or false");
            }
            return OkStatus();
          }};
}

Flag Time(std::string name, std::string fallback, std::string help,
          std::chrono::milliseconds Flags::*field) {
  return {std::move(name), std::move(fallback), std::move(help), false,
          [field](const std::string& value, Flags& flags) -> Status {
            absl::Duration time;
            if (!absl::ParseDuration(value, &time) || time < absl::ZeroDuration() ||
                time > absl::Hours(24)) {
              return Bad(value, "a time such as 15s or 500ms");
            }
            flags.*field = absl::ToChronoMilliseconds(time);
            return OkStatus();
          }};
}

Flag List(std::string name, std::string help, std::vector<std::string> Flags::*field) {
  return {std::move(name), "", std::move(help), false,
          [field](const std::string& value, Flags& flags) {
            for (const auto part : absl::StrSplit(value, ',', absl::SkipEmpty())) {
              (flags.*field).emplace_back(part);
            }
            return OkStatus();
          }};
}

// Accepted because deployments of training-operator give it; said to have no effect.
Flag Inert(std::string name, std::string fallback, std::string why) {
  return {name, std::move(fallback), "accepted without effect: " + why, false,
          [name, why](const std::string&, Flags& flags) {
            flags.notices.push_back(absl::StrCat("--", name, " has no effect: ", why));
            return OkStatus();
          }};
}

const std::vector<Flag>& Table() {
  static const auto* const table = new std::vector<Flag>{
      Text("kubeconfig", "",
           "file that says where the cluster is; else $KUBECONFIG, the pod's service account, "
           "~/.kube/config",
           &Flags::kubeconfig),
      Text("context", "", "context of the kubeconfig; else its current one", &Flags::context),
      Text("namespace", "$KUBEFLOW_NAMESPACE, else all",
           "the only namespace whose jobs are looked at", &Flags::ns),
      {"kube-api-qps", "1000",
       "requests a second to the API server in the long run; 0 for no limit", false,
       [](const std::string& value, Flags& flags) -> Status {
         if (!absl::SimpleAtod(value, &flags.kube_api_qps) || !std::isfinite(flags.kube_api_qps) ||
             flags.kube_api_qps < 0) {
           return Bad(value, "a number of at least 0");
         }
         return OkStatus();
       }},
      Int("kube-api-burst", "2000",
          "requests to the API server at once before --kube-api-qps applies",
          &Flags::kube_api_burst, 1),
      Int("controller-threads", "8", "jobs reconciled at a time", &Flags::controller_threads, 1),
      Int("parallel-requests", "32",
          "requests under way at a time over all jobs, beyond one per thread",
          &Flags::parallel_requests, 0),
      Time("status-delay", "1s",
           "how long counts and readiness in status wait for more of their kind",
           &Flags::status_delay),
      Text("gang-scheduler-name", "",
           "scheduler that gets a PodGroup for each job: volcano, or the name of one "
           "with scheduler-plugins",
           &Flags::gang_scheduler_name),
      List("enable-scheme", "job kinds to reconcile, repeatable; must contain TFJob when given",
           &Flags::enable_scheme),
      Bool("leader-elect", "false",
           "work only while holding the Lease, so that several replicas may run",
           &Flags::leader_elect),
      Text("leader-election-id", "tensorfleet-operator.tensorfleet.dev", "name of the Lease",
           &Flags::leader_election_id),
      Text("leader-election-namespace", "the operator's own", "namespace of the Lease",
           &Flags::leader_election_namespace),
      Bool("beside-others", "false",
           "reconcile without looking whether another controller reconciles the same TFJobs",
           &Flags::beside_others),
      Time("leader-election-lease-duration", "15s",
           "after this long without renewal another may take over", &Flags::lease_duration),
      Time("leader-election-renew-deadline", "10s",
           "after this long without renewal the leader stops", &Flags::renew_deadline),
      Time("leader-election-retry-period", "1s", "how often a candidate looks",
           &Flags::retry_period),
      Text("metrics-bind-address", ":8080", "where /metrics is served; 0 for nowhere",
           &Flags::metrics_bind_address),
      Text("health-probe-bind-address", ":8081",
           "where /healthz and /readyz are served; 0 for nowhere",
           &Flags::health_probe_bind_address),
      {"webhook", "auto", "serve the validating webhook: true, false, or auto (true inside a pod)",
       true,
       [](const std::string& value, Flags& flags) -> Status {
         if (value != "auto" && value != "true" && value != "false")
           return Bad(value, "auto, true or false");
         flags.webhook = value;
         return OkStatus();
       }},
      Int("webhook-server-port", "9443", "port of the webhook", &Flags::webhook_server_port, 0),
      Text("webhook-service-name", "tensorfleet-operator",
           "Service in front of the webhook; its certificate is for "
           "that name",
           &Flags::webhook_service_name),
      Text("webhook-secret-name", "tensorfleet-operator-webhook-cert",
           "Secret that keeps the webhook's certificates; "
           "made when absent",
           &Flags::webhook_secret_name),
      Text("webhook-config-name", "validator.tensorfleet-operator.tensorfleet.dev",
           "ValidatingWebhookConfiguration that gets the certificate authority",
           &Flags::webhook_config_name),
      Text("webhook-cert-dir", "",
           "folder with tls.crt and tls.key to use instead of making certificates",
           &Flags::webhook_cert_dir),
      List("webhook-extra-names",
           "further host names and addresses of the webhook's certificate, by commas",
           &Flags::webhook_extra_names),
      Bool("zap-devel", "true", "logs for people (console) rather than for machines (json)",
           &Flags::zap_devel),
      {"zap-encoder", "", "console or json; else by --zap-devel", false,
       [](const std::string& value, Flags& flags) -> Status {
         if (value != "console" && value != "json") return Bad(value, "console or json");
         flags.zap_encoder = value;
         return OkStatus();
       }},
      {"zap-log-level", "info", "debug, info, error or panic; a number above 0 means debug", false,
       [](const std::string& value, Flags& flags) -> Status {
         int number;
         const std::string word = absl::AsciiStrToLower(value);
         if (absl::SimpleAtoi(word, &number) && number > 0) {
           flags.zap_log_level = "debug";
         } else if (word == "debug" || word == "info" || word == "error") {
           flags.zap_log_level = word;
         } else if (word == "panic") {
           flags.zap_log_level = "off";
         } else {
           return Bad(value, "debug, info, error, panic or a number above 0");
         }
         return OkStatus();
       }},
      Inert("zap-stacktrace-level", "", "logs carry no stack traces"),
      Inert("zap-time-encoding", "", "times are written in one form"),
      Inert("pytorch-init-container-image", "alpine:3.10", "only TFJobs are reconciled"),
      Inert("pytorch-init-container-template-file", "/etc/config/initContainer.yaml",
            "only TFJobs are reconciled"),
      Inert("pytorch-init-container-max-tries", "100", "only TFJobs are reconciled"),
      Inert("mpi-kubectl-delivery-image", "kubeflow/kubectl-delivery:latest",
            "only TFJobs are reconciled"),
      Text("dry-run", "",
           "file with TFJobs (YAML or JSON, - for standard input): print what would be done for "
           "them, without a cluster, and exit",
           &Flags::dry_run),
      Bool("print-crd", "false", "print the CustomResourceDefinition of TFJobs and exit",
           &Flags::print_crd),
      Bool(
          "self-check", "false",
          "ask the API server whether it takes a good TFJob and, unless --webhook=false, refuses a "
          "bad one; store nothing, and exit",
          &Flags::self_check),
      Bool("version", "false", "print the version and exit", &Flags::version),
      Bool("help", "false", "print this and exit", &Flags::help),
  };
  return *table;
}

Status CheckSchemes(Flags& flags) {
  if (flags.enable_scheme.empty()) return OkStatus();
  bool ours = false;
  for (const std::string& scheme : flags.enable_scheme) {
    const std::string name = absl::AsciiStrToLower(scheme);
    if (name == "tfjob") {
      ours = true;
      continue;
    }
    constexpr const char* kOthers[] = {"pytorchjob", "xgboostjob", "mpijob", "paddlejob", "jaxjob"};
    if (std::find(std::begin(kOthers), std::end(kOthers), name) == std::end(kOthers)) {
      return InvalidArgument("scheme ", scheme, " is not supported yet");
    }
    flags.notices.push_back(
        absl::StrCat("--enable-scheme ", scheme, " has no effect: only TFJobs are reconciled"));
  }
  if (!ours)
    return InvalidArgument(
        "--enable-scheme does not name TFJob, and nothing else is reconciled here");
  return OkStatus();
}

}  // namespace

StatusOr<Flags> ParseFlags(const std::vector<std::string>& args) {
  Flags flags;
  if (const char* ns = std::getenv("KUBEFLOW_NAMESPACE")) flags.ns = ns;
  for (size_t i = 0; i < args.size(); ++i) {
    absl::string_view rest = args[i];
    if (!absl::ConsumePrefix(&rest, "-")) {
      return InvalidArgument("unexpected argument \"", args[i], "\"; see --help");
    }
    absl::ConsumePrefix(&rest, "-");
    const size_t equals = rest.find('=');
    std::string name(rest.substr(0, equals));
    if (name == "h") name = "help";
    const auto flag =
        std::find_if(Table().begin(), Table().end(), [&](const Flag& f) { return f.name == name; });
    if (flag == Table().end()) return InvalidArgument("unknown flag \"", args[i], "\"; see --help");
    std::string value;
    if (equals != absl::string_view::npos) {
      value = std::string(rest.substr(equals + 1));
    } else if (flag->is_bool) {
      value = "true";
    } else if (i + 1 < args.size()) {
      value = args[++i];
    } else {
      return InvalidArgument("--", name, " needs a value");
    }
    TFLEET_RETURN_IF_ERROR(Prefixed(absl::StrCat("--", name, ": "), flag->set(value, flags)));
  }
  TFLEET_RETURN_IF_ERROR(CheckSchemes(flags));
  if (flags.renew_deadline >= flags.lease_duration) {
    return InvalidArgument(
        "--leader-election-renew-deadline must be shorter than --leader-election-lease-duration");
  }
  if (flags.retry_period * 2 >= flags.renew_deadline) {
    return InvalidArgument(
        "--leader-election-retry-period must be shorter than half of "
        "--leader-election-renew-deadline");
  }
  return flags;
}

std::string FlagsHelp() {
  std::string text =
      "tensorfleet-operator: reconciles TFJobs (kubeflow.org/v1) in a Kubernetes cluster\n\n"
      "usage: tensorfleet-operator [--flag=value ...]\n\n";
  for (const Flag& flag : Table()) {
    absl::StrAppend(&text, "  --", flag.name,
                    flag.fallback.empty() ? "" : " (default " + flag.fallback + ")", "\n      ",
                    flag.help, "\n");
  }
  text +=
      "\nEnvironment: KUBECONFIG, KUBEFLOW_NAMESPACE (default of --namespace), MY_POD_NAMESPACE "
      "(the\n"
      "operator's own namespace, default tensorfleet-system), CUSTOM_CLUSTER_DOMAIN (domain after "
      "svc in "
      "TF_CONFIG).\n";
  return text;
}

std::vector<std::string> FlagNames() {
  std::vector<std::string> names;
  for (const Flag& flag : Table()) names.push_back(flag.name);
  return names;
}

}  // namespace tensorfleet::operator_main
