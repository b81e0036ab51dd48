#include "operator/main/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

#include "operator/api/labels.h"
#include "operator/main/version.h"

namespace tensorfleet::operator_main {
namespace {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;

const prometheus::Histogram::BucketBoundaries& Buckets() {
  static const prometheus::Histogram::BucketBoundaries buckets = {
      0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30};
  return buckets;
}

double Seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

double ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  double total = 0, resident = 0;
  statm >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) { return t.tv_sec + t.tv_usec * 1e-6; };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Counters that somebody else counts are shown as such by raising ours to theirs.
void RaiseTo(Counter& counter, double value) {
  if (value > counter.Value()) counter.Increment(value - counter.Value());
}

}  // namespace

struct Metrics::Families {
  template <typename T>
  static Family<T>& Make(prometheus::Registry& registry, const char* name, const char* help);

  Families(prometheus::Registry& r, const std::string& lease_name);

  Family<Counter>& jobs_created;
  Family<Counter>& jobs_deleted;
  Family<Counter>& jobs_successful;
  Family<Counter>& jobs_failed;
  Family<Counter>& jobs_restarted;
  Family<Counter>& reconciles;
  Counter& reconcile_errors;
  Histogram& reconcile_time;
  Gauge& max_reconciles;
  Gauge& active_workers;
  Gauge& queue_depth;
  Counter& queue_adds;
  Counter& queue_retries;
  Family<Counter>& requests;
  Family<Counter>& webhook_requests;
  Histogram& webhook_latency;
  Gauge& leader;
  Counter& certificate_reads;
  Counter& certificate_errors;
  Family<Counter>& actions;
  Histogram& action_time;
  Family<Counter>& status_writes;
  Family<Gauge>& cached;
  Family<Counter>& watch_work;
  Counter& events_dropped;
  Gauge& resident;
  Counter& cpu;
};

template <>
Family<Counter>& Metrics::Families::Make<Counter>(prometheus::Registry& r, const char* name,
                                                  const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(r);
}
template <>
Family<Gauge>& Metrics::Families::Make<Gauge>(prometheus::Registry& r, const char* name,
                                              const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(r);
}
template <>
Family<Histogram>& Metrics::Families::Make<Histogram>(prometheus::Registry& r, const char* name,
                                                      const char* help) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(r);
}

namespace {
const prometheus::Labels kController = {{"controller", api::kControllerName}};
const prometheus::Labels kQueue = {{"controller", api::kControllerName},
                                   {"name", api::kControllerName}};
}  // namespace

Metrics::Families::Families(prometheus::Registry& r, const std::string& lease_name)
    : jobs_created(Make<Counter>(r, "training_operator_jobs_created_total", "Jobs created")),
      jobs_deleted(Make<Counter>(r, "training_operator_jobs_deleted_total",
                                 "Jobs deleted after their time to live")),
      jobs_successful(
          Make<Counter>(r, "training_operator_jobs_successful_total", "Jobs that succeeded")),
      jobs_failed(Make<Counter>(r, "training_operator_jobs_failed_total", "Jobs that failed")),
      jobs_restarted(
          Make<Counter>(r, "training_operator_jobs_restarted_total", "Restarts of replicas")),
      reconciles(Make<Counter>(r, "controller_runtime_reconcile_total", "Reconciles by result")),
      reconcile_errors(
          Make<Counter>(r, "controller_runtime_reconcile_errors_total", "Reconciles that failed")
              .Add(kController)),
      reconcile_time(
          Make<Histogram>(r, "controller_runtime_reconcile_time_seconds", "Time of a reconcile")
              .Add(kController, Buckets())),
      max_reconciles(
          Make<Gauge>(r, "controller_runtime_max_concurrent_reconciles", "Reconciling threads")
              .Add(kController)),
      active_workers(Make<Gauge>(r, "controller_runtime_active_workers", "Reconciles under way")
                         .Add(kController)),
      queue_depth(Make<Gauge>(r, "workqueue_depth", "Keys waiting").Add(kQueue)),
      queue_adds(Make<Counter>(r, "workqueue_adds_total", "Keys added").Add(kQueue)),
      queue_retries(
          Make<Counter>(r, "workqueue_retries_total", "Keys added after a failure").Add(kQueue)),
      requests(Make<Counter>(r, "rest_client_requests_total", "Requests to the API server")),
      webhook_requests(
          Make<Counter>(r, "controller_runtime_webhook_requests_total", "Admission requests")),
      webhook_latency(
          Make<Histogram>(r, "controller_runtime_webhook_latency_seconds", "Time of an admission")
              .Add({{"webhook", "/validate-kubeflow-org-v1-tfjob"}}, Buckets())),
      leader(Make<Gauge>(r, "leader_election_master_status", "1 while this process is the leader")
                 .Add({{"name", lease_name}})),
      certificate_reads(
          Make<Counter>(r, "certwatcher_read_certificate_total", "Looks at the certificates")
              .Add({})),
      certificate_errors(
          Make<Counter>(r, "certwatcher_read_certificate_errors_total", "Looks that failed")
              .Add({})),
      actions(Make<Counter>(r, "tensorfleet_operator_actions_total",
                            "Actions of plans by kind and result")),
      action_time(Make<Histogram>(r, "tensorfleet_operator_action_seconds", "Time of an action")
                      .Add({}, Buckets())),
      status_writes(
          Make<Counter>(r, "tensorfleet_operator_status_writes_total", "Status writes by result")),
      cached(Make<Gauge>(r, "tensorfleet_operator_cache_objects", "Objects held")),
      watch_work(Make<Counter>(r, "tensorfleet_operator_watch_total",
                               "Lists, watches, events and failures")),
      events_dropped(
          Make<Counter>(r, "tensorfleet_operator_events_dropped_total", "Events given up").Add({})),
      resident(Make<Gauge>(r, "process_resident_memory_bytes", "Resident memory").Add({})),
      cpu(Make<Counter>(r, "process_cpu_seconds_total", "Processor time used").Add({})) {}

