#include "runtime/pjrt/testing/test_plugin.h"

#include <unistd.h>

namespace tensorfleet::pjrt {

std::vector<std::string> TestPlugins() {
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
