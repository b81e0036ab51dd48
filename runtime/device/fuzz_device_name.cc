// Any text either is refused as a device name or reads back to the same name from its canonical
// spelling.

#include "runtime/base/check.h"
#include "runtime/device/device_name.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tensorfleet;
  const auto name = DeviceName::Parse({reinterpret_cast<const char*>(data), size});
  if (!name.ok()) return 0;
  const auto again = DeviceName::Parse(name->ToString());
  TFLEET_CHECK(again.ok() && *again == *name);
  return 0;
}
