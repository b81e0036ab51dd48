#include "runtime/cli/device_flags.h"

#include <CLI/CLI.hpp>
#include <cstdlib>

#include "absl/strings/ascii.h"
#include "runtime/pjrt/placements.h"

namespace tensorfleet::cli {
namespace {

const char* Env(const char* name) { return std::getenv(name); }

}  // namespace

void DeviceFlags::AddPjrtTo(CLI::App* command) {
  command->add_option(
      "--pjrt", pjrt,
      "Devices through PJRT plug-ins: TYPE=PATH[?option=value&...],...; 'none' for none. Empty: "
      "the variable TENSORFLEET_PJRT_PLUGINS, else what is in /usr/lib/tensorfleet/pjrt");
  command->add_option("--compile_cache", compile_cache,
                      "Folder in which programs compiled for such devices are kept for the next "
                      "start, up to 2 GiB; only this user may be able to write to it");
}

void DeviceFlags::AddDeviceTo(CLI::App* command) {
  command
      ->add_option("--device", device,
                   "What computes where the graph leaves that open: auto (an accelerator where "
                   "--pjrt finds one; never on parameter servers), cpu (no plug-in is opened), or "
                   "a type such as GPU, without which the task does not start")
      ->capture_default_str();
}

StatusOr<std::unique_ptr<pjrt::Devices>> DeviceFlags::Apply(rpc::ServerOptions* server) const {
  // Also without a device of its own, a master places nodes for tasks that have one.
  server->kernels = &pjrt::AllKernels();
  const std::string wanted = absl::AsciiStrToUpper(device);
  if (wanted == "CPU") return nullptr;
  TFLEET_ASSIGN_OR_RETURN(std::unique_ptr<pjrt::Devices> devices,
                          pjrt::Devices::Open(pjrt, &Env, pjrt::kPluginFolder, compile_cache));
  if (wanted != "AUTO" && !devices->HasType(wanted)) {
    return NotFound("--device=", device, ": no plug-in has a device of type ", wanted, "; --pjrt ",
                    wanted, "=PATH names one, --device=cpu does without");
  }
  if (!devices->empty()) {
    const OpRegistry* const ops = server->ops;
    const KernelRegistry* const kernels = server->kernels;
    server->more_devices = [opened = devices.get(), ops, kernels](const std::string& task,
                                                                  ThreadPool* pool) {
      return opened->ForTask(task, pool, ops, kernels);
    };
  }
  return devices;
}

}  // namespace tensorfleet::cli
