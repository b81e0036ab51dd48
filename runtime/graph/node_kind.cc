#include "runtime/graph/node_kind.h"

#include <initializer_list>

#include "absl/container/flat_hash_map.h"

namespace tensorfleet {
namespace {

struct Row {
  NodeKind kind;
  std::initializer_list<absl::string_view> ops;
};

using Kinds = absl::flat_hash_map<absl::string_view, NodeKinds>;

const Kinds* MakeKinds() {
  auto* kinds = new Kinds;
  const Row rows[] = {
      {NodeKind::kSwitch, {"Switch", "RefSwitch", "_SwitchN"}},
      {NodeKind::kMerge, {"Merge", "RefMerge"}},
      {NodeKind::kEnter, {"Enter", "RefEnter"}},
      {NodeKind::kExit, {"Exit", "RefExit"}},
      {NodeKind::kNextIteration, {"NextIteration", "RefNextIteration"}},
      {NodeKind::kLoopCond, {"LoopCond"}},
      {NodeKind::kControlTrigger, {"ControlTrigger"}},
      {NodeKind::kIf, {"If", "StatelessIf"}},
      {NodeKind::kCase, {"Case", "StatelessCase"}},
      {NodeKind::kWhile, {"While", "StatelessWhile"}},
      {NodeKind::kPartitionedCall, {"PartitionedCall", "StatefulPartitionedCall"}},
      {NodeKind::kSend, {"_Send", "_HostSend"}},
      {NodeKind::kRecv, {"_Recv", "_HostRecv"}},
      {NodeKind::kArg, {"_Arg"}},
      {NodeKind::kRetval, {"_Retval"}},
      {NodeKind::kConstant, {"Const"}},
      {NodeKind::kPlaceholder, {"Placeholder", "PlaceholderV2"}},
      {NodeKind::kVariable, {"VariableV2", "Variable", "VarHandleOp"}},
      {NodeKind::kShapeQuestion, {"Shape", "ShapeN", "Size", "Rank"}},
      {NodeKind::kPassesFirst,
       {"Identity", "StopGradient", "PreventGradient", "PlaceholderWithDefault", "GuaranteeConst",
        "DebugGradientIdentity", "Enter", "Exit", "NextIteration", "Switch", "_SwitchN"}},
      {NodeKind::kPassesEach, {"Merge", "IdentityN"}},
      {NodeKind::kHandsReference, {"RefIdentity", "RefSelect"}},
      {NodeKind::kView,
       {"Reshape", "ExpandDims", "Squeeze", "Bitcast", "EnsureShape", "CheckNumerics"}},
      {NodeKind::kKeepsInput,
       {"QueueEnqueue", "QueueEnqueueV2", "Stage", "MapStage", "OrderedMapStage", "StackPush",
        "StackPushV2", "TensorArrayWrite", "TensorArrayWriteV2", "TensorArrayWriteV3",
        "TensorListPushBack", "TensorListPushBackBatch", "TensorListSetItem"}},
      {NodeKind::kOfProcess,
       {"Placeholder", "PlaceholderV2", "PlaceholderWithDefault", "ReadFile", "WriteFile",
        "MatchingFiles", "Save", "SaveSlices", "SaveV2", "Restore", "RestoreSlice", "RestoreV2",
        "MergeV2Checkpoints", "Print", "PrintV2"}},
  };
  for (const Row& row : rows) {
    for (const absl::string_view op : row.ops) (*kinds)[op] |= static_cast<NodeKinds>(row.kind);
  }
  return kinds;
}

}  // namespace

NodeKinds KindsOf(absl::string_view op) {
  static const Kinds* const kKinds = MakeKinds();
  const auto found = kKinds->find(op);
  return found == kKinds->end() ? 0 : found->second;
}

}  // namespace tensorfleet
