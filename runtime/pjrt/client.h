// One client of a plug-in: its devices, copies to and from them, compiling and launching. One
// client per plug-in and process, shared by all sessions; lives for ever. Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "runtime/base/status.h"
#include "runtime/pjrt/plugin.h"
#include "runtime/pjrt/plugin_spec.h"
#include "runtime/tensor/tensor.h"

namespace tensorfleet::pjrt {

class Client;

// A compiled computation. It may run on any device of its client.
class Executable {
 public:
  Executable(const Client* client, c::LoadedExecutable* executable)
      : client_(client), executable_(executable) {}
  ~Executable();
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;
  c::LoadedExecutable* get() const { return executable_; }

 private:
  const Client* const client_;
  c::LoadedExecutable* const executable_;
};

class Client {
 public:
  struct DeviceInfo {
    c::Device* device = nullptr;
    int id = 0;
    std::string kind;          // "NVIDIA H100 80GB HBM3"
    std::string attributes;    // "compute_capability: 9.0, core_count: 132"
    int64_t memory_limit = 0;  // bytes; 0 when the plug-in does not say
  };
  using Done = std::function<void(Status)>;

  // Errors: those of Plugin::Load, and of making the client, with the path. A client without
  // devices is none.
  static StatusOr<std::unique_ptr<Client>> Open(const PluginSpec& spec);

  const PluginSpec& spec() const { return spec_; }
  const Plugin& plugin() const { return *plugin_; }
  const std::string& platform() const { return platform_; }
  const std::vector<DeviceInfo>& devices() const { return devices_; }

  // Whether elements of this type can be on a device.
  static bool CanHold(DType dtype);

  // The tensor on device number `device`: the same handle when it is there already, else the start
  // of a copy. Launches that use the result wait for the copy by themselves. Errors: Unimplemented
  // for a type that devices do not hold; what the plug-in says, ResourceExhausted above all.
  StatusOr<Tensor> ToDevice(const Tensor& tensor, int device) const;
  // Calls `done` once with a copy in host memory, on a thread of the plug-in, or here when the
  // tensor is on the host. Errors: ResourceExhausted; that of the launch that should have made the
  // value.
  void ToHost(const Tensor& tensor, std::function<void(StatusOr<Tensor>)> done) const;

  // Compiles a serialized HloModuleProto; takes milliseconds to minutes.
  StatusOr<std::unique_ptr<Executable>> Compile(const std::string& module) const;

  // A compiled program as bytes, which Load takes in a later process with the same BuildId().
  // Errors: Unimplemented for a plug-in that cannot do it; what the plug-in says.
  StatusOr<std::string> Serialize(const Executable& executable) const;
  StatusOr<std::unique_ptr<Executable>> Load(absl::string_view serialized) const;
  // What a compiled program depends on besides its module: the plug-in's file and version, options
  // (those in XLA_FLAGS too), the devices, and the processor.
  std::string BuildId() const;

  struct Launch {
    int device = 0;
    // All on `device`. An argument that the module gives to a result is used up, except those in
    // `keep` (positions): the launch then copies.
    absl::Span<const Tensor> arguments;
    absl::Span<const int64_t> keep;
    // Types and shapes of the results, as the module has them.
    absl::Span<const std::pair<DType, Shape>> results;
    Done on_complete;  // null: nobody asks
  };
  // Starts it. The results may be used at once: what uses them on the device waits by itself.
  // Errors: of starting; `on_complete` is not called then.
  StatusOr<std::vector<Tensor>> Start(const Executable& executable, Launch launch) const;

 private:
  Client(PluginSpec spec, std::unique_ptr<Plugin> plugin)
      : spec_(std::move(spec)), plugin_(std::move(plugin)) {}
  Status Create();
  Status FindDevices();

  const PluginSpec spec_;
  const std::unique_ptr<Plugin> plugin_;
  c::Client* client_ = nullptr;
  std::string platform_;
  std::string compile_options_;  // a serialized CompileOptionsProto
  std::vector<DeviceInfo> devices_;
};

}  // namespace tensorfleet::pjrt
