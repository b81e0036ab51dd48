// Saves a checkpoint when the first session begins at a step that none was saved for, then every so
// many steps or seconds, and at the end. The first and the last hold training up; those between run
// beside its steps, one at a time: one that is due while another runs begins with the first step
// after that is over. A
// save that fails because the disk does is tried again when the next is due; at the end it is an
// error.
#pragma once

#include "runtime/train/checkpoint/background_save.h"
#include "runtime/train/checkpoint/saver.h"
#include "runtime/train/session/basic_hooks.h"

namespace tensorfleet::train {

class SaveCheckpoints final : public Hook {
 public:
  // Neither the saver nor the writer (which may be null) is owned. With a save graph, steps must
  // fetch its global step. Without one, every save holds training up.
  SaveCheckpoints(Saver* saver, std::optional<SaveGraph> graph, std::string global_step,
                  int64_t every_steps, double every_seconds, EventWriter* events,
                  const Clock* clock)
      : saver_(saver),
        global_step_(std::move(global_step)),
        events_(events),
        clock_(clock),
        cadence_(every_steps, every_seconds, clock) {
    if (graph) beside_.emplace(saver, *std::move(graph));
  }

  Status SessionStarted(Session& session, int64_t global_step) override;
  void StepBegins(int64_t global_step, StepRequest* request) override;
  StatusOr<bool> StepDone(const StepResult& result) override;
  Status End(Session& session, int64_t global_step) override;
  void SessionEnds() override;

 private:
  bool is_under_way() const { return beside_ && beside_->is_under_way(); }
  // Saves and waits for it.
  BackgroundSave::Result SaveNow(Session& session, int64_t step);
  Status Save(Session& session, int64_t step);
  Status Take(const BackgroundSave::Result& result);
  // The same, but for what the next attempt may not meet again.
  Status TakeOrGoOn(const BackgroundSave::Result& result);

  Saver* const saver_;
  std::optional<BackgroundSave> beside_;
  const std::string global_step_;
  EventWriter* const events_;
  const Clock* const clock_;
  Cadence cadence_;
  int64_t saved_step_ = -1;
};

}  // namespace tensorfleet::train
