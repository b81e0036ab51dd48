// The CPU devices of a task.
#pragma once

#include <memory>
#include <vector>

#include "absl/strings/string_view.h"
#include "runtime/device/device.h"

namespace tensorfleet {

inline constexpr int kMaxCpuDevices = 1024;

// "…/device:CPU:0" to "…/device:CPU:<count - 1>", all over `pool`, which must outlive them: they
// split a graph as several processors would, and share the threads.
std::vector<std::unique_ptr<Device>> MakeCpuDevices(absl::string_view task, int count,
                                                    ThreadPool* pool);

}  // namespace tensorfleet
