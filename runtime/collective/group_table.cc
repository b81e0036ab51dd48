#include "runtime/collective/group_table.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/random_id.h"

namespace tensorfleet::collective {
namespace {

// What a hostile client could make a leader keep.
constexpr size_t kMaxGroups = 65'536;
constexpr int32_t kMaxGroupSize = 65'536;

}  // namespace

void GroupTable::Answer(std::map<int64_t, Waiter> waiters, const StatusOr<GroupRef>& answer) {
  for (auto& [id, waiter] : waiters) {
    // The callback may be running; it finds nothing to withdraw.
    if (waiter.token >= 0) waiter.cancellation->TryDeregister(waiter.token);
    waiter.done(answer);
  }
}

void GroupTable::Join(int32_t key, int32_t size, const std::string& device_type,
                      const DeviceAttributes& device, CancellationManager* cancellation,
                      Done done) {
  if (size <= 0 || size > kMaxGroupSize) {
    return done(InvalidArgument("group_size must be from 1 to ", kMaxGroupSize, " but ",
                                device.name, " joins group ", key, " of ", size));
  }
  std::map<int64_t, Waiter> waiters;
  StatusOr<GroupRef> answer = GroupRef();
  int64_t id = 0;
  {
    MutexLock lock(&mu_);
    if (records_.size() >= kMaxGroups && !records_.contains(key)) {
      // Members of those that are complete know each other; they can be gathered again.
      absl::erase_if(records_, [](const auto& entry) { return entry.second.group != nullptr; });
    }
    if (records_.size() >= kMaxGroups && !records_.contains(key)) {
      answer = ResourceExhausted("this server gathers ", kMaxGroups, " collective groups already");
    } else {
      Record* record = &records_[key];
      const auto known = record->devices.find(device.name);
      const bool is_known = known != record->devices.end();
      const bool restarted = is_known && known->second.incarnation != device.incarnation;
      const bool is_stranger = !is_known && record->group != nullptr;
      if (record->group != nullptr && (restarted || is_stranger)) *record = Record();
      if (record->devices.empty()) {
        record->size = size;
        record->device_type = device_type;
      } else if (record->size != size || record->device_type != device_type) {
        answer =
            InvalidArgument("Device ", device.name, " joins collective group ", key, " of ", size,
                            " ", device_type, "s, but for ", record->devices.begin()->first,
                            " it is one of ", record->size, " ", record->device_type, "s");
        if (record->group == nullptr) {
          // They would wait for what cannot come.
          waiters.swap(record->waiters);
          records_.erase(key);
          record = nullptr;
        }
      }
      if (answer.ok()) {
        record->devices[device.name] = device;
        if (record->group == nullptr &&
            record->devices.size() == static_cast<size_t>(record->size)) {
          std::vector<DeviceAttributes> devices;
          for (const auto& [name, member] : record->devices) devices.push_back(member);
          answer =
              MakeGroup(key, device_type, absl::StrCat(kOurKeyPrefix, absl::Hex(RandomNonZero64())),
                        std::move(devices));
          if (answer.ok()) record->group = *answer;
          waiters.swap(record->waiters);
          if (!answer.ok()) records_.erase(key);
        } else if (record->group != nullptr) {
          answer = record->group;
        } else {
          id = next_waiter_++;
          Waiter& waiter = record->waiters[id];
          waiter = {device.name, cancellation, -1, done};
          // Under the lock: once it is released, the waiter may be answered, and with that the
          // cancellation may go. Its callback waits for the lock.
          if (cancellation != nullptr) {
            waiter.token = cancellation->Register([this, key, id] { Withdraw(key, id); });
            if (waiter.token < 0) {
              answer = cancellation->status();
              TakeWaiter(key, id).IgnoreError();
              id = 0;
            }
          }
        }
      }
    }
  }
  if (id != 0) return;
  done(answer);
  Answer(std::move(waiters), answer);
}

StatusOr<GroupTable::Waiter> GroupTable::TakeWaiter(int32_t key, int64_t id) {
  const auto record = records_.find(key);
  if (record == records_.end()) return NotFound("no such group");
  auto& waiters = record->second.waiters;
  const auto it = waiters.find(id);
  if (it == waiters.end()) return NotFound("it was answered");
  Waiter waiter = std::move(it->second);
  waiters.erase(it);
  bool waits_still = false;
  for (const auto& [other, w] : waiters) waits_still |= w.device == waiter.device;
  if (!waits_still) record->second.devices.erase(waiter.device);
  if (record->second.devices.empty()) records_.erase(record);
  return waiter;
}

void GroupTable::Withdraw(int32_t key, int64_t id) {
  StatusOr<Waiter> waiter = [&] {
    MutexLock lock(&mu_);
    return TakeWaiter(key, id);
  }();
  if (!waiter.ok()) return;
  waiter->done(
      Cancelled(waiter->device, " does not wait for collective group ", key, " any longer"));
}

void GroupTable::Drop(const Group& group) {
  MutexLock lock(&mu_);
  const auto record = records_.find(group.key);
  if (record == records_.end() || record->second.group == nullptr) return;
  if (record->second.group->communicator_key == group.communicator_key) records_.erase(record);
}

GroupRef GroupTable::Find(int32_t key) const {
  MutexLock lock(&mu_);
  const auto record = records_.find(key);
  return record == records_.end() ? nullptr : record->second.group;
}

std::string GroupTable::Describe(int32_t key) const {
  MutexLock lock(&mu_);
  const auto record = records_.find(key);
  if (record == records_.end()) return "nobody has joined";
  return absl::StrCat(
      record->second.devices.size(), " of ", record->second.size, " have joined: ",
      absl::StrJoin(record->second.devices, ", ",
                    [](std::string* out, const auto& device) { out->append(device.first); }));
}

}  // namespace tensorfleet::collective
