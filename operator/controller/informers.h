// The four collections a reconcile looks at, held in trimmed form and kept up to date.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "operator/api/objects/pod.h"
#include "operator/api/objects/pod_group.h"
#include "operator/api/objects/service.h"
#include "operator/api/tfjob.h"
#include "operator/k8s/client.h"
#include "operator/k8s/watch/cache.h"
#include "operator/k8s/watch/reflector.h"

namespace tensorfleet::controller {

struct TFJobTraits {
  static StatusOr<api::TFJob> Parse(absl::string_view json);
  static const std::string& Namespace(const api::TFJob& job) { return job.namespace_; }
  static const std::string& Name(const api::TFJob& job) { return job.name; }
  static const std::string& Uid(const api::TFJob& job) { return job.uid; }
  static const std::string& Version(const api::TFJob& job) { return job.resource_version; }
  static absl::string_view Group(const api::TFJob&) { return ""; }
  static bool SameForRules(const api::TFJob&, const api::TFJob&) { return false; }
};

template <typename T>
struct ChildTraits {
  static StatusOr<T> Parse(absl::string_view json);
  static const std::string& Namespace(const T& child) { return child.meta.namespace_; }
  static const std::string& Name(const T& child) { return child.meta.name; }
  static const std::string& Uid(const T& child) { return child.meta.uid; }
  static const std::string& Version(const T& child) { return child.meta.resource_version; }
  static absl::string_view Group(const T& child) { return child.meta.job_name; }
  static bool SameForRules(const T& a, const T& b);
};

using JobCache = k8s::Cache<api::TFJob, TFJobTraits>;
using PodCache = k8s::Cache<api::Pod, ChildTraits<api::Pod>>;
using ServiceCache = k8s::Cache<api::Service, ChildTraits<api::Service>>;
using PodGroupCache = k8s::Cache<api::PodGroup, ChildTraits<api::PodGroup>>;

struct InformerOptions {
  std::string ns;                     // empty: all namespaces
  std::string pod_group_api_version;  // empty: no pod groups
  int page_size = 500;
};

class Informers {
 public:
  enum class News {
    kNewJob,  // nothing has been done for it yet
    kChange,
    kReplay,  // listed, as everything is at start
  };
  // Something about that job changed. Called from the informers' threads.
  using OnJob = std::function<void(absl::string_view ns, absl::string_view name, News news)>;

  // `client` must outlive the informers.
  Informers(k8s::Client* client, InformerOptions options, OnJob on_job);
  ~Informers();

  void Start();
  void Stop();
  bool has_synced() const;

  JobCache& jobs() { return jobs_; }
  PodCache& pods() { return pods_; }
  ServiceCache& services() { return services_; }
  PodGroupCache& pod_groups() { return pod_groups_; }

  const std::vector<std::unique_ptr<k8s::Reflector>>& reflectors() const { return reflectors_; }

 private:
  JobCache jobs_;
  PodCache pods_;
  ServiceCache services_;
  PodGroupCache pod_groups_;
  CancellationManager cancel_;
  std::vector<std::unique_ptr<k8s::Reflector>> reflectors_;
  std::vector<std::thread> threads_;
};

}  // namespace tensorfleet::controller
