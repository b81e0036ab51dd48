// What the controller tells about itself; metrics are made of it. Called from many threads.
#pragma once

#include <chrono>
#include <string>

#include "absl/strings/string_view.h"
#include "operator/plan/actions.h"

namespace tensorfleet::controller {

class Observer {
 public:
  enum class Result { kSuccess, kRequeueAfter, kError };

  virtual ~Observer() = default;
  // A job's key was taken off the queue after so long.
  virtual void OnTaken(std::chrono::nanoseconds /*waited*/) {}
  virtual void OnReconciled(Result, std::chrono::nanoseconds /*took*/) {}
  virtual void OnCounters(absl::string_view /*ns*/, const plan::Counters&) {}
  virtual void OnAction(plan::ActionKind, bool /*ok*/, std::chrono::nanoseconds /*took*/) {}
  // A write of status that was carried out, or not.
  virtual void OnStatusWrite(bool /*ok*/) {}
};

}  // namespace tensorfleet::controller
