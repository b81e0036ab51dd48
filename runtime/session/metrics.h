// What a server counts about itself. Cheap enough for the hot path; rendered in Prometheus' text
// form by RenderMetrics. Process-wide: several servers in one process (tests) share the numbers.
// Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace tensorfleet {

// Counts durations in buckets with fixed bounds.
class DurationHistogram {
 public:
  static constexpr std::array<double, 12> kBounds = {1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 1e-2, 2.5e-2,
                                                     0.1,  0.25,   1,    10,   60};  // seconds
  void Observe(int64_t nanos);
  void Render(absl::string_view name, absl::string_view help, std::string* out) const;

 private:
  std::array<std::atomic<int64_t>, kBounds.size() + 1> buckets_{};
  std::atomic<int64_t> sum_nanos_{0};
};

struct Metrics {
  DurationHistogram step_seconds;       // RunStep and RunCallable at this master
  DurationHistogram run_graph_seconds;  // RunGraph at this worker
  std::atomic<int64_t> steps_failed{0};
  std::atomic<int64_t> steps_running{0};       // at this master's sessions
  std::atomic<int64_t> refused_over_limit{0};  // graphs, sessions and steps
  std::atomic<int64_t> refused_ops{0};         // graphs with ops that are forbidden here
  // What this master keeps now.
  std::atomic<int64_t> sessions{0};
  std::atomic<int64_t> prepared_graphs{0};
  std::atomic<int64_t> prepared_graph_bytes{0};
  std::atomic<int64_t> callables{0};
  std::atomic<int64_t> partial_runs{0};
  // And this worker.
  std::atomic<int64_t> worker_sessions{0};
  std::atomic<int64_t> worker_graphs{0};
  std::atomic<int64_t> worker_steps{0};
  std::atomic<int64_t> peer_channels{0};
  // What has ended without being asked to.
  std::atomic<int64_t> prepared_graphs_evicted{0};
  std::atomic<int64_t> sessions_expired{0};
  std::atomic<int64_t> worker_sessions_expired{0};
  std::atomic<int64_t> graphs_registered{0};
  std::atomic<int64_t> rpcs{0};
  std::atomic<int64_t> recv_tensor_waiting{0};
};
Metrics& ServerMetrics();

// Bytes that came from a task to another one.
void EdgeBytes(absl::string_view src_task, absl::string_view dst_task, int64_t bytes);
// Everything, in Prometheus' text exposition format 0.0.4.
std::string RenderMetrics();

}  // namespace tensorfleet
