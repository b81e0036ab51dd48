#include "runtime/execute/function_runtime.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <utility>

#include "runtime/device/device_name.h"
#include "runtime/execute/kernel_cache.h"

namespace tensorfleet {
namespace {

// The same for equal functions with equal attributes; maps serialize in any order, so sort.
std::string KeyOf(const tensorflow::NameAttrList& function) {
  std::map<std::string, std::string> attrs;
  for (const auto& [name, value] : function.attr()) attrs[name] = value.SerializeAsString();
  std::string key = function.name();
  for (const auto& [name, value] : attrs) {
    absl::StrAppend(&key, "|", name, "=", value.size(), ":", value);
  }
  return key;
}

// Removes what neither results, nor control results, nor anything stateful needs.
void PruneBody(const FunctionBody& body) {
  Graph& graph = *body.graph;
  std::vector<bool> needed(graph.num_node_ids(), false);
  std::vector<const Node*> work;
  const auto need = [&](const Node* node) {
    if (needed[node->id()]) return;
    needed[node->id()] = true;
    work.push_back(node);
  };
  for (const Node* node : body.returns) need(node);
  for (const Node* node : body.control_returns) need(node);
  for (const Node* node : graph.nodes()) {
    if (node->schema().is_stateful && !node->IsArg()) need(node);
  }
  while (!work.empty()) {
    const Node* node = work.back();
    work.pop_back();
    for (const Edge* edge : node->in_edges()) need(edge->src);
  }
  for (Node* node : graph.nodes()) {
    if (!needed[node->id()]) graph.RemoveNode(node);
  }
}

}  // namespace

struct FunctionRuntime::Function {
  tensorflow::NameAttrList what;
  size_t num_args = 0;
  size_t num_results = 0;
  std::atomic<bool> is_ready{false};
  Mutex mu;  // held while it is compiled
  bool was_tried ABSL_GUARDED_BY(mu) = false;
  Status status ABSL_GUARDED_BY(mu);
  std::unique_ptr<Executor> executor;  // set before is_ready
  KernelCache kernels;
};

// Lives from the call to its `done`.
struct FunctionRuntime::Call {
  std::vector<Tensor> args;
  std::vector<Tensor> results;
  CallFrame frame;
  Done done;
};

FunctionRuntime::FunctionRuntime(Options options) : options_(Completed(std::move(options))) {}
FunctionRuntime::~FunctionRuntime() = default;

StatusOr<FunctionRunner::Handle> FunctionRuntime::Instantiate(
    const tensorflow::NameAttrList& function) {
  if (options_.library == nullptr || options_.library->Find(function.name()) == nullptr) {
    return NotFound("Function ", function.name(), " is not defined.");
  }
  std::string key = KeyOf(function);
  MutexLock lock(&mu_);
  const Handle next = static_cast<Handle>(functions_.size());
  auto [it, is_new] = handles_.try_emplace(std::move(key), next);
  if (is_new) {
    functions_.push_back(std::make_unique<Function>());
    functions_.back()->what = function;
  }
  return it->second;
}

FunctionRuntime::Function* FunctionRuntime::Get(Handle handle) const {
  MutexLock lock(&mu_);
  if (handle < 0 || handle >= static_cast<Handle>(functions_.size())) return nullptr;
  return functions_[handle].get();
}

// Only now, and not when it is instantiated: a function may call itself, and branches that are
// never taken are never compiled.
Status FunctionRuntime::Prepare(Function* function) const {
  if (function->is_ready.load(std::memory_order_acquire)) return OkStatus();
  MutexLock lock(&function->mu);
  if (!function->was_tried) {
    function->was_tried = true;
    function->status =
        Prefixed(absl::StrCat("function '", function->what.name(), "': "), Compile(function));
    function->is_ready.store(function->status.ok(), std::memory_order_release);
  }
  return function->status;
}

Status FunctionRuntime::Compile(Function* function) const {
  TFLEET_ASSIGN_OR_RETURN(
      FunctionBody body, InstantiateFunction(*options_.ops, options_.library, function->what.name(),
                                             function->what.attr()));
  function->num_args = body.args.size();
  function->num_results = body.returns.size();
  PruneBody(body);
  const DeviceName& here = options_.device->attributes().parsed;
  for (const Node* node : body.graph->nodes()) {
    if (node->requested_device().empty()) continue;
    TFLEET_ASSIGN_OR_RETURN(const DeviceName asked, DeviceName::Parse(node->requested_device()));
    if (!asked.Matches(here)) {
      return Unimplemented("node '", node->name(), "' asks for device ", node->requested_device(),
                           ", but a function that is called runs on the caller's device ",
                           options_.device->name(),
                           " only; leave the device open or call it there");
    }
  }
  KernelMaker maker;
  maker.kernels = options_.kernels;
  maker.device = options_.device;
  maker.resources = options_.resources;
  maker.functions = const_cast<FunctionRuntime*>(this);
  maker.library = options_.library;
  Executor::Options executor_options;
  executor_options.device = options_.device;
  executor_options.kernels = function->kernels.Provider(std::move(maker));
  TFLEET_ASSIGN_OR_RETURN(function->executor,
                          Executor::Compile(std::move(body.graph), executor_options));
  return OkStatus();
}

void FunctionRuntime::Run(Handle handle, const StepContext& step, std::vector<Tensor> args,
                          Done done) {
  Start(handle, step, /*caller_may_work=*/false, std::move(args), std::move(done));
}

void FunctionRuntime::Start(Handle handle, const StepContext& step, bool caller_may_work,
                            std::vector<Tensor> args, Done done) {
  Function* function = Get(handle);
  if (function == nullptr) return done(InvalidArgument("unknown function handle ", handle), {});
  if (step.call_depth >= kMaxCallDepth) {
    return done(ResourceExhausted("calls of functions are nested more than ", kMaxCallDepth,
                                  " deep, in function '", function->what.name(),
                                  "'; does it call itself without end?"),
                {});
  }
  if (Status status = Prepare(function); !status.ok()) return done(status, {});
  if (args.size() != function->num_args) {
    return done(InvalidArgument("function '", function->what.name(), "' takes ", function->num_args,
                                " arguments, not ", args.size()),
                {});
  }
  auto call = std::make_unique<Call>();
  call->args = std::move(args);
  call->results.resize(function->num_results);
  call->frame = {absl::MakeSpan(call->args), absl::MakeSpan(call->results)};
  call->done = std::move(done);
  Executor::RunArgs run;
  run.step = step;
  run.step.device = options_.device;
  run.step.functions = this;
  run.step.frame = &call->frame;
  run.step.call_depth = step.call_depth + 1;
  run.caller_may_work = caller_may_work;
  function->executor->RunAsync(run, [raw = call.release()](Status status) {
    const std::unique_ptr<Call> call(raw);
    for (size_t i = 0; status.ok() && i < call->results.size(); ++i) {
      if (!call->results[i].is_valid()) {
        status = InvalidArgument("Retval[", i, "] does not have value");
      }
    }
    if (!status.ok()) return call->done(status, {});
    call->done(status, std::move(call->results));
  });
}

}  // namespace tensorfleet
