// A driver's management library with two GPUs, of which the second has fallen off the bus.
#include <cstring>

extern "C" {

struct Memory {
  unsigned long long total, free, used;
};
struct Pci {
  char legacy_bus_id[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};

constexpr int kOk = 0, kLost = 15;

int nvmlInit_v2() { return kOk; }
int nvmlShutdown() { return kOk; }
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 2;
  return kOk;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  *device = nullptr;
  return index == 0 ? kOk : kLost;
}
int nvmlDeviceGetName(void*, char* name, unsigned size) {
  std::strncpy(name, "GeForce GTX 1080", size);
  return kOk;
}
int nvmlDeviceGetCudaComputeCapability(void*, int* major, int* minor) {
  *major = 6;
  *minor = 1;
  return kOk;
}
int nvmlDeviceGetMaxClockInfo(void*, int type, unsigned* mhz) {
  *mhz = type == 1 ? 1797 : 1;
  return kOk;
}
int nvmlDeviceGetPciInfo_v3(void*, Pci* pci) {
  *pci = {};
  pci->bus = 0x84;
  return kOk;
}
int nvmlDeviceGetMemoryInfo(void*, Memory* memory) {
  memory->total = 8ull << 30;
  memory->free = 6ull << 30;
  return kOk;
}
}
