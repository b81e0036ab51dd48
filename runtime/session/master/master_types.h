// What clients ask of a master and what they get back, with tensors instead of messages.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "proto/config.pb.h"
#include "runtime/session/worker/worker_interface.h"

namespace tensorfleet {

struct RunStepArgs {
  std::string session_handle;
  std::vector<NamedTensor> feeds;
  std::vector<std::string> fetches;
  std::vector<std::string> targets;
  tensorflow::RunOptions options;
  std::string partial_run_handle;
  int64_t request_id = 0;
};

struct RunCallableArgs {
  std::string session_handle;
  int64_t handle = 0;
  std::vector<Tensor> feeds;
  int64_t request_id = 0;
};

struct RunStepResult {
  // One for each distinct fetch, in the order of the request.
  std::vector<NamedTensor> fetches;
  tensorflow::RunMetadata metadata;
  bool has_metadata = true;  // false for a partial step that is not the last
};

}  // namespace tensorfleet
