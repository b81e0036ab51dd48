#include "operator/main/metric_families.h"

#include <type_traits>

namespace tensorfleet::operator_main {
namespace {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;

const prometheus::Labels kQueueLabels = {{"controller", api::kControllerName},
                                         {"name", api::kControllerName}};

const prometheus::Histogram::BucketBoundaries& Buckets() {
  static const prometheus::Histogram::BucketBoundaries buckets = {
      0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30};
  return buckets;
}

template <typename T>
Family<T>& Make(prometheus::Registry& registry, const char* name, const char* help) {
  if constexpr (std::is_same_v<T, Counter>) {
    return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
  } else if constexpr (std::is_same_v<T, Gauge>) {
    return prometheus::BuildGauge().Name(name).Help(help).Register(registry);
  } else {
    return prometheus::BuildHistogram().Name(name).Help(help).Register(registry);
  }
}

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
              .Add(kControllerLabels)),
      // Nothing is given up after an error, and nothing panics: for dashboards that ask.
      terminal_errors(Make<Counter>(r, "controller_runtime_terminal_reconcile_errors_total",
                                    "Reconciles that are not tried again")
                          .Add(kControllerLabels)),
      panics(Make<Counter>(r, "controller_runtime_reconcile_panics_total", "Panics")
                 .Add(kControllerLabels)),
      reconcile_time(
          Make<Histogram>(r, "controller_runtime_reconcile_time_seconds", "Time of a reconcile")
              .Add(kControllerLabels, Buckets())),
      max_reconciles(
          Make<Gauge>(r, "controller_runtime_max_concurrent_reconciles", "Reconciling threads")
              .Add(kControllerLabels)),
      active_workers(Make<Gauge>(r, "controller_runtime_active_workers", "Reconciles under way")
                         .Add(kControllerLabels)),
      queue_depth(Make<Gauge>(r, "workqueue_depth", "Keys waiting").Add(kQueueLabels)),
      queue_adds(Make<Counter>(r, "workqueue_adds_total", "Keys added").Add(kQueueLabels)),
      queue_retries(Make<Counter>(r, "workqueue_retries_total", "Keys added after a failure")
                        .Add(kQueueLabels)),
      queue_time(Make<Histogram>(r, "workqueue_queue_duration_seconds",
                                 "Time that a key waits before it is taken")
                     .Add(kQueueLabels, Buckets())),
      work_time(Make<Histogram>(r, "workqueue_work_duration_seconds", "Time of work on a key")
                    .Add(kQueueLabels, Buckets())),
      unfinished_work(Make<Gauge>(r, "workqueue_unfinished_work_seconds",
                                  "Time spent so far on keys that are worked on")
                          .Add(kQueueLabels)),
      longest_work(
          Make<Gauge>(r, "workqueue_longest_running_processor_seconds", "The longest of these")
              .Add(kQueueLabels)),
      requests(Make<Counter>(r, "rest_client_requests_total", "Requests to the API server")),
      webhook_requests(
          Make<Counter>(r, "controller_runtime_webhook_requests_total", "Admission requests")),
      webhook_latency(
          Make<Histogram>(r, "controller_runtime_webhook_latency_seconds", "Time of an admission")
              .Add(kWebhookLabels, Buckets())),
      webhook_in_flight(Make<Gauge>(r, "controller_runtime_webhook_requests_in_flight",
                                    "Admission requests under way")
                            .Add(kWebhookLabels)),
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
      created_pods(Make<Counter>(r, "created_pods_total", "Pods created").Add({})),
      deleted_pods(Make<Counter>(r, "deleted_pods_total", "Pods deleted").Add({})),
      failed_pods(Make<Counter>(r, "failed_pods_total", "Pods that failed").Add({})),
      created_services(
          Make<Counter>(r, "succeeded_service_creation_total", "Services created").Add({})),
      failed_services(
          Make<Counter>(r, "failed_service_creation_total", "Services that could not be created")
              .Add({})),
      created_pod_groups(Make<Counter>(r, "created_pod_groups_total", "PodGroups created").Add({})),
      deleted_pod_groups(Make<Counter>(r, "deleted_pod_groups_total", "PodGroups deleted").Add({})),
      status_writes(
          Make<Counter>(r, "tensorfleet_operator_status_writes_total", "Status writes by result")),
      cached(Make<Gauge>(r, "tensorfleet_operator_cache_objects", "Objects held")),
      watch_work(Make<Counter>(r, "tensorfleet_operator_watch_total",
                               "Lists, watches, events and failures")),
      events_dropped(
          Make<Counter>(r, "tensorfleet_operator_events_dropped_total", "Events given up").Add({})),
      build_info(Make<Gauge>(r, "tensorfleet_operator_build_info", "1, with the version as label")),
      start_time(Make<Gauge>(r, "process_start_time_seconds", "Start of the process").Add({})),
      resident(Make<Gauge>(r, "process_resident_memory_bytes", "Resident memory").Add({})),
      virtual_memory(Make<Gauge>(r, "process_virtual_memory_bytes", "Virtual memory").Add({})),
      open_files(Make<Gauge>(r, "process_open_fds", "Open file descriptors").Add({})),
      max_files(Make<Gauge>(r, "process_max_fds", "File descriptors it may open").Add({})),
      cpu(Make<Counter>(r, "process_cpu_seconds_total", "Processor time used").Add({})) {}

}  // namespace tensorfleet::operator_main
