// What accompanies training: hooks see every session begin, every step, and the end.
#pragma once

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "runtime/base/status.h"
#include "runtime/client/session.h"

namespace tensorfleet::train {

struct StepResult {
  Session* session = nullptr;
  // As the step left it, where the graph has a node that says so (SaveGraph); else as the step read
  // it, which may be before its own update.
  int64_t global_step = 0;
  absl::Span<const Tensor> values;  // what the hook asked for, in that order
};

// Called by one thread. An error of one of the codes that mean a lost task makes a new session, as
// such an error of a step does; any other error ends the training.
class Hook {
 public:
  virtual ~Hook() = default;
  // A session is ready, the first or one after a recovery.
  virtual Status SessionStarted(Session& session, int64_t global_step) { return OkStatus(); }
  // Tensors to fetch with the next step; `global_step` is what the last one read.
  virtual std::vector<std::string> Fetches(int64_t global_step) { return {}; }
  // The next step is about to run: what it is to feed and to run besides. It may fail, and then
  // another begins.
  virtual void StepBegins(int64_t global_step, StepRequest* request) {}
  // Returns whether training is to stop.
  virtual StatusOr<bool> StepDone(const StepResult& result) { return false; }
  // The session is closed and its steps are cancelled: nothing may use it once this has returned.
  virtual void SessionEnds() {}
  // Training ended without an error.
  virtual Status End(Session& session, int64_t global_step) { return OkStatus(); }
};

// Reads the global step. Errors: what the step says; InvalidArgument when it is no integer.
StatusOr<int64_t> ReadGlobalStep(const std::string& tensor, Session& session);
// The value of an int32 or int64 scalar. Errors: InvalidArgument.
StatusOr<int64_t> ToInt64(const Tensor& value);
// The value of a scalar of any floating type. Errors: InvalidArgument.
StatusOr<double> ToDouble(const Tensor& value);

}  // namespace tensorfleet::train
