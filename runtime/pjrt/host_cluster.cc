#include "runtime/pjrt/host_cluster.h"

#include <utility>
#include <vector>

#include "runtime/pjrt/pjrt_device.h"
#include "runtime/place/expand/expand_calls.h"

namespace tensorfleet::pjrt {
namespace {

// Arguments may be references here, which ordinary frames do not hold.
struct ClusterFrame : CallFrame {
  std::vector<ResourceRef<Variable>> references;  // by argument
};

class ReferenceArg final : public Kernel {
 public:
  explicit ReferenceArg(KernelInit& init) { init.Get("index", &index_); }
  Status Compute(KernelContext& ctx) const override {
    const auto& frame = *static_cast<const ClusterFrame*>(ctx.step().frame);
    ctx.SetRefOutput(0, frame.references[index_]);
    return OkStatus();
  }

 private:
  int64_t index_ = 0;
};

struct Call {
  std::vector<Tensor> arguments, results;
  ClusterFrame frame;
};

// Branches and loops as single nodes: a cluster's host calls no functions.
StatusOr<std::unique_ptr<Graph>> WithoutCalls(const Graph& graph) {
  std::unique_ptr<Graph> plain = graph.Clone();
  RewriteContext context;
  context.options.gather_clusters = false;
  context.options.lower_all_control_flow = true;
  TFLEET_RETURN_IF_ERROR(ExpandCalls(plain.get(), context));
  return plain;
}

}  // namespace

StatusOr<const Executor*> HostCluster::Prepare() const {
  MutexLock lock(&mu_);
  if (executor_ != nullptr) return executor_.get();
  Executor::Options options;
  options.device = device_;
  options.kernels = [this](const Node& node) -> StatusOr<std::shared_ptr<const Kernel>> {
    KernelInit init(node, device_, resources_, /*functions=*/nullptr);
    if (node.IsArg() && IsRef(node.output_type(0))) return std::make_shared<ReferenceArg>(init);
    PjrtDevice* const device = PjrtDeviceOf(device_);
    TFLEET_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel,
                            device->MakeKernel(init, device->kernels()));
    return std::shared_ptr<const Kernel>(std::move(kernel));
  };
  TFLEET_ASSIGN_OR_RETURN(std::unique_ptr<Graph> graph, WithoutCalls(body_.graph()));
  TFLEET_ASSIGN_OR_RETURN(executor_, Executor::Compile(std::move(graph), options));
  return executor_.get();
}

void HostCluster::Run(KernelContext& ctx, std::function<void(Status)> done) const {
  const StatusOr<const Executor*> executor = Prepare();
  if (!executor.ok()) return done(executor.status());
  auto call = std::make_shared<Call>();
  call->arguments.resize(ctx.num_inputs());
  call->frame.references.resize(ctx.num_inputs());
  call->results.resize(ctx.num_outputs());
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    if (IsRef(ctx.node().input_type(i))) {
      call->frame.references[i] = ctx.ref_input_ptr(i);
    } else {
      call->arguments[i] = ctx.TakeInput(i);
    }
  }
  call->frame.args = absl::MakeSpan(call->arguments);
  call->frame.results = absl::MakeSpan(call->results);
  Executor::RunArgs run;
  run.step = ctx.step();
  run.step.frame = &call->frame;
  (*executor)->RunAsync(run, [call, &ctx, done = std::move(done)](Status status) {
    for (int i = 0; status.ok() && i < ctx.num_outputs(); ++i) {
      ctx.SetOutput(i, std::move(call->results[i]));
    }
    done(std::move(status));
  });
}

}  // namespace tensorfleet::pjrt
