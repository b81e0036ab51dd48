// Compiled programs of one client, by program, in memory and, where there is a folder for them, on
// disk. Shared by all sessions: one that two of them ask for
// is compiled once. Bounded: the ones that nobody asked for longest go first. Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "runtime/base/mutex.h"
#include "runtime/base/thread_pool.h"
#include "runtime/pjrt/client.h"
#include "runtime/pjrt/compile_cache.h"

namespace tensorfleet::pjrt {

class ExecutableCache {
 public:
  using Done = std::function<void(StatusOr<std::shared_ptr<const Executable>>)>;

  // `disk` may be null; it outlives this.
  ExecutableCache(const Client* client, const CompileCache* disk, size_t max_programs = 1024)
      : client_(*client),
        disk_(disk),
        build_id_(disk == nullptr ? "" : client->BuildId()),
        max_programs_(max_programs) {}

  // Calls `done` once: here when the program is there already, else on a thread of `pool`, which
  // compiles it or waits for whoever does without being blocked. `what` is for the log. A failure
  // is not kept.
  void Get(const std::string& module, const std::string& what, ThreadPool* pool, Done done);

 private:
  struct Entry {
    std::shared_ptr<const Executable> executable;
    std::vector<Done> waiting;
    int64_t last_use = 0;
  };
  void Compile(const std::string& module, const std::string& what);
  void DropOld() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // From the disk; null when it is not there, or of no use.
  std::shared_ptr<const Executable> Loaded(const std::string& module, const std::string& what);

  const Client& client_;
  const CompileCache* const disk_;
  const std::string build_id_;
  const size_t max_programs_;
  Mutex mu_;
  absl::flat_hash_map<std::string, std::unique_ptr<Entry>> entries_ ABSL_GUARDED_BY(mu_);
  int64_t uses_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace tensorfleet::pjrt
