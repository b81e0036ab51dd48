#include "runtime/session/metrics.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "runtime/base/memory_limit.h"
#include "runtime/base/mutex.h"
#include "runtime/io/remote/store_counters.h"
#include "runtime/kernels/queue_levels.h"
#include "runtime/tensor/buffer.h"
#include "runtime/tensor/memory_account.h"

namespace tensorfleet {
namespace {

constexpr size_t kMaxEdges = 1000;

struct Registry {
  Mutex mu;
  std::map<std::pair<std::string, std::string>, int64_t> edges ABSL_GUARDED_BY(mu);
};

Registry& TheRegistry() {
  static Registry* const registry = new Registry;
  return *registry;
}

void RenderValue(absl::string_view name, absl::string_view type, absl::string_view help,
                 int64_t value, std::string* out) {
  absl::StrAppend(out, "# HELP ", name, " ", help, "\n# TYPE ", name, " ", type, "\n", name, " ",
                  value, "\n");
}

int64_t ResidentBytes() {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) return 0;
  long long total = 0, resident = 0;
  const int got = std::fscanf(file, "%lld %lld", &total, &resident);
  std::fclose(file);
  return got == 2 ? resident * sysconf(_SC_PAGESIZE) : 0;
}

// A label's value in quotes.
std::string Quoted(absl::string_view text) {
  return absl::StrCat(
      "\"", absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"\"", "\\\""}, {"\n", "\\n"}}), "\"");
}

void RenderQueues(std::string* out) {
  const std::vector<QueueLevel> levels = QueueLevels::All().Read();
  const auto gauge = [&](absl::string_view name, absl::string_view help,
                         int64_t QueueLevel::*value) {
    absl::StrAppend(out, "# HELP ", name, " ", help, "\n# TYPE ", name, " gauge\n");
    for (const QueueLevel& level : levels) {
      absl::StrAppend(out, name, "{queue=", Quoted(level.name), ",kind=", Quoted(level.kind), "} ",
                      level.*value, "\n");
    }
  };
  gauge("tensorfleet_queue_elements", "Elements in each queue.", &QueueLevel::elements);
  gauge("tensorfleet_queue_capacity", "Elements that each queue can hold; -1 without a limit.",
        &QueueLevel::capacity);
  gauge("tensorfleet_queue_enqueues_waiting", "Enqueues that wait for room.",
        &QueueLevel::enqueues_waiting);
  gauge("tensorfleet_queue_dequeues_waiting", "Dequeues that wait for elements.",
        &QueueLevel::dequeues_waiting);
}

void RenderStores(std::string* out) {
  const std::map<std::string, StoreCounters> stores = CountedRequests();
  const auto counter = [&](absl::string_view name, absl::string_view help,
                           int64_t StoreCounters::*value) {
    absl::StrAppend(out, "# HELP ", name, " ", help, "\n# TYPE ", name, " counter\n");
    for (const auto& [scheme, counters] : stores) {
      absl::StrAppend(out, name, "{scheme=\"", scheme, "\"} ", counters.*value, "\n");
    }
  };
  counter("tensorfleet_store_requests_total",
          "Requests to stores of files on other machines, by the files' scheme.",
          &StoreCounters::requests);
  counter("tensorfleet_store_retries_total", "Those of them that were tried again.",
          &StoreCounters::retries);
  counter("tensorfleet_store_sent_bytes_total", "Bytes that were written to stores.",
          &StoreCounters::sent_bytes);
  counter("tensorfleet_store_received_bytes_total", "Bytes that were read from stores.",
          &StoreCounters::received_bytes);
}

}  // namespace

void DurationHistogram::Observe(int64_t nanos) {
  const double seconds = static_cast<double>(nanos) * 1e-9;
  size_t bucket = 0;
  while (bucket < kBounds.size() && seconds > kBounds[bucket]) ++bucket;
  buckets_[bucket].fetch_add(1, std::memory_order_relaxed);
  sum_nanos_.fetch_add(nanos, std::memory_order_relaxed);
}

void DurationHistogram::Render(absl::string_view name, absl::string_view help,
                               std::string* out) const {
  absl::StrAppend(out, "# HELP ", name, " ", help, "\n# TYPE ", name, " histogram\n");
  int64_t count = 0;
  for (size_t i = 0; i < kBounds.size(); ++i) {
    count += buckets_[i].load(std::memory_order_relaxed);
    absl::StrAppend(out, name, "_bucket{le=\"", kBounds[i], "\"} ", count, "\n");
  }
  count += buckets_.back().load(std::memory_order_relaxed);
  absl::StrAppend(out, name, "_bucket{le=\"+Inf\"} ", count, "\n", name, "_sum ",
                  static_cast<double>(sum_nanos_.load(std::memory_order_relaxed)) * 1e-9, "\n",
                  name, "_count ", count, "\n");
}

Metrics& ServerMetrics() {
  static Metrics* const metrics = new Metrics;
  return *metrics;
}

