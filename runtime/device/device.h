// A device runs kernels on memory of its own. The CPU is built in; others come as plug-ins behind
// this same interface. The core never sees more of a device than this.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/base/thread_pool.h"
#include "runtime/device/device_name.h"

namespace tensorfleet {

// What everybody may know about a device, here or on another task.
struct DeviceAttributes {
  std::string name;          // full
  std::string type;          // "CPU"
  int64_t memory_limit = 0;  // bytes
  uint64_t incarnation = 0;  // random, other than 0; new with every start of the process
  std::string description;   // of the hardware, for people; empty for a CPU
  DeviceName parsed;
};

class Device {
 public:
  virtual ~Device() = default;
  const DeviceAttributes& attributes() const { return attributes_; }
  const std::string& name() const { return attributes_.name; }
  const std::string& type() const { return attributes_.type; }

  // Threads for the pieces of a kernel and for kernels that take long.
  virtual ThreadPool& pool() = 0;

 protected:
  explicit Device(DeviceAttributes attributes) : attributes_(std::move(attributes)) {}

 private:
  DeviceAttributes attributes_;
};

// The devices of one task. Immutable once made.
class DeviceSet {
 public:
  explicit DeviceSet(std::vector<std::unique_ptr<Device>> devices);
  const std::vector<std::unique_ptr<Device>>& devices() const { return devices_; }
  // By full name, or by a name that only leaves out the task ("/device:CPU:0"). Errors:
  // InvalidArgument
  // `<name> unknown device.`
  StatusOr<Device*> Find(absl::string_view name) const;

 private:
  std::vector<std::unique_ptr<Device>> devices_;
};

// The CPU of a task: one device "…/device:CPU:0" over `pool`, which must outlive it.
std::unique_ptr<Device> MakeCpuDevice(absl::string_view task, ThreadPool* pool);

// `device` under the name that it has when its task is called `task`; same incarnation, same
// memory, same threads. For sessions that rename the tasks of a cluster. `device` must outlive it.
std::unique_ptr<Device> MakeRenamedDevice(absl::string_view task, Device* device);

}  // namespace tensorfleet
