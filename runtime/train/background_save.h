// A save that runs beside training steps: Begin returns when the values are fixed, the bytes go out
// on a thread of its own. One save at a time. For one thread, which may run steps of the same
// session between the calls.
#pragma once

#include <optional>
#include <string>
#include <thread>

#include "runtime/base/mutex.h"
#include "runtime/base/status.h"
#include "runtime/client/session.h"
#include "runtime/train/saver.h"
#include "runtime/train/snapshot_point.h"

namespace tensorfleet::train {

class BackgroundSave {
 public:
  struct Result {
    int64_t step = 0;
    StatusOr<std::string> prefix;  // of the checkpoint, which is complete
  };

  // Without a snapshot point, Begin returns when the save is over. The saver is not owned, and not
  // to be used by others while a save runs.
  BackgroundSave(Saver* saver, std::optional<SnapshotPoint> point)
      : saver_(*saver), point_(std::move(point)) {}
  // Waits for the save that runs.
  ~BackgroundSave();
  BackgroundSave(const BackgroundSave&) = delete;
  BackgroundSave& operator=(const BackgroundSave&) = delete;

  // Begins to save; none may be under way. The session must live until the result was taken.
  // Errors: those of the session when it cannot tell that the values are fixed; a save that fails
  // is no error here but a result.
  Status Begin(Session& session, int64_t step);
  // From Begin until the result was taken.
  bool is_under_way() const { return thread_.joinable(); }
  // The result of the save under way, if it is over (Poll), or once it is (Wait; there must be
  // one).
  std::optional<Result> Poll();
  Result Wait();

 private:
  void Save(Session& session, int64_t step, int64_t number);

  Saver& saver_;
  const std::optional<SnapshotPoint> point_;
  int64_t number_ = 0;
  std::thread thread_;
  std::optional<Notification> is_over_;
  std::optional<Result> result_;  // the thread's, until is_over_
};

}  // namespace tensorfleet::train
