// The rendezvous of one step in one process. Keys are spread over a few locks, so that the pieces
// of a step rarely wait for each other. Thread-safe.
#pragma once

#include <array>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "runtime/base/mutex.h"
#include "runtime/kernels/rendezvous.h"

namespace tensorfleet {

class LocalRendezvous final : public Rendezvous {
 public:
  LocalRendezvous() = default;
  // Ends what still waits with Cancelled.
  ~LocalRendezvous() override;
  LocalRendezvous(const LocalRendezvous&) = delete;
  LocalRendezvous& operator=(const LocalRendezvous&) = delete;

  // Errors: what StartAbort was given; Aborted for a key that was sent and not yet received.
  // A waiting receiver's `done` runs on this thread.
  Status Send(const RendezvousKey& key, Tensor tensor, bool is_dead) override;
  // One receiver may wait for a key at a time; a second one gets Internal.
  void RecvAsync(const RendezvousKey& key, RecvDone done) override {
    RecvAsync(key, nullptr, std::move(done));
  }
  // For a receiver that may withdraw; `receiver` tells it from others.
  void RecvAsync(const RendezvousKey& key, const void* receiver, RecvDone done);
  // Whether `receiver` waited: it no longer does, its `done` is not called, and the value stays for
  // another.
  bool Withdraw(const RendezvousKey& key, const void* receiver);
  // Waiting receivers' `done` run on this thread. Values that nobody has fetched are dropped.
  void StartAbort(const Status& why) override;

  // Whether no value waits to be fetched, and nobody waits for one.
  bool IsEmpty();
  // Takes a value that is there, without waiting. NotFound when it is not.
  Status TryRecv(const RendezvousKey& key, Tensor* tensor, bool* is_dead);

 private:
  struct Entry {
    Tensor tensor;
    bool is_dead = false;
    RecvDone waiter;                 // set while a receiver came first
    const void* receiver = nullptr;  // who waits
  };
  struct Shard {
    Mutex mu;
    Status aborted ABSL_GUARDED_BY(mu);
    absl::flat_hash_map<std::string, Entry> entries ABSL_GUARDED_BY(mu);
  };
  static constexpr size_t kNumShards = 8;

  Shard& ShardOf(const std::string& key);

  std::array<Shard, kNumShards> shards_;
};

}  // namespace tensorfleet
