#include "runtime/device/device.h"

#include "absl/strings/str_cat.h"
#include "runtime/base/random_id.h"
#include "runtime/device/base_device.h"
#include "runtime/device/cpu_devices.h"

namespace tensorfleet {
namespace {

// What TensorFlow reports for a CPU, whatever the machine has: clients show it, nothing depends on
// it.
constexpr int64_t kReportedCpuMemory = int64_t{256} << 20;

class CpuDevice final : public Device {
 public:
  CpuDevice(DeviceAttributes attributes, ThreadPool* pool)
      : Device(std::move(attributes)), pool_(pool) {}
  ThreadPool& pool() override { return *pool_; }

 private:
  ThreadPool* const pool_;
};

class RenamedDevice final : public Device {
 public:
  RenamedDevice(DeviceAttributes attributes, Device* device)
      : Device(std::move(attributes)), device_(device) {}
  ThreadPool& pool() override { return device_->pool(); }
  Device* base() const { return BaseDevice(device_); }

 private:
  Device* const device_;
};

}  // namespace

Device* BaseDevice(Device* device) {
  const auto* const renamed = dynamic_cast<const RenamedDevice*>(device);
  return renamed != nullptr ? renamed->base() : device;
}

DeviceSet::DeviceSet(std::vector<std::unique_ptr<Device>> devices) : devices_(std::move(devices)) {}

StatusOr<Device*> DeviceSet::Find(absl::string_view name) const {
  const StatusOr<DeviceName> wanted = DeviceName::Parse(name);
  if (wanted.ok() && wanted->type && wanted->id) {
    for (const auto& device : devices_) {
      if (wanted->Matches(device->attributes().parsed)) return device.get();
    }
  }
  return InvalidArgument(name, " unknown device.");
}

std::vector<std::unique_ptr<Device>> MakeCpuDevices(absl::string_view task, int count,
                                                    ThreadPool* pool) {
  std::vector<std::unique_ptr<Device>> devices;
  for (int i = 0; i < count; ++i) {
    DeviceAttributes attributes;
    attributes.name = absl::StrCat(task, "/device:CPU:", i);
    attributes.type = "CPU";
    attributes.memory_limit = kReportedCpuMemory;
    attributes.incarnation = RandomNonZero64();
    attributes.parsed = DeviceName::Parse(attributes.name).value();
    devices.push_back(std::make_unique<CpuDevice>(std::move(attributes), pool));
  }
  return devices;
}

std::unique_ptr<Device> MakeCpuDevice(absl::string_view task, ThreadPool* pool) {
  return std::move(MakeCpuDevices(task, 1, pool)[0]);
}

std::unique_ptr<Device> MakeRenamedDevice(absl::string_view task, Device* device) {
  DeviceAttributes attributes = device->attributes();
  attributes.name =
      absl::StrCat(task, "/device:", attributes.type, ":", attributes.parsed.id.value_or(0));
  attributes.parsed = DeviceName::Parse(attributes.name).value();
  return std::make_unique<RenamedDevice>(std::move(attributes), device);
}

}  // namespace tensorfleet
