// Any bytes either are refused as a cluster, in each of its forms, or give one that survives every
// round trip.

#include "absl/strings/string_view.h"
#include "runtime/base/check.h"
#include "runtime/session/cluster/cluster_spec.h"

namespace {

using tensorfleet::ClusterSpec;

void Check(const tensorfleet::StatusOr<ClusterSpec>& spec) {
  if (!spec.ok()) return;
  TFLEET_CHECK(ClusterSpec::FromJson(spec->ToJson()).value() == *spec);
  TFLEET_CHECK(ClusterSpec::FromText(spec->ToText()).value() == *spec);
  tensorflow::ClusterDef def;
  spec->ToProto(&def);
  TFLEET_CHECK(ClusterSpec::FromBinary(def.SerializeAsString()).value() == *spec);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  Check(ClusterSpec::FromBinary(bytes));
  Check(ClusterSpec::FromText(bytes));
  Check(ClusterSpec::FromJson(bytes));
  // "@FILE" would read the machine's files.
  if (!bytes.empty() && bytes.front() != '@') Check(ClusterSpec::FromFlag(bytes));
  return 0;
}
