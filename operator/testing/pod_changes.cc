#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "operator/api/objects/labels.h"
#include "operator/api/values/timestamp.h"
#include "operator/testing/builders.h"

namespace tensorfleet::testing {
namespace {

using Json = nlohmann::json;

Json ContainerStatus(Json state) {
  return Json::array({{{"name", "tensorflow"}, {"restartCount", 0}, {"state", std::move(state)}}});
}

Json ReadyCondition(bool ready) {
  return Json::array({{{"type", "Ready"}, {"status", ready ? "True" : "False"}}});
}

Change SetPhase(absl::string_view phase, const Json& state, bool ready) {
  return [phase = std::string(phase), state, ready](Json& object) {
    object["status"]["phase"] = phase;
    object["status"]["containerStatuses"] = ContainerStatus(state);
    object["status"]["conditions"] = ReadyCondition(ready);
  };
}

}  // namespace

Change Pending() {
  return [](Json& object) { object["status"] = {{"phase", "Pending"}}; };
}

Change Running() { return SetPhase("Running", {{"running", Json::object()}}, true); }
Change RunningNotReady() { return SetPhase("Running", {{"running", Json::object()}}, false); }
Change Succeeded() { return SetPhase("Succeeded", {{"terminated", {{"exitCode", 0}}}}, false); }

Change Failed(int exit_code) {
  return SetPhase("Failed", {{"terminated", {{"exitCode", exit_code}}}}, false);
}

Change Evicted() {
  return [](Json& object) { object["status"] = {{"phase", "Failed"}, {"reason", "Evicted"}}; };
}

Change NoExitCode() {
  return [](Json& object) { object["status"].erase("containerStatuses"); };
}

Change Terminating(double grace_ends_at) {
  return [=](Json& object) {
    object["metadata"]["deletionTimestamp"] = api::ToTimestamp(After(grace_ends_at));
  };
}

Change OwnedBy(absl::string_view uid) {
  return [uid = std::string(uid)](Json& object) {
    object["metadata"]["ownerReferences"] = Json::array({{{"uid", uid}, {"controller", true}}});
  };
}

Change Orphaned() {
  return [](Json& object) { object["metadata"].erase("ownerReferences"); };
}

Change Annotated(absl::string_view key, absl::string_view value) {
  return [key = std::string(key), value = std::string(value)](Json& object) {
    object["metadata"]["annotations"][key] = value;
  };
}

Change Attempt(int attempt) { return Annotated(api::kAttemptAnnotation, absl::StrCat(attempt)); }
Change JobAttempt(int attempt) {
  return Annotated(api::kJobAttemptAnnotation, absl::StrCat(attempt));
}

Change RestartedInPlace(int times) {
  return [=](Json& object) { object["status"]["containerStatuses"][0]["restartCount"] = times; };
}

Change MadeAt(double seconds) {
  return [=](Json& object) {
    object["metadata"]["creationTimestamp"] = api::ToTimestamp(After(seconds));
  };
}

Change OnlySidecarsRun(int exit_code) {
  return [=](Json& object) {
    object["status"]["phase"] = "Running";
    object["status"]["containerStatuses"] =
        ContainerStatus({{"terminated", {{"exitCode", exit_code}}}});
    object["status"]["containerStatuses"].push_back(
        {{"name", "proxy"}, {"restartCount", 0}, {"state", {{"running", Json::object()}}}});
    object["status"]["conditions"] = ReadyCondition(false);
  };
}

Change TrueCondition(absl::string_view type) {
  return [type = std::string(type)](Json& object) {
    object["status"]["conditions"].push_back({{"type", type}, {"status", "True"}});
  };
}

Change Waiting(absl::string_view reason, absl::string_view message) {
  return [reason = std::string(reason), message = std::string(message)](Json& object) {
    object["status"]["phase"] = "Pending";
    object["status"]["containerStatuses"] =
        ContainerStatus({{"waiting", {{"reason", reason}, {"message", message}}}});
  };
}

}  // namespace tensorfleet::testing
