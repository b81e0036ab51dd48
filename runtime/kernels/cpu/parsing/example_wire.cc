#include "runtime/kernels/cpu/parsing/example_wire.h"

namespace tensorfleet::cpu {

StatusOr<FeatureView> ViewFeature(absl::string_view feature) {
  if (feature.empty()) return FeatureView{};
  const absl::string_view list = feature.substr(1);
  switch (feature[0]) {
    case WireTag(1, kBytesWire):
      return FeatureView{DType::kString, list};
    case WireTag(2, kBytesWire):
      return FeatureView{DType::kFloat, list};
    case WireTag(3, kBytesWire):
      return FeatureView{DType::kInt64, list};
    default:
      return InvalidArgument("Unsupported datatype.");
  }
}

bool ReadFeatureEntry(WireReader* reader, absl::string_view* key, absl::string_view* feature) {
  WireReader entry;
  if (!reader->ReadMessage(&entry)) return false;
  // Key and value, in any order.
  for (int i = 0; i < 2; ++i) {
    if (entry.Accept(WireTag(1, kBytesWire))) {
      if (!entry.ReadBytes(key)) return false;
    } else if (!entry.Accept(WireTag(2, kBytesWire)) || !entry.ReadBytes(feature)) {
      return false;
    }
  }
  return entry.AtEnd();
}

}  // namespace tensorfleet::cpu
