#include "runtime/session/worker/collective/step_collectives.h"

#include <utility>

#include "runtime/base/contain.h"
#include "runtime/collective/meeting.h"
#include "runtime/session/worker/collective/collective_run.h"

namespace tensorfleet {

void SessionStepCollectives::Run(CollectiveArgs args, Done done) {
  if (args.group_size == 1) {
    // Nobody else to find.
    StatusOr<std::vector<Tensor>> alone =
        Contained([&] { return collective::Meet(absl::MakeConstSpan(&args, 1)); });
    if (!alone.ok()) return done(alone.status());
    return done(std::move(alone->front()));
  }
  std::make_shared<CollectiveRun>(this, std::move(args), /*is_join=*/false, std::move(done))
      ->Start();
}

void SessionStepCollectives::JoinGroup(CollectiveArgs args, Joined done) {
  if (args.group_size == 1) return done(OkStatus());
  std::make_shared<CollectiveRun>(
      this, std::move(args), /*is_join=*/true,
      [done = std::move(done)](const StatusOr<Tensor>& joined) { done(joined.status()); })
      ->Start();
}

void SessionStepCollectives::Meet(std::shared_ptr<CollectiveRun> run) {
  Meeting complete;
  Status refused;
  {
    MutexLock lock(&mu_);
    Meeting& meeting = meetings_[run->key()];
    meeting.resize(run->group().size());
    const int rank = run->rank();
    if (meeting[rank] != nullptr) {
      refused = InvalidArgument("two ops, ", meeting[rank]->args().node, " and ", run->args().node,
                                ", run instance ", run->args().instance_key,
                                " of collective group ", run->args().group_key, " on ",
                                run->args().device->name, " in the same step");
    } else {
      meeting[rank] = run;
      bool is_complete = true;
      for (const auto& member : meeting) is_complete &= member != nullptr;
      if (is_complete) {
        complete.swap(meeting);
        meetings_.erase(run->key());
      }
    }
  }
  if (!refused.ok()) return run->Fail(refused);
  // One may have ended while it was put there.
  if (run->is_over()) LeaveMeeting(*run);
  if (complete.empty()) return;
  pool_->Schedule([complete = std::move(complete)] {
    std::vector<CollectiveArgs> args;
    for (const auto& member : complete) args.push_back(member->args());
    const StatusOr<std::vector<Tensor>> results = Contained([&] { return collective::Meet(args); });
    args.clear();
    for (size_t i = 0; i < complete.size(); ++i) {
      complete[i]->End(results.ok() ? StatusOr<Tensor>((*results)[i]) : results.status());
    }
  });
}

void SessionStepCollectives::LeaveMeeting(const CollectiveRun& run) {
  std::shared_ptr<CollectiveRun> left;  // destroyed outside the lock
  MutexLock lock(&mu_);
  const auto meeting = meetings_.find(run.key());
  if (meeting == meetings_.end()) return;
  bool is_empty = true;
  for (auto& member : meeting->second) {
    if (member.get() == &run) left = std::move(member);
    is_empty &= member == nullptr;
  }
  if (is_empty) meetings_.erase(meeting);
}

}  // namespace tensorfleet
