// Parts of reading a TFJob's spec, each adding what it finds wrong to `errors`.
#pragma once

#include <string>
#include <vector>

#include "operator/api/fields/json_fields.h"
#include "operator/api/tfjob.h"

namespace tensorfleet::api {

inline const std::vector<std::string> kCleanPodPolicyWords = {"None", "Running", "All"};
inline const std::vector<std::string> kRestartPolicyWords = {"Never", "Always", "OnFailure",
                                                             "ExitCode"};
inline const std::vector<std::string> kSuccessPolicyWords = {"", "AllWorkers"};
inline const std::vector<std::string> kRestartScopeWords = {"Replica", "Job"};
inline const std::vector<std::string> kStartOrderWords = {"Any", "PSFirst"};
inline const std::vector<std::string> kReplicaCompletionWords = {"Pod", "Container"};
inline const std::vector<std::string> kFailureActionWords = {"FailJob", "Restart", "RestartJob",
                                                             "Ignore"};
inline const std::vector<std::string> kExitCodeOperatorWords = {"In", "NotIn"};

TFJobSpec ReadSpec(const Json& spec, std::vector<FieldError>& errors);
// `path` is that of the template.
TemplateFacts ReadTemplateFacts(const Json& pod_template, const std::string& path,
                                std::vector<FieldError>& errors);

}  // namespace tensorfleet::api
