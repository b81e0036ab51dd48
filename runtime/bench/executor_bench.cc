// What does the executor itself cost? Graphs of scalar ops, whose kernels take a few nanoseconds,
// run through Executor::Run: the time per node is nearly all overhead.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/base/thread_pool.h"
#include "runtime/device/device.h"
#include "runtime/execute/executor.h"
#include "runtime/execute/kernel_cache.h"
#include "runtime/graph/attr.h"
#include "runtime/graph/graph_import.h"
#include "runtime/kernels/cpu/all.h"
#include "runtime/ops/all.h"

namespace tensorfleet {
namespace {

class Bench {
 public:
  Bench() : device_(MakeCpuDevice("/job:bench/replica:0/task:0", &pool_)), resources_("bench") {
    tensorflow::NodeDef* arg = Add("arg", "_Arg", {});
    SetAttr(arg, "index", 0);
  }

  // Adds a node of the float type T.
  tensorflow::NodeDef* Add(const std::string& name, const std::string& op,
                           const std::vector<std::string>& inputs) {
    tensorflow::NodeDef* node = def_.add_node();
    node->set_name(name);
    node->set_op(op);
    for (const std::string& input : inputs) node->add_input(input);
    SetAttr(node, "T", DType::kFloat);
    return node;
  }
  void AddReturn(const std::string& input) { SetAttr(Add("ret", "_Retval", {input}), "index", 0); }

  void Run(benchmark::State& state, int64_t nodes_per_step) {
    auto graph = std::make_unique<Graph>(&BuiltinOps(), nullptr);
    ImportOptions import;
    import.allow_internal_ops = true;
    const Status imported = ImportGraphDef(def_, import, graph.get());
    if (!imported.ok()) state.SkipWithError(imported.ToString().c_str());
    KernelMaker maker{&CpuKernels(), device_.get(), &resources_, nullptr, nullptr};
    Executor::Options options;
    options.device = device_.get();
    KernelCache kernels;
    options.kernels = kernels.Provider(maker);
    auto executor = Executor::Compile(std::move(graph), options);
    if (!executor.ok()) return state.SkipWithError(executor.status().ToString().c_str());
    CancellationManager cancellation;
    for (auto _ : state) {
      Tensor arg = Tensor::Scalar<float>(1);
      Tensor result;
      CallFrame frame{absl::MakeSpan(&arg, 1), absl::MakeSpan(&result, 1)};
      Executor::RunArgs run;
      run.step.device = device_.get();
      run.step.cancellation = &cancellation;
      run.step.frame = &frame;
      TFLEET_CHECK((*executor)->Run(run).ok());
      benchmark::DoNotOptimize(result.raw());
    }
    state.counters["per_node"] = benchmark::Counter(
        static_cast<double>(nodes_per_step),
        benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  }

 private:
  ThreadPool pool_{"bench", 2};
  std::unique_ptr<Device> device_;
  ResourceManager resources_;
  tensorflow::GraphDef def_;
};

// One node after the other; each takes its input over.
void Chain(benchmark::State& state) {
  Bench bench;
  std::string last = "arg";
  for (int64_t i = 0; i < state.range(0); ++i) {
    const std::string name = "n" + std::to_string(i);
    bench.Add(name, "Neg", {last});
    last = name;
  }
  bench.AddReturn(last);
  bench.Run(state, state.range(0));
}
BENCHMARK(Chain)->Arg(1)->Arg(10)->Arg(1000)->Arg(10000);

// Nodes that share an input, which therefore has to be kept.
void Independent(benchmark::State& state) {
  Bench bench;
  for (int64_t i = 0; i < state.range(0); ++i) {
    bench.Add("n" + std::to_string(i), "Neg", {"arg"});
  }
  bench.AddReturn("n0");
  bench.Run(state, state.range(0));
}
BENCHMARK(Independent)->Arg(1000);

// One iteration after the other of a loop that counts down: `nodes` body nodes besides the eight of
// the loop.
void Loop(benchmark::State& state) {
  Bench bench;
  const int64_t body = state.range(0);
  SetAttr(bench.Add("enter", "Enter", {"arg"}), "frame_name", "f");
  SetAttr(bench.Add("merge", "Merge", {"enter", "next"}), "N", 2);
  bench.Add("nan", "IsFinite", {"merge"});
  bench.Add("cond", "LoopCond", {"nan"})->clear_attr();
  bench.Add("switch", "Switch", {"merge", "cond"});
  std::string last = "switch:1";
  for (int64_t i = 0; i < body; ++i) {
    const std::string name = "n" + std::to_string(i);
    // Doubles until the value is infinite: 128 iterations from 1.
    bench.Add(name, i == 0 ? "AddV2" : "Neg",
              i == 0 ? std::vector<std::string>{last, last} : std::vector<std::string>{last});
    last = name;
  }
  bench.Add("next", "NextIteration", {last});
  bench.Add("exit", "Exit", {"switch"});
  bench.AddReturn("exit");
  bench.Run(state, 128 * (5 + body));
}
BENCHMARK(Loop)->Arg(1)->Arg(21);

}  // namespace
}  // namespace tensorfleet
