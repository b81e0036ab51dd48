// Ids of steps with collectives. Masters that run the same graph, each for its own client, must
// give their steps the same ids, so one task, the leader, hands out where a sequence begins, and
// each master counts on from there. Thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "runtime/base/mutex.h"

namespace tensorfleet {

class StepSequences {
 public:
  // The next id of a graph's steps here. `leader` is empty where this task leads, and there is
  // always one then; else there is none until the leader's answer was given to Set.
  std::optional<int64_t> Next(const std::string& leader, int64_t graph_key);
  // Gives the last id that was used here before, 0 when there was none.
  int64_t Set(const std::string& leader, int64_t graph_key, int64_t next);
  // The step with that id is over. When it has failed somewhere, others may have counted
  // differently: whoever does not lead asks again.
  void Over(const std::string& leader, int64_t graph_key, int64_t step_id, bool ok);

  // The step that failed last, which is not to be used again; 0: none since Set.
  int64_t Burnt(const std::string& leader, int64_t graph_key) const;

  // The leader's answer: the oldest step of the graph that is under way here, else the next one.
  int64_t Current(int64_t graph_key);
  // The same for one whose step `burnt` has failed. When nobody has come to it, it is left out;
  // when it is under way here, it cannot go on (`is_running`).
  struct Renewed {
    int64_t next = 0;
    bool is_running = false;
    bool is_left_out = false;
  };
  Renewed Renew(int64_t graph_key, int64_t burnt);

 private:
  using Key = std::pair<std::string, int64_t>;
  struct Sequence {
    int64_t next = 0;
    int64_t burnt = 0;
    int64_t last = 0;
    std::set<int64_t> running;
  };
  // The oldest are forgotten: what clients name is bounded.
  static constexpr size_t kMost = 4096;
  Sequence& Own(int64_t graph_key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void MakeRoom() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  mutable Mutex mu_;
  absl::flat_hash_map<Key, Sequence> sequences_ ABSL_GUARDED_BY(mu_);
};

}  // namespace tensorfleet
