// The devices that a process has through PJRT: plug-ins are found and opened once, then every
// worker of the process gets a TensorFlow device for each of their devices.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/device/device.h"
#include "runtime/graph/op_schema.h"
#include "runtime/kernels/kernel_registry.h"
#include "runtime/pjrt/client.h"
#include "runtime/pjrt/executable_cache.h"

namespace tensorfleet::pjrt {

class Devices {
 public:
  // `flag` is --pjrt: a list as in plugin_spec.h, "none", or empty. Then the variable
  // TENSORFLEET_PJRT_PLUGINS counts, with the same values, and then the plug-ins in `folder`. Logs
  // a line for every device, and why there is none where a plug-in was found. Compiled programs are
  // kept in the folder `compile_cache`, unless that is empty. Errors: those of opening a plug-in
  // that was asked for by flag or variable (one that was only found is left out with a warning),
  // and those of CompileCache::Open.
  static StatusOr<std::unique_ptr<Devices>> Open(const std::string& flag,
                                                 const char* (*env)(const char* name),
                                                 const std::string& folder,
                                                 const std::string& compile_cache);

  bool empty() const { return clients_.empty(); }
  // Whether there is a device that clients see as of this type, in upper case: "GPU".
  bool HasType(absl::string_view type) const;
  // New TensorFlow devices for the task; see Worker::Options::more_devices. This, `ops` and
  // `kernels` must outlive them.
  std::vector<std::unique_ptr<Device>> ForTask(const std::string& task, ThreadPool* pool,
                                               const OpRegistry* ops,
                                               const KernelRegistry* kernels) const;

 private:
  struct OpenClient {
    std::unique_ptr<Client> client;
    std::unique_ptr<ExecutableCache> cache;
  };
  std::unique_ptr<CompileCache> disk_;  // null: programs are kept in memory only
  std::vector<OpenClient> clients_;
};

}  // namespace tensorfleet::pjrt
