#include "runtime/collective/instance_table.h"

#include "absl/strings/str_cat.h"

namespace tensorfleet::collective {
namespace {

// More than graphs have; ops of the third version take a new one each time.
constexpr size_t kMaxInstances = 1 << 18;

}  // namespace

std::string InstanceClaim::Describe() const {
  return absl::StrCat(CollectiveName(kind), merge, " of ", DTypeName(dtype), " ", shape.ToString());
}

Status CheckSameClaim(const InstanceClaim& a, const InstanceClaim& b) {
  const bool same_merge = a.merge == b.merge || a.merge.empty() || b.merge.empty();
  if (a.kind == b.kind && a.dtype == b.dtype && a.shape == b.shape && same_merge) {
    return OkStatus();
  }
  return InvalidArgument("Shape mismatch or other difference in the collective instance ",
                         a.instance_key, ": {{node ", a.node, "}} at ", a.device, " does ",
                         a.Describe(), ", but {{node ", b.node, "}} at ", b.device, " does ",
                         b.Describe());
}

void InstanceTable::Answer(std::map<int64_t, Waiter> waiters, const StatusOr<int>& answer) {
  for (auto& [id, waiter] : waiters) {
    if (waiter.token >= 0) waiter.cancellation->TryDeregister(waiter.token);
    waiter.done(answer);
  }
}

void InstanceTable::Complete(const GroupRef& group, InstanceClaim claim,
                             CancellationManager* cancellation, Done done) {
  const int rank = group->RankOf(claim.device);
  if (rank < 0) {
    return done(InvalidArgument(claim.device, " is not a member of the collective group ",
                                group->key, " in which it is to run ", claim.node));
  }
  const Key key(group->key, claim.instance_key);
  std::map<int64_t, Waiter> waiters, outdated;
  StatusOr<int> answer = 0;
  bool waits = false;
  {
    MutexLock lock(&mu_);
    if (records_.size() >= kMaxInstances && !records_.contains(key)) {
      // Those that nobody waits for can be agreed upon again.
      absl::erase_if(records_, [](const auto& entry) { return entry.second.waiters.empty(); });
    }
    const auto [it, is_new] = records_.try_emplace(key);
    Record& record = it->second;
    const bool is_other_group = record.communicator_key != group->communicator_key;
    if (!is_new && is_other_group) outdated.swap(record.waiters);
    if (is_new || is_other_group) {
      record = Record();
      record.communicator_key = group->communicator_key;
      record.first = claim;
    }
    if (Status same = CheckSameClaim(record.first, claim); !same.ok()) {
      // Members change what they do from one step to the next, and do so together.
      const bool may_change = record.first.step_id != claim.step_id && record.waiters.empty() &&
                              record.first.kind == claim.kind;
      if (may_change) {
        record.first = claim;
      } else {
        answer = same;
        waiters.swap(record.waiters);
        records_.erase(it);
      }
    }
    if (answer.ok() && claim.kind == CollectiveKind::kBroadcast) {
      record.known[rank] = claim.is_source;
      if (record.known.size() == static_cast<size_t>(group->size())) {
        std::vector<int> sources;
        for (const auto& [member, has_value] : record.known) {
          if (has_value) sources.push_back(member);
        }
        if (sources.size() == 1) {
          answer = sources[0];
        } else if (sources.empty()) {
          answer =
              InvalidArgument("Instance ", claim.instance_key,
                              " found no source for broadcast.  This could mean that there were "
                              "group_size=",
                              group->size(), " BcastRecvs but no BcastSend.");
        } else {
          answer = InvalidArgument("Instance ", claim.instance_key, " has two sources, ",
                                   group->members[sources[0]].device.name, " and ",
                                   group->members[sources[1]].device.name);
        }
        waiters.swap(record.waiters);
        if (!answer.ok()) records_.erase(key);
      } else {
        const int64_t id = next_waiter_++;
        Waiter waiter{rank, cancellation, -1, done};
        waits = true;
        if (cancellation != nullptr) {
          waiter.token = cancellation->Register([this, key, id] { Withdraw(key, id); });
          if (waiter.token < 0) {
            answer = cancellation->status();
            record.known.erase(rank);
            waits = false;
          }
        }
        if (waits) record.waiters[id] = std::move(waiter);
      }
    }
  }
  Answer(std::move(outdated), Aborted("the collective group ", group->key, " was formed anew"));
  if (waits) return;
  done(answer);
  Answer(std::move(waiters), answer);
}

void InstanceTable::Withdraw(const Key& key, int64_t id) {
  Waiter waiter;
  {
    MutexLock lock(&mu_);
    const auto record = records_.find(key);
    if (record == records_.end()) return;
    const auto it = record->second.waiters.find(id);
    if (it == record->second.waiters.end()) return;
    waiter = std::move(it->second);
    record->second.waiters.erase(it);
    record->second.known.erase(waiter.rank);
    if (record->second.known.empty()) records_.erase(record);
  }
  waiter.done(Cancelled("nobody waits for the collective instance any longer"));
}

}  // namespace tensorfleet::collective
