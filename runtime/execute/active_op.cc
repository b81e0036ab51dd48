// Nodes that run outside the driver's own stack, and how their completions find the driver.
#include "runtime/execute/active_op.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>

#include "runtime/base/contain.h"
#include "runtime/execute/step.h"
#include "runtime/execute/step_stats.h"
#include "runtime/kernels/value_readers.h"
#include "runtime/tensor/memory_account.h"

namespace tensorfleet::execute {

thread_local int DriveDepth::depth_ = 0;

// What an asynchronous kernel answers with, shared by the copies of its `done`. One that has let go
// of them all without an answer, as when something threw far from here, has failed.
class Answer {
 public:
  explicit Answer(ActiveOp* op) : op_(op) {}
  Answer(const Answer&) = delete;
  Answer& operator=(const Answer&) = delete;
  ~Answer() { Give(Internal("the kernel was broken off before it gave an answer")); }
  // The first one counts.
  void Give(Status status) {
    ActiveOp* const op = op_.exchange(nullptr, std::memory_order_acq_rel);
    if (op == nullptr) return;
    op->status = std::move(status);
    op->end_nanos = op->step->stats_ != nullptr ? NowNanos() : 0;
    op->step->Complete(op);
  }

 private:
  std::atomic<ActiveOp*> op_;
};

namespace {

void EmptyInputs(const ActiveOp& op) {
  EdgeValue* const inputs = op.iteration->slots + op.item->input_begin;
  for (int i = 0; i < op.item->num_inputs; ++i) Empty(inputs[i]);
  ValueReaders::MayHaveLeft();
}

}  // namespace

void RecordCost(const NodeItem& item, int64_t nanos) {
  const uint32_t sample = static_cast<uint32_t>(std::clamp<int64_t>(nanos, 0, kUnknownCost - 1));
  const uint32_t known = item.cost.load(std::memory_order_relaxed);
  const bool is_first = known == kUnknownCost || known == 0;
  item.cost.store(is_first ? sample : known - known / 4 + sample / 4, std::memory_order_relaxed);
}

ActiveOp* Step::MakeActive(const NodeItem& item, Iteration* iteration, bool is_dead) {
  ActiveOp* op = free_ops_;
  if (op != nullptr) {
    free_ops_ = op->next;
  } else {
    all_ops_.push_back(std::make_unique<ActiveOp>());
    op = all_ops_.back().get();
    op->step = this;
  }
  op->item = &item;
  op->iteration = iteration;
  op->is_dead = is_dead;
  op->holds.store(1, std::memory_order_relaxed);
  if (item.direct_slot >= 0) {
    op->outputs = iteration->slots + item.direct_slot;
  } else {
    if (op->own_outputs == nullptr) op->own_outputs.reset(new EdgeValue[graph_.max_outputs]);
    op->outputs = op->own_outputs.get();
  }
  op->context.emplace(item.node, &context_,
                      absl::MakeSpan(iteration->slots + item.input_begin, item.num_inputs),
                      absl::MakeSpan(op->outputs, item.num_outputs), is_dead);
  op->context->set_position(iteration->frame->id, iteration->number);
  if (stats_ != nullptr) op->ready_nanos = NowNanos();
  ++in_flight_;
  return op;
}

void Step::FreeActive(ActiveOp* op) {
  op->status = OkStatus();
  op->next = free_ops_;
  free_ops_ = op;
}

void Step::StartExpensive(const NodeItem& item, Iteration* iteration, bool is_dead) {
  if (held_ != nullptr) ScheduleHeld();
  held_ = MakeActive(item, iteration, is_dead);
  ran_since_held_ = 0;
}

void Step::ScheduleHeld() {
  ActiveOp* op = std::exchange(held_, nullptr);
  context_.device->pool().Schedule([op] { op->step->RunOnPool(op); });
}

void Step::StartAsync(const NodeItem& item, Iteration* iteration, bool is_dead) {
  ActiveOp* op = MakeActive(item, iteration, is_dead);
  if (!measure_) return LaunchAsync(op);
  const int64_t start = NowNanos();
  LaunchAsync(op);
  RecordCost(item, NowNanos() - start);
}

void Step::LaunchAsync(ActiveOp* op) {
  const bool timed = measure_ || stats_ != nullptr;
  if (timed) op->start_nanos = NowNanos();
  auto answer = std::make_shared<Answer>(op);
  Status thrown = Contained([&] {
    op->item->async->ComputeAsync(*op->context,
                                  [answer](Status status) { answer->Give(std::move(status)); });
  });
  if (thrown.ok()) return;
  // Whoever has the answer in hand all the same is told to hurry.
  if (context_.cancellation != nullptr && answer.use_count() > 1) {
    context_.cancellation->StartCancel(MarkDerived(thrown));
  }
  answer->Give(std::move(thrown));
}

bool Step::Execute(ActiveOp* op, bool is_driver) {
  const NodeItem& item = *op->item;
  if (item.async == nullptr) {
    const bool timed = measure_ || stats_ != nullptr;
    op->start_nanos = timed ? NowNanos() : 0;
    op->status = Contained([&] { return item.kernel->Compute(*op->context); });
    op->end_nanos = timed ? NowNanos() : 0;
    // Now rather than when the driver has time: it may be the driver that waits for them.
    EmptyInputs(*op);
    if (timed) RecordCost(item, op->end_nanos - op->start_nanos);
    return true;
  }
  // While this thread drives, the step cannot end under the kernel's feet; else a second hold sees
  // to it.
  if (!is_driver) op->holds.store(2, std::memory_order_relaxed);
  const bool measure = measure_;
  const int64_t start = measure ? NowNanos() : 0;
  LaunchAsync(op);
  if (measure) RecordCost(item, NowNanos() - start);
  return !is_driver && op->holds.fetch_sub(1, std::memory_order_acq_rel) == 1;
}

void Step::RunOnPool(ActiveOp* op) {
  const MemoryAccount::Scope scope(memory_);
  if (!Execute(op, /*is_driver=*/false)) return;
  if (EnterOrPush(op)) Drive(op, /*may_work=*/true);
}

void Step::Complete(ActiveOp* op) {
  if (op->holds.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  // After EnterOrPush has pushed, the step may be gone.
  const bool is_ok = op->status.ok();
  if (!EnterOrPush(op)) return;
  const bool is_cancelled =
      context_.cancellation != nullptr && context_.cancellation->is_cancelled();
  if (is_ok && !is_cancelled && !DriveDepth::IsDeep()) return Drive(op, /*may_work=*/false);
  // This may be a callback of a cancellation, which whoever ends the step wants to take down.
  context_.device->pool().Schedule([this, op] { Drive(op, /*may_work=*/true); });
}

bool Step::EnterOrPush(ActiveOp* op) {
  ActiveOp* head = inbox_.load(std::memory_order_acquire);
  while (true) {
    if (head == NoDriver()) {
      if (inbox_.compare_exchange_weak(head, nullptr, std::memory_order_acq_rel)) return true;
    } else {
      op->next = head;
      if (inbox_.compare_exchange_weak(head, op, std::memory_order_acq_rel)) return false;
    }
  }
}

bool Step::TryLeave() {
  ActiveOp* expected = nullptr;
  return inbox_.compare_exchange_strong(expected, NoDriver(), std::memory_order_acq_rel);
}

void Step::DrainInbox() {
  ActiveOp* op = inbox_.exchange(nullptr, std::memory_order_acq_rel);
  while (op != nullptr) {
    ActiveOp* next = op->next;
    Completed(op);
    op = next;
  }
}

void Step::Completed(ActiveOp* op) {
  const NodeItem& item = *op->item;
  --in_flight_;
  const absl::Span<EdgeValue> outputs(op->outputs, item.num_outputs);
  if (stats_ != nullptr && item.Is(kIsTraced)) {
    stats_->AddNode(*item.node, context_.device->name(),
                    {op->ready_nanos, op->start_nanos, op->end_nanos, NowNanos()}, outputs);
  }
  Status status = std::move(op->status);
  if (status.ok()) status = CheckOutputs(item, outputs);
  EmptyInputs(*op);
  if (!status.ok() || failed_) {
    for (EdgeValue& output : outputs) Empty(output);
    FreeActive(op);
    if (!status.ok()) Fail(WithNode(status, item.node->name()));
    return;
  }
  Status thrown = Contained([&] { Propagate(item, op->iteration, op->outputs, op->is_dead); });
  if (!thrown.ok()) {
    for (EdgeValue& output : outputs) Empty(output);
    Fail(WithNode(thrown, item.node->name()));
  }
  FreeActive(op);
}

}  // namespace tensorfleet::execute
