// Which accelerators a process uses: --pjrt, --compile_cache, and --device of programs that train.
#pragma once

#include <memory>
#include <string>

#include "runtime/base/status.h"
#include "runtime/pjrt/devices.h"
#include "runtime/rpc/server.h"

namespace CLI {
class App;
}

namespace tensorfleet::cli {

struct DeviceFlags {
  std::string pjrt;
  std::string compile_cache;
  std::string device = "auto";

  void AddPjrtTo(CLI::App* command);
  void AddDeviceTo(CLI::App* command);

  // Opens the plug-ins and lets `server`, whose ops are set, have their devices and kernels. What
  // is returned (null for --device=cpu) must outlive the server. Errors: those of
  // pjrt::Devices::Open; NotFound when there is no device of the type that `device` asks for.
  StatusOr<std::unique_ptr<pjrt::Devices>> Apply(rpc::ServerOptions* server) const;
};

}  // namespace tensorfleet::cli
