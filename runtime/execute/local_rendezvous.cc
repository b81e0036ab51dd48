#include "runtime/execute/local_rendezvous.h"

#include <utility>
#include <vector>

#include "absl/hash/hash.h"

namespace tensorfleet {

LocalRendezvous::~LocalRendezvous() { StartAbort(MarkDerived(Cancelled("the step is over"))); }

LocalRendezvous::Shard& LocalRendezvous::ShardOf(const std::string& key) {
  // The upper bits: the table inside uses the lower ones.
  return shards_[(absl::HashOf(key) >> 56) % kNumShards];
}

Status LocalRendezvous::Send(const RendezvousKey& key, Tensor tensor, bool is_dead) {
  Shard& shard = ShardOf(key.text);
  RecvDone waiter;
  {
    MutexLock lock(&shard.mu);
    if (!shard.aborted.ok()) return shard.aborted;
    auto [it, is_new] = shard.entries.try_emplace(key.text);
    Entry& entry = it->second;
    if (is_new) {
      entry.tensor = std::move(tensor);
      entry.is_dead = is_dead;
      return OkStatus();
    }
    if (!entry.waiter) return Aborted("rendezvous key was sent twice: ", key.text);
    waiter = std::move(entry.waiter);
    shard.entries.erase(it);
  }
  waiter(OkStatus(), std::move(tensor), is_dead);
  return OkStatus();
}

void LocalRendezvous::RecvAsync(const RendezvousKey& key, const void* receiver, RecvDone done) {
  Shard& shard = ShardOf(key.text);
  Tensor tensor;
  bool is_dead = false;
  Status status;
  {
    MutexLock lock(&shard.mu);
    if (!shard.aborted.ok()) {
      status = shard.aborted;
    } else {
      auto [it, is_new] = shard.entries.try_emplace(key.text);
      Entry& entry = it->second;
      if (is_new) {
        entry.waiter = std::move(done);
        entry.receiver = receiver;
        return;
      }
      if (entry.waiter) {
        status = Internal("two receivers wait for rendezvous key ", key.text);
      } else {
        tensor = std::move(entry.tensor);
        is_dead = entry.is_dead;
        shard.entries.erase(it);
      }
    }
  }
  done(status, std::move(tensor), is_dead);
}

bool LocalRendezvous::Withdraw(const RendezvousKey& key, const void* receiver) {
  Shard& shard = ShardOf(key.text);
  RecvDone waiter;  // destroyed outside the lock
  MutexLock lock(&shard.mu);
  const auto it = shard.entries.find(key.text);
  if (it == shard.entries.end() || !it->second.waiter || it->second.receiver != receiver) {
    return false;
  }
  waiter = std::move(it->second.waiter);
  shard.entries.erase(it);
  return true;
}

Status LocalRendezvous::TryRecv(const RendezvousKey& key, Tensor* tensor, bool* is_dead) {
  Shard& shard = ShardOf(key.text);
  MutexLock lock(&shard.mu);
  if (!shard.aborted.ok()) return shard.aborted;
  const auto it = shard.entries.find(key.text);
  if (it == shard.entries.end() || it->second.waiter) {
    return NotFound("nothing was sent under rendezvous key ", key.text);
  }
  *tensor = std::move(it->second.tensor);
  *is_dead = it->second.is_dead;
  shard.entries.erase(it);
  return OkStatus();
}

bool LocalRendezvous::IsEmpty() {
  for (Shard& shard : shards_) {
    MutexLock lock(&shard.mu);
    if (!shard.entries.empty()) return false;
  }
  return true;
}

void LocalRendezvous::StartAbort(const Status& why) {
  std::vector<RecvDone> waiters;
  for (Shard& shard : shards_) {
    absl::flat_hash_map<std::string, Entry> entries;
    MutexLock lock(&shard.mu);
    if (!shard.aborted.ok()) continue;
    shard.aborted = why;
    entries.swap(shard.entries);
    for (auto& [key, entry] : entries) {
      if (entry.waiter) waiters.push_back(std::move(entry.waiter));
    }
  }
  for (RecvDone& waiter : waiters) waiter(why, Tensor(), false);
}

}  // namespace tensorfleet
