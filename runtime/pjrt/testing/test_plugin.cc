#include "runtime/pjrt/testing/test_plugin.h"

#include <stdlib.h>
#include <unistd.h>

#include "absl/strings/str_split.h"

namespace tensorfleet::pjrt {

std::vector<std::string> TestPlugins() {
  if (const char* const others = ::getenv("TENSORFLEET_TEST_PLUGINS")) {
    return absl::StrSplit(others, ',', absl::SkipEmpty());
  }
  std::vector<std::string> found;
  for (const char* path :
       {TENSORFLEET_ACCELERATORS "/xla-cpu-pjrt/xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so",
        TENSORFLEET_ACCELERATORS
        "/lammps-jax-pjrt-cpu/lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so"}) {
    if (::access(path, R_OK) == 0) found.push_back(path);
  }
  return found;
}

}  // namespace tensorfleet::pjrt
