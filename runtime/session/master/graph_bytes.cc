#include "runtime/session/master/graph_bytes.h"

namespace tensorfleet {
namespace {

// Measured over graphs of 1 to 1,000 nodes (e2e/soak.py --measure).
constexpr int64_t kBytesPerGraph = 4000;
constexpr int64_t kBytesPerNode = 1400;

}  // namespace

int64_t BytesKeptFor(const Graph& graph) {
  int64_t bytes = kBytesPerGraph;
  for (const Node* node : graph.nodes()) {
    // In the message, and again in the kernel where it is a constant.
    bytes += kBytesPerNode + 2 * static_cast<int64_t>(node->def().ByteSizeLong());
  }
  return bytes;
}

}  // namespace tensorfleet
