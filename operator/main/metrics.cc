#include "operator/main/metrics.h"

#include <prometheus/text_serializer.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "operator/main/metric_families.h"
#include "operator/main/version.h"

namespace tensorfleet::operator_main {
namespace {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;

double Seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

struct MemoryBytes {
  double total = 0, resident = 0;
};

MemoryBytes Memory() {
  std::ifstream statm("/proc/self/statm");
  MemoryBytes memory;
  statm >> memory.total >> memory.resident;
  memory.total *= sysconf(_SC_PAGESIZE);
  memory.resident *= sysconf(_SC_PAGESIZE);
  return memory;
}

double OpenFiles() {
  std::error_code ignored;
  const std::filesystem::directory_iterator files("/proc/self/fd", ignored);
  return static_cast<double>(std::distance(begin(files), end(files)));
}

double MaxFiles() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return static_cast<double>(limit.rlim_cur);
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

Metrics::Metrics(std::string host, int threads, const std::string& lease_name)
    : host_(std::move(host)),
      registry_(std::make_unique<prometheus::Registry>()),
      families_(std::make_unique<Families>(*registry_, lease_name)) {
  families_->max_reconciles.Set(threads);
  for (const char* result : {"success", "error", "requeue", "requeue_after"}) {
    families_->reconciles.Add({{"controller", api::kControllerName}, {"result", result}});
  }
  families_->build_info.Add({{"version", std::string(Version())}}).Set(1);
  families_->start_time.Set(static_cast<double>(Clock::Real()->NowUnixNanos()) * 1e-9);
}

Metrics::~Metrics() = default;

void Metrics::OnTaken(std::chrono::nanoseconds waited) {
  families_->queue_time.Observe(Seconds(waited));
}

void Metrics::OnReconciled(Result result, std::chrono::nanoseconds took) {
  const char* name = result == Result::kSuccess ? "success"
                     : result == Result::kError ? "error"
                                                : "requeue_after";
  families_->reconciles.Add({{"controller", api::kControllerName}, {"result", name}}).Increment();
  if (result == Result::kError) families_->reconcile_errors.Increment();
  families_->reconcile_time.Observe(Seconds(took));
  families_->work_time.Observe(Seconds(took));
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
  if (counters.failed_pods > 0) families_->failed_pods.Increment(counters.failed_pods);
}

void Metrics::OnAction(plan::ActionKind kind, bool ok, std::chrono::nanoseconds took) {
  families_->actions
      .Add({{"action", std::string(plan::ActionKindName(kind))},
            {"result", ok ? "success" : "error"}})
      .Increment();
  families_->action_time.Observe(Seconds(took));
  if (Counter* const counter = CounterOf(kind, ok)) counter->Increment();
}

// The reference's counter of such an action, or null where it has none.
prometheus::Counter* Metrics::CounterOf(plan::ActionKind kind, bool ok) {
  using plan::ActionKind;
  if (kind == ActionKind::kCreateService && !ok) return &families_->failed_services;
  if (!ok) return nullptr;
  switch (kind) {
    case ActionKind::kCreatePod:
      return &families_->created_pods;
    case ActionKind::kDeletePod:
      return &families_->deleted_pods;
    case ActionKind::kCreateService:
      return &families_->created_services;
    case ActionKind::kCreatePodGroup:
      return &families_->created_pod_groups;
    case ActionKind::kDeletePodGroup:
      return &families_->deleted_pod_groups;
    default:
      return nullptr;
  }
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

void Metrics::OnAdmissionBegins() { families_->webhook_in_flight.Increment(); }

void Metrics::OnAdmission(int http_code, bool allowed, std::chrono::nanoseconds took) {
  families_->webhook_in_flight.Decrement();
  prometheus::Labels labels = kWebhookLabels;
  labels["code"] = absl::StrCat(http_code);
  families_->webhook_requests.Add(labels).Increment();
  families_->webhook_latency.Observe(Seconds(took));
}

void Metrics::SetLeader(bool is_leader) { families_->leader.Set(is_leader ? 1 : 0); }

void Metrics::SetSources(Sources sources) {
  MutexLock lock(&mu_);
  sources_ = std::move(sources);
}

void Metrics::Collect() {
  const MemoryBytes memory = Memory();
  families_->resident.Set(memory.resident);
  families_->virtual_memory.Set(memory.total);
  families_->open_files.Set(OpenFiles());
  families_->max_files.Set(MaxFiles());
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
  const k8s::WorkQueue::Unfinished unfinished = controller.queue().unfinished();
  families_->unfinished_work.Set(Seconds(unfinished.sum));
  families_->longest_work.Set(Seconds(unfinished.longest));
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
