#include "operator/api/tf_config.h"

#include "absl/strings/str_cat.h"
#include "operator/api/fields/json_fields.h"

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

std::string DenseCluster(const TFJob& job, absl::string_view domain) {
  std::string cluster;
  for (const ReplicaType type : kReplicaTypes) {
    if (job.spec.Find(type) == nullptr) continue;
    if (type == ReplicaType::kEvaluator && !job.spec.evaluator_in_cluster) continue;
    absl::StrAppend(&cluster, cluster.empty() ? "" : ",", "\"", LowerName(type),
                    "\":", AddressList(job, type, domain));
  }
  return cluster;
}

}  // namespace

// Each replica knows of itself and of the parameter servers, so that workers may come and go.
std::string TfConfigWriter::Sparse(ReplicaId replica) const {
  const std::string own = Quoted(ReplicaAddress(job_, replica, domain_));
  std::string head;
  std::string worker = "{}";
  std::string ps = ps_list_;
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

std::string ReplicaAddress(const TFJob& job, ReplicaId replica, absl::string_view cluster_domain) {
  const ReplicaSpec* spec = job.spec.Find(replica.type);
  return absl::StrCat(ReplicaName(job.name, replica), ".", job.namespace_, ".svc",
                      cluster_domain.empty() ? "" : ".", cluster_domain, ":",
                      spec == nullptr ? TemplateFacts().port : spec->facts.port);
}

TfConfigWriter::TfConfigWriter(const TFJob& job, absl::string_view cluster_domain)
    : job_(job), domain_(cluster_domain), is_distributed_(job.spec.total_replicas() != 1) {
  if (!is_distributed_) return;
  if (job.spec.enable_dynamic_worker) {
    ps_list_ = AddressList(job, ReplicaType::kPs, domain_);
  } else {
    dense_cluster_ = DenseCluster(job, domain_);
  }
}

std::optional<std::string> TfConfigWriter::For(ReplicaId replica) const {
  if (!is_distributed_) return std::nullopt;
  if (job_.spec.enable_dynamic_worker) return Sparse(replica);
  return absl::StrCat(R"({"cluster":{)", dense_cluster_, "},", Task(replica),
                      R"(,"environment":"cloud"})");
}

}  // namespace tensorfleet::api
