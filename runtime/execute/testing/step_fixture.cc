#include "runtime/execute/testing/step_fixture.h"

#include <google/protobuf/text_format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "runtime/execute/kernel_cache.h"
#include "runtime/graph/graph_import.h"

namespace tensorfleet {

using std::chrono::seconds;

GraphText::NodeRef GraphText::Add(const std::string& name, const std::string& op,
                                  std::vector<std::string> inputs) {
  tensorflow::NodeDef* node = def_.add_node();
  node->set_name(name);
  node->set_op(op);
  int64_t num_data = 0;
  for (std::string& input : inputs) {
    num_data += input[0] != '^';
    node->add_input(std::move(input));
  }
  if (const StatusOr<const OpSchema*> schema = TestOps().Find(op); schema.ok()) {
    if ((*schema)->FindAttr("T") != nullptr && (*schema)->FindAttr("T")->kind == "type") {
      SetAttr(node, "T", DType::kInt64);
    }
    if ((*schema)->FindAttr("N") != nullptr) SetAttr(node, "N", num_data);
  }
  return NodeRef(node);
}

void GraphText::CountingLoop(const std::string& name, const std::string& start,
                             const std::string& limit, const std::string& step,
                             int parallel_iterations) {
  const std::string frame = name + "/frame";
  const auto enter = [&](const std::string& what, const std::string& from, bool constant) {
    Add(name + "/" + what, "Enter", {from})
        .Attr("frame_name", frame)
        .Attr("is_constant", constant)
        .Attr("parallel_iterations", parallel_iterations);
  };
  enter("enter", start, false);
  enter("limit", limit, true);
  enter("step", step, true);
  Add(name + "/merge", "Merge", {name + "/enter", name + "/next"});
  Add(name + "/less", "Less", {name + "/merge", name + "/limit"});
  Add(name + "/cond", "LoopCond", {name + "/less"});
  Add(name + "/switch", "Switch", {name + "/merge", name + "/cond"});
  Add(name + "/add", "Add", {name + "/switch:1", name + "/step"});
  Add(name + "/next", "NextIteration", {name + "/add"});
  Add(name + "/exit", "Exit", {name + "/switch"});
}

StepFixture::StepFixture()
    : device_(MakeCpuDevice("/job:test/replica:0/task:0", &pool_)),
      resources_(std::make_unique<ResourceManager>("test")) {
  runs() = 0;
  waits() = 0;
  on_count() = nullptr;
  ResetStep();
}
StepFixture::~StepFixture() {
  for (std::thread& thread : threads_) thread.join();
}

void StepFixture::When(std::function<bool()> is_so, std::function<void()> then) {
  threads_.emplace_back([is_so = std::move(is_so), then = std::move(then)] {
    while (!is_so()) std::this_thread::yield();
    then();
  });
}

void StepFixture::ResetStep() {
  cancellation_ = std::make_unique<CancellationManager>();
  rendezvous_ = std::make_unique<LocalRendezvous>();
}

void StepFixture::AddFunction(const std::string& text) {
  TFLEET_CHECK(google::protobuf::TextFormat::ParseFromString(text, functions_.add_function()));
}

StatusOr<std::unique_ptr<Executor>> StepFixture::Compile(const GraphText& text) {
  if (library_ == nullptr) {
    TFLEET_ASSIGN_OR_RETURN(library_, FunctionLibrary::FromProto(functions_));
    FunctionRuntime::Options options;
    options.ops = &TestOps();
    options.library = library_;
    options.kernels = &TestKernels();
    options.device = device_.get();
    options.resources = resources_.get();
    runtime_ = std::make_unique<FunctionRuntime>(std::move(options));
  }
  auto graph = std::make_unique<Graph>(&TestOps(), library_);
  ImportOptions import;
  import.allow_internal_ops = true;
  TFLEET_RETURN_IF_ERROR(ImportGraphDef(text.def(), import, graph.get()));
  KernelMaker maker{&TestKernels(), device_.get(), resources_.get(), runtime_.get(), library_};
  Executor::Options options;
  options.device = device_.get();
  options.kernels = [maker](const Node& node) -> StatusOr<std::shared_ptr<const Kernel>> {
    TFLEET_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel, maker.Make(node));
    return std::shared_ptr<const Kernel>(std::move(kernel));
  };
  return Executor::Compile(std::move(graph), options);
}

StatusOr<std::vector<Tensor>> StepFixture::RunTensors(const Executor& executor,
                                                      std::vector<Tensor> args, int num_results) {
  // Shared, since a run that hangs fails the test before its end.
  struct State {
    std::vector<Tensor> args, results;
    CallFrame frame;
    Notification over;
    std::atomic<int> calls{0};
    Status status;
  };
  auto state = std::make_shared<State>();
  state->args = std::move(args);
  state->results.resize(num_results);
  state->frame = {absl::MakeSpan(state->args), absl::MakeSpan(state->results)};
  Executor::RunArgs run;
  run.step.step_id = 1;
  run.step.device = device_.get();
  run.step.rendezvous = rendezvous_.get();
  run.step.cancellation = cancellation_.get();
  run.step.resources = resources_.get();
  run.step.functions = runtime_.get();
  run.step.frame = &state->frame;
  run.stats = stats_;
  run.caller_may_work = caller_may_work_;
  executor.RunAsync(run, [state](Status status) {
    TFLEET_CHECK(++state->calls == 1);
    state->status = std::move(status);
    state->over.Notify();
  });
  TFLEET_CHECK(state->over.WaitFor(seconds(60)));
  TFLEET_RETURN_IF_ERROR(state->status);
  return std::move(state->results);
}

StatusOr<std::vector<int64_t>> StepFixture::Run(const Executor& executor, std::vector<int64_t> args,
                                                int num_results) {
  std::vector<Tensor> tensors;
  for (const int64_t arg : args) tensors.push_back(Tensor::Scalar<int64_t>(arg));
  TFLEET_ASSIGN_OR_RETURN(const std::vector<Tensor> results,
                          RunTensors(executor, std::move(tensors), num_results));
  std::vector<int64_t> values;
  for (const Tensor& result : results) {
    if (!result.is_valid()) return NotFound("a result was not set");
    values.push_back(result.dtype() == DType::kBool    ? result.scalar<bool>()
                     : result.dtype() == DType::kInt32 ? result.scalar<int32_t>()
                                                       : result.scalar<int64_t>());
  }
  return values;
}

StatusOr<std::vector<int64_t>> StepFixture::Run(const GraphText& graph, int num_results,
                                                std::vector<int64_t> args) {
  TFLEET_ASSIGN_OR_RETURN(const std::unique_ptr<Executor> executor, Compile(graph));
  return Run(*executor, std::move(args), num_results);
}

}  // namespace tensorfleet
