// Each replica keeps one DNS name for the life of the job, so replacing a pod never changes the
// cluster spec that its peers were started with.
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "operator/plan/bodies.h"
#include "operator/plan/steps/steps.h"

namespace tensorfleet::plan {
namespace {

std::string AdoptionPatch(const Pass& pass, const api::Service& service) {
  nlohmann::json metadata = {{"uid", service.meta.uid},
                             {"resourceVersion", service.meta.resource_version},
                             {"ownerReferences", OwnerReferences(pass.job)}};
  return nlohmann::json{{"metadata", std::move(metadata)}}.dump();
}

void Ensure(Pass& pass, api::ReplicaId id) {
  const auto have = pass.services.find(id);
  if (have != pass.services.end()) {
    const api::Service& service = *have->second;
    if (!service.meta.has_owner && !service.meta.is_terminating()) {
      pass.Do({ActionKind::kAdoptService, service.meta.name, service.meta.uid,
               AdoptionPatch(pass, service), /*force=*/false});
    }
    return;
  }
  // Nobody asks for a finished replica any more.
  if (pass.HasSucceeded(id)) return;
  const std::string name = api::ReplicaName(pass.job.name, id);
  const auto taken = pass.foreign_services.find(name);
  if (taken != pass.foreign_services.end()) {
    if (!taken->second) {
      pass.Tell(EventType::kWarning, api::kNameTakenReason,
                absl::StrCat("service ", name, " exists and belongs to another owner"));
    }
    pass.LookAgainAt(pass.now.now + pass.options.name_taken_retry);
    return;
  }
  pass.Do({ActionKind::kCreateService, name, /*uid=*/"", ServiceBody(pass.job, id, pass.options),
           /*force=*/false});
}

}  // namespace

Next EnsureServices(Pass& pass) {
  for (const api::ReplicaType type : api::kReplicaTypes) {
    const api::ReplicaSpec* spec = pass.spec.Find(type);
    if (spec == nullptr) continue;
    for (int index = 0; index < spec->replicas; ++index) Ensure(pass, {type, index});
  }
  return Next::kContinue;
}

}  // namespace tensorfleet::plan
