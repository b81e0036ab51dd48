#include "runtime/execute/frame.h"

#include <cstring>
#include <new>

namespace tensorfleet::execute {

FrameStore::~FrameStore() {
  for (Iteration* iteration : all_iterations_) {
    const int32_t num_slots = graph_.frames[iteration->layout].num_slots;
    for (int32_t i = 0; i < num_slots; ++i) iteration->slots[i].~EdgeValue();
  }
}

Iteration* FrameStore::MakeIteration(int32_t index) {
  const FrameLayout& layout = graph_.frames[index];
  Iteration* iteration = free_iterations_[index];
  if (iteration != nullptr) {
    free_iterations_[index] = iteration->next;
    iteration->next = nullptr;
  } else {
    // One block: the header, slots, children, state words, by falling alignment.
    static_assert(alignof(EdgeValue) <= alignof(Iteration) && sizeof(Iteration) % 8 == 0);
    const size_t slots = layout.num_slots * sizeof(EdgeValue);
    const size_t children = layout.num_children * sizeof(Frame*);
    const size_t states = layout.first_states.size() * sizeof(uint32_t);
    const size_t size = sizeof(Iteration) + slots + children + states;
    blocks_.push_back(std::make_unique<char[]>(size));
    bytes_ += size;
    char* at = blocks_.back().get();
    iteration = new (at) Iteration;
    at += sizeof(Iteration);
    iteration->slots = reinterpret_cast<EdgeValue*>(at);
    for (int32_t i = 0; i < layout.num_slots; ++i) new (iteration->slots + i) EdgeValue;
    at += slots;
    iteration->children = reinterpret_cast<Frame**>(at);
    at += children;
    iteration->states = reinterpret_cast<uint32_t*>(at);
    iteration->layout = index;
    all_iterations_.push_back(iteration);
  }
  iteration->outstanding = 0;
  std::fill_n(iteration->children, layout.num_children, nullptr);
  ResetStates(iteration);
  return iteration;
}

void FrameStore::FreeIteration(Iteration* iteration) {
  EmptySlots(iteration);
  iteration->next = free_iterations_[iteration->layout];
  free_iterations_[iteration->layout] = iteration;
}

Frame* FrameStore::MakeFrame(int32_t index) {
  Frame* frame = free_frames_;
  if (frame != nullptr) {
    free_frames_ = frame->next_free;
  } else {
    frame = &all_frames_.emplace_back();
  }
  const FrameLayout& layout = graph_.frames[index];
  frame->layout = &layout;
  frame->index = index;
  frame->pending_enters = layout.num_enters;
  frame->live_iterations = 0;
  frame->oldest = frame->newest = nullptr;
  frame->exited.assign(layout.exits.size(), false);
  return frame;
}

void FrameStore::FreeFrame(Frame* frame) {
  frame->invariants.clear();
  frame->deferred.clear();
  frame->next_free = free_frames_;
  free_frames_ = frame;
}

void FrameStore::ResetStates(Iteration* iteration) const {
  const std::vector<uint32_t>& first = graph_.frames[iteration->layout].first_states;
  if (!first.empty()) std::memcpy(iteration->states, first.data(), first.size() * sizeof(uint32_t));
}

void FrameStore::EmptySlots(Iteration* iteration) const {
  const int32_t num_slots = graph_.frames[iteration->layout].num_slots;
  for (int32_t i = 0; i < num_slots; ++i) Empty(iteration->slots[i]);
}

}  // namespace tensorfleet::execute
