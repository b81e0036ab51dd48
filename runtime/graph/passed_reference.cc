#include "runtime/graph/passed_reference.h"

#include "runtime/graph/attr.h"

namespace tensorfleet {
namespace {

constexpr char kMark[] = "_passes_reference";

bool PassesFirstInput(const Node& node) { return node.Is(NodeKind::kPassesFirst); }
bool PassesEachInput(const Node& node) { return node.Is(NodeKind::kPassesEach); }

}  // namespace

bool MayPassReference(const Node& node, int input) {
  return (input == 0 && PassesFirstInput(node)) || PassesEachInput(node);
}

bool PassesReference(const Node& node) {
  const tensorflow::AttrValue* mark = FindAttr(node.def(), kMark);
  return mark != nullptr && mark->b() && (PassesFirstInput(node) || PassesEachInput(node));
}

void MarkPassesReference(Node* node) { SetAttr(&node->mutable_def(), kMark, true); }

}  // namespace tensorfleet
