#include "runtime/cli/gpu_list.h"

#include <dlfcn.h>

#include "absl/strings/str_format.h"

namespace tensorfleet::cli {
namespace {

// What is used of NVML, NVIDIA's management library: its C interface, which is kept stable.
constexpr int kOk = 0;
constexpr int kProcessorClock = 1;
using NvmlDevice = void*;
struct NvmlMemory {
  unsigned long long total, free, used;
};
struct NvmlPci {
  char legacy_bus_id[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};

class Nvml {
 public:
  explicit Nvml(const char* library) : library_(::dlopen(library, RTLD_NOW | RTLD_LOCAL)) {
    is_ready_ =
        library_ != nullptr && Load("nvmlInit_v2", &init_) && Load("nvmlShutdown", &shutdown_) &&
        Load("nvmlDeviceGetCount_v2", &count_) && Load("nvmlDeviceGetHandleByIndex_v2", &handle_) &&
        Load("nvmlDeviceGetName", &name_) &&
        Load("nvmlDeviceGetCudaComputeCapability", &capability_) &&
        Load("nvmlDeviceGetMaxClockInfo", &clock_) && Load("nvmlDeviceGetPciInfo_v3", &pci_) &&
        Load("nvmlDeviceGetMemoryInfo", &memory_) && init_() == kOk;
  }
  ~Nvml() {
    if (is_ready_) shutdown_();
    if (library_ != nullptr) ::dlclose(library_);
  }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  std::vector<GpuInfo> List() const {
    std::vector<GpuInfo> gpus;
    unsigned count = 0;
    if (!is_ready_ || count_(&count) != kOk) return gpus;
    for (unsigned i = 0; i < count; ++i) {
      GpuInfo gpu;
      gpu.index = static_cast<int>(i);
      if (Ask(i, &gpu)) gpus.push_back(std::move(gpu));
    }
    return gpus;
  }

 private:
  template <typename Function>
  bool Load(const char* name, Function* function) {
    *function = reinterpret_cast<Function>(::dlsym(library_, name));
    return *function != nullptr;
  }

  // The driver has names of its own for the structures, which the sanitizer would compare.
  __attribute__((no_sanitize("function"))) bool Ask(unsigned index, GpuInfo* gpu) const {
    NvmlDevice device = nullptr;
    char name[96] = {};
    NvmlPci pci = {};
    NvmlMemory memory = {};
    unsigned clock = 0;
    if (handle_(index, &device) != kOk || name_(device, name, sizeof(name)) != kOk ||
        capability_(device, &gpu->major, &gpu->minor) != kOk || pci_(device, &pci) != kOk ||
        memory_(device, &memory) != kOk) {
      return false;
    }
    // Not known of virtual GPUs.
    if (clock_(device, kProcessorClock, &clock) == kOk) gpu->clock_mhz = static_cast<int>(clock);
    gpu->name = name;
    gpu->pci_bus_id = absl::StrFormat("%04x:%02x:%02x.0", pci.domain, pci.bus, pci.device);
    gpu->total_bytes = memory.total;
    gpu->free_bytes = memory.free;
    return true;
  }

  void* const library_;
  bool is_ready_ = false;
  int (*init_)() = nullptr;
  int (*shutdown_)() = nullptr;
  int (*count_)(unsigned*) = nullptr;
  int (*handle_)(unsigned, NvmlDevice*) = nullptr;
  int (*name_)(NvmlDevice, char*, unsigned) = nullptr;
  int (*capability_)(NvmlDevice, int*, int*) = nullptr;
  int (*clock_)(NvmlDevice, int, unsigned*) = nullptr;
  int (*pci_)(NvmlDevice, NvmlPci*) = nullptr;
  int (*memory_)(NvmlDevice, NvmlMemory*) = nullptr;
};

}  // namespace

std::vector<GpuInfo> ListGpus(const char* library) { return Nvml(library).List(); }

std::string Describe(const GpuInfo& gpu) {
  constexpr double kGiB = 1 << 30;
  return absl::StrFormat(
      "GPU %d: name: %s, compute capability: %d.%d, clock rate (GHz): %.4g, pci bus id: %s, total "
      "memory: %.2f GiB, free memory: %.2f GiB",
      gpu.index, gpu.name, gpu.major, gpu.minor, gpu.clock_mhz / 1000.0, gpu.pci_bus_id,
      static_cast<double>(gpu.total_bytes) / kGiB, static_cast<double>(gpu.free_bytes) / kGiB);
}

}  // namespace tensorfleet::cli
