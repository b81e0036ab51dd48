#include "runtime/pjrt/devices.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_format.h"
#include "runtime/base/log.h"
#include "runtime/base/random_id.h"
#include "runtime/kernels/accelerator.h"
#include "runtime/pjrt/pjrt_device.h"

namespace tensorfleet::pjrt {
namespace {

std::string Describe(const Client& client, const Client::DeviceInfo& device) {
  std::string text = absl::StrCat(kClusterDevicePrefix, client.platform(), ", name: ", device.kind);
  if (!device.attributes.empty()) absl::StrAppend(&text, ", ", device.attributes);
  return text;
}

void LogDevices(const Client& client) {
  LogInfo("Opened a PJRT plug-in", {{"path", client.plugin().path()},
                                    {"interface", client.plugin().version()},
                                    {"platform", client.platform()},
                                    {"devices", client.devices().size()}});
  for (const Client::DeviceInfo& device : client.devices()) {
    std::string line =
        absl::StrCat(client.spec().type, " ", device.id, ": ", Describe(client, device));
    if (device.memory_limit > 0) {
      absl::StrAppend(&line, absl::StrFormat(", memory for tensors: %.2f GiB",
                                             static_cast<double>(device.memory_limit) / (1 << 30)));
    }
    LogInfo(line);
  }
}

// What TensorFlow's servers report for a device that does not say how much memory it has.
constexpr int64_t kUnknownMemory = int64_t{256} << 20;

}  // namespace

StatusOr<std::unique_ptr<Devices>> Devices::Open(const std::string& flag,
                                                 const char* (*env)(const char* name),
                                                 const std::string& folder,
                                                 const std::string& compile_cache) {
  auto devices = std::make_unique<Devices>();
  std::string wanted = flag;
  const char* source = "--pjrt";
  if (wanted.empty()) {
    const char* const variable = env(kPluginVariable);
    wanted = variable != nullptr ? variable : "";
    source = kPluginVariable;
  }
  if (wanted == "none") return devices;
  const bool was_asked = !wanted.empty();
  std::vector<PluginSpec> specs = FindPluginsIn(folder);
  if (was_asked) {
    StatusOr<std::vector<PluginSpec>> given = ParsePluginSpecs(wanted);
    if (!given.ok()) return Prefixed(absl::StrCat(source, ": "), given.status());
    specs = *std::move(given);
  }
  if (!compile_cache.empty() && !specs.empty()) {
    StatusOr<std::unique_ptr<CompileCache>> disk = CompileCache::Open(compile_cache);
    if (!disk.ok()) return Prefixed("--compile_cache: ", disk.status());
    devices->disk_ = *std::move(disk);
  }
  for (const PluginSpec& spec : specs) {
    StatusOr<std::unique_ptr<Client>> client = Client::Open(spec);
    if (!client.ok()) {
      if (was_asked) return Prefixed(absl::StrCat(source, ": "), client.status());
      LogWarning("No devices through a PJRT plug-in",
                 {{"path", spec.path}, {"why", client.status().message()}});
      continue;
    }
    LogDevices(**client);
    OpenClient open;
    open.cache = std::make_unique<ExecutableCache>(client->get(), devices->disk_.get());
    open.client = *std::move(client);
    devices->clients_.push_back(std::move(open));
  }
  return devices;
}

bool Devices::HasType(absl::string_view type) const {
  return std::any_of(clients_.begin(), clients_.end(), [type](const OpenClient& open) {
    return open.client->spec().type == type && !open.client->devices().empty();
  });
}

std::vector<std::unique_ptr<Device>> Devices::ForTask(const std::string& task, ThreadPool* pool,
                                                      const OpRegistry* ops,
                                                      const KernelRegistry* kernels) const {
  std::vector<std::unique_ptr<Device>> made;
  std::map<std::string, int> next;  // by type: two plug-ins may give devices of one
  for (const OpenClient& open : clients_) {
    const Client& client = *open.client;
    for (size_t i = 0; i < client.devices().size(); ++i) {
      const Client::DeviceInfo& info = client.devices()[i];
      DeviceAttributes attributes;
      attributes.type = client.spec().type;
      attributes.name =
          absl::StrCat(task, "/device:", attributes.type, ":", next[attributes.type]++);
      attributes.memory_limit = info.memory_limit > 0 ? info.memory_limit : kUnknownMemory;
      attributes.incarnation = RandomNonZero64();
      attributes.description = Describe(client, info);
      attributes.parsed = DeviceName::Parse(attributes.name).value();
      made.push_back(std::make_unique<PjrtDevice>(std::move(attributes), &client, open.cache.get(),
                                                  static_cast<int>(i), ops, kernels, pool));
    }
  }
  return made;
}

}  // namespace tensorfleet::pjrt
