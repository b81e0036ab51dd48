#include "operator/api/tf_config.h"

#include "absl/strings/str_cat.h"
#include "operator/api/json_fields.h"

namespace tensorfleet::api {
namespace {

std::string Quoted(absl::string_view text) { return Dump(Json(std::string(text))); }

// ["addr","addr"] of every replica of `type`; "null" when the job has no such type.
std::string AddressList(const TFJob& job, ReplicaType type, absl::string_view domain) {
  const ReplicaSpec* spec = job.spec.Find(type);
  if (spec == nullptr) return "null";
  std::string list = "[";
  for (int index = 0; index < spec->replicas; ++index) {
    absl::StrAppend(&list, index == 0 ? "" : ",",
                    Quoted(ReplicaAddress(job, {type, index}, domain)));
  }
  return list + "]";
}

std::string Task(ReplicaId replica) {
  return absl::StrCat(R"("task":{"type":")", LowerName(replica.type), R"(","index":)",
                      replica.index, "}");
}

std::string DenseConfig(const TFJob& job, ReplicaId replica, absl::string_view domain) {
  std::string cluster;
  for (const ReplicaType type : kReplicaTypes) {
    if (job.spec.Find(type) == nullptr) continue;
    if (type == ReplicaType::kEvaluator && !job.spec.evaluator_in_cluster) continue;
    absl::StrAppend(&cluster, cluster.empty() ? "" : ",", "\"", LowerName(type),
                    "\":", AddressList(job, type, domain));
  }
  return absl::StrCat(R"({"cluster":{)", cluster, "},", Task(replica),
                      R"(,"environment":"cloud"})");
}

// Each replica knows of itself and of the parameter servers, so that workers may come and go.
std::string SparseConfig(const TFJob& job, ReplicaId replica, absl::string_view domain) {
  const std::string own = Quoted(ReplicaAddress(job, replica, domain));
  std::string head;
  std::string worker = "{}";
  std::string ps = AddressList(job, ReplicaType::kPs, domain);
  switch (replica.type) {
    case ReplicaType::kWorker:
      worker = absl::StrCat("{\"", replica.index, "\":", own, "}");
      break;
    case ReplicaType::kPs:
      ps = absl::StrCat("[", own, "]");
      break;
    case ReplicaType::kChief:
    case ReplicaType::kMaster:
    case ReplicaType::kEvaluator:
      head = absl::StrCat("\"", LowerName(replica.type), "\":[", own, "],");
      break;
  }
  return absl::StrCat(R"({"cluster":{)", head, R"("worker":)", worker, R"(,"ps":)", ps, "},",
                      Task(replica), "}");
}

}  // namespace

std::string ReplicaAddress(const TFJob& job, ReplicaId replica, absl::string_view cluster_domain) {
  const ReplicaSpec* spec = job.spec.Find(replica.type);
  return absl::StrCat(ReplicaName(job.name, replica), ".", job.namespace_, ".svc",
                      cluster_domain.empty() ? "" : ".", cluster_domain, ":",
                      spec == nullptr ? TemplateFacts().port : spec->facts.port);
}

std::optional<std::string> TfConfig(const TFJob& job, ReplicaId replica,
                                    absl::string_view cluster_domain) {
  if (job.spec.total_replicas() == 1) return std::nullopt;
  return job.spec.enable_dynamic_worker ? SparseConfig(job, replica, cluster_domain)
                                        : DenseConfig(job, replica, cluster_domain);
}

}  // namespace tensorfleet::api
