// One run of a compiled graph. All bookkeeping (pending counts, frames, ready nodes) is done by one
// thread at a time, the driver: it runs cheap nodes itself and hands expensive ones to the pool.
// Whatever finishes elsewhere is pushed on the inbox; when nobody drives, the pushing thread
// becomes the driver. So no count is atomic, and a step of cheap nodes runs from end to end on the
// thread that started it. A Step is used again for the next run of its graph. Private to the
// executor.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/execute/compiled_graph.h"
#include "runtime/execute/frame.h"
#include "runtime/kernels/kernel_context.h"

namespace tensorfleet {
class MemoryAccount;
class StepStatsCollector;
}  // namespace tensorfleet

namespace tensorfleet::execute {

class Step;
class Answer;

struct ReadyNode {
  const NodeItem* item;
  Iteration* iteration;
};

// A stack that grows. Fields are stored one by one: a node made on the stack and then copied as a
// whole would stall on its own stores.
class ReadyStack {
 public:
  explicit ReadyStack(size_t capacity) : nodes_(capacity) {}
  bool empty() const { return size_ == 0; }
  size_t bytes() const { return nodes_.size() * sizeof(ReadyNode); }
  void clear() { size_ = 0; }
  void Push(const NodeItem* item, Iteration* iteration) {
    if (size_ == nodes_.size()) nodes_.resize(2 * size_);
    nodes_[size_].item = item;
    nodes_[size_].iteration = iteration;
    ++size_;
  }
  const ReadyNode& Pop() { return nodes_[--size_]; }

 private:
  std::vector<ReadyNode> nodes_;
  size_t size_ = 0;
};

// A node that runs outside the driver's own stack: on the pool, or until an asynchronous kernel is
// done.
struct ActiveOp {
  Step* step = nullptr;
  const NodeItem* item = nullptr;
  Iteration* iteration = nullptr;
  EdgeValue* outputs = nullptr;
  bool is_dead = false;
  ActiveOp* next = nullptr;  // in the inbox, then in the list of free ones
  // An asynchronous kernel that was started on the pool ends twice: by calling done, and by
  // returning.
  std::atomic<int> holds{1};
  Status status;
  std::optional<KernelContext> context;
  std::unique_ptr<EdgeValue[]> own_outputs;
  int64_t ready_nanos = 0, start_nanos = 0, end_nanos = 0;  // when traced
};

class Step {
 public:
  // Called at the end with the step, which may then be used again, and its result.
  using Done = std::function<void(Status)>;
  using Recycle = void (*)(void* executor, Step* step);

  explicit Step(const CompiledGraph& graph);
  ~Step();
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;

  // The memory that it keeps for its next run.
  size_t bytes() const;

  // `recycle(executor, this)` is called before `done`; the step may be gone after it.
  void Start(const StepContext& context, StepStatsCollector* stats, MemoryAccount* memory,
             bool caller_may_work, bool measure, Done done, Recycle recycle, void* executor);

 private:
  friend class Answer;

  // step.cc: the driver.
  void Drive(ActiveOp* completed, bool may_work);
  void RunReady();
  // RunNode, Completed: what throws, the kernel or the step's own bookkeeping, fails the step.
  void RunNode(const NodeItem& item, Iteration* iteration);
  Status Compute(const NodeItem& item, KernelContext& context) const;
  void RunDead(const NodeItem& item, Iteration* iteration);
  void RunTraced(const NodeItem& item, KernelContext& context, absl::Span<const EdgeValue> outputs,
                 Status* status);
  Status CheckOutputs(const NodeItem& item, absl::Span<EdgeValue> outputs) const;
  Status ReadRefs(const NodeItem& item, absl::Span<EdgeValue> inputs) const;
  bool IsDead(const NodeItem& item, const Iteration& iteration) const;
  void Fail(Status status);
  void Finish();

  // active_op.cc: nodes that run elsewhere, and the inbox.
  void StartExpensive(const NodeItem& item, Iteration* iteration, bool is_dead);
  void StartAsync(const NodeItem& item, Iteration* iteration, bool is_dead);
  ActiveOp* MakeActive(const NodeItem& item, Iteration* iteration, bool is_dead);
  void FreeActive(ActiveOp* op);
  // Runs the kernel. True when it is over and the caller holds its completion.
  bool Execute(ActiveOp* op, bool is_driver);
  void LaunchAsync(ActiveOp* op);
  void RunOnPool(ActiveOp* op);
  void ScheduleHeld();
  void Complete(ActiveOp* op);
  // Whether the caller has become the driver; if not, `op` is in the inbox.
  bool EnterOrPush(ActiveOp* op);
  bool TryLeave();
  void DrainInbox();
  void Completed(ActiveOp* op);

  // propagate.cc: values to their consumers.
  void Propagate(const NodeItem& item, Iteration* iteration, EdgeValue* outputs, bool is_dead);
  // Moves `outputs` along the edges into slots of `to`; every output is left empty.
  void Deliver(const NodeItem& item, Iteration* to, EdgeValue* outputs, bool is_dead);
  // The short way for a live node that is kIsPlain.
  void DeliverPlain(const NodeItem& item, Iteration* iteration, Tensor& output);
  void Arrive(const OutEdge& edge, Iteration* to, bool is_dead, bool from_enter);
  void ArriveAtMerge(const OutEdge& edge, Iteration* to, bool is_dead, bool from_enter);
  void MakeReady(const NodeItem& item, Iteration* iteration);

  // loop.cc: frames and iterations.
  void PropagateEnter(const NodeItem& item, Iteration* from, EdgeValue* outputs, bool is_dead);
  void PropagateExit(const NodeItem& item, Iteration* from, EdgeValue* outputs);
  void PropagateNext(const NodeItem& item, Iteration* from, EdgeValue* outputs);
  Frame* ChildFrame(const NodeItem& enter, Iteration* parent);
  Iteration* AddIteration(Frame* frame);
  // Ends the oldest iterations of a frame that have nothing left to do, and the frame after the
  // last one.
  void RetireIterations(Frame* frame);
  void EndFrame(Frame* frame);
  void DropFrames(Iteration* iteration);

  const CompiledGraph& graph_;
  FrameStore frames_;
  Frame root_frame_;
  Iteration* root_;

  StepContext context_;
  StepStatsCollector* stats_ = nullptr;
  MemoryAccount* memory_ = nullptr;
  bool measure_ = false;
  Done done_;
  Recycle recycle_ = nullptr;
  void* executor_ = nullptr;
  int64_t abort_token_ = -1;

  // The driver's.
  ReadyStack ready_;  // last in, first out: a consumer finds its input in the cache
  ReadyStack urgent_;
  std::vector<EdgeValue> scratch_;  // outputs of the node that the driver runs
  ActiveOp* held_ = nullptr;  // an expensive node, kept for this thread while it has cheap ones
  int ran_since_held_ = 0;
  int64_t in_flight_ = 0;  // active ops, the held one included
  bool failed_ = false;
  Status status_;
  ActiveOp* free_ops_ = nullptr;
  std::vector<std::unique_ptr<ActiveOp>> all_ops_;

  // What finished elsewhere, newest first; null while driven and empty; NoDriver() while nobody
  // drives.
  static ActiveOp* NoDriver() { return reinterpret_cast<ActiveOp*>(1); }
  alignas(64) std::atomic<ActiveOp*> inbox_{NoDriver()};
};

}  // namespace tensorfleet::execute
