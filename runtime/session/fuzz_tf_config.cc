// Any bytes either are refused as TF_CONFIG or name a task whose cluster survives being written as
// JSON.

#include "absl/strings/string_view.h"
#include "runtime/base/check.h"
#include "runtime/session/cluster/cluster_json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tensorfleet;
  const auto config = TfConfig::Parse({reinterpret_cast<const char*>(data), size});
  if (!config.ok()) return 0;
  TFLEET_CHECK(config->task >= 0);
  if (config->cluster.empty()) return 0;
  TFLEET_CHECK(ClusterSpec::FromJson(config->cluster.ToJson()).value() == config->cluster);
  return 0;
}
