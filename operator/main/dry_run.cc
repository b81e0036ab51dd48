#include "operator/main/dry_run.h"

#include <nlohmann/json.hpp>

#include "operator/api/fields/pod_fields.h"
#include "operator/api/validate.h"
#include "operator/api/values/yaml.h"
#include "operator/plan/pipeline.h"

namespace tensorfleet::operator_main {
namespace {

using nlohmann::json;

StatusOr<std::string> DryRunOne(json object, const plan::Options& options, absl::Time now) {
  if (!object.is_object() || object.value("kind", json()) != "TFJob") {
    return InvalidArgument("expected a document of kind TFJob");
  }
  if (!object.contains("metadata") || !object["metadata"].is_object()) {
    return InvalidArgument("the TFJob has no metadata");
  }
  json& metadata = object["metadata"];
  if (!metadata.contains("namespace")) metadata["namespace"] = "default";
  // What the API server adds.
  if (!metadata.contains("uid")) metadata["uid"] = "00000000-0000-0000-0000-000000000000";
  object.erase("status");
  TFLEET_ASSIGN_OR_RETURN(api::TFJob job, api::TFJobFromJson(object));
  const std::string title = absl::StrCat(job.namespace_, "/", job.name);
  auto errors = api::Validate(job, options.cluster_domain);
  const api::UnknownFields unknown = api::FindUnknownFields(object);
  errors.insert(errors.end(), unknown.mistakes.begin(), unknown.mistakes.end());
  if (!errors.empty()) {
    return absl::StrCat("# TFJob ", title, " would be refused: ", api::JoinErrors(errors), "\n");
  }
  plan::Snapshot seen;
  job.creation_time = now;
  seen.job = std::make_shared<const api::TFJob>(std::move(job));
  seen.now = now;
  const plan::Plan todo = plan::Reconcile(seen, options);
  std::string text = absl::StrCat("# TFJob ", title, ": ", todo.actions.size(), " actions\n");
  for (const api::FieldError& doubtful : unknown.doubtful) {
    absl::StrAppend(&text, "# warning: ", doubtful.ToString(), "\n");
  }
  for (const plan::Action& action : todo.actions) {
    absl::StrAppend(&text, "---\n# ", plan::ActionKindName(action.kind), " ", action.name, "\n");
    const json body = json::parse(action.body, nullptr, false);
    if (body.is_object()) absl::StrAppend(&text, body.dump(2), "\n");
  }
  if (todo.status_write != plan::StatusWrite::kNone) {
    absl::StrAppend(&text, "---\n# status\n", api::ToJson(todo.status).dump(2), "\n");
  }
  for (const plan::Event& event : todo.events) {
    absl::StrAppend(&text, "# event ", event.reason, ": ", event.message, "\n");
  }
  if (todo.requeue_at)
    absl::StrAppend(&text, "# looks again at ", absl::FormatTime(*todo.requeue_at), "\n");
  return text;
}

}  // namespace

StatusOr<std::string> DryRun(const std::string& text, const plan::Options& options,
                             absl::Time now) {
  TFLEET_ASSIGN_OR_RETURN(std::vector<api::YamlDocument> documents, api::ParseYaml(text));
  if (documents.empty()) return InvalidArgument("there is no document in the file");
  // What `kubectl get -o yaml` prints of several.
  std::vector<json> jobs;
  for (api::YamlDocument& parsed : documents) {
    json& document = parsed.json;
    const bool is_list =
        document.is_object() && document.contains("items") && document["items"].is_array();
    if (!is_list) {
      jobs.push_back(std::move(document));
      continue;
    }
    for (json& item : document["items"]) jobs.push_back(std::move(item));
  }
  std::string out;
  for (size_t i = 0; i < jobs.size(); ++i) {
    StatusOr<std::string> one = DryRunOne(std::move(jobs[i]), options, now);
    if (!one.ok()) return Prefixed(absl::StrCat("document ", i + 1, ": "), one.status());
    out += *one;
  }
  return out;
}

}  // namespace tensorfleet::operator_main
