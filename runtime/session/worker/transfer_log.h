// Transfers between tasks, by step, recorded while a master has asked for it (WorkerService's
// Logging). Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "proto/worker.pb.h"
#include "runtime/base/mutex.h"
#include "runtime/execute/step_stats.h"

namespace tensorfleet {

class TransferLog {
 public:
  bool is_on() const { return is_on_.load(std::memory_order_relaxed); }
  // What was recorded stays when it is switched off. Of the steps that nobody has fetched, the
  // newest kMaxSteps are kept.
  void Switch(bool on) { is_on_.store(on, std::memory_order_relaxed); }
  // As StepStatsCollector::AddRpc.
  void Record(int64_t step_id, const std::string& device, absl::string_view label,
              const StepStatsCollector::Times& times, int64_t bytes);
  // Adds what was recorded for the step, if anything, and forgets it.
  void Fetch(int64_t step_id, tensorflow::LoggingResponse* response);
  void Clear();

 private:
  static constexpr size_t kMaxSteps = 256;

  std::atomic<bool> is_on_{false};
  Mutex mu_;
  absl::flat_hash_map<int64_t, std::unique_ptr<StepStatsCollector>> steps_ ABSL_GUARDED_BY(mu_);
  std::deque<int64_t> order_ ABSL_GUARDED_BY(mu_);  // the keys of steps_, oldest first
};

}  // namespace tensorfleet
