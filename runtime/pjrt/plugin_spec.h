// Which plug-ins a server is to load: a list of TYPE=PATH, each with options for the plug-in after
// the path, as --pjrt and TENSORFLEET_PJRT_PLUGINS give it:
//   GPU=/opt/xla_cuda_plugin.so?memory_fraction=0.5&visible_devices=[0:1],TPU=libtpu.so
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "runtime/base/status.h"

namespace tensorfleet::pjrt {

struct PluginSpec {
  // Bare whole numbers are int64_t, "true" and "false" bool, other numbers float, "[1:2]" a list,
  // everything else text.
  using Value = std::variant<std::string, int64_t, float, bool, std::vector<int64_t>>;
  struct Option {
    std::string name;
    Value value;
  };
  std::string type;  // of device, as clients see it: "GPU"
  std::string path;
  std::vector<Option> options;
  // Of products of floats: 0 as the device likes it (TF32 on NVIDIA's), 1 high, 2 highest. From the
  // option precision=default|high|highest, which is for this program and not for the plug-in.
  int precision = 0;
};

// An empty text is an empty list. Errors: InvalidArgument naming the entry: without '=', a type
// that is no device type, CPU (the server has its own), no path, an option without '='.
StatusOr<std::vector<PluginSpec>> ParsePluginSpecs(absl::string_view text);

// Plug-ins in `folder`: xla_cuda_plugin.so and others whose names contain "cuda" or "rocm" are
// GPUs, libtpu.so and "tpu" TPUs, other *.so are named after their file (pjrt_NAME.so: NAME). An
// absent folder holds none. Sorted by path.
std::vector<PluginSpec> FindPluginsIn(const std::string& folder);

inline constexpr char kPluginFolder[] = "/usr/lib/tensorfleet/pjrt";
inline constexpr char kPluginVariable[] = "TENSORFLEET_PJRT_PLUGINS";

}  // namespace tensorfleet::pjrt