Metrics::Metrics(std::string host, int threads, const std::string& lease_name)
    : host_(std::move(host)),
      registry_(std::make_unique<prometheus::Registry>()),
      families_(std::make_unique<Families>(*registry_, lease_name)) {
  families_->max_reconciles.Set(threads);
  Families::Make<Gauge>(*registry_, "tensorfleet_operator_build_info",
                        "1, with the version as label")
      .Add({{"version", std::string(Version())}})
      .Set(1);
  Families::Make<Gauge>(*registry_, "process_start_time_seconds", "Start of the process")
      .Add({})
      .Set(static_cast<double>(Clock::Real()->NowUnixNanos()) * 1e-9);
}

Metrics::~Metrics() = default;

void Metrics::OnReconciled(Result result, std::chrono::nanoseconds took) {
  const char* name = result == Result::kSuccess ? "success"
                     : result == Result::kError ? "error"
                                                : "requeue_after";
  families_->reconciles.Add({{"controller", api::kControllerName}, {"result", name}}).Increment();
  if (result == Result::kError) families_->reconcile_errors.Increment();
  families_->reconcile_time.Observe(Seconds(took));
}

void Metrics::OnCounters(absl::string_view ns, const plan::Counters& counters) {
  const auto raise = [&](Family<Counter>& family, int by) {
    if (by <= 0) return;
    family.Add({{"job_namespace", std::string(ns)}, {"framework", api::kFrameworkName}})
        .Increment(by);
  };
  raise(families_->jobs_created, counters.created);
  raise(families_->jobs_successful, counters.succeeded);
  raise(families_->jobs_failed, counters.failed);
  raise(families_->jobs_restarted, counters.restarted);
  raise(families_->jobs_deleted, counters.deleted);
}

void Metrics::OnAction(plan::ActionKind kind, bool ok, std::chrono::nanoseconds took) {
  families_->actions
      .Add({{"action", std::string(plan::ActionKindName(kind))},
            {"result", ok ? "success" : "error"}})
      .Increment();
  families_->action_time.Observe(Seconds(took));
}

void Metrics::OnStatusWrite(bool ok) {
  families_->status_writes.Add({{"result", ok ? "success" : "error"}}).Increment();
}

void Metrics::OnRequest(absl::string_view method, int code) {
  families_->requests
      .Add({{"method", std::string(method)},
            {"code", code == 0 ? std::string("<error>") : absl::StrCat(code)},
            {"host", host_}})
      .Increment();
}

void Metrics::OnAdmission(int http_code, bool allowed, std::chrono::nanoseconds took) {
  families_->webhook_requests
      .Add({{"webhook", "/validate-kubeflow-org-v1-tfjob"}, {"code", absl::StrCat(http_code)}})
      .Increment();
  families_->webhook_latency.Observe(Seconds(took));
}

void Metrics::SetLeader(bool is_leader) { families_->leader.Set(is_leader ? 1 : 0); }

void Metrics::SetSources(Sources sources) {
  MutexLock lock(&mu_);
  sources_ = std::move(sources);
}

void Metrics::Collect() {
  families_->resident.Set(ResidentBytes());
  RaiseTo(families_->cpu, CpuSeconds());
  if (sources_.events != nullptr) {
    RaiseTo(families_->events_dropped, static_cast<double>(sources_.events->dropped()));
  }
  if (sources_.certificate_reads) {
    const auto [all, failed] = sources_.certificate_reads();
    RaiseTo(families_->certificate_reads, static_cast<double>(all));
    RaiseTo(families_->certificate_errors, static_cast<double>(failed));
  }
  if (sources_.controller == nullptr) return;
  controller::Controller& controller = *sources_.controller;
  families_->active_workers.Set(controller.busy_workers());
  families_->queue_depth.Set(static_cast<double>(controller.queue().depth()));
  RaiseTo(families_->queue_adds, static_cast<double>(controller.queue().adds()));
  RaiseTo(families_->queue_retries, static_cast<double>(controller.queue().retries()));
  controller::Informers& informers = controller.informers();
  families_->cached.Add({{"kind", "TFJob"}}).Set(static_cast<double>(informers.jobs().size()));
  families_->cached.Add({{"kind", "Pod"}}).Set(static_cast<double>(informers.pods().size()));
  families_->cached.Add({{"kind", "Service"}})
      .Set(static_cast<double>(informers.services().size()));
  families_->cached.Add({{"kind", "PodGroup"}})
      .Set(static_cast<double>(informers.pod_groups().size()));
  constexpr const char* kResources[] = {"tfjobs", "pods", "services", "podgroups"};
  for (size_t i = 0; i < informers.reflectors().size() && i < 4; ++i) {
    const k8s::ReflectorStats& stats = informers.reflectors()[i]->stats();
    const auto show = [&](const char* what, int64_t count) {
      RaiseTo(families_->watch_work.Add({{"resource", kResources[i]}, {"what", what}}),
              static_cast<double>(count));
    };
    show("lists", stats.lists);
    show("watches", stats.watches);
    show("events", stats.events);
    show("failures", stats.failures);
  }
}

std::string Metrics::Text() {
  MutexLock lock(&mu_);
  Collect();
  return prometheus::TextSerializer().Serialize(registry_->Collect());
}

}  // namespace tensorfleet::operator_main
