// A save that runs beside training steps: one of them fixes the values, and the bytes go out on a
// thread of its own. One save at a time. For one thread, which may run steps of the same session
// between the calls.
#pragma once

#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/base/status.h"
#include "runtime/client/session.h"
#include "runtime/train/checkpoint/save_graph.h"
#include "runtime/train/checkpoint/saver.h"

namespace tensorfleet::train {

class BackgroundSave {
 public:
  struct Result {
    int64_t step = 0;
    StatusOr<std::string> prefix;  // of the checkpoint, which is complete
    double seconds = 0;            // that it took
  };

  // The saver is not owned, and not to be used by others while a save runs.
  BackgroundSave(Saver* saver, SaveGraph graph) : saver_(*saver), graph_(std::move(graph)) {}
  // Waits for the save that runs; deletes what has begun and was not ended.
  ~BackgroundSave();
  BackgroundSave(const BackgroundSave&) = delete;
  BackgroundSave& operator=(const BackgroundSave&) = delete;

  // The two halves. Begin: the training step `request` is to fix the values as it leaves them; none
  // may be under way. End: that step has run, and `step` is its number. The session must live until
  // the result was taken.
  void Begin(StepRequest* request);
  void End(Session& session, int64_t step);
  // Begun and not ended yet; forgets that, where the step has failed.
  bool has_begun() const { return has_begun_; }
  void Abandon();
  // From End until the result was taken.
  bool is_under_way() const { return thread_.joinable(); }
  // The result of the save under way, if it is over (Poll), or once it is (Wait; there must be
  // one).
  std::optional<Result> Poll();
  Result Wait();

 private:
  StatusOr<std::vector<CheckpointPart>> AwaitParts(Session& session) const;
  StatusOr<std::string> Save(Session& session, int64_t step);

  Saver& saver_;
  const SaveGraph graph_;
  bool has_begun_ = false;
  std::thread thread_;
  std::optional<Notification> is_over_;
  std::optional<Result> result_;  // the thread's, until is_over_
};

}  // namespace tensorfleet::train
