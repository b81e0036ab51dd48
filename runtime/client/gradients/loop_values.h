// The values of a loop's rounds, for the loop that goes back over them: each value that is needed
// is pushed on a stack in its round, and popped in the round that goes back over it.
#pragma once

#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "runtime/client/gradients/context.h"
#include "runtime/client/gradients/loops.h"
#include "runtime/client/loop_frame.h"

namespace tensorfleet {

class LoopValues final : public ForwardValues {
 public:
  // `forward` is what was added to the loop itself, with a variable that counts its rounds;
  // `backward` the loop of its gradient, whose rounds are as many. `outer` gives values of the
  // frame around the loop. All must outlive this.
  LoopValues(Loops& loops, Loop* loop, LoopFrame& forward, int counter, LoopFrame& backward,
             ForwardValues* outer);

  Output Value(const Scope& scope, const Output& output) override;
  Output Shape(const Scope& scope, const Output& output, DType dtype) override;
  Output Measured(const Scope& scope, const Output& output, Measure measure) override;
  void Await(const Operation& op) override;
  Output EnterForward(const Output& value) override;
  Output EnterBackward(const Output& value) override;
  Scope Outside() const override { return outer_->Outside(); }
  bool IsInLoop() const override { return true; }
  // Rounds may overlap; the count of one is not there before the last one's pushes are done.
  Scope ForwardRound() const override {
    return forward_.body_scope().After({forward_.InBody(counter_).op()});
  }

  // In the rounds of the gradient: pops what is there for `like`, a value of the loop, where that
  // was there in its round; pushes on a new stack, which is returned.
  Output Pop(const Output& stack, const Output& like);
  Output Push(const Output& value);

  // Run once all pushes of a round, or all pops, are done: the next round must wait for them.
  const Operation& pushed() const { return pushed_; }
  const Operation& popped() const { return popped_; }

 private:
  Output Popped(const Output& output);
  // Where the ops that use a value of these branches may run.
  Scope Guarded(const std::vector<Branch>& branches);

  Loops& loops_;
  Loop* const loop_;
  LoopFrame& forward_;
  const int counter_;
  LoopFrame& backward_;
  ForwardValues* const outer_;
  Operation pushed_, popped_;
  absl::flat_hash_map<std::pair<int, int>, Output> values_;  // by node id and output
  // Ops of the loop itself, by what they measure: node id and output.
  absl::flat_hash_map<std::tuple<int, int, Measure>, Output> measures_;
};

}  // namespace tensorfleet
