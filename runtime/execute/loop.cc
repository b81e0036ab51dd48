// Frames and iterations of loops in one step (facts: tf-protocol.md, B.10).
#include <utility>

#include "runtime/execute/frame_id.h"
#include "runtime/execute/step.h"

namespace tensorfleet::execute {

Frame* Step::ChildFrame(const NodeItem& enter, Iteration* parent) {
  Frame*& child = parent->children[enter.enter_or_exit];
  if (child == nullptr) {
    child = frames_.MakeFrame(enter.child_frame);
    child->parent = parent;
    child->id = ChildFrameId(parent->frame->id, parent->number, child->layout->name_hash);
    ++parent->outstanding;
    AddIteration(child);
  }
  return child;
}

Iteration* Step::AddIteration(Frame* frame) {
  Iteration* iteration = frames_.MakeIteration(frame->index);
  iteration->frame = frame;
  iteration->number = frame->newest == nullptr ? 0 : frame->newest->number + 1;
  (frame->newest == nullptr ? frame->oldest : frame->newest->next) = iteration;
  frame->newest = iteration;
  ++frame->live_iterations;
  for (const Frame::Invariant& invariant : frame->invariants) {
    EdgeValue copy = invariant.value;
    Deliver(*invariant.enter, iteration, &copy, invariant.is_dead);
  }
  return iteration;
}

void Step::PropagateEnter(const NodeItem& item, Iteration* from, EdgeValue* outputs, bool is_dead) {
  Frame* frame = ChildFrame(item, from);
  --frame->pending_enters;
  if (item.Is(kIsConstantEnter)) {
    EdgeValue value;
    if (outputs != nullptr) std::swap(value, outputs[0]);
    for (Iteration* i = frame->oldest; i != nullptr; i = i->next) {
      EdgeValue copy = value;
      Deliver(item, i, &copy, is_dead);
    }
    frame->invariants.push_back({&item, std::move(value), is_dead});
  } else {
    Deliver(item, frame->oldest, outputs, is_dead);
  }
  RetireIterations(frame);
}

void Step::PropagateExit(const NodeItem& item, Iteration* from, EdgeValue* outputs) {
  Frame* frame = from->frame;
  if (frame->exited[item.enter_or_exit]) {
    Empty(outputs[0]);
    return Fail(InvalidArgument("{{node ", item.node->name(), "}} left frame '",
                                frame->layout->name, "' with a value more than once"));
  }
  frame->exited[item.enter_or_exit] = true;
  Deliver(item, frame->parent, outputs, /*is_dead=*/false);
}

void Step::PropagateNext(const NodeItem& item, Iteration* from, EdgeValue* outputs) {
  Frame* frame = from->frame;
  Iteration* next = from->next;
  if (next == nullptr) {
    if (frame->live_iterations >= frame->layout->parallel_iterations) {
      frame->deferred.push_back({&item, std::move(outputs[0])});
      Empty(outputs[0]);
      return;
    }
    next = AddIteration(frame);
  }
  Deliver(item, next, outputs, /*is_dead=*/false);
}

void Step::RetireIterations(Frame* frame) {
  // Until every Enter has come, any iteration may get more to do.
  while (frame->pending_enters == 0 && frame->oldest->outstanding == 0) {
    Iteration* done = frame->oldest;
    --frame->live_iterations;
    if (!frame->deferred.empty()) {
      Iteration* next = AddIteration(frame);
      for (Frame::Deferred& deferred : frame->deferred) {
        Deliver(*deferred.next_iteration, next, &deferred.value, /*is_dead=*/false);
      }
      frame->deferred.clear();
    }
    frame->oldest = done->next;
    frames_.FreeIteration(done);
    if (frame->oldest == nullptr) return EndFrame(frame);
  }
}

void Step::EndFrame(Frame* frame) {
  Iteration* parent = frame->parent;
  for (size_t i = 0; i < frame->exited.size(); ++i) {
    if (frame->exited[i]) continue;
    Deliver(graph_.nodes[frame->layout->exits[i]], parent, /*outputs=*/nullptr, /*is_dead=*/true);
  }
  parent->children[frame->layout->index_in_parent] = nullptr;
  frames_.FreeFrame(frame);
  if (--parent->outstanding == 0) RetireIterations(parent->frame);
}

void Step::DropFrames(Iteration* iteration) {
  const int32_t num_children = graph_.frames[iteration->layout].num_children;
  for (int32_t i = 0; i < num_children; ++i) {
    Frame* frame = std::exchange(iteration->children[i], nullptr);
    if (frame == nullptr) continue;
    for (Iteration* at = frame->oldest; at != nullptr;) {
      Iteration* next = at->next;
      DropFrames(at);
      frames_.FreeIteration(at);
      at = next;
    }
    frames_.FreeFrame(frame);
  }
}

}  // namespace tensorfleet::execute
