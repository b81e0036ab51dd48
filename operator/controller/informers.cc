#include "operator/controller/informers.h"

#include <nlohmann/json.hpp>

#include "operator/api/objects/labels.h"

namespace tensorfleet::controller {
namespace {

using nlohmann::json;

StatusOr<json> ParseJson(absl::string_view text) {
  json parsed = json::parse(text.begin(), text.end(), nullptr, false);
  if (parsed.is_discarded()) return InvalidArgument("object is not JSON: ", text.substr(0, 80));
  return parsed;
}

template <typename T>
bool SamePointee(const std::shared_ptr<const T>& a, const std::shared_ptr<const T>& b) {
  return a == b || (a != nullptr && b != nullptr && *a == *b);
}

bool SameMeta(const api::ChildMeta& a, const api::ChildMeta& b) {
  return a.owner_uid == b.owner_uid && a.job_name == b.job_name && a.replica == b.replica &&
         a.deletion_time == b.deletion_time && a.has_other_labels == b.has_other_labels;
}

// Why this field list and not another: it is what operator/api reads.
k8s::FieldMask ChildMask() {
  return k8s::FieldMask({{"metadata", "name"},
                         {"metadata", "namespace"},
                         {"metadata", "uid"},
                         {"metadata", "resourceVersion"},
                         {"metadata", "creationTimestamp"},
                         {"metadata", "deletionTimestamp"},
                         {"metadata", "deletionGracePeriodSeconds"},
                         {"metadata", "ownerReferences", "uid"},
                         {"metadata", "ownerReferences", "controller"},
                         {"metadata", "ownerReferences", "kind"},
                         {"metadata", "ownerReferences", "name"},
                         {"metadata", "labels", api::kJobNameLabel},
                         {"metadata", "labels", api::kReplicaTypeLabel},
                         {"metadata", "labels", api::kReplicaIndexLabel},
                         {"metadata", "annotations", api::kAttemptAnnotation},
                         {"metadata", "annotations", api::kJobAttemptAnnotation},
                         {"metadata", "annotations", api::kProgressAnnotation},
                         {"status", "phase"},
                         {"status", "reason"},
                         {"status", "conditions"},
                         {"status", "containerStatuses", "name"},
                         {"status", "containerStatuses", "state"},
                         {"status", "containerStatuses", "restartCount"},
                         {"status", "initContainerStatuses", "name"},
                         {"status", "initContainerStatuses", "state"},
                         {"status", "initContainerStatuses", "restartCount"},
                         {"spec", "minMember"},
                         {"spec", "queue"},
                         {"spec", "priorityClassName"},
                         {"spec", "scheduleTimeoutSeconds"},
                         {"spec", "minResources"}});
}

k8s::FieldMask JobMask() {
  return k8s::FieldMask({{"metadata", "name"},
                         {"metadata", "namespace"},
                         {"metadata", "uid"},
                         {"metadata", "resourceVersion"},
                         {"metadata", "creationTimestamp"},
                         {"metadata", "deletionTimestamp"},
                         {"metadata", "annotations"},
                         {"spec"},
                         {"status"}});
}

// Reports a change of a child to the job whose name it carries, before and after.
template <typename Cache>
typename Cache::OnChange ToJob(const Informers::OnJob& on_job, bool by_name) {
  return [on_job, by_name](const typename Cache::Change& change) {
    const auto group = [by_name](const auto& child) -> const std::string& {
      return by_name ? child.meta.name : child.meta.job_name;
    };
    const auto& one = change.current != nullptr ? *change.current : *change.old;
    const auto news = change.replayed ? Informers::News::kReplay : Informers::News::kChange;
    if (!group(one).empty()) on_job(one.meta.namespace_, group(one), news);
    if (change.old != nullptr && change.current != nullptr && group(*change.old) != group(one) &&
        !group(*change.old).empty()) {
      on_job(one.meta.namespace_, group(*change.old), news);
    }
  };
}

}  // namespace

StatusOr<api::TFJob> TFJobTraits::Parse(absl::string_view text) {
  TFLEET_ASSIGN_OR_RETURN(const json object, ParseJson(text));
  return api::TFJobFromJson(object);
}

template <>
StatusOr<api::Pod> ChildTraits<api::Pod>::Parse(absl::string_view text) {
  TFLEET_ASSIGN_OR_RETURN(const json object, ParseJson(text));
  return api::PodFromJson(object);
}
template <>
StatusOr<api::Service> ChildTraits<api::Service>::Parse(absl::string_view text) {
  TFLEET_ASSIGN_OR_RETURN(const json object, ParseJson(text));
  return api::ServiceFromJson(object);
}
template <>
StatusOr<api::PodGroup> ChildTraits<api::PodGroup>::Parse(absl::string_view text) {
  TFLEET_ASSIGN_OR_RETURN(const json object, ParseJson(text));
  return api::PodGroupFromJson(object);
}

template <>
bool ChildTraits<api::Pod>::SameForRules(const api::Pod& a, const api::Pod& b) {
  return SameMeta(a.meta, b.meta) && a.phase == b.phase && a.is_ready == b.is_ready &&
         a.restart_count == b.restart_count && a.attempt == b.attempt &&
         a.job_attempt == b.job_attempt && a.exit_code == b.exit_code && a.reason == b.reason &&
         a.progress == b.progress && SamePointee(a.true_conditions, b.true_conditions) &&
         SamePointee(a.troubles, b.troubles);
}
template <>
bool ChildTraits<api::Service>::SameForRules(const api::Service& a, const api::Service& b) {
  return SameMeta(a.meta, b.meta);
}
template <>
bool ChildTraits<api::PodGroup>::SameForRules(const api::PodGroup& a, const api::PodGroup& b) {
  return SameMeta(a.meta, b.meta) && a.phase == b.phase && a.min_member == b.min_member &&
         a.queue == b.queue && a.priority_class == b.priority_class &&
         a.schedule_timeout_seconds == b.schedule_timeout_seconds &&
         a.min_resources == b.min_resources;
}

Informers::Informers(k8s::Client* client, InformerOptions options, OnJob on_job)
    : jobs_([on_job](const JobCache::Change& change) {
        const api::TFJob& job = change.current != nullptr ? *change.current : *change.old;
        const bool is_new = change.old == nullptr && job.status.conditions.empty();
        on_job(job.namespace_, job.name,
               change.replayed ? News::kReplay
               : is_new        ? News::kNewJob
                               : News::kChange);
      }),
      pods_(ToJob<PodCache>(on_job, /*by_name=*/false)),
      services_(ToJob<ServiceCache>(on_job, /*by_name=*/false)),
      pod_groups_(ToJob<PodGroupCache>(on_job, /*by_name=*/true)) {
  const std::string ours = absl::StrCat(api::kOperatorNameLabel, "=", api::kControllerName);
  const auto add = [&](k8s::ObjectSink* sink, absl::string_view group_version,
                       absl::string_view plural, const std::string& selector, k8s::FieldMask mask) {
    k8s::ReflectorOptions reflect{k8s::CollectionPath(group_version, options.ns, plural), selector,
                                  std::move(mask)};
    reflect.page_size = options.page_size;
    reflectors_.push_back(std::make_unique<k8s::Reflector>(client, sink, std::move(reflect)));
  };
  add(&jobs_, api::kApiVersion, api::kPlural, "", JobMask());
  add(&pods_, "v1", "pods", ours, ChildMask());
  add(&services_, "v1", "services", ours, ChildMask());
  if (!options.pod_group_api_version.empty()) {
    add(&pod_groups_, options.pod_group_api_version, "podgroups", "", ChildMask());
  }
}

Informers::~Informers() { Stop(); }

void Informers::Start() {
  for (const auto& reflector : reflectors_) {
    threads_.emplace_back([this, raw = reflector.get()] { raw->Run(&cancel_); });
  }
}

void Informers::Stop() {
  cancel_.StartCancel();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

bool Informers::has_synced() const {
  for (const auto& reflector : reflectors_) {
    if (!reflector->has_synced()) return false;
  }
  return true;
}

}  // namespace tensorfleet::controller
