// Every metric of the operator by name, and those of its series that there is one of. The names
// that training-operator serves, or meant to serve, come first; operator/docs/metrics.md says what
// each is.
#pragma once

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <string>

#include "operator/api/objects/labels.h"
#include "operator/main/metrics.h"

namespace tensorfleet::operator_main {

inline const prometheus::Labels kControllerLabels = {{"controller", api::kControllerName}};
inline const prometheus::Labels kWebhookLabels = {{"webhook", "/validate-kubeflow-org-v1-tfjob"}};

struct Metrics::Families {
  Families(prometheus::Registry& registry, const std::string& lease_name);

  prometheus::Family<prometheus::Counter>& jobs_created;
  prometheus::Family<prometheus::Counter>& jobs_deleted;
  prometheus::Family<prometheus::Counter>& jobs_successful;
  prometheus::Family<prometheus::Counter>& jobs_failed;
  prometheus::Family<prometheus::Counter>& jobs_restarted;
  prometheus::Family<prometheus::Counter>& reconciles;
  prometheus::Counter& reconcile_errors;
  prometheus::Counter& terminal_errors;
  prometheus::Counter& panics;
  prometheus::Histogram& reconcile_time;
  prometheus::Gauge& max_reconciles;
  prometheus::Gauge& active_workers;
  prometheus::Gauge& queue_depth;
  prometheus::Counter& queue_adds;
  prometheus::Counter& queue_retries;
  prometheus::Histogram& queue_time;
  prometheus::Histogram& work_time;
  prometheus::Gauge& unfinished_work;
  prometheus::Gauge& longest_work;
  prometheus::Family<prometheus::Counter>& requests;
  prometheus::Family<prometheus::Counter>& webhook_requests;
  prometheus::Histogram& webhook_latency;
  prometheus::Gauge& webhook_in_flight;
  prometheus::Gauge& leader;
  prometheus::Counter& certificate_reads;
  prometheus::Counter& certificate_errors;
  prometheus::Family<prometheus::Counter>& actions;
  prometheus::Histogram& action_time;
  prometheus::Counter& created_pods;
  prometheus::Counter& deleted_pods;
  prometheus::Counter& failed_pods;
  prometheus::Counter& created_services;
  prometheus::Counter& failed_services;
  prometheus::Counter& created_pod_groups;
  prometheus::Counter& deleted_pod_groups;
  prometheus::Family<prometheus::Counter>& status_writes;
  prometheus::Family<prometheus::Gauge>& cached;
  prometheus::Family<prometheus::Counter>& watch_work;
  prometheus::Counter& events_dropped;
  prometheus::Family<prometheus::Gauge>& build_info;
  prometheus::Gauge& start_time;
  prometheus::Gauge& resident;
  prometheus::Gauge& virtual_memory;
  prometheus::Gauge& open_files;
  prometheus::Gauge& max_files;
  prometheus::Counter& cpu;
};

}  // namespace tensorfleet::operator_main
