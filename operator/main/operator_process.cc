#include "operator/main/operator_process.h"

#include <malloc.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>

#include "absl/strings/ascii.h"
#include "operator/api/objects/labels.h"
#include "operator/controller/controller.h"
#include "operator/k8s/backoff.h"
#include "operator/k8s/connect/http_transport.h"
#include "operator/k8s/leader_lease.h"
#include "operator/main/certificate_keeper.h"
#include "operator/main/endpoints.h"
#include "operator/main/metrics.h"
#include "operator/main/other_controllers.h"
#include "operator/main/version.h"
#include "runtime/base/log.h"
#include "runtime/base/random_id.h"

namespace tensorfleet::operator_main {
namespace {

// What the process does when asked to end has to fit into the pod's grace period of ten seconds.
constexpr auto kDrainTime = std::chrono::seconds(6);

// How often is looked whether another controller has gone, and how often it is said that it hasn't.
constexpr auto kLookForOthers = std::chrono::seconds(1);
constexpr auto kComplainOfOthers = std::chrono::seconds(30);

std::string Env(const char* name, const std::string& fallback = "") {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? fallback : value;
}

std::string HostName() {
  char name[256] = "unknown";
  gethostname(name, sizeof(name) - 1);
  return name;
}

// The API version of the pod groups that `scheduler` reads; empty without gang scheduling.
std::string PodGroupApiVersion(const std::string& scheduler) {
  if (scheduler.empty()) return "";
  return absl::AsciiStrToLower(scheduler) == api::kVolcano ? api::kVolcanoApiVersion
                                                           : api::kSchedulerPluginsApiVersion;
}

Status CheckPodGroups(k8s::Client& client, const std::string& api_version) {
  if (api_version.empty()) return OkStatus();
  const Status found = client.Get("/apis/" + api_version).status();
  if (absl::IsNotFound(found)) {
    return FailedPrecondition("--gang-scheduler-name is given, but the cluster has no ",
                              api_version, " PodGroups: install the scheduler first");
  }
  return found;
}

class Process {
 public:
  explicit Process(const Flags& flags) : flags_(flags) {}

  int Run(const sigset_t& signals);

 private:
  Status Assemble();
  Status MakeClients();
  Status MakeController();
  Status StartWebhook();
  // Waits until nobody else reconciles the same TFJobs. False: cancelled.
  bool WaitForOthers();
  // Becomes the leader, of the only release that works. False: cancelled.
  bool BecomeTheOnly();
  void Lead();
  int Wait(const sigset_t& signals);
  void ShutDown();
  bool is_ready() const {
    return controller_->has_synced() && (certificates_ == nullptr || certificates_->is_ready());
  }