void EdgeBytes(absl::string_view src_task, absl::string_view dst_task, int64_t bytes) {
  Registry& registry = TheRegistry();
  MutexLock lock(&registry.mu);
  std::pair<std::string, std::string> edge(src_task, dst_task);
  // Clients choose the names of tasks: what comes late is counted together.
  if (registry.edges.size() >= kMaxEdges && !registry.edges.contains(edge))
    edge = {"other", "other"};
  registry.edges[std::move(edge)] += bytes;
}

std::string RenderMetrics() {
  std::string out;
  const Metrics& m = ServerMetrics();
  m.step_seconds.Render("tensorfleet_step_seconds", "Steps that clients ran, by duration.", &out);
  m.run_graph_seconds.Render("tensorfleet_run_graph_seconds",
                             "Pieces of steps that ran on this task, by duration.", &out);
  RenderValue("tensorfleet_steps_failed_total", "counter", "Steps that ended with an error.",
              m.steps_failed, &out);
  const auto gauge = [&](absl::string_view name, absl::string_view help, int64_t value) {
    RenderValue(name, "gauge", help, value, &out);
  };
  gauge("tensorfleet_steps_running", "Steps of clients that run.", m.steps_running);
  gauge("tensorfleet_tensor_bytes_limit", "Bytes that one tensor may have.",
        static_cast<int64_t>(MaxHostBufferBytes()));
  gauge("tensorfleet_memory_limit_bytes",
        "Memory of the process from which on large requests are refused.",
        static_cast<int64_t>(std::min<size_t>(MemoryLimit(), std::numeric_limits<int64_t>::max())));
  gauge("tensorfleet_sessions", "Sessions of clients that are open.", m.sessions);
  gauge("tensorfleet_prepared_graphs", "Graphs that are kept prepared for sessions of clients.",
        m.prepared_graphs);
  gauge("tensorfleet_prepared_graph_bytes", "About what all workers keep for those graphs.",
        m.prepared_graph_bytes);
  gauge("tensorfleet_callables", "Callables that clients have made and not released.", m.callables);
  gauge("tensorfleet_partial_runs", "Partial runs that were set up and have not ended.",
        m.partial_runs);
  gauge("tensorfleet_worker_sessions", "Sessions of masters that are open here.",
        m.worker_sessions);
  gauge("tensorfleet_worker_graphs", "Pieces of graphs that masters keep registered here.",
        m.worker_graphs);
  gauge("tensorfleet_worker_steps", "Steps that meet others here: running, or not yet cleaned up.",
        m.worker_steps);
  gauge("tensorfleet_peer_channels", "Tasks to which connections are kept.", m.peer_channels);
  const auto counter = [&](absl::string_view name, absl::string_view help, int64_t value) {
    RenderValue(name, "counter", help, value, &out);
  };
  counter("tensorfleet_refused_over_limit_total",
          "Graphs, sessions and steps that were over one of the server's limits.",
          m.refused_over_limit);
  counter("tensorfleet_refused_ops_total", "Graphs with an op that --forbid_ops names.",
          m.refused_ops);
  counter("tensorfleet_tensors_refused_total",
          "Tensors for which there was no memory, or that were over a limit.", TensorsRefused());
  counter("tensorfleet_prepared_graphs_evicted_total",
          "Prepared graphs that were given up for more recent ones.", m.prepared_graphs_evicted);
  counter("tensorfleet_sessions_expired_total",
          "Sessions of clients that were closed because they were idle for too long.",
          m.sessions_expired);
  counter("tensorfleet_worker_sessions_expired_total",
          "Sessions of masters that were dropped because their master was not heard of.",
          m.worker_sessions_expired);
  RenderValue("tensorfleet_graphs_registered_total", "counter",
              "Pieces of graphs that were compiled.", m.graphs_registered, &out);
  RenderValue("tensorfleet_rpcs_total", "counter", "Calls that were received.", m.rpcs, &out);
  RenderValue("tensorfleet_recv_tensor_waiting", "gauge",
              "Peers that wait for a tensor that is not made yet.", m.recv_tensor_waiting, &out);
  RenderValue("tensorfleet_host_buffer_bytes", "gauge", "Memory in tensors' buffers.",
              HostBytesInUse(), &out);
  RenderValue("process_resident_memory_bytes", "gauge", "Resident memory of the process.",
              ResidentBytes(), &out);
  RenderQueues(&out);
  RenderStores(&out);
  Registry& registry = TheRegistry();
  MutexLock lock(&registry.mu);
  absl::StrAppend(&out,
                  "# HELP tensorfleet_received_bytes_total Tensor bytes that came from a task.\n",
                  "# TYPE tensorfleet_received_bytes_total counter\n");
  for (const auto& [edge, bytes] : registry.edges) {
    absl::StrAppend(&out, "tensorfleet_received_bytes_total{src=\"", edge.first, "\",dst=\"",
                    edge.second, "\"} ", bytes, "\n");
  }
  return out;
}

}  // namespace tensorfleet
