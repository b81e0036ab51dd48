// The leader's side of instances: what the members of a group say that they are about to do under
// one key has to be the same, and of a broadcast one has to have the value. Thread-safe.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "runtime/base/cancellation.h"
#include "runtime/base/mutex.h"
#include "runtime/collective/group.h"
#include "runtime/kernels/collectives.h"

namespace tensorfleet::collective {

// What a member says of an instance.
struct InstanceClaim {
  int32_t instance_key = 0;
  CollectiveKind kind = CollectiveKind::kReduce;
  DType dtype = DType::kInvalid;
  Shape shape;
  // How values are merged, "(Add,Div)", as the name that travels ends; empty where it says nothing.
  std::string merge;
  std::string node;  // for messages
  std::string device;
  bool is_source = false;
  int64_t step_id = 0;  // 0: of no particular step, as TensorFlow's members say

  // "Reduce(Add,Id) of float [2,3]"
  std::string Describe() const;
};

class InstanceTable {
 public:
  using Done = std::function<void(StatusOr<int>)>;

  // `done` gets the rank of the source: of a broadcast when all members have come, else 0 at once.
  // `cancellation` as for GroupTable::Join. Errors: InvalidArgument when two members claim
  // different things in one step, naming both, and when no member or more than one has the
  // value.
  void Complete(const GroupRef& group, InstanceClaim claim, CancellationManager* cancellation,
                Done done);

 private:
  struct Waiter {
    int rank = 0;
    CancellationManager* cancellation = nullptr;
    CancellationManager::Token token = -1;
    Done done;
  };
  struct Record {
    std::string communicator_key;
    InstanceClaim first;
    // Of a broadcast.
    std::map<int, bool> known;  // by rank: whether it has the value
    std::map<int64_t, Waiter> waiters;
  };
  using Key = std::pair<int32_t, int32_t>;  // group, instance

  static void Answer(std::map<int64_t, Waiter> waiters, const StatusOr<int>& answer);
  void Withdraw(const Key& key, int64_t id) ABSL_LOCKS_EXCLUDED(mu_);

  Mutex mu_;
  int64_t next_waiter_ ABSL_GUARDED_BY(mu_) = 1;
  absl::flat_hash_map<Key, Record> records_ ABSL_GUARDED_BY(mu_);
};

// OK, or how the two differ, naming both.
Status CheckSameClaim(const InstanceClaim& a, const InstanceClaim& b);

}  // namespace tensorfleet::collective
