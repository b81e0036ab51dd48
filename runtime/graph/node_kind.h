// What sort of op a node is, for code that treats some ops in its own way: looked up once by the
// op's name when a node is made, then a bit. An op may be of several kinds; most are of none.
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"

namespace tensorfleet {

enum class NodeKind : uint32_t {
  // Control flow; each covers the Ref form too where there is one.
  kSwitch = 1u << 0,
  kMerge = 1u << 1,
  kEnter = 1u << 2,
  kExit = 1u << 3,
  kNextIteration = 1u << 4,
  kLoopCond = 1u << 5,
  kControlTrigger = 1u << 6,
  // Calls of functions by attribute.
  kIf = 1u << 7,
  kCase = 1u << 8,
  kWhile = 1u << 9,
  kPartitionedCall = 1u << 10,
  // The ends of a graph and of its pieces.
  kSend = 1u << 11,
  kRecv = 1u << 12,
  kArg = 1u << 13,
  kRetval = 1u << 14,
  kConstant = 1u << 15,
  kPlaceholder = 1u << 16,     // Placeholder, PlaceholderV2: has a value only when it is fed
  kVariable = 1u << 17,        // VariableV2, Variable, VarHandleOp
  kShapeQuestion = 1u << 18,   // Shape, ShapeN, Size, Rank: looks at its input's shape only
  kPassesFirst = 1u << 19,     // hands input 0 on as it is
  kPassesEach = 1u << 20,      // hands each input on as it is
  kHandsReference = 1u << 21,  // RefIdentity, RefSelect: the reference itself goes on
  kView = 1u << 22,            // its output is input 0's memory under another shape or type
  kKeepsInput = 1u << 23,      // keeps the very tensor that it is given, beyond the node
  kOfProcess =
      1u << 24,  // files, prints, what is fed: belongs to the process that the client asked
};

using NodeKinds = uint32_t;

// Of an op by its name; 0 for ops of no kind.
NodeKinds KindsOf(absl::string_view op);

}  // namespace tensorfleet
