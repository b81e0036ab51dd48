#include "runtime/session/master/reply_keys.h"

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "runtime/graph/attr.h"
#include "runtime/graph/shape_context.h"
#include "runtime/kernels/rendezvous.h"
#include "runtime/tensor/dtype.h"

namespace tensorfleet {
namespace {

// Above this, the copy costs more than the round trip.
constexpr int64_t kMaxBytes = 256 << 10;
constexpr int kMaxNodes = 200;

bool IsRead(const Node& node) {
  static const auto* const ops = new absl::flat_hash_set<std::string>{
      "Const", "Identity", "NoOp", "ReadVariableOp", "VarHandleOp", "Variable", "VariableV2"};
  return ops->contains(node.op());
}

// The bytes that node's output 0 takes at least; -1 when that is not known.
int64_t BytesOf(const Node& node, const PartialShape& inferred) {
  const DType type = BaseType(node.output_type(0));
  if (!IsPlainData(type)) return -1;
  PartialShape shape = inferred;
  if (node.IsVariable() || node.op() == "ReadVariableOp") {
    const Node* variable = node.IsVariable() ? &node : node.in_edge(0)->src;
    if (!variable->IsVariable()) return -1;
    shape = GetAttrOr<PartialShape>(variable->def(), "shape", shape).value_or(shape);
  } else if (node.op() == "Identity") {
    return BytesOf(*node.in_edge(0)->src, inferred);
  }
  if (!shape.is_fully_defined()) return -1;
  const StatusOr<Shape> known = shape.ToShape();
  return known.ok() ? known->num_elements() * static_cast<int64_t>(ElementSize(type)) : -1;
}

}  // namespace

std::vector<std::string> ReplyKeys(const Graph& piece, absl::string_view task) {
  if (piece.num_nodes() > kMaxNodes) return {};
  std::vector<const Node*> sends;
  for (const Node* node : piece.nodes()) {
    if (node->IsSend()) {
      sends.push_back(node);
    } else if (!IsRead(*node)) {
      return {};
    }
  }
  if (sends.empty()) return {};
  const auto shapes = InferShapes(piece);
  if (!shapes.ok()) return {};
  std::vector<std::string> keys;
  int64_t bytes = 0;
  for (const Node* send : sends) {
    const Edge* edge = send->in_edge(0);
    const StatusOr<std::string> src = GetAttr<std::string>(send->def(), "send_device");
    const StatusOr<std::string> dst = GetAttr<std::string>(send->def(), "recv_device");
    const StatusOr<std::string> name = GetAttr<std::string>(send->def(), "tensor_name");
    const StatusOr<int64_t> incarnation = GetAttr<int64_t>(send->def(), "send_device_incarnation");
    if (edge == nullptr || !src.ok() || !dst.ok() || !name.ok() || !incarnation.ok()) return {};
    if (!absl::StartsWith(*dst, absl::StrCat(task, "/"))) return {};
    if (edge->src_output != 0) return {};
    const int64_t more = BytesOf(*edge->src, (*shapes)[edge->src->id()][0]);
    if (more < 0 || (bytes += more) > kMaxBytes) return {};
    keys.push_back(MakeRendezvousKey(*src, static_cast<uint64_t>(*incarnation), *dst, *name));
  }
  return keys;
}

}  // namespace tensorfleet
