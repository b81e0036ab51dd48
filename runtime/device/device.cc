#include "runtime/device/device.h"

#include "absl/strings/str_cat.h"
#include "runtime/base/random_id.h"

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

 private:
  Device* const device_;
};

}  // namespace

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

std::unique_ptr<Device> MakeCpuDevice(absl::string_view task, ThreadPool* pool) {
  DeviceAttributes attributes;
  attributes.name = absl::StrCat(task, "/device:CPU:0");
  attributes.type = "CPU";
  attributes.memory_limit = kReportedCpuMemory;
  attributes.incarnation = RandomNonZero64();
  attributes.parsed = DeviceName::Parse(attributes.name).value();
  return std::make_unique<CpuDevice>(std::move(attributes), pool);
}

std::unique_ptr<Device> MakeRenamedDevice(absl::string_view task, Device* device) {
  DeviceAttributes attributes = device->attributes();
  attributes.name =
      absl::StrCat(task, "/device:", attributes.type, ":", attributes.parsed.id.value_or(0));
  attributes.parsed = DeviceName::Parse(attributes.name).value();
  return std::make_unique<RenamedDevice>(std::move(attributes), device);
}

}  // namespace tensorfleet
