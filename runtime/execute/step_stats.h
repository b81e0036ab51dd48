// The trace of one step on the devices of a task: when each node became ready, started and ended,
// and what it produced. Collected only when a client asks for it; its form is the one of
// RunMetadata.step_stats. Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "proto/step_stats.pb.h"
#include "runtime/base/mutex.h"
#include "runtime/graph/graph.h"
#include "runtime/kernels/kernel_context.h"

namespace tensorfleet {

class StepStatsCollector {
 public:
  // Nanoseconds since the Unix epoch, in this order.
  struct Times {
    int64_t ready = 0;
    int64_t start = 0;
    int64_t end = 0;
    int64_t over = 0;  // the outputs are on their way
  };

  // Called by the executor when a kernel is over, with its outputs. A reference is described by the
  // value of its variable.
  void AddNode(const Node& node, const std::string& device, const Times& times,
               absl::Span<const EdgeValue> outputs);
  // The source of every graph, which clients expect to see once for each device.
  void AddSource(const std::string& device, int64_t nanos);
  // A transfer between tasks, shown on `device`: usually "RecvTensor", with a label of bytes, rate
  // and ends.
  void AddRpc(const std::string& device, absl::string_view name, absl::string_view label,
              const Times& times, int64_t bytes);

  // Adds what was collected, devices by name and nodes by start, and forgets it.
  void Finish(tensorflow::StepStats* out);

 private:
  tensorflow::NodeExecStats* Add(const std::string& device, absl::string_view name,
                                 const Times& times) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  Mutex mu_;
  std::map<std::string, tensorflow::DeviceStepStats> devices_ ABSL_GUARDED_BY(mu_);
  std::set<std::string> has_source_ ABSL_GUARDED_BY(mu_);
};

// `NAME = OP(in1, in2)`, as timelines show a node.
std::string TimelineLabel(const Node& node);

}  // namespace tensorfleet
