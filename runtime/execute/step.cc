#include "runtime/execute/step.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/contain.h"
#include "runtime/base/flush_denormals.h"
#include "runtime/execute/active_op.h"
#include "runtime/execute/step_stats.h"
#include "runtime/kernels/rendezvous.h"
#include "runtime/kernels/value_readers.h"
#include "runtime/tensor/memory_account.h"

namespace tensorfleet::execute {
namespace {

// After so many cheap nodes an expensive one no longer waits for this thread.
constexpr int kMaxRunsWhileHolding = 32;

}  // namespace

Step::Step(const CompiledGraph& graph)
    : graph_(graph),
      frames_(graph),
      ready_(graph.nodes.size() + 1),
      urgent_(16),
      scratch_(graph.max_outputs) {
  root_frame_.layout = &graph.frames[0];
  root_frame_.pending_enters = 1;  // never ends by itself
  root_ = frames_.MakeIteration(0);
  root_->frame = &root_frame_;
  root_frame_.oldest = root_frame_.newest = root_;
}

Step::~Step() = default;

size_t Step::bytes() const {
  return sizeof(Step) + frames_.bytes() + ready_.bytes() + urgent_.bytes() +
         scratch_.size() * sizeof(EdgeValue) + all_ops_.size() * sizeof(ActiveOp);
}

void Step::Start(const StepContext& context, StepStatsCollector* stats, MemoryAccount* memory,
                 bool caller_may_work, bool measure, Done done, Recycle recycle, void* executor) {
  context_ = context;
  stats_ = stats;
  memory_ = memory;
  measure_ = measure;
  done_ = std::move(done);
  recycle_ = recycle;
  executor_ = executor;
  failed_ = false;
  status_ = OkStatus();
  inbox_.store(nullptr, std::memory_order_relaxed);  // this thread drives
  if (stats_ != nullptr) stats_->AddSource(context_.device->name(), NowNanos());
  if (graph_.has_recv && context_.cancellation != nullptr && context_.rendezvous != nullptr) {
    // Receives wait in the rendezvous; one callback ends them all.
    abort_token_ = context_.cancellation->Register(
        [rendezvous = context_.rendezvous, cancellation = context_.cancellation] {
          rendezvous->StartAbort(MarkDerived(cancellation->status()));
        });
  }
  for (auto it = graph_.roots.rbegin(); it != graph_.roots.rend(); ++it) {
    MakeReady(graph_.nodes[*it], root_);
  }
  if (DriveDepth::IsDeep()) {
    context_.device->pool().Schedule([this] { Drive(nullptr, /*may_work=*/true); });
    return;
  }
  Drive(nullptr, caller_may_work);
}

void Step::Drive(ActiveOp* completed, bool may_work) {
  DriveDepth depth;
  const MemoryAccount::Scope scope(memory_);
  const ScopedFlushDenormals flush;  // this may be any thread that completed something
  while (true) {
    if (completed != nullptr) Completed(std::exchange(completed, nullptr));
    RunReady();
    if (held_ == nullptr) {
      if (in_flight_ == 0) return Finish();
      if (TryLeave()) return;
      DrainInbox();
      continue;
    }
    // Only expensive nodes are left for this thread.
    if (!may_work) {
      ScheduleHeld();
      continue;
    }
    ActiveOp* op = std::exchange(held_, nullptr);
    if (in_flight_ == 1) {  // nobody else can complete anything meanwhile
      if (Execute(op, /*is_driver=*/true)) completed = op;
      continue;
    }
    if (!TryLeave()) {
      held_ = op;
      DrainInbox();
      continue;
    }
    if (!Execute(op, /*is_driver=*/false)) return;
    if (!EnterOrPush(op)) return;
    completed = op;
  }
}

void Step::RunReady() {
  CancellationManager* const cancellation = context_.cancellation;
  while (true) {
    if (urgent_.empty() && ready_.empty()) return;
    const ReadyNode& next = urgent_.empty() ? ready_.Pop() : urgent_.Pop();
    if (cancellation != nullptr && cancellation->is_cancelled() && !failed_) {
      Fail(cancellation->status());
    }
    if (failed_) {
      // Nothing new is started; frames are dropped as a whole at the end.
      urgent_.clear();
      ready_.clear();
      return;
    }
    const ReadyNode node = next;  // the stacks may grow
    Status thrown = Contained([&] { RunNode(*node.item, node.iteration); });
    if (!thrown.ok()) [[unlikely]] {
      for (EdgeValue& output : scratch_) Empty(output);
      Fail(WithNode(thrown, node.item->node->name()));
    }
    if (inbox_.load(std::memory_order_relaxed) != nullptr) DrainInbox();
    if (held_ != nullptr && ++ran_since_held_ > kMaxRunsWhileHolding) ScheduleHeld();
  }
}

bool Step::IsDead(const NodeItem& item, const Iteration& iteration) const {
  const uint32_t state = iteration.states[item.state];
  if (item.Is(kIsMerge)) return (state & kMergeWaits) != 0;
  return (state & kDeadBit) != 0 && !item.Is(kIsControlTrigger);
}

void Step::RunNode(const NodeItem& item, Iteration* iteration) {
  const bool is_dead = IsDead(item, *iteration);
  if (is_dead && !item.Is(kIsTransfer)) return RunDead(item, iteration);
  const absl::Span<EdgeValue> inputs(iteration->slots + item.input_begin, item.num_inputs);
  if (item.Is(kHasRefInputs) && !is_dead) {
    Status status = ReadRefs(item, inputs);
    if (!status.ok()) return Fail(WithNode(status, item.node->name()));
  }
  if (item.cost.load(std::memory_order_relaxed) > kExpensiveNanos) {
    return StartExpensive(item, iteration, is_dead);
  }
  if (item.async != nullptr) return StartAsync(item, iteration, is_dead);

  const absl::Span<EdgeValue> outputs(
      item.direct_slot >= 0 ? iteration->slots + item.direct_slot : scratch_.data(),
      item.num_outputs);
  KernelContext context(item.node, &context_, inputs, outputs, is_dead);
  context.set_position(iteration->frame->id, iteration->number);
  Status status;
  if (!measure_ && stats_ == nullptr) {
    status = Compute(item, context);
  } else {
    RunTraced(item, context, outputs, &status);
  }
  for (EdgeValue& input : inputs) Empty(input);
  ValueReaders::MayHaveLeft();
  if (item.Is(kIsPlain) && status.ok() && outputs[0].tensor.dtype() == item.output_type)
      [[likely]] {
    return DeliverPlain(item, iteration, outputs[0].tensor);
  }
  if (status.ok()) status = CheckOutputs(item, outputs);
  if (!status.ok()) {
    for (EdgeValue& output : outputs) Empty(output);
    return Fail(WithNode(status, item.node->name()));
  }
  Propagate(item, iteration, outputs.data(), is_dead);
}

Status Step::Compute(const NodeItem& item, KernelContext& context) const {
  return Contained([&] { return item.kernel->Compute(context); });
}

void Step::RunTraced(const NodeItem& item, KernelContext& context,
                     absl::Span<const EdgeValue> outputs, Status* status) {
  const int64_t start = NowNanos();
  *status = Compute(item, context);
  const int64_t end = NowNanos();
  RecordCost(item, end - start);
  if (stats_ != nullptr && item.Is(kIsTraced)) {
    stats_->AddNode(*item.node, context_.device->name(), {start, start, end, NowNanos()}, outputs);
  }
}

void Step::RunDead(const NodeItem& item, Iteration* iteration) {
  for (int i = 0; i < item.num_inputs; ++i) Empty(iteration->slots[item.input_begin + i]);
  Propagate(item, iteration, /*outputs=*/nullptr, /*is_dead=*/true);
}

Status Step::ReadRefs(const NodeItem& item, absl::Span<EdgeValue> inputs) const {
  for (int32_t i = item.refs_begin; i < item.refs_end; ++i) {
    const RefInput& want = graph_.ref_inputs[i];
    EdgeValue& input = inputs[want.input];
    if (!input.ref) continue;
    bool initialized;
    if (want.read) {
      input.tensor = input.ref->Read();
      input.ref = {};
      initialized = input.tensor.is_valid();
    } else {
      initialized = input.ref->is_initialized();
    }
    if (!initialized && want.must_be_initialized) {
      return FailedPrecondition("Attempting to use uninitialized value ", want.variable);
    }
  }
  return OkStatus();
}

Status Step::CheckOutputs(const NodeItem& item, absl::Span<EdgeValue> outputs) const {
  const DType* const types = graph_.output_types.data() + item.output_types;
  for (int i = 0; i < item.num_outputs; ++i) {
    const EdgeValue& output = outputs[i];
    const DType type = output.tensor.dtype();
    if (type == types[i]) [[likely]]
      continue;
    if (output.ref && BaseType(types[i]) == output.ref->dtype() &&
        (IsRef(types[i]) || item.Is(kPassesReference))) {
      continue;
    }
    if (!HasValue(output)) {
      if (output.is_dead || item.Is(kMayLeaveOutputs)) continue;
      return Internal("Missing ", i, "-th output from {{node ", item.node->name(), "}}");
    }
    return Internal("Output ", i, " of type ",
                    DTypeName(output.ref ? RefTo(output.ref->dtype()) : type),
                    " does not match declared output type ", DTypeName(types[i]),
                    " for node {{node ", item.node->name(), "}}");
  }
  return OkStatus();
}

void Step::Fail(Status status) {
  if (failed_) {
    // A root cause beats the echo of one elsewhere; what our own cancellation caused is an echo
    // too.
    const bool is_root = !IsDerived(status) && !absl::IsCancelled(status);
    if (is_root && IsDerived(status_)) status_ = std::move(status);
    return;
  }
  failed_ = true;
  status_ = std::move(status);
  if (held_ != nullptr) {
    --in_flight_;
    FreeActive(std::exchange(held_, nullptr));
  }
  const Status echo = MarkDerived(status_);
  if (context_.rendezvous != nullptr) context_.rendezvous->StartAbort(echo);
  if (context_.cancellation != nullptr) context_.cancellation->StartCancel(echo);
}

void Step::Finish() {
  if (abort_token_ >= 0) {
    context_.cancellation->Deregister(abort_token_);
    abort_token_ = -1;
  }
  if (failed_ || !graph_.leaves_nothing) {
    DropFrames(root_);
    frames_.EmptySlots(root_);
    root_->outstanding = 0;
  }
  frames_.ResetStates(root_);
  urgent_.clear();
  ready_.clear();
  Done done = std::move(done_);
  done_ = nullptr;
  Status status = std::move(status_);
  status_ = OkStatus();
  recycle_(executor_, this);
  const MemoryAccount::Scope nobody(nullptr);  // with `done` the account may go
  done(std::move(status));
}

}  // namespace tensorfleet::execute
