// Saves a checkpoint when the first session begins at a step that none was saved for, then every so
// many steps or seconds, and at the end. A save that fails because the disk does is tried again
// when the next is due; at the end it is an error.
#pragma once

#include "runtime/train/basic_hooks.h"
#include "runtime/train/saver.h"

namespace tensorfleet::train {

class SaveCheckpoints final : public Hook {
 public:
  // Neither the saver nor the writer (which may be null) is owned.
  SaveCheckpoints(Saver* saver, std::string global_step, int64_t every_steps, double every_seconds,
                  EventWriter* events, const Clock* clock)
      : saver_(saver),
        global_step_(std::move(global_step)),
        events_(events),
        cadence_(every_steps, every_seconds, clock) {}

  Status SessionStarted(Session& session, int64_t global_step) override;
  StatusOr<bool> StepDone(const StepResult& result) override;
  Status End(Session& session, int64_t global_step) override;

 private:
  Status Save(Session& session, int64_t step);

  Saver* const saver_;
  const std::string global_step_;
  EventWriter* const events_;
  Cadence cadence_;
  int64_t saved_step_ = -1;
};

}  // namespace tensorfleet::train
