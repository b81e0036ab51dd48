// The hooks that every training has: stop at a step, progress in the log, a guard against NaN,
// summaries.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/train/session/event_writer.h"
#include "runtime/train/session/hooks.h"

namespace tensorfleet::train {

// Fires at the first step it sees, and from then on every so many steps, or seconds when
// `every_steps` is 0. With neither it never fires.
class Cadence {
 public:
  Cadence(int64_t every_steps, double every_seconds, const Clock* clock)
      : every_steps_(every_steps), every_seconds_(every_seconds), clock_(clock) {}
  bool IsDue(int64_t step) const;
  void Fired(int64_t step);
  // False until it has fired once.
  bool has_fired() const { return has_fired_; }
  int64_t last_step() const { return last_step_; }

 private:
  const int64_t every_steps_;
  const double every_seconds_;
  const Clock* const clock_;
  bool has_fired_ = false;
  int64_t last_step_ = 0;
  std::chrono::steady_clock::time_point last_time_;
};

// Stops when the global step has reached `last_step`.
class StopAtStep final : public Hook {
 public:
  StopAtStep(int64_t last_step, std::string global_step)
      : last_step_(last_step), global_step_(std::move(global_step)) {}
  StatusOr<bool> StepDone(const StepResult& result) override;

 private:
  const int64_t last_step_;
  const std::string global_step_;
};

// A line with the step, the loss and the rate, every so many steps; the rate also as a summary when
// there is a writer.
class Progress final : public Hook {
 public:
  Progress(int64_t every_steps, std::string loss, EventWriter* events, const Clock* clock)
      : loss_(std::move(loss)), events_(events), clock_(clock), cadence_(every_steps, 0, clock) {}
  std::vector<std::string> Fetches(int64_t global_step) override;
  StatusOr<bool> StepDone(const StepResult& result) override;

 private:
  const std::string loss_;  // "": the graph names none
  EventWriter* const events_;
  const Clock* const clock_;
  Cadence cadence_;
  bool asked_ = false;
  std::chrono::steady_clock::time_point last_time_;
};

// Ends the training with an error when the loss is no number.
class NanGuard final : public Hook {
 public:
  NanGuard(std::string loss, bool is_fatal) : loss_(std::move(loss)), is_fatal_(is_fatal) {}
  std::vector<std::string> Fetches(int64_t global_step) override { return {loss_}; }
  StatusOr<bool> StepDone(const StepResult& result) override;

 private:
  const std::string loss_;
  const bool is_fatal_;
};

// Writes the graph's summaries every so many steps.
class WriteSummaries final : public Hook {
 public:
  WriteSummaries(std::vector<std::string> summaries, int64_t every_steps, EventWriter* events,
                 const Clock* clock)
      : summaries_(std::move(summaries)), events_(events), cadence_(every_steps, 0, clock) {}
  Status SessionStarted(Session& session, int64_t global_step) override;
  std::vector<std::string> Fetches(int64_t global_step) override;
  StatusOr<bool> StepDone(const StepResult& result) override;
  Status End(Session& session, int64_t global_step) override;

 private:
  const std::vector<std::string> summaries_;
  EventWriter* const events_;
  Cadence cadence_;
  bool asked_ = false;
};

}  // namespace tensorfleet::train
