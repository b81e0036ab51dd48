#include "runtime/kernels/collectives.h"

namespace tensorfleet {

const char* CollectiveName(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kReduce:
      return "Reduce";
    case CollectiveKind::kBroadcast:
      return "Broadcast";
    case CollectiveKind::kGather:
      return "Gather";
    case CollectiveKind::kAllToAll:
      return "AllToAll";
    case CollectiveKind::kReduceScatter:
      return "ReduceScatter";
  }
  return "unknown collective";
}

}  // namespace tensorfleet
