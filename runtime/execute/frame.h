// The state of loop frames and of their iterations in one run. Owned and used by the driver of a
// step only.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "runtime/execute/compiled_graph.h"
#include "runtime/kernels/kernel_context.h"

namespace tensorfleet::execute {

struct Frame;

struct Iteration {
  Frame* frame = nullptr;
  uint64_t number = 0;
  // Nodes of this iteration that are ready or running, and frames entered from it that live.
  int32_t outstanding = 0;
  EdgeValue* slots = nullptr;  // inputs of all nodes of the frame
  uint32_t* states = nullptr;  // state words of all nodes of the frame
  Frame** children = nullptr;  // by FrameLayout::index_in_parent
  Iteration* next = nullptr;   // the next one of this frame; also the list of free ones
  int32_t layout = 0;
};

// One execution of a loop: made by its first Enter, gone after its last iteration.
struct Frame {
  struct Invariant {  // what a constant Enter brought, for every iteration to come
    const NodeItem* enter;
    EdgeValue value;
    bool is_dead;
  };
  struct Deferred {  // what a NextIteration brought while too many iterations were running
    const NodeItem* next_iteration;
    EdgeValue value;
  };

  const FrameLayout* layout = nullptr;
  int32_t index = 0;  // of the layout
  uint64_t id = 0;
  Iteration* parent = nullptr;  // null for the root frame
  int32_t pending_enters = 0;
  int32_t live_iterations = 0;
  Iteration* oldest = nullptr;
  Iteration* newest = nullptr;
  std::vector<Invariant> invariants;
  std::vector<Deferred> deferred;
  std::vector<bool> exited;  // by exit: whether it has passed a value on
  Frame* next_free = nullptr;
};

// Memory for frames and iterations; kept from run to run.
class FrameStore {
 public:
  explicit FrameStore(const CompiledGraph& graph)
      : graph_(graph), free_iterations_(graph.frames.size()) {}
  ~FrameStore();
  FrameStore(const FrameStore&) = delete;
  FrameStore& operator=(const FrameStore&) = delete;

  // Empty slots, first states, no children.
  Iteration* MakeIteration(int32_t layout);
  // Empties what is left in its slots.
  void FreeIteration(Iteration* iteration);
  Frame* MakeFrame(int32_t layout);
  void FreeFrame(Frame* frame);

  // What it holds on to.
  size_t bytes() const { return bytes_ + all_frames_.size() * sizeof(Frame); }

  void ResetStates(Iteration* iteration) const;
  void EmptySlots(Iteration* iteration) const;

 private:
  const CompiledGraph& graph_;
  std::vector<Iteration*> free_iterations_;  // by layout
  Frame* free_frames_ = nullptr;
  std::vector<std::unique_ptr<char[]>> blocks_;
  size_t bytes_ = 0;  // of the blocks
  std::vector<Iteration*> all_iterations_;
  std::deque<Frame> all_frames_;
};

inline bool HasValue(const EdgeValue& value) {
  return value.tensor.is_valid() || static_cast<bool>(value.ref);
}
inline void Empty(EdgeValue& value) {
  if (value.tensor.is_valid()) value.tensor.Clear();
  if (value.ref) value.ref = {};
  value.is_dead = false;
}

}  // namespace tensorfleet::execute