  const Flags& flags_;
  bool in_pod_ = false;
  std::string own_namespace_;
  k8s::ClusterConfig config_;
  std::unique_ptr<Metrics> metrics_;
  std::unique_ptr<k8s::Transport> transport_;
  std::unique_ptr<k8s::RateLimiter> limiter_;
  CancellationManager cancel_requests_;  // at the very end only: what is under way may finish
  CancellationManager cancel_lead_;
  std::unique_ptr<k8s::Client> client_;
  std::unique_ptr<k8s::Client> urgent_client_;  // leases and certificates: not held up by the limit
  std::unique_ptr<k8s::EventRecorder> events_;
  std::unique_ptr<controller::Controller> controller_;
  std::unique_ptr<CertificateKeeper> certificates_;
  std::vector<std::unique_ptr<http::Server>> servers_;
  std::unique_ptr<k8s::LeaderLease> lease_;
  std::unique_ptr<OtherControllers> others_;
  std::thread leader_;
  std::atomic<bool> lost_leadership_{false};
};

Status Process::Assemble() {
  const Clock* clock = Clock::Real();
  TFLEET_ASSIGN_OR_RETURN(config_,
                          k8s::FindClusterConfig(flags_.kubeconfig, flags_.context, clock));
  in_pod_ = !Env("KUBERNETES_SERVICE_HOST").empty() && flags_.kubeconfig.empty() &&
            Env("KUBECONFIG").empty();
  own_namespace_ =
      Env("MY_POD_NAMESPACE",
          in_pod_ && !config_.namespace_.empty() ? config_.namespace_ : "tensorfleet-system");
  TFLEET_RETURN_IF_ERROR(MakeClients());
  TFLEET_RETURN_IF_ERROR(MakeController());
  TFLEET_RETURN_IF_ERROR(StartWebhook());
  Metrics::Sources sources;
  sources.controller = controller_.get();
  sources.events = events_.get();
  if (certificates_ != nullptr) {
    sources.certificate_reads = [this] {
      return std::make_pair(certificates_->reads(), certificates_->read_errors());
    };
  }
  metrics_->SetSources(sources);
  const auto serve = [&](const std::string& address,
                         const http::Server::Handler& handler) -> Status {
    TFLEET_ASSIGN_OR_RETURN(auto server, ServeAt(address, handler));
    if (server != nullptr) servers_.push_back(std::move(server));
    return OkStatus();
  };
  TFLEET_RETURN_IF_ERROR(
      Prefixed("--metrics-bind-address: ",
               serve(flags_.metrics_bind_address, MetricsHandler(metrics_.get()))));
  return Prefixed("--health-probe-bind-address: ",
                  serve(flags_.health_probe_bind_address,
                        HealthHandler([this] { return is_ready(); },
                                      [this] { return controller_->standing_still(); })));
}

Status Process::MakeClients() {
  std::string prefix;
  TFLEET_ASSIGN_OR_RETURN(const http::Endpoint endpoint, http::ParseUrl(config_.server, &prefix));
  metrics_ = std::make_unique<Metrics>(absl::StrCat(endpoint.host, ":", endpoint.port),
                                       flags_.controller_threads, flags_.leader_election_id);
  k8s::HttpTransportOptions transport_options;
  transport_options.user_agent = absl::StrCat("tensorfleet-operator/", Version());
  TFLEET_ASSIGN_OR_RETURN(transport_, k8s::MakeHttpTransport(config_, transport_options));
  limiter_ =
      std::make_unique<k8s::RateLimiter>(flags_.kube_api_qps, flags_.kube_api_burst, Clock::Real());
  k8s::ClientOptions options;
  options.cancel = &cancel_requests_;
  options.observer = [this](absl::string_view method, int code) {
    metrics_->OnRequest(method, code);
  };
  client_ = std::make_unique<k8s::Client>(transport_.get(), limiter_.get(), options);
  options.request_time = std::chrono::seconds(5);
  urgent_client_ = std::make_unique<k8s::Client>(transport_.get(), nullptr, options);
  return OkStatus();
}

Status Process::MakeController() {
  controller::ControllerOptions control;
  control.informers.ns = flags_.ns;
  control.informers.pod_group_api_version = PodGroupApiVersion(flags_.gang_scheduler_name);
  control.plan.cluster_domain = Env("CUSTOM_CLUSTER_DOMAIN");
  control.plan.gang_scheduler_name = flags_.gang_scheduler_name;
  control.threads = flags_.controller_threads;
  control.parallel_requests = flags_.parallel_requests;
  control.status_delay = flags_.status_delay;
  TFLEET_RETURN_IF_ERROR(CheckPodGroups(*urgent_client_, control.informers.pod_group_api_version));
  k8s::EventRecorder::Options events;
  events.component = api::kControllerName;
  // Jobs come first: while several are being worked on, events wait, and are merged the more the
  // longer.
  events.is_busy = [this] {
    return controller_ != nullptr &&
           (controller_->busy_workers() > 2 || controller_->queue().depth() > 4);
  };
  // Events have a rate of their own, and never wait for the client's.
  events_ = std::make_unique<k8s::EventRecorder>(urgent_client_.get(), Clock::Real(), events);
  controller_ = std::make_unique<controller::Controller>(client_.get(), events_.get(),
                                                         Clock::Real(), control, metrics_.get());
  return OkStatus();
}

Status Process::StartWebhook() {
  if (flags_.webhook == "false" || (flags_.webhook == "auto" && !in_pod_)) return OkStatus();
  CertificateKeeperOptions options;
  options.folder = flags_.webhook_cert_dir;
  options.ns = own_namespace_;
  options.secret_name = flags_.webhook_secret_name;
  options.config_name = flags_.webhook_config_name;
  options.service = flags_.webhook_service_name;
  const std::string service =
      absl::StrCat(flags_.webhook_service_name, ".", own_namespace_, ".svc");
  options.names = {service, service + ".cluster.local"};
  for (const std::string& name : flags_.webhook_extra_names) options.names.push_back(name);
  certificates_ = std::make_unique<CertificateKeeper>(urgent_client_.get(), Clock::Real(), options);
  certificates_->Start();
  http::Server::Options serve;
  serve.address = "";
  serve.port = flags_.webhook_server_port;
  serve.tls = [this] { return certificates_->context(); };
  TFLEET_ASSIGN_OR_RETURN(
      auto server,
      http::Server::Start(serve, WebhookHandler(metrics_.get(), Env("CUSTOM_CLUSTER_DOMAIN"))));
  LogInfo("webhook listens", {{"port", server->port()}, {"path", kAdmissionPath}});
  servers_.push_back(std::move(server));
  return OkStatus();
}

bool Process::WaitForOthers() {
  if (others_ == nullptr) return true;
  auto complain = std::chrono::steady_clock::now();
  k8s::Backoff pause(kLookForOthers, kLookForOthers);
  bool waited = false;
  while (true) {
    const StatusOr<std::string> other = others_->Find();
    if (absl::IsPermissionDenied(other.status())) {
      LogWarning("cannot see whether another controller reconciles the same TFJobs",
                 {{"error", other.status().message()}});
      others_.reset();
      return true;
    }
    if (other.ok() && other->empty()) {
      if (waited) LogInfo("the other controller is gone");
      return true;
    }
    const auto now = std::chrono::steady_clock::now();
    if (now >= complain) {
      complain = now + kComplainOfOthers;
      if (other.ok()) {
        LogError(
            "another controller reconciles the same TFJobs: waiting until it is gone",
            {{"other", *other}, {"see", "moving_from_training_operator.md, or --beside-others"}});
      } else {
        LogWarning("cannot see whether another controller reconciles the same TFJobs",
                   {{"error", other.status().message()}});
      }
    }
    waited = other.ok();
    if (!k8s::SleepFor(pause.Next(), &cancel_lead_).ok()) return false;
  }
}

bool Process::BecomeTheOnly() {
  k8s::Backoff pause(kLookForOthers, 4 * kLookForOthers);
  while (WaitForOthers()) {
    if (lease_ == nullptr) return true;
    if (!lease_->Acquire(&cancel_lead_).ok()) return false;
    // Another release may have begun in the same moment: both see each other, and step back.
    const StatusOr<std::string> other = others_ == nullptr ? std::string() : others_->Find();
    if (!other.ok() || other->empty()) return true;
    LogWarning("another controller has begun meanwhile", {{"other", *other}});
    if (const Status released = lease_->Release(); !released.ok()) {
      LogWarning("the leader lease could not be released", {{"error", released.message()}});
    }
    if (!k8s::SleepFor(pause.Next(), &cancel_lead_).ok()) return false;
  }
  return false;
}

// Runs in a thread of its own: becomes leader, works, and ends the process when leadership is lost.
void Process::Lead() {
  if (!BecomeTheOnly()) return;
  metrics_->SetLeader(true);
  std::thread starter([this] { (void)controller_->StartWorkers(&cancel_lead_); });
  if (lease_ != nullptr) {
    const Status held = lease_->Hold(&cancel_lead_);
    if (!held.ok()) {
      LogError("leadership lost", {{"error", held.message()}});
      lost_leadership_ = true;
      // Not one more write: another may be the leader by now.
      cancel_requests_.StartCancel(held);
      kill(getpid(), SIGTERM);
    }
  }
  starter.join();
}

int Process::Wait(const sigset_t& signals) {
  bool trimmed = false;
  while (true) {
    const timespec pause{trimmed ? 30 : 1, 0};
    const int signal = sigtimedwait(&signals, nullptr, &pause);
    if (signal == SIGTERM || signal == SIGINT) {
      if (!lost_leadership_)
        LogInfo("ending", {{"signal", signal == SIGTERM ? "SIGTERM" : "SIGINT"}});
      return lost_leadership_ ? 1 : 0;
    }
    // Lists and bursts leave free memory behind, which the system may have back once things are
    // calm.
    if (controller_->has_synced() && controller_->queue().depth() == 0) {
      malloc_trim(0);
      trimmed = true;
    }
  }
}

void Process::ShutDown() {
  // Whoever hangs is cut off when the time is over, so that the lease can still be released.
  CancellationManager ended;
  std::thread watchdog([&] {
    if (k8s::SleepFor(kDrainTime, &ended).ok())
      cancel_requests_.StartCancel(absl::CancelledError("out of time"));
  });
  cancel_lead_.StartCancel();
  if (leader_.joinable()) leader_.join();
  controller_->Stop();
  if (!lost_leadership_) events_->Drain(std::chrono::seconds(1));
  ended.StartCancel();
  watchdog.join();
  if (lease_ != nullptr && !lost_leadership_) {
    k8s::Client last(transport_.get(), nullptr,
                     {.request_time = std::chrono::seconds(2), .max_retries = 0});
    if (const Status released = lease_->Release(&last); !released.ok()) {
      LogWarning("the leader lease could not be released", {{"error", released.message()}});
    }
  }
  if (certificates_ != nullptr) certificates_->Stop();
  metrics_->SetSources({});
  servers_.clear();
  // Its thread asks the controller whether it is busy: it goes first.
  events_.reset();
  cancel_requests_.StartCancel();
}

int Process::Run(const sigset_t& signals) {
  if (const Status status = Assemble(); !status.ok()) {
    LogError("cannot start", {{"error", status.message()}});
    cancel_requests_.StartCancel();
    return 1;
  }
  const std::string lease_namespace =
      flags_.leader_election_namespace.empty() ? own_namespace_ : flags_.leader_election_namespace;
  if (!flags_.beside_others) {
    OtherControllersOptions options;
    options.ns = flags_.ns;
    if (flags_.leader_elect) {
      options.own_lease_namespace = lease_namespace;
      options.own_lease_name = flags_.leader_election_id;
    }
    others_ = std::make_unique<OtherControllers>(urgent_client_.get(), Clock::Real(), options);
  }
  if (flags_.leader_elect) {
    k8s::LeaderLeaseOptions options;
    options.ns = lease_namespace;
    options.name = flags_.leader_election_id;
    options.scope = flags_.ns;
    options.identity =
        absl::StrCat(HostName(), "_", absl::Hex(RandomNonZero64(), absl::kZeroPad16));
    options.lease_duration = flags_.lease_duration;
    options.renew_deadline = flags_.renew_deadline;
    options.retry_period = flags_.retry_period;
    lease_ = std::make_unique<k8s::LeaderLease>(urgent_client_.get(), Clock::Real(), options);
  }
  controller_->StartInformers();
  leader_ = std::thread([this] { Lead(); });
  const int code = Wait(signals);
  ShutDown();
  LogInfo("ended");
  return code;
}

}  // namespace

int RunOperator(const Flags& flags) {
  // Few arenas: threads that mostly wait would otherwise keep free memory each for itself.
  mallopt(M_ARENA_MAX, 2);
  mallopt(M_TRIM_THRESHOLD, 256 * 1024);
  signal(SIGPIPE, SIG_IGN);
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  const bool json = flags.zap_encoder.empty() ? !flags.zap_devel : flags.zap_encoder == "json";
  SetLogFormat(json ? LogFormat::kJson : LogFormat::kConsole);
  if (!flags.zap_log_level.empty()) {
    if (const auto level = ParseLogLevel(flags.zap_log_level); level.ok()) SetLogLevel(*level);
  }
  LogInfo("tensorfleet-operator",
          {{"version", Version()}, {"namespace", flags.ns.empty() ? "all" : flags.ns}});
  for (const std::string& notice : flags.notices) LogWarning(notice);
  return Process(flags).Run(signals);
}

}  // namespace tensorfleet::operator_main
