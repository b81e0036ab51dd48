#include "runtime/pjrt/device_metrics.h"

#include "absl/strings/str_format.h"
#include "runtime/pjrt/device_buffer.h"

namespace tensorfleet::pjrt {
namespace {

void Add(const char* name, const char* kind, const char* help, double value, std::string* out) {
  absl::StrAppendFormat(out, "# HELP tensorfleet_device_%s %s\n# TYPE tensorfleet_device_%s %s\n",
                        name, help, name, kind);
  absl::StrAppendFormat(out, "tensorfleet_device_%s %.15g\n", name, value);
}

}  // namespace

DeviceCounts& Counts() {
  static auto* const counts = new DeviceCounts;
  return *counts;
}

std::string RenderDeviceMetrics() {
  const DeviceCounts& c = Counts();
  std::string out;
  const auto count = [&](const char* name, const std::atomic<int64_t>& value, const char* help) {
    Add(name, "counter", help, static_cast<double>(value.load(std::memory_order_relaxed)), &out);
  };
  count("launches_total", c.launches, "Compiled programs that were started.");
  count("launches_refused_total", c.refused,
        "Launches that changed nothing, for values that are for the host.");
  count("host_runs_total", c.host_runs, "Clusters that ran node by node on the host.");
  count("copies_to_device_total", c.copies_to_device, "Tensors copied to a device.");
  count("copies_to_host_total", c.copies_to_host, "Tensors copied to the host.");
  count("variables_updated_in_place_total", c.donated, "Updates that took the old value's memory.");
  count("variables_doubled_total", c.doubled, "Updates beside an old value that others held.");
  count("programs_compiled_total", c.compiled, "Programs that a plug-in compiled.");
  Add("compile_seconds_total", "counter", "Time spent compiling.",
      1e-9 * static_cast<double>(c.compile_nanos.load(std::memory_order_relaxed)), &out);
  count("programs_loaded_total", c.loaded, "Programs from the folder of --compile_cache.");
  count("program_cache_hits_total", c.cache_hits, "Programs that were compiled already.");
  Add("buffer_bytes", "gauge", "Bytes in live buffers of devices.",
      static_cast<double>(DeviceBytesInUse()), &out);
  return out;
}

}  // namespace tensorfleet::pjrt
