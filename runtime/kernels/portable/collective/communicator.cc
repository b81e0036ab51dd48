// Groups: the ops that form them or choose among them.
#include "runtime/kernels/portable/collective/communicator.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/kernels/kernel_registry.h"
#include "runtime/kernels/portable/collective/collective_inputs.h"
#include "runtime/kernels/portable/families.h"

namespace tensorfleet::portable {

std::string Communicator::DebugString() const {
  return absl::StrCat("Communicator of group ", group_key, ", rank ", rank, " of ", group_size);
}

StatusOr<int32_t> NumberInput(const KernelContext& ctx, int i, const char* name) {
  const Tensor& input = ctx.input(i);
  if (input.rank() == 0) return input.scalar<int32_t>();
  return InvalidArgument("Unexpected dimensions on input ", name, ", got ",
                         input.shape().ToString());
}

StatusOr<StepCollectives*> CollectivesOf(const KernelContext& ctx) {
  Rendezvous* const rendezvous = ctx.step().rendezvous;
  StepCollectives* const collectives = rendezvous == nullptr ? nullptr : rendezvous->collectives();
  if (collectives == nullptr) {
    return Unimplemented(
        "collective ops do not run in functions of data sets, nor where a step "
        "has no session; take ",
        ctx.node().name(), " out of the function");
  }
  return collectives;
}

CollectiveArgs ArgsOf(const KernelContext& ctx, CollectiveKind kind) {
  CollectiveArgs args;
  args.kind = kind;
  args.node = ctx.node().name();
  args.device = &ctx.step().device->attributes();
  args.cancellation = ctx.step().cancellation;
  args.frame_id = ctx.frame_id();
  args.iteration = ctx.iteration();
  return args;
}

std::chrono::nanoseconds TimeoutOf(KernelInit& init) {
  float seconds = 0;
  init.Get("timeout_seconds", &seconds);
  if (!(seconds > 0)) return {};
  constexpr float kMostSeconds = 1e9;
  return std::chrono::nanoseconds(
      static_cast<int64_t>(static_cast<double>(std::min(seconds, kMostSeconds)) * 1e9));
}

namespace {

class InitializeCommunicator final : public AsyncKernel {
 public:
  explicit InitializeCommunicator(KernelInit& init) : timeout_(TimeoutOf(init)) {}

  void ComputeAsync(KernelContext& ctx, Done done) const override {
    StatusOr<CollectiveArgs> args = Args(ctx);
    if (!args.ok()) return done(args.status());
    const StatusOr<StepCollectives*> collectives = CollectivesOf(ctx);
    if (!collectives.ok()) return done(collectives.status());
    ResourceHandle handle;
    handle.device = ctx.step().device->name();
    handle.container = "collective_op_group";
    handle.name = absl::StrFormat("%d:r%04d", args->group_key, args->rank);
    handle.type_name = "N10tensorflow23CollectiveGroupResourceE";
    const Status added = ctx.step().resources->Add<Communicator>(
        handle.container, handle.name,
        ResourceRef<Communicator>::Adopt(
            new Communicator(args->group_key, args->rank, args->group_size, timeout_)));
    if (!added.ok()) return done(added);
    ResourceManager* const resources = ctx.step().resources;
    (*collectives)
        ->JoinGroup(*std::move(args), [&ctx, resources, handle,
                                       done = std::move(done)](const Status& status) {
          if (status.ok()) {
            ctx.SetOutput(0, Tensor::Scalar<ResourceHandle>(handle));
          } else {
            // Another attempt may form the group.
            resources->Remove<Communicator>(handle.container, handle.name).IgnoreError();
          }
          done(status);
        });
  }

 private:
  StatusOr<CollectiveArgs> Args(const KernelContext& ctx) const {
    CollectiveArgs args = ArgsOf(ctx, CollectiveKind::kReduce);
    TFLEET_ASSIGN_OR_RETURN(args.group_key, NumberInput(ctx, 0, "group_key"));
    TFLEET_ASSIGN_OR_RETURN(args.rank, NumberInput(ctx, 1, "rank"));
    TFLEET_ASSIGN_OR_RETURN(args.group_size, NumberInput(ctx, 2, "group_size"));
    args.timeout = timeout_;
    if (args.group_size <= 0) {
      return InvalidArgument("group_size must be positive integer but got ", args.group_size);
    }
    if (args.rank < 0 || args.rank >= args.group_size) {
      return InvalidArgument("rank must be from 0 to ", args.group_size - 1, " but got ",
                             args.rank);
    }
    return args;
  }
  const std::chrono::nanoseconds timeout_;
};

class AssignGroup final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    const Tensor& groups = ctx.input(0);
    if (groups.rank() != 2) {
      return InvalidArgument(
          "group_assignment must be a 2-d Tensor, but received tensor of shape: ",
          groups.shape().ToString());
    }
    TFLEET_ASSIGN_OR_RETURN(const int32_t device, NumberInput(ctx, 1, "device_index"));
    TFLEET_ASSIGN_OR_RETURN(const int32_t base, NumberInput(ctx, 2, "base_key"));
    const auto devices = groups.values<int32_t>();
    for (int64_t i = 0; i < groups.num_elements(); ++i) {
      const auto key = static_cast<int32_t>(static_cast<uint32_t>(base) +
                                            static_cast<uint32_t>(i / groups.dim(1)));
      if (key == 0) {
        return InvalidArgument("Using the reserved group_key = 0 is not allowed: group_id = ",
                               i / groups.dim(1), ", base_key = ", base);
      }
      if (devices[i] < 0 || devices[i] >= groups.num_elements()) {
        return InvalidArgument("Not all items in group_assignment ", groups.ToString(),
                               " is within [0, number of devices)");
      }
      if (devices[i] != device) continue;
      ctx.SetOutput(0, Tensor::Scalar<int32_t>(static_cast<int32_t>(groups.dim(1))));
      ctx.SetOutput(1, Tensor::Scalar<int32_t>(key));
      return OkStatus();
    }
    return InvalidArgument("device_index ", device, " is not found in group_assignment ",
                           groups.ToString());
  }
};

}  // namespace

void RegisterCommunicatorKernels(KernelRegistry& kernels) {
  kernels.Add<InitializeCommunicator>("CollectiveInitializeCommunicator", kCpu);
  kernels.Add<AssignGroup>("CollectiveAssignGroupV2", kCpu);
}

}  // namespace tensorfleet::portable
