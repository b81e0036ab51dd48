#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "operator/api/values/timestamp.h"
#include "operator/testing/builders.h"
#include "runtime/base/check.h"

namespace tensorfleet::testing {
namespace {

using Json = nlohmann::json;

Json Parse(absl::string_view text) {
  Json json = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  TFLEET_CHECK(!json.is_discarded());
  return json;
}

std::string Stamp(double seconds) { return api::ToTimestamp(After(seconds)); }

}  // namespace

TFJob::TFJob(absl::string_view name) : json_(std::make_shared<Json>()) {
  *json_ = {{"apiVersion", "kubeflow.org/v1"},
            {"kind", "TFJob"},
            {"metadata",
             {{"name", std::string(name)},
              {"namespace", kNamespace},
              {"uid", kJobUid},
              {"resourceVersion", "1"},
              {"creationTimestamp", Stamp(0)}}},
            {"spec", {{"tfReplicaSpecs", Json::object()}}}};
}

TFJob::TFJob(const TFJob& other) : json_(std::make_shared<Json>(*other.json_)) {}

TFJob& TFJob::Replicas(absl::string_view type, int replicas) {
  (*json_)["spec"]["tfReplicaSpecs"][std::string(type)] = {
      {"replicas", replicas},
      {"template",
       {{"spec", {{"containers", Json::array({{{"name", "tensorflow"}, {"image", "tf:1"}}})}}}}}};
  return *this;
}

TFJob& TFJob::RestartPolicy(absl::string_view policy) {
  for (Json& spec : (*json_)["spec"]["tfReplicaSpecs"]) spec["restartPolicy"] = std::string(policy);
  return *this;
}

TFJob& TFJob::RunPolicy(absl::string_view field, absl::string_view json) {
  (*json_)["spec"]["runPolicy"][std::string(field)] = Parse(json);
  return *this;
}

TFJob& TFJob::SuccessPolicy(absl::string_view policy) {
  (*json_)["spec"]["successPolicy"] = std::string(policy);
  return *this;
}

TFJob& TFJob::DynamicWorkers() { return With("/spec/enableDynamicWorker", "true"); }

TFJob& TFJob::Suspended(bool suspended) {
  return RunPolicy("suspend", suspended ? "true" : "false");
}

TFJob& TFJob::With(const std::string& json_pointer, absl::string_view json) {
  (*json_)[Json::json_pointer(json_pointer)] = Parse(json);
  return *this;
}

TFJob& TFJob::Without(const std::string& json_pointer) {
  const Json::json_pointer pointer(json_pointer);
  TFLEET_CHECK(json_->contains(pointer));
  Json& parent = (*json_)[pointer.parent_pointer()];
  parent.erase(pointer.back());
  return *this;
}

TFJob& TFJob::Condition(absl::string_view type, double seconds) {
  (*json_)["status"]["conditions"].push_back({{"type", std::string(type)},
                                              {"status", "True"},
                                              {"reason", absl::StrCat("TFJob", type)},
                                              {"message", absl::StrCat("it is ", type)},
                                              {"lastUpdateTime", Stamp(seconds)},
                                              {"lastTransitionTime", Stamp(seconds)}});
  return *this;
}

TFJob& TFJob::FalseCondition(absl::string_view type, absl::string_view reason, double seconds) {
  Condition(type, seconds);
  Json& condition = (*json_)["status"]["conditions"].back();
  condition["status"] = "False";
  condition["reason"] = std::string(reason);
  return *this;
}

TFJob& TFJob::Started(double seconds) {
  Condition("Created", seconds);
  (*json_)["status"]["startTime"] = Stamp(seconds);
  return *this;
}

TFJob& TFJob::Succeeded(double seconds) {
  Started().Condition("Succeeded", seconds);
  (*json_)["status"]["completionTime"] = Stamp(seconds);
  return *this;
}

TFJob& TFJob::Failed(double seconds, absl::string_view message) {
  Started().Condition("Failed", seconds);
  (*json_)["status"]["completionTime"] = Stamp(seconds);
  if (!message.empty()) {
    (*json_)["status"]["conditions"].back()["message"] = std::string(message);
  }
  return *this;
}

TFJob& TFJob::Status(const api::TFJobStatus& status) {
  (*json_)["status"] = ToJson(status);
  return *this;
}

std::string TFJob::name() const { return (*json_)["metadata"]["name"].get<std::string>(); }

std::shared_ptr<const api::TFJob> TFJob::Build() const {
  auto job = api::TFJobFromJson(*json_);
  TFLEET_CHECK(job.ok());
  return std::make_shared<const api::TFJob>(*std::move(job));
}

}  // namespace tensorfleet::testing
