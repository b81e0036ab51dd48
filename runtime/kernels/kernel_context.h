// One run of a kernel: its inputs, its outputs and the step around it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "runtime/base/cancellation.h"
#include "runtime/base/status.h"
#include "runtime/device/device.h"
#include "runtime/graph/graph.h"
#include "runtime/kernels/resource.h"
#include "runtime/kernels/resource_manager.h"
#include "runtime/tensor/tensor.h"

namespace tensorfleet {

class FunctionRunner;
class Rendezvous;

// Arguments and results of a compiled graph that is called like a function: `_Arg` and `_Retval`
// nodes read and write it. Each argument is read by one node, which takes it out, so that its
// buffer can be used again; each result is written at most once.
struct CallFrame {
  absl::Span<Tensor> args;
  absl::Span<Tensor> results;
};

// What all kernels of one step on one device share. Plain pointers: everything outlives the step.
struct StepContext {
  int64_t step_id = 0;
  Device* device = nullptr;
  Rendezvous* rendezvous = nullptr;
  CancellationManager* cancellation = nullptr;
  ResourceManager* resources = nullptr;  // of the device, or of an isolated session
  ResourceManager* step_resources =
      nullptr;  // dropped at the end of the step: tensor arrays, stacks
  FunctionRunner* functions = nullptr;
  CallFrame* frame = nullptr;
  int call_depth = 0;  // how many calls of functions this one is nested in
};

// What travels along an edge: a value, or a reference to a variable, or a dead mark.
struct EdgeValue {
  Tensor tensor;
  ResourceRef<Variable> ref;  // set for a reference
  bool is_dead = false;
};

class KernelContext {
 public:
  KernelContext(const Node* node, const StepContext* step, absl::Span<EdgeValue> inputs,
                absl::Span<EdgeValue> outputs, bool input_dead = false)
      : node_(node), step_(step), inputs_(inputs), outputs_(outputs), is_input_dead_(input_dead) {}

  const Node& node() const { return *node_; }
  const StepContext& step() const { return *step_; }
  ThreadPool& pool() const { return step_->device->pool(); }

  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  int num_outputs() const { return static_cast<int>(outputs_.size()); }
  // The value of input `i`. A variable that feeds a plain input was read before the kernel ran.
  const Tensor& input(int i) const { return inputs_[i].tensor; }
  bool has_input(int i) const { return inputs_[i].tensor.is_valid(); }
  // Takes the input out of the context, so that a sole holder can be written in place.
  Tensor TakeInput(int i) { return std::move(inputs_[i].tensor); }
  // The variable behind reference input `i`.
  Variable& ref_input(int i) const { return *inputs_[i].ref; }
  const ResourceRef<Variable>& ref_input_ptr(int i) const { return inputs_[i].ref; }

  // Memory for an output. Errors: ResourceExhausted.
  StatusOr<Tensor> Allocate(DType dtype, const Shape& shape) const {
    return Tensor::Allocate(dtype, shape);
  }
  StatusOr<Tensor> Allocate(DType dtype, std::initializer_list<int64_t> dims) const {
    return Tensor::Allocate(dtype, dims);
  }
  // A tensor of `dtype` and `shape` in input `i`'s own memory when nobody else holds it and type
  // and size fit, else in new memory. input(i) stays readable and may then be the same memory: an
  // element-wise kernel writes each element after it has read it. Errors: ResourceExhausted.
  StatusOr<Tensor> ForwardOrAllocate(int i, DType dtype, const Shape& shape);

  void SetOutput(int i, Tensor value) { outputs_[i].tensor = std::move(value); }
  void SetRefOutput(int i, ResourceRef<Variable> ref) { outputs_[i].ref = std::move(ref); }
  const Tensor& output(int i) const { return outputs_[i].tensor; }

  // For kernels that see dead inputs (_Send): whether any input is dead.
  bool is_input_dead() const { return is_input_dead_; }
  // For _Recv: marks every output dead.
  void SetOutputsDead() {
    for (EdgeValue& output : outputs_) output.is_dead = true;
  }
  // Loop position, 0 and 0 outside loops; what rendezvous keys end with.
  uint64_t frame_id() const { return frame_id_; }
  uint64_t iteration() const { return iteration_; }
  void set_position(uint64_t frame_id, uint64_t iteration) {
    frame_id_ = frame_id;
    iteration_ = iteration;
  }

 private:
  const Node* node_;
  const StepContext* step_;
  absl::Span<EdgeValue> inputs_;
  absl::Span<EdgeValue> outputs_;
  uint64_t frame_id_ = 0;
  uint64_t iteration_ = 0;
  bool is_input_dead_;
};

// The variable or other resource that scalar resource input `i` names.
// Errors: InvalidArgument when the handle belongs to another device; NotFound.
template <typename T>
StatusOr<ResourceRef<T>> LookupResource(KernelContext& ctx, int i);

const ResourceHandle* HandleFromInput(const KernelContext& ctx,
                                      int i);  // null when not a scalar handle
Status CheckHandleDevice(const KernelContext& ctx, const ResourceHandle& handle);

template <typename T>
StatusOr<ResourceRef<T>> LookupResource(KernelContext& ctx, int i) {
  const ResourceHandle* handle = HandleFromInput(ctx, i);
  if (handle == nullptr) return InvalidArgument("input ", i, " is not a scalar resource handle");
  TFLEET_RETURN_IF_ERROR(CheckHandleDevice(ctx, *handle));
  return ctx.step().resources->Find<T>(handle->container, handle->name);
}

// Splits [0, total) over the device's threads; see ThreadPool::ParallelFor. When the step is
// cancelled meanwhile, this throws, and with it ends the kernel.
template <typename Body>
void ParallelFor(const KernelContext& ctx, int64_t total, int64_t cost_per_unit, const Body& body) {
  ctx.pool().ParallelFor(total, cost_per_unit, body, ctx.step().cancellation);
}

// The same, and done to the end whatever comes: for what changes a variable in its place, which
// must not be left half changed.
template <typename Body>
void ParallelForWhole(const KernelContext& ctx, int64_t total, int64_t cost_per_unit,
                      const Body& body) {
  ctx.pool().ParallelFor(total, cost_per_unit, body);
}

// For long loops of one thread: Pass() in each round costs next to nothing and throws, as
// ParallelFor does, soon after the step was cancelled.
class LoopWatch {
 public:
  // `cost` of one round in nanoseconds, roughly.
  explicit LoopWatch(const KernelContext& ctx, int64_t cost = 4)
      : cancellation_(ctx.step().cancellation),
        period_(cost < kLookEvery ? kLookEvery / (cost < 1 ? 1 : cost) : 1),
        left_(period_) {}
  void Pass() {
    if (--left_ == 0) Look();
  }

 private:
  static constexpr int64_t kLookEvery = 1'000'000;  // nanoseconds
  void Look() {
    left_ = period_;
    if (cancellation_ != nullptr) cancellation_->LeaveIfCancelled();
  }
  const CancellationManager* const cancellation_;
  const int64_t period_;
  int64_t left_;
};

}  // namespace tensorfleet
