// The leader's side of groups: devices join under a key until there are as many as each says that
// there are to be. Thread-safe.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "runtime/base/cancellation.h"
#include "runtime/base/mutex.h"
#include "runtime/collective/group.h"

namespace tensorfleet::collective {

class GroupTable {
 public:
  using Done = std::function<void(StatusOr<GroupRef>)>;

  // `done` is called once, when all have joined; or when `cancellation` (may be null, else outlives
  // the call) says so, and then the device has not joined. A device that has restarted, or one that
  // comes to a full group that it does not belong to, begins to gather the group anew. Errors:
  // InvalidArgument when two members disagree, naming both, for all that wait.
  void Join(int32_t key, int32_t size, const std::string& device_type,
            const DeviceAttributes& device, CancellationManager* cancellation, Done done);
  // The group is to be gathered anew, unless that has begun.
  void Drop(const Group& group);
  // Null while it is not complete.
  GroupRef Find(int32_t key) const;
  // "2 of 3 have joined: A, B", for messages.
  std::string Describe(int32_t key) const;

 private:
  struct Waiter {
    std::string device;
    CancellationManager* cancellation = nullptr;
    CancellationManager::Token token = -1;
    Done done;
  };
  struct Record {
    int32_t size = 0;
    std::string device_type;
    std::map<std::string, DeviceAttributes> devices;
    std::map<int64_t, Waiter> waiters;
    GroupRef group;  // once complete
  };

  // Answers what was taken out of the table.
  static void Answer(std::map<int64_t, Waiter> waiters, const StatusOr<GroupRef>& answer);
  void Withdraw(int32_t key, int64_t id) ABSL_LOCKS_EXCLUDED(mu_);
  // With it the device leaves, unless it waits a second time. Errors: NotFound.
  StatusOr<Waiter> TakeWaiter(int32_t key, int64_t id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  mutable Mutex mu_;
  int64_t next_waiter_ ABSL_GUARDED_BY(mu_) = 1;
  absl::flat_hash_map<int32_t, Record> records_ ABSL_GUARDED_BY(mu_);
};

}  // namespace tensorfleet::collective
