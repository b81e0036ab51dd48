#include "runtime/execute/step_stats.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tensorfleet {
namespace {

constexpr int64_t kNanosPerMicro = 1000;

uint32_t ThreadId() {
  static thread_local const uint32_t id = static_cast<uint32_t>(::syscall(SYS_gettid));
  return id;
}

void SetTimes(const StepStatsCollector::Times& times, tensorflow::NodeExecStats* stats) {
  const auto since_ready = [&](int64_t t) { return std::max<int64_t>(t - times.ready, 0); };
  stats->set_scheduled_nanos(times.ready);
  stats->set_scheduled_micros(times.ready / kNanosPerMicro);
  stats->set_all_start_nanos(times.ready);
  stats->set_all_start_micros(times.ready / kNanosPerMicro);
  stats->set_op_start_rel_nanos(since_ready(times.start));
  stats->set_op_start_rel_micros(since_ready(times.start) / kNanosPerMicro);
  stats->set_op_end_rel_nanos(since_ready(times.end));
  stats->set_op_end_rel_micros(since_ready(times.end) / kNanosPerMicro);
  stats->set_all_end_rel_nanos(since_ready(times.over));
  stats->set_all_end_rel_micros(since_ready(times.over) / kNanosPerMicro);
}

void DescribeOutput(int slot, const Tensor& tensor, tensorflow::NodeOutput* out) {
  out->set_slot(slot);
  tensorflow::TensorDescription* description = out->mutable_tensor_description();
  description->set_dtype(static_cast<tensorflow::DataType>(tensor.dtype()));
  tensor.shape().ToProto(description->mutable_shape());
  tensorflow::AllocationDescription* memory = description->mutable_allocation_description();
  memory->set_requested_bytes(static_cast<int64_t>(tensor.total_bytes()));
  memory->set_allocator_name("cpu");
  memory->set_ptr(reinterpret_cast<uint64_t>(tensor.raw()));
}

}  // namespace

std::string TimelineLabel(const Node& node) {
  std::vector<std::string> inputs;
  for (int i = 0; i < node.num_inputs(); ++i) {
    const Edge* edge = node.in_edge(i);
    if (edge == nullptr) continue;
    inputs.push_back(edge->src_output == 0
                         ? edge->src->name()
                         : absl::StrCat(edge->src->name(), ":", edge->src_output));
  }
  for (const Edge* edge : node.in_edges()) {
    if (edge->is_control()) inputs.push_back(absl::StrCat("^", edge->src->name()));
  }
  return absl::StrCat(node.name(), " = ", node.op(), "(", absl::StrJoin(inputs, ", "), ")");
}

tensorflow::NodeExecStats* StepStatsCollector::Add(const std::string& device,
                                                   absl::string_view name, const Times& times) {
  tensorflow::DeviceStepStats& stats = devices_[device];
  if (stats.device().empty()) stats.set_device(device);
  tensorflow::NodeExecStats* node = stats.add_node_stats();
  node->set_node_name(std::string(name));
  node->set_thread_id(ThreadId());
  SetTimes(times, node);
  return node;
}

void StepStatsCollector::AddNode(const Node& node, const std::string& device, const Times& times,
                                 absl::Span<const EdgeValue> outputs) {
  std::string label = TimelineLabel(node);
  MutexLock lock(&mu_);
  tensorflow::NodeExecStats* stats = Add(device, node.name(), times);
  stats->set_timeline_label(std::move(label));
  stats->mutable_memory_stats();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Tensor value = outputs[i].ref ? outputs[i].ref->Read() : outputs[i].tensor;
    if (value.is_valid()) DescribeOutput(static_cast<int>(i), value, stats->add_output());
  }
}

void StepStatsCollector::AddSource(const std::string& device, int64_t nanos) {
  MutexLock lock(&mu_);
  if (!has_source_.insert(device).second) return;
  Add(device, "_SOURCE", {nanos, nanos, nanos, nanos})->set_timeline_label("_SOURCE = NoOp()");
}

void StepStatsCollector::AddRpc(const std::string& device, absl::string_view name,
                                absl::string_view label, const Times& times, int64_t bytes) {
  MutexLock lock(&mu_);
  tensorflow::NodeExecStats* stats = Add(device, name, times);
  stats->set_timeline_label(std::string(label));
  tensorflow::TensorDescription* description = stats->add_output()->mutable_tensor_description();
  description->mutable_allocation_description()->set_requested_bytes(bytes);
}

void StepStatsCollector::Finish(tensorflow::StepStats* out) {
  MutexLock lock(&mu_);
  for (auto& [name, device] : devices_) {
    std::stable_sort(device.mutable_node_stats()->pointer_begin(),
                     device.mutable_node_stats()->pointer_end(),
                     [](const tensorflow::NodeExecStats* a, const tensorflow::NodeExecStats* b) {
                       return a->all_start_nanos() < b->all_start_nanos();
                     });
    out->add_dev_stats()->Swap(&device);
  }
  devices_.clear();
  has_source_.clear();
}

}  // namespace tensorfleet
