// One op's run of a collective: finds the group, agrees with the leader, then exchanges pieces
// until the result is there and everybody has taken theirs. Over when its `done` has been called:
// at the end, or at the first error, cancellation or deadline. Thread-safe.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/cancellation.h"
#include "runtime/base/mutex.h"
#include "runtime/collective/exchange.h"
#include "runtime/session/worker/collective/step_collectives.h"

namespace tensorfleet {

class CollectiveRun final : public collective::Exchange {
 public:
  // `is_join`: only the group is wanted, and `done` gets an invalid tensor.
  CollectiveRun(SessionStepCollectives* step, CollectiveArgs args, bool is_join,
                StepCollectives::Done done);

  void Start();

  const collective::Group& group() const override { return *group_; }
  int rank() const override { return rank_; }
  const CollectiveArgs& args() const override { return args_; }
  const std::string& key() const override { return key_; }
  void Post(int to, const std::string& key, Tensor piece) override;
  void Receive(int from, const std::string& key, int64_t elements, Received received) override;
  void Finish(Tensor result) override;
  void Fail(const Status& why) override;

 private:
  std::shared_ptr<CollectiveRun> self() {
    return std::static_pointer_cast<CollectiveRun>(shared_from_this());
  }
  bool is_over() const {
    MutexLock lock(&mu_);
    return done_ == nullptr;
  }
  // Runs `work` here; what it throws fails the run.
  template <typename Work>
  void Contain(const Work& work);

  void WatchCancellation();
  void WatchTime();
  void Watch(const std::string& task);
  void FoundGroup(collective::GroupRef group);
  void Exchange();
  void Came(int from, int64_t elements, const Status& status, Tensor piece, Received received);
  void Taken();
  RendezvousKey KeyFor(const collective::Member& from, const collective::Member& to,
                       const std::string& key) const;
  // What a transfer from a member, or a call to the leader, failed with.
  Status Explained(const std::string& who, const Status& why) const;
  void End(StatusOr<Tensor> result);

  SessionStepCollectives* const step_;
  const std::shared_ptr<WorkerStep> kept_;  // the step, until all callbacks have gone
  const CollectiveArgs args_;
  const bool is_join_;
  const std::string key_;
  // Set before pieces travel.
  collective::GroupRef group_;
  int rank_ = -1;

  CancellationManager calls_;  // to the leader
  mutable Mutex mu_;
  StepCollectives::Done done_ ABSL_GUARDED_BY(mu_);  // null once over
  CancellationManager::Token token_ ABSL_GUARDED_BY(mu_) = -1;
  std::vector<TimerQueue::Id> timers_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, MemberWatch::Id> watched_ ABSL_GUARDED_BY(mu_);
  bool is_outdated_ ABSL_GUARDED_BY(mu_) = false;  // a member is another than the group has
  bool has_result_ ABSL_GUARDED_BY(mu_) = false;
  Tensor result_ ABSL_GUARDED_BY(mu_);
  int posted_ ABSL_GUARDED_BY(mu_) = 0;  // and not taken yet

  friend class SessionStepCollectives;
};

}  // namespace tensorfleet
