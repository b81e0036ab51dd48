// The TFJob of a file, ready to run here, or the reason why not with its line.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "operator/api/tfjob.h"
#include "operator/local/field_check.h"
#include "runtime/base/status.h"

namespace tensorfleet::local {

struct JobFile {
  std::shared_ptr<const api::TFJob> job;
  // What the user should know: fields without effect, documents left out.
  std::vector<std::string> notices;
};

struct JobFileOptions {
  std::string name;                    // of the file, for messages
  std::string job;                     // metadata.name of the wanted TFJob; empty: the only one
  std::vector<std::string> overrides;  // PATH=VALUE, see override.h
  Given given;
};

// Errors: InvalidArgument with one line for each fault, "FILE:LINE: path: reason", or
// "--set ...: path: reason" where an override is at fault.
StatusOr<JobFile> ReadJobFile(const std::string& text, const JobFileOptions& options);

}  // namespace tensorfleet::local
