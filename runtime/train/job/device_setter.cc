#include "runtime/train/job/device_setter.h"

#include <algorithm>

namespace tensorfleet::train {

ReplicaDeviceSetter::ReplicaDeviceSetter(Options options)
    : options_(std::move(options)), bytes_(std::max(0, options_.ps_tasks)) {}

std::string ReplicaDeviceSetter::Next(const Shape& shape, DType dtype) {
  if (options_.ps_tasks <= 0) return "";
  int task = next_;
  if (options_.strategy == Strategy::kByBytes) {
    task = static_cast<int>(std::min_element(bytes_.begin(), bytes_.end()) - bytes_.begin());
    bytes_[task] += shape.num_elements() * static_cast<int64_t>(ElementSize(dtype));
  } else {
    next_ = (next_ + 1) % options_.ps_tasks;
  }
  return absl::StrCat("/job:", options_.ps_job, "/task:", task);
}

Variables::DeviceFunction ReplicaDeviceSetter::ForVariables() {
  if (options_.ps_tasks <= 0) return nullptr;
  return [this](const Shape& shape, DType dtype) { return Next(shape, dtype); };
}

}  // namespace tensorfleet::train
