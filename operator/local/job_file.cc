#include "operator/local/job_file.h"

#include <algorithm>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "operator/api/fields/json_fields.h"
#include "operator/api/objects/labels.h"
#include "operator/api/validate.h"
#include "operator/api/values/yaml.h"
#include "operator/local/override.h"

namespace tensorfleet::local {
namespace {

using api::YamlDocument;
using nlohmann::json;

std::string NameOf(const json& document) {
  const json* metadata = api::ObjectMember(document, "metadata");
  return metadata == nullptr ? "" : api::StringMember(*metadata, "name");
}

// The wanted TFJob among the documents; what else there is becomes a notice.
StatusOr<YamlDocument> Choose(std::vector<YamlDocument> documents, const JobFileOptions& options,
                              std::vector<std::string>& notices) {
  std::vector<YamlDocument*> jobs;
  std::vector<std::string> names;
  for (YamlDocument& document : documents) {
    if (!document.json.is_object()) {
      return InvalidArgument(options.name, ":", document.LineOf(""), ": is not an object");
    }
    const std::string kind = api::StringMember(document.json, "kind");
    if (kind != api::kKind) {
      if (kind.empty())
        return InvalidArgument(options.name, ":", document.LineOf("kind"),
                               ": kind: Required value: expected a TFJob");
      notices.push_back(absl::StrCat(kind, " ", NameOf(document.json),
                                     " in the file is left out: only TFJobs are run"));
      continue;
    }
    names.push_back(NameOf(document.json));
    if (options.job.empty() || names.back() == options.job) jobs.push_back(&document);
  }
  if (jobs.size() == 1) return std::move(*jobs.front());
  if (names.empty()) return InvalidArgument(options.name, ": there is no TFJob in the file");
  return InvalidArgument(options.name, ": holds the TFJobs ", absl::StrJoin(names, ", "),
                         options.job.empty() ? "; choose one by --job"
                                             : ", not exactly one of the name given by --job");
}

// Where a field was given: the file's line, or the override that is nearest around it.
class Origins {
 public:
  Origins(std::string file, const YamlDocument& document)
      : file_(std::move(file)), document_(document) {}

  void Add(const std::string& path, const std::string& override) { overrides_[path] = override; }

  std::string Of(const std::string& path) const {
    const std::string* best = nullptr;
    size_t length = 0;
    for (const auto& [overridden, text] : overrides_) {
      absl::string_view rest = path;
      if (!absl::ConsumePrefix(&rest, overridden) || overridden.size() < length) continue;
      if (!rest.empty() && rest[0] != '.' && rest[0] != '[') continue;
      best = &text;
      length = overridden.size();
    }
    if (best != nullptr) return absl::StrCat("--set ", *best);
    return absl::StrCat(file_, ":", document_.LineOf(path));
  }

 private:
  const std::string file_;
  const YamlDocument& document_;
  std::map<std::string, std::string> overrides_;
};

// What the API server adds.
void FillMetadata(json& job) {
  json& metadata = job["metadata"];
  if (!metadata.contains("namespace")) metadata["namespace"] = "default";
  metadata["uid"] = "local";
  job.erase("status");
}

Status Refusal(const std::vector<api::FieldError>& errors, const Origins& origins) {
  std::vector<std::string> lines;
  for (const api::FieldError& error : errors) {
    const std::string line = absl::StrCat(origins.Of(error.path), ": ", error.ToString());
    if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(line);
  }
  return InvalidArgument(absl::StrJoin(lines, "\n"));
}

}  // namespace

StatusOr<JobFile> ReadJobFile(const std::string& text, const JobFileOptions& options) {
  StatusOr<std::vector<YamlDocument>> documents = api::ParseYaml(text);
  if (!documents.ok()) {
    // "line 3: why" becomes "FILE:3: why".
    absl::string_view why = documents.status().message();
    return InvalidArgument(options.name, absl::ConsumePrefix(&why, "line ") ? ":" : ": ", why);
  }
  JobFile read;
  TFLEET_ASSIGN_OR_RETURN(YamlDocument document,
                          Choose(*std::move(documents), options, read.notices));
  json& object = document.json;
  Origins origins(options.name, document);
  for (const std::string& override : options.overrides) {
    StatusOr<std::string> path = ApplyOverride(override, object);
    if (!path.ok()) return Prefixed(absl::StrCat("--set ", override, ": "), path.status());
    origins.Add(*path, override);
  }
  const std::string version = api::StringMember(object, "apiVersion");
  if (version != api::kApiVersion) {
    return Refusal({api::Unsupported("apiVersion", version, {api::kApiVersion})}, origins);
  }
  if (NameOf(object).empty()) {
    return Refusal({api::Required("metadata.name", "a job needs a name")}, origins);
  }
  FieldFindings findings = CheckFields(object, options.given);
  FillMetadata(object);
  TFLEET_ASSIGN_OR_RETURN(api::TFJob job, api::TFJobFromJson(object));
  std::vector<api::FieldError> errors = api::Validate(job);
  errors.insert(errors.end(), findings.errors.begin(), findings.errors.end());
  if (!errors.empty()) return Refusal(errors, origins);
  if (!findings.without_effect.empty()) {
    read.notices.push_back(absl::StrCat("without effect on this machine: ",
                                        absl::StrJoin(findings.without_effect, ", ")));
  }
  read.job = std::make_shared<const api::TFJob>(std::move(job));
  return read;
}

}  // namespace tensorfleet::local
