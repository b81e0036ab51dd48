// What a graph becomes before it runs: flat arrays of nodes and edges with every decision taken
// that does not depend on a step. Private to the executor. Immutable once made, but for the
// measured costs.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/graph/graph.h"
#include "runtime/kernels/kernel.h"

namespace tensorfleet::execute {

// Where a node's outputs go and what may happen to it while dead.
enum NodeFlags : uint16_t {
  kIsMerge = 1 << 0,
  kIsEnter = 1 << 1,
  kIsConstantEnter = 1 << 2,  // every iteration sees the value
  kIsExit = 1 << 3,
  kIsNextIteration = 1 << 4,
  kIsControlTrigger = 1 << 5,
  kIsTransfer = 1 << 6,  // runs even when its inputs are dead, so that the other end learns of it
  kIsUrgent = 1 << 7,    // something else waits for it: goes before other ready nodes
  kHasRefInputs = 1 << 8,
  kMayLeaveOutputs = 1 << 9,  // Switch and its like: an output that was not set is dead
  kIsTraced = 1 << 10,
  kIsPlain = 1 << 11,  // one output, a value that is always set, for nodes of the same iteration
  kPassesReference = 1 << 12,  // an output typed as a value may be a reference all the same
};

// How a reference that arrives at an input is taken.
struct RefInput {
  int32_t input = 0;
  bool read = false;  // the input wants a value
  bool must_be_initialized = false;
  std::string variable;  // as the error names it
};

struct OutEdge {
  int32_t dst = 0;        // index in CompiledGraph::nodes
  int32_t dst_state = 0;  // state word of `dst` in its frame
  int32_t slot = -1;      // input slot in the frame of `dst`; -1 for a control edge
  int32_t output = 0;
  bool is_last = false;  // the last edge of its output takes the value, the others copy the handle
  bool to_merge = false;
};

struct NodeItem {
  const Kernel* kernel = nullptr;
  const AsyncKernel* async = nullptr;  // the same kernel, when it may finish later
  const Node* node = nullptr;
  int32_t id = 0;
  int32_t state = 0;        // index of its state word in its frame
  int32_t input_begin = 0;  // first of its slots in its frame
  int32_t num_inputs = 0;
  int32_t num_outputs = 0;
  // The slot of the only consumer of the only output, which the kernel then writes itself; -1
  // otherwise, and where the consumer does not wait for all its inputs.
  int32_t direct_slot = -1;
  int32_t edges_begin = 0;  // data edges by output, then control edges
  int32_t control_begin = 0;
  int32_t edges_end = 0;
  uint16_t flags = 0;
  DType output_type = DType::kInvalid;  // of the first output
  int32_t output_types = 0;             // first of its entries in CompiledGraph::output_types
  int32_t child_frame = -1;             // of an Enter: the frame it leads to
  int32_t enter_or_exit =
      0;  // of an Enter: which child of its frame; of an Exit: which exit of its frame
  int32_t refs_begin = 0, refs_end = 0;  // in CompiledGraph::ref_inputs
  // Nanoseconds one run takes, as far as known.
  mutable std::atomic<uint32_t> cost{0};

  bool Is(uint16_t mask) const { return (flags & mask) != 0; }
};

// A frame as written in the graph; frame 0 is the graph outside all loops.
struct FrameLayout {
  std::string name;
  uint64_t name_hash = 0;
  int32_t parent = -1;
  int32_t index_in_parent = 0;  // among the parent's children
  int32_t num_children = 0;
  int32_t num_slots = 0;
  int32_t num_enters = 0;
  int32_t parallel_iterations = 10;
  std::vector<int32_t> exits;          // nodes
  std::vector<uint32_t> first_states;  // of every node, at the start of an iteration
};

struct CompiledGraph {
  std::vector<NodeItem> nodes;
  std::vector<OutEdge> edges;
  std::vector<DType> output_types;
  std::vector<RefInput> ref_inputs;
  std::vector<FrameLayout> frames;
  std::vector<int32_t> roots;  // nodes without inputs; the first is to run first
  int32_t max_outputs = 0;
  bool has_loops = false;
  bool has_recv = false;
  // Whether a run without error leaves every slot empty: nothing is ever left over without Merge
  // and loops.
  bool leaves_nothing = true;
  std::vector<std::shared_ptr<const Kernel>> kernels;
};

// State words. An ordinary node counts the inputs that it still waits for, and remembers a dead
// one.
inline constexpr uint32_t kDeadBit = 1u << 31;
// A Merge: bit 0 while no live input came, then a count of control inputs to wait for, a count of
// dead data inputs, and whether it was made ready.
inline constexpr uint32_t kMergeWaits = 1u;
inline constexpr uint32_t kMergeControl = 2u;
inline constexpr uint32_t kMergeControlMask = 0xfffeu;
inline constexpr uint32_t kMergeDead = 1u << 16;
inline constexpr uint32_t kMergeDeadShift = 16;
inline constexpr uint32_t kMergeDeadMask = 0x7fffu;
inline constexpr uint32_t kMergeFired = 1u << 31;
inline constexpr int kMaxMergeInputs = 0x7fff;

// A kernel that says it is expensive counts as such until it has been measured.
inline constexpr uint32_t kUnknownCost = 1u << 30;

}  // namespace tensorfleet::execute
