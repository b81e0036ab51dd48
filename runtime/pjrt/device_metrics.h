// What this process counts about devices: launches, copies, programs, memory. For tests, and for
// the server's metrics. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace tensorfleet::pjrt {

struct DeviceCounts {
  std::atomic<int64_t> launches{0};
  std::atomic<int64_t> refused{0};    // launches whose values only the host's kernels can judge
  std::atomic<int64_t> host_runs{0};  // of clusters that could not be compiled, or were refused
  std::atomic<int64_t> copies_to_device{0};
  std::atomic<int64_t> copies_to_host{0};
  std::atomic<int64_t> donated{0};  // variables that were updated in place
  std::atomic<int64_t> doubled{0};  // variables whose memory somebody else held
  std::atomic<int64_t> compiled{0};
  std::atomic<int64_t> compile_nanos{0};
  std::atomic<int64_t> loaded{0};      // programs from the folder of --compile_cache
  std::atomic<int64_t> cache_hits{0};  // programs that were asked for and there
};
DeviceCounts& Counts();

// In Prometheus' text exposition format 0.0.4.
std::string RenderDeviceMetrics();

}  // namespace tensorfleet::pjrt
