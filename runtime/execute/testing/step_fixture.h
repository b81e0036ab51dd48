// For tests of the executor: graphs of int64 scalars from a handful of ops with known behaviour,
// next to the real ops of control flow, functions and transfers. Linked into tests only.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/base/cancellation.h"
#include "runtime/base/thread_pool.h"
#include "runtime/execute/executor.h"
#include "runtime/execute/function_runtime.h"
#include "runtime/execute/local_rendezvous.h"
#include "runtime/graph/attr.h"
#include "runtime/graph/graph.h"

namespace tensorfleet {

// The ops, all on int64 scalars unless said:
//   Value(v)  Identity(x)  Neg(x)  Add(x, y)  Less(x, y) -> bool  Positive(x) -> bool
//   Sum(xs...)            waits for all of them
//   Slow(x; micros)       expensive: sleeps, then passes x on
//   Later(x; micros)      asynchronous: passes x on from another thread
//   Never(x)              asynchronous: ends only when the step is cancelled
//   FailsLate(x; message) asynchronous: fails, with an error of its own, when the step is cancelled
//   Dies(x)               asynchronous: gives a dead value, and ends once a Count has run
//   Fail(x; message)      fails
//   Throws(x; what)       throws: "memory", "length", or an error with this text; "made": when made
//   ThrowsLater(x; what)  asynchronous: throws, when `what` is empty on a pool thread
//   Flushes()             1 on a thread that flushes denormals, else 0
//   Count(x)              passes x on and counts its runs in StepFixture::runs
//   Var -> Ref            a reference variable of its own;  Assign(ref, x) -> ref;  IsInit(ref) ->
//   bool Matrix(n) -> float    n * n ones;  Pointer(float) -> (float, int64): passes on, and says
//   where the data is
const OpRegistry& TestOps();
const KernelRegistry& TestKernels();

// Builds a GraphDef node by node.
class GraphText {
 public:
  // `inputs` as in a NodeDef. Attribute T (and N of a Merge or a Sum) is set to int64 where the op
  // has it.
  class NodeRef {
   public:
    explicit NodeRef(tensorflow::NodeDef* def) : def_(def) {}
    template <typename T>
    NodeRef& Attr(absl::string_view name, const T& value) {
      SetAttr(def_, name, value);
      return *this;
    }

   private:
    tensorflow::NodeDef* def_;
  };
  NodeRef Add(const std::string& name, const std::string& op, std::vector<std::string> inputs = {});
  NodeRef Value(const std::string& name, int64_t v) { return Add(name, "Value").Attr("v", v); }
  NodeRef Arg(int index) { return Add("arg" + std::to_string(index), "_Arg").Attr("index", index); }
  NodeRef Return(int index, const std::string& input, DType type = DType::kInt64) {
    return Add("ret" + std::to_string(index), "_Retval", {input})
        .Attr("index", index)
        .Attr("T", type);
  }
  const tensorflow::GraphDef& def() const { return def_; }

  // `name`: while (i < limit) i = i + step, from `start`; the last value is "NAME/exit". With
  // `body_of`, that node replaces i + step, fed by "NAME/switch:1".
  void CountingLoop(const std::string& name, const std::string& start, const std::string& limit,
                    const std::string& step, int parallel_iterations = 10);

 private:
  tensorflow::GraphDef def_;
};

class StepFixture : public ::testing::Test {
 protected:
  StepFixture();
  ~StepFixture() override;

  // What runs count: how often any Count node ran since the test began.
  static std::atomic<int64_t>& runs();
  // Called by Count nodes with that number, where they run; null: not.
  static std::function<void(int64_t)>& on_count();
  // How many Never and FailsLate nodes have begun to wait since the test began.
  static std::atomic<int64_t>& waits();
  // Calls `then` on another thread as soon as `is_so`; joined when the test ends.
  void When(std::function<bool()> is_so, std::function<void()> then);

  StatusOr<std::unique_ptr<Executor>> Compile(const GraphText& graph);
  // With args as `_Arg`s; waits at most a minute.
  StatusOr<std::vector<Tensor>> RunTensors(const Executor& executor, std::vector<Tensor> args,
                                           int num_results);
  StatusOr<std::vector<int64_t>> Run(const Executor& executor, std::vector<int64_t> args,
                                     int num_results);
  StatusOr<std::vector<int64_t>> Run(const GraphText& graph, int num_results = 1,
                                     std::vector<int64_t> args = {});
  // Adds a function with int64 arguments and results (`outputs`: result name to "node:output:0").
  void AddFunction(const std::string& text);

  // A fresh one for the next run.
  void ResetStep();

  ThreadPool pool_{"test", 4};
  std::unique_ptr<Device> device_;
  std::unique_ptr<ResourceManager> resources_;
  std::unique_ptr<CancellationManager> cancellation_;
  std::unique_ptr<LocalRendezvous> rendezvous_;
  tensorflow::FunctionDefLibrary functions_;
  std::shared_ptr<const FunctionLibrary> library_;
  std::unique_ptr<FunctionRuntime> runtime_;
  StepStatsCollector* stats_ = nullptr;
  bool caller_may_work_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace tensorfleet
