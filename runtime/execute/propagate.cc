// Passing a node's outputs on to its consumers, and finding out which of them are ready.
#include <memory>
#include <utility>

#include "runtime/execute/step.h"

namespace tensorfleet::execute {
namespace {

// A handle to `value` in a slot that is empty. Assigning a shape to another takes the general way
// through its vector; making one is a few moves.
void CopyInto(Tensor& slot, const Tensor& value) {
  std::destroy_at(&slot);
  std::construct_at(&slot, value);
}

}  // namespace

inline void Step::Arrive(const OutEdge& edge, Iteration* to, bool is_dead, bool from_enter) {
  if (edge.to_merge) return ArriveAtMerge(edge, to, is_dead, from_enter);
  uint32_t& state = to->states[edge.dst_state];
  --state;
  if (is_dead) state |= kDeadBit;
  if ((state & ~kDeadBit) == 0) MakeReady(graph_.nodes[edge.dst], to);
}

void Step::Propagate(const NodeItem& item, Iteration* iteration, EdgeValue* outputs, bool is_dead) {
  if (!graph_.has_loops) return Deliver(item, iteration, outputs, is_dead);
  if (item.Is(kIsEnter)) {
    PropagateEnter(item, iteration, outputs, is_dead);
  } else if (item.Is(kIsExit | kIsNextIteration)) {
    // A dead Exit speaks only when the frame ends, a dead NextIteration not at all.
    if (!is_dead && item.Is(kIsExit)) PropagateExit(item, iteration, outputs);
    if (!is_dead && item.Is(kIsNextIteration)) PropagateNext(item, iteration, outputs);
  } else {
    Deliver(item, iteration, outputs, is_dead);
  }
  if (--iteration->outstanding == 0) RetireIterations(iteration->frame);
}

void Step::Deliver(const NodeItem& item, Iteration* to, EdgeValue* outputs, bool is_dead) {
  const OutEdge* const edges = graph_.edges.data();
  const bool from_enter = item.Is(kIsEnter);
  if (item.direct_slot >= 0) {
    // The kernel has written the consumer's slot.
    EdgeValue& slot = to->slots[item.direct_slot];
    if (is_dead || slot.is_dead || !HasValue(slot)) {
      Empty(slot);
      Arrive(edges[item.edges_begin], to, /*is_dead=*/true, from_enter);
    } else {
      Arrive(edges[item.edges_begin], to, /*is_dead=*/false, from_enter);
    }
  } else if (is_dead) {
    for (int32_t i = item.edges_begin; i < item.control_begin; ++i) {
      Arrive(edges[i], to, /*is_dead=*/true, from_enter);
    }
    if (outputs != nullptr) {
      for (int32_t i = 0; i < item.num_outputs; ++i) Empty(outputs[i]);
    }
  } else {
    int32_t next_output = 0;  // those without a consumer are emptied too
    for (int32_t i = item.edges_begin; i < item.control_begin; ++i) {
      const OutEdge& edge = edges[i];
      while (next_output < edge.output) Empty(outputs[next_output++]);
      EdgeValue& output = outputs[edge.output];
      const bool dead = output.is_dead || !HasValue(output);
      if (!dead) {
        EdgeValue& slot = to->slots[edge.slot];
        if (edge.is_last) {
          slot.tensor = std::move(output.tensor);
          slot.ref = std::move(output.ref);
        } else {
          CopyInto(slot.tensor, output.tensor);
          slot.ref = output.ref;
        }
      }
      if (edge.is_last) {
        Empty(output);
        next_output = edge.output + 1;
      }
      Arrive(edge, to, dead, from_enter);
    }
    while (next_output < item.num_outputs) Empty(outputs[next_output++]);
  }
  for (int32_t i = item.control_begin; i < item.edges_end; ++i) {
    Arrive(edges[i], to, is_dead, from_enter);
  }
}

void Step::DeliverPlain(const NodeItem& item, Iteration* iteration, Tensor& output) {
  const OutEdge* edge = graph_.edges.data() + item.edges_begin;
  const OutEdge* const control = graph_.edges.data() + item.control_begin;
  const OutEdge* const end = graph_.edges.data() + item.edges_end;
  if (item.direct_slot >= 0) {
    Arrive(*edge++, iteration, /*is_dead=*/false, /*from_enter=*/false);
  } else if (edge != control) {
    for (; edge + 1 != control; ++edge) {
      CopyInto(iteration->slots[edge->slot].tensor, output);
      Arrive(*edge, iteration, /*is_dead=*/false, /*from_enter=*/false);
    }
    iteration->slots[edge->slot].tensor = std::move(output);
    output.Clear();
    Arrive(*edge++, iteration, /*is_dead=*/false, /*from_enter=*/false);
  } else {
    output.Clear();
  }
  for (; edge != end; ++edge) {
    Arrive(*edge, iteration, /*is_dead=*/false, /*from_enter=*/false);
  }
  if (graph_.has_loops && --iteration->outstanding == 0) RetireIterations(iteration->frame);
}

void Step::ArriveAtMerge(const OutEdge& edge, Iteration* to, bool is_dead, bool from_enter) {
  const NodeItem& merge = graph_.nodes[edge.dst];
  uint32_t& state = to->states[edge.dst_state];
  const uint32_t num_inputs = static_cast<uint32_t>(merge.num_inputs);
  uint32_t dead = (state >> kMergeDeadShift) & kMergeDeadMask;
  if (edge.slot < 0) {
    state -= kMergeControl;
  } else if (!is_dead) {
    state &= ~kMergeWaits;
  } else if (dead < num_inputs) {
    // A loop that is entered dead never sends anything round: its Merge need not wait for the back
    // edge.
    const uint32_t more = from_enter ? num_inputs - dead : 1;
    state += more * kMergeDead;
    dead += more;
  }
  if ((state & (kMergeFired | kMergeControlMask)) != 0) return;
  if ((state & kMergeWaits) == 0 || dead == num_inputs) {
    state |= kMergeFired;
    MakeReady(merge, to);
  }
}

void Step::MakeReady(const NodeItem& item, Iteration* iteration) {
  ++iteration->outstanding;
  (item.Is(kIsUrgent) ? urgent_ : ready_).Push(&item, iteration);
}

}  // namespace tensorfleet::execute
