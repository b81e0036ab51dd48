#include "runtime/session/worker/collective/collective_run.h"

#include "absl/strings/str_cat.h"
#include "runtime/base/contain.h"
#include "runtime/kernels/rendezvous.h"
#include "runtime/session/worker/worker.h"

namespace tensorfleet {
namespace {

using collective::GroupRef;
using collective::Member;

// Below this, merging costs less than another thread.
constexpr size_t kSmallPiece = 32 << 10;
std::string KeyOf(const CollectiveArgs& args) {
  return absl::StrCat(args.group_key, ":", args.instance_key, ":", args.frame_id, ":",
                      args.iteration);
}

}  // namespace

CollectiveRun::CollectiveRun(SessionStepCollectives* step, CollectiveArgs args, bool is_join,
                             StepCollectives::Done done)
    : step_(step),
      kept_(step->step()->shared_from_this()),
      args_(std::move(args)),
      is_join_(is_join),
      key_(KeyOf(args_)),
      done_(std::move(done)) {}

template <typename Work>
void CollectiveRun::Contain(const Work& work) {
  if (Status thrown = Contained(work); !thrown.ok()) Fail(thrown);
}

void CollectiveRun::Start() {
  WatchCancellation();
  if (is_over()) return;
  WatchTime();
  const WorkerCollectives::Place& place = step_->place();
  // Before it has said anything the leader may not be up yet.
  if (!place.leads() && step_->worker()->HasHeardFrom(place.leader)) Watch(place.leader);
  step_->worker()->FindGroup(
      place, args_, &calls_, [self = self()](const StatusOr<GroupRef>& group) {
        if (!group.ok()) {
          return self->Fail(self->Explained(
              absl::StrCat("the leader ", self->step_->place().leader), group.status()));
        }
        self->Contain([&] { self->FoundGroup(*group); });
      });
}

void CollectiveRun::WatchCancellation() {
  CancellationManager* const cancellation = args_.cancellation;
  if (cancellation == nullptr) return;
  const CancellationManager::Token token = cancellation->Register(
      [self = self(), cancellation] { self->Fail(MarkDerived(cancellation->status())); });
  if (token < 0) return Fail(MarkDerived(cancellation->status()));
  MutexLock lock(&mu_);
  token_ = token;
}

void CollectiveRun::WatchTime() {
  const auto patience = step_->worker()->options().group_patience;
  const std::weak_ptr<collective::Exchange> weak = weak_from_this();
  const auto after = [&](std::chrono::nanoseconds time, void (*act)(CollectiveRun*)) {
    const TimerQueue::Id id = step_->worker()->timers()->RunAfter(time, [weak, act] {
      if (const auto run = weak.lock()) act(static_cast<CollectiveRun*>(run.get()));
    });
    MutexLock lock(&mu_);
    timers_.push_back(id);
  };
  if (args_.timeout.count() > 0) {
    after(args_.timeout, [](CollectiveRun* run) {
      run->Fail(DeadlineExceeded(
          "Collective has timed out waiting for other workers: group ", run->args_.group_key,
          ", instance ", run->args_.instance_key, " at ", run->args_.device->name, ", ",
          run->step_->worker()->DescribeGroup(run->step_->place(), run->args_.group_key)));
    });
  } else {
    after(patience, [](CollectiveRun* run) {
      {
        MutexLock lock(&run->mu_);
        if (run->rank_ >= 0) return;  // the group is there; what takes long is a step of a member
      }
      run->Fail(DeadlineExceeded(
          "Collective group ", run->args_.group_key, " of ", run->args_.group_size,
          " is not complete: ",
          run->step_->worker()->DescribeGroup(run->step_->place(), run->args_.group_key)));
    });
  }
}

void CollectiveRun::Watch(const std::string& task) {
  const StatusOr<std::shared_ptr<WorkerInterface>> peer = step_->place().session->FindPeer(task);
  if (!peer.ok()) return Fail(peer.status());
  {
    MutexLock lock(&mu_);
    if (done_ == nullptr || watched_.count(task) > 0) return;
    watched_[task] = 0;
  }
  const std::weak_ptr<collective::Exchange> weak = weak_from_this();
  const MemberWatch::Id id =
      step_->worker()->watch()->Enter(task, *peer, [weak, task](const Status& why) {
        const auto run = weak.lock();
        if (run != nullptr) {
          auto* const self = static_cast<CollectiveRun*>(run.get());
          self->Fail(self->Explained(task, why));
        }
      });
  {
    MutexLock lock(&mu_);
    if (done_ != nullptr) {
      watched_[task] = id;
      return;
    }
  }
  step_->worker()->watch()->Leave(task, id);
}

void CollectiveRun::FoundGroup(GroupRef group) {
  const int rank = group->RankOf(args_.device->name);
  group_ = std::move(group);
  bool is_local = true;
  for (const Member& member : group_->members) {
    is_local &= member.task == step_->place().session->task();
  }
  {
    MutexLock lock(&mu_);
    if (done_ == nullptr) return;
    rank_ = rank;
  }
  if (is_join_) return End(Tensor());
  if (args_.kind == CollectiveKind::kAllToAll && args_.rank >= 0 && args_.rank != rank) {
    return Fail(Unimplemented(
        "all-to-all over a communicator whose ranks are not in the order of the devices: ",
        args_.device->name, " has rank ", args_.rank, " but is number ", rank));
  }
  if (is_local) return step_->Meet(self());
  for (const Member& member : group_->members) {
    if (member.task != step_->place().session->task()) Watch(member.task);
  }
  if (is_over()) return;
  step_->worker()->Agree(
      step_->place(), group_, args_, &calls_, [self = self()](const StatusOr<int>& source) {
        if (!source.ok()) {
          return self->Fail(self->Explained(
              absl::StrCat("the leader ", self->step_->place().leader), source.status()));
        }
        // Copying what this member brings takes a while.
        self->step_->pool()->Schedule([self, source = *source] {
          self->Contain([&] {
            if (self->is_over()) return;
            switch (self->args_.kind) {
              case CollectiveKind::kBroadcast:
                if (self->args_.is_source != (source == self->rank_)) {
                  return self->Fail(InvalidArgument(
                      "Instance ", self->args_.instance_key, " has the source ",
                      self->group_->members[source].device.name, ", but ", self->args_.device->name,
                      self->args_.is_source ? " sends too" : " does not send any more"));
                }
                return collective::StartBroadcast(self, source);
              case CollectiveKind::kAllToAll:
                return collective::StartAllToAll(self);
              default:
                return collective::StartRing(self);
            }
          });
        });
      });
}

RendezvousKey CollectiveRun::KeyFor(const Member& from, const Member& to,
                                    const std::string& key) const {
  RendezvousKey full;
  full.src_device = from.device.name;
  full.src_incarnation = from.device.incarnation;
  full.dst_device = to.device.name;
  full.tensor_name = PieceName(key);
  full.text =
      MakeRendezvousKey(full.src_device, full.src_incarnation, full.dst_device, full.tensor_name);
  return full;
}

void CollectiveRun::Post(int to, const std::string& key, Tensor piece) {
  const Member& member = group_->members[to];
  const bool is_local = member.task == step_->place().session->task();
  {
    MutexLock lock(&mu_);
    if (done_ == nullptr) return;
    if (!is_local) ++posted_;
  }
  // The other op of this step gets the tensor itself. Elsewhere whoever takes it lets go of it when
  // it is on its way; until then this op must not be over, or its step might be.
  if (!is_local) {
    const DType dtype = piece.dtype();
    const Shape shape = piece.shape();
    const size_t bytes = piece.bytes();
    void* const data = piece.mutable_raw();
    piece = Tensor::FromBuffer(
        dtype, shape,
        WrapHostBuffer(data, bytes, [self = self(), held = std::move(piece)]() mutable {
          held.Clear();
          self->Taken();
        }));
  }
  const Status sent =
      kept_->rendezvous.Send(KeyFor(group_->members[rank_], member, key), std::move(piece), false);
  if (!sent.ok()) Fail(MarkDerived(sent));
}

void CollectiveRun::Receive(int from, const std::string& key, int64_t elements, Received received) {
  const Member& member = group_->members[from];
  RecvBufArgs args;
  args.key = KeyFor(member, group_->members[rank_], key);
  args.buf_key = key;
  args.dtype = args_.dtype;
  args.elements = elements;
  kept_->rendezvous.RecvBuf(
      std::move(args), member.task,
      [self = self(), from, elements, received = std::move(received)](const Status& status,
                                                                      Tensor piece, bool) {
        const bool is_local =
            self->group_->members[from].task == self->step_->place().session->task();
        // Another op of this step may be on this thread, and what it holds is not known.
        if (status.ok() && !is_local && piece.bytes() <= kSmallPiece) {
          self->Came(from, elements, status, std::move(piece), received);
          return;
        }
        if (!status.ok()) return self->Came(from, elements, status, Tensor(), received);
        self->step_->pool()->Schedule(
            [self, from, elements, piece = std::move(piece), received]() mutable {
              self->Came(from, elements, OkStatus(), std::move(piece), received);
            });
      });
}

void CollectiveRun::Came(int from, int64_t elements, const Status& status, Tensor piece,
                         Received received) {
  if (is_over()) return;
  const std::string& who = group_->members[from].device.name;
  if (!status.ok()) {
    if (status.GetPayload(kWorkerPossiblyRestartedPayload).has_value() ||
        absl::IsFailedPrecondition(status)) {
      MutexLock lock(&mu_);
      is_outdated_ = true;
    }
    return Fail(Explained(who, status));
  }
  if (piece.dtype() != args_.dtype || piece.num_elements() != elements) {
    return Fail(InvalidArgument("Shape mismatch in the collective instance ", args_.instance_key,
                                ": ", who, " sends ", piece.num_elements(), " elements of ",
                                DTypeName(piece.dtype()), ", but ", args_.device->name, " expects ",
                                elements, " of ", DTypeName(args_.dtype)));
  }
  Contain([&] { received(std::move(piece)); });
}

void CollectiveRun::Taken() {
  Tensor result;
  {
    MutexLock lock(&mu_);
    if (--posted_ > 0 || !has_result_ || done_ == nullptr) return;
    result = std::move(result_);
  }
  // On whatever thread has let go of the piece, under whatever locks.
  step_->pool()->Schedule([self = self(), result = std::move(result)] { self->End(result); });
}

void CollectiveRun::Finish(Tensor result) {
  {
    MutexLock lock(&mu_);
    if (done_ == nullptr) return;
    if (posted_ > 0) {
      has_result_ = true;
      result_ = std::move(result);
      return;
    }
  }
  End(std::move(result));
}

Status CollectiveRun::Explained(const std::string& who, const Status& why) const {
  // This step's own end.
  if (kept_->cancellation.is_cancelled()) return MarkDerived(kept_->cancellation.status());
  const std::string text =
      absl::StrCat("collective op {{node ", args_.node, "}} at ", args_.device->name,
                   " cannot go on with ", who, ": ", why.message());
  switch (why.code()) {
    // It is gone, has restarted, or has ended its step.
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kNotFound:
      return Unavailable(text);
    default:
      return Status(why.code(), text);
  }
}

void CollectiveRun::Fail(const Status& why) { End(why); }

void CollectiveRun::End(StatusOr<Tensor> result) {
  StepCollectives::Done done;
  CancellationManager::Token token = -1;
  std::vector<TimerQueue::Id> timers;
  std::map<std::string, MemberWatch::Id> watched;
  Tensor dropped;
  bool is_outdated = false;
  {
    MutexLock lock(&mu_);
    if (done_ == nullptr) return;
    done.swap(done_);
    is_outdated = is_outdated_;
    token = std::exchange(token_, -1);
    timers.swap(timers_);
    watched.swap(watched_);
    dropped = std::move(result_);
  }
  for (const TimerQueue::Id id : timers) step_->worker()->timers()->Cancel(id);
  for (const auto& [task, id] : watched) step_->worker()->watch()->Leave(task, id);
  if (token >= 0) args_.cancellation->TryDeregister(token);
  if (!result.ok()) {
    calls_.StartCancel(result.status());
    if (group_ != nullptr) step_->worker()->Forget(group_, is_outdated);
    step_->LeaveMeeting(*this);
  }
  done(std::move(result));
}

}  // namespace tensorfleet
