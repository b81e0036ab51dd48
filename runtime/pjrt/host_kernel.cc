#include "runtime/pjrt/host_kernel.h"

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "runtime/pjrt/device_buffer.h"
#include "runtime/tensor/resource_handle.h"

namespace tensorfleet::pjrt {
namespace {

// One run that has to copy something. Lives until `done`.
class HostRun : public std::enable_shared_from_this<HostRun> {
 public:
  HostRun(const PjrtDevice* device, const Kernel* kernel, KernelContext& ctx,
          AsyncKernel::Done done)
      : device_(*device),
        kernel_(*kernel),
        ctx_(ctx),
        done_(std::move(done)),
        inputs_(ctx.num_inputs()),
        outputs_(ctx.num_outputs()) {}

  void AddVariable(ResourceRef<Variable> variable) {
    locked_.push_back(variable.get());
    refs_.push_back(std::move(variable));
  }

  void Start(const HostNeeds& needs) {
    needs_ = needs;
    if (locked_.empty()) return Copy();
    has_locks_ = true;
    device_.locks().Acquire(&locked_, [self = shared_from_this()] { self->Copy(); });
  }

 private:
  void Copy() {
    for (int i = 0; i < ctx_.num_inputs(); ++i) {
      EdgeValue& input = inputs_[i];
      if (IsRef(ctx_.node().input_type(i)) && ctx_.ref_input_ptr(i)) {
        input.ref = ctx_.ref_input_ptr(i);
      } else {
        input.tensor = ctx_.TakeInput(i);
      }
    }
    for (int i = 0; i < ctx_.num_inputs(); ++i) {
      if (!needs_.all_values && needs_.value != i) continue;
      if (DeviceBufferOf(inputs_[i].tensor) == nullptr) continue;
      ++pending_;
      device_.client().ToHost(inputs_[i].tensor,
                              [self = shared_from_this(), i](StatusOr<Tensor> copy) {
                                if (copy.ok()) self->inputs_[i].tensor = *std::move(copy);
                                self->OneLess(copy.status());
                              });
    }
    for (Variable* variable : locked_) {
      const Tensor value = variable->Read();
      if (DeviceBufferOf(value) == nullptr) continue;
      ++pending_;
      device_.client().ToHost(value, [self = shared_from_this(), variable](StatusOr<Tensor> copy) {
        if (copy.ok()) {
          Tensor old;  // released outside the lock
          MutexLock lock(&variable->mu());
          old = std::exchange(variable->mutable_tensor(), *std::move(copy));
        }
        self->OneLess(copy.status());
      });
    }
    OneLess(OkStatus());
  }

  void OneLess(const Status& status) {
    if (!status.ok()) {
      MutexLock lock(&mu_);
      if (status_.ok()) status_ = status;
    }
    if (pending_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    // A thread of the plug-in is not for kernels.
    ctx_.pool().Schedule([self = shared_from_this()] { self->Run(); });
  }

  void Run() {
    Status status;
    {
      MutexLock lock(&mu_);
      status = status_;
    }
    if (!status.ok()) return Finish(std::move(status));
    context_.emplace(&ctx_.node(), &ctx_.step(), absl::MakeSpan(inputs_), absl::MakeSpan(outputs_),
                     ctx_.is_input_dead());
    context_->set_position(ctx_.frame_id(), ctx_.iteration());
    if (const AsyncKernel* const async = kernel_.AsAsync()) {
      async->ComputeAsync(
          *context_, [self = shared_from_this()](Status ended) { self->Finish(std::move(ended)); });
    } else {
      Finish(kernel_.Compute(*context_));
    }
  }

  void Finish(Status status) {
    for (int i = 0; i < ctx_.num_outputs(); ++i) {
      EdgeValue& output = outputs_[i];
      if (output.ref) {
        ctx_.SetRefOutput(i, std::move(output.ref));
      } else if (output.tensor.is_valid()) {
        ctx_.SetOutput(i, std::move(output.tensor));
      }
    }
    if (has_locks_) device_.locks().Release(locked_);
    AsyncKernel::Done done = std::move(done_);
    done(std::move(status));
  }

  const PjrtDevice& device_;
  const Kernel& kernel_;
  KernelContext& ctx_;
  AsyncKernel::Done done_;
  HostNeeds needs_;
  std::vector<EdgeValue> inputs_, outputs_;
  std::vector<Variable*> locked_;
  std::vector<ResourceRef<Variable>> refs_;
  bool has_locks_ = false;
  std::optional<KernelContext> context_;
  std::atomic<int> pending_{1};
  Mutex mu_;
  Status status_ ABSL_GUARDED_BY(mu_);
};

class HostKernel final : public AsyncKernel {
 public:
  HostKernel(const PjrtDevice* device, std::unique_ptr<Kernel> kernel, HostNeeds needs,
             bool has_state_inputs)
      : device_(*device),
        kernel_(std::move(kernel)),
        needs_(needs),
        has_state_inputs_(has_state_inputs && needs.works_on_variables) {}

  bool IsExpensive() const override { return kernel_->IsExpensive(); }

  void ComputeAsync(KernelContext& ctx, Done done) const override {
    bool copies = false;
    for (int i = 0; i < ctx.num_inputs() && !ctx.is_input_dead(); ++i) {
      if (!needs_.all_values && needs_.value != i) continue;
      copies |= DeviceBufferOf(ctx.input(i)) != nullptr;
    }
    std::vector<ResourceRef<Variable>> variables;
    if (has_state_inputs_ && !ctx.is_input_dead()) variables = VariablesOf(ctx);
    if (!copies && variables.empty()) {
      if (const AsyncKernel* const async = kernel_->AsAsync()) {
        return async->ComputeAsync(ctx, std::move(done));
      }
      return done(kernel_->Compute(ctx));
    }
    const auto run = std::make_shared<HostRun>(&device_, kernel_.get(), ctx, std::move(done));
    for (ResourceRef<Variable>& variable : variables) run->AddVariable(std::move(variable));
    run->Start(needs_);
  }

 private:
  static std::vector<ResourceRef<Variable>> VariablesOf(KernelContext& ctx) {
    std::vector<ResourceRef<Variable>> found;
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      const DType type = ctx.node().input_type(i);
      if (IsRef(type) && ctx.ref_input_ptr(i)) found.push_back(ctx.ref_input_ptr(i));
      if (type != DType::kResource) continue;
      const ResourceHandle* const handle = HandleFromInput(ctx, i);
      if (handle == nullptr) continue;
      // What is no variable, or not there yet, is the kernel's business.
      StatusOr<ResourceRef<Variable>> variable =
          ctx.step().resources->Find<Variable>(handle->container, handle->name);
      if (variable.ok()) found.push_back(*std::move(variable));
    }
    return found;
  }

  const PjrtDevice& device_;
  const std::unique_ptr<Kernel> kernel_;
  const HostNeeds needs_;
  const bool has_state_inputs_;
};

}  // namespace

std::unique_ptr<Kernel> MakeHostKernel(const KernelInit& init, const PjrtDevice* device,
                                       std::unique_ptr<Kernel> kernel, HostNeeds needs) {
  const std::vector<DType>& types = init.node().input_types();
  const bool has_state = std::any_of(types.begin(), types.end(), [](DType type) {
    return IsRef(type) || type == DType::kResource;
  });
  return std::make_unique<HostKernel>(device, std::move(kernel), needs, has_state);
}

}  // namespace tensorfleet::pjrt
