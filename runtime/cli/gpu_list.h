// The GPUs of this machine, for the log of a server. Asked of the driver's management library,
// which is loaded when it is there: nothing of CUDA is needed, and no GPU is taken into use.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tensorfleet::cli {

struct GpuInfo {
  int index = 0;
  std::string name;
  int major = 0, minor = 0;  // compute capability
  int clock_mhz = 0;         // the most that its processors run at
  std::string pci_bus_id;
  uint64_t total_bytes = 0, free_bytes = 0;
};

// Empty without GPUs, a driver or its library. One that cannot be asked is left out.
// `library` is the file to load.
std::vector<GpuInfo> ListGpus(const char* library = "libnvidia-ml.so.1");

// "GPU 0: name: NVIDIA H200, compute capability: 9.0, clock rate (GHz): 1.98, pci bus id:
// 0000:65:00.0, total memory: 139.80 GiB, free memory: 139.10 GiB"
std::string Describe(const GpuInfo& gpu);

}  // namespace tensorfleet::cli
