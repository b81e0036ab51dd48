// Collective ops: each tells its step what it wants to do with the other members of its group, and
// waits without a thread. Schemas: runtime/ops/collective. What is done: runtime/collective.
#include <utility>

#include "runtime/kernels/kernel_registry.h"
#include "runtime/kernels/portable/collective/collective_inputs.h"
#include "runtime/kernels/portable/collective/communicator.h"
#include "runtime/kernels/portable/families.h"

namespace tensorfleet::portable {
namespace {

StatusOr<MergeOp> MergeFrom(const std::string& name) {
  if (name == "Add") return MergeOp::kAdd;
  if (name == "Mul") return MergeOp::kMul;
  if (name == "Min") return MergeOp::kMin;
  if (name == "Max") return MergeOp::kMax;
  return InvalidArgument("merge_op must be one of Add, Mul, Min and Max but got ", name);
}
StatusOr<FinalOp> FinalFrom(const std::string& name) {
  if (name == "Id") return FinalOp::kId;
  if (name == "Div") return FinalOp::kDiv;
  return InvalidArgument("final_op must be one of {\"Id\", \"Div\"} but got ", name);
}

bool Merges(CollectiveKind kind) {
  return kind == CollectiveKind::kReduce || kind == CollectiveKind::kReduceScatter;
}

// The shape of what the op gives, from that of its input.
StatusOr<Shape> OutputShape(CollectiveKind kind, const Shape& input, int32_t group_size) {
  if (kind == CollectiveKind::kReduce || kind == CollectiveKind::kBroadcast) return input;
  if (input.rank() == 0) return InvalidArgument("input should have rank > 0, received 0");
  std::vector<int64_t> dims;
  for (int i = 0; i < input.rank(); ++i) dims.push_back(input.dim(i));
  switch (kind) {
    case CollectiveKind::kGather:
      if (__builtin_mul_overflow(dims[0], static_cast<int64_t>(group_size), &dims[0])) {
        return InvalidArgument("a group of ", group_size, " cannot gather ", input.ToString());
      }
      break;
    case CollectiveKind::kReduceScatter:
      if (dims[0] % group_size != 0) {
        return InvalidArgument("the first dimension of ", input.ToString(),
                               " cannot be split among a group of ", group_size);
      }
      dims[0] /= group_size;
      break;
    case CollectiveKind::kAllToAll:
      if (dims[0] != group_size) {
        return InvalidArgument("input to all-to-all first dimension size (", dims[0],
                               ") must be the same as the group size (", group_size, ")");
      }
      break;
    default:
      break;
  }
  return Shape::Make(dims);
}

void RunCollective(KernelContext& ctx, StatusOr<CollectiveArgs> args, AsyncKernel::Done done) {
  if (args.ok() && args->group_size <= 0) {
    args = InvalidArgument("group_size must be positive integer but got ", args->group_size);
  }
  if (!args.ok()) return done(args.status());
  const StatusOr<StepCollectives*> collectives = CollectivesOf(ctx);
  if (!collectives.ok()) return done(collectives.status());
  (*collectives)->Run(*std::move(args), [&ctx, done = std::move(done)](StatusOr<Tensor> result) {
    if (result.ok()) ctx.SetOutput(0, *std::move(result));
    done(result.status());
  });
}

// Attributes that all versions may have.
struct Attributes {
  Attributes(KernelInit& init, CollectiveKind kind, const char* merge_attr)
      : kind(kind), timeout(TimeoutOf(init)) {
    init.Get("T", &dtype);
    if (!Merges(kind)) return;
    std::string text;
    init.Get(merge_attr, &text);
    if (const StatusOr<MergeOp> parsed = MergeFrom(text); parsed.ok()) {
      merge = *parsed;
    } else {
      init.Fail(parsed.status());
    }
    if (FindAttr(init.def(), "final_op") == nullptr) return;
    init.Get("final_op", &text);
    if (const StatusOr<FinalOp> parsed = FinalFrom(text); parsed.ok()) {
      final = *parsed;
    } else {
      init.Fail(parsed.status());
    }
  }
  CollectiveArgs Args(const KernelContext& ctx) const {
    CollectiveArgs args = ArgsOf(ctx, kind);
    args.dtype = dtype;
    args.merge = merge;
    args.final = final;
    args.timeout = timeout;
    return args;
  }
  const CollectiveKind kind;
  const std::chrono::nanoseconds timeout;
  DType dtype = DType::kInvalid;
  MergeOp merge = MergeOp::kAdd;
  FinalOp final = FinalOp::kId;
};

// Gives `args` the input and what follows from it.
StatusOr<CollectiveArgs> WithInput(CollectiveArgs args, const Tensor& input) {
  if (args.group_size > 0) {
    TFLEET_ASSIGN_OR_RETURN(args.shape, OutputShape(args.kind, input.shape(), args.group_size));
  }
  args.input = input;
  return args;
}

// Keys are attributes. `wait_for` says which instances are to be launched before: the order in
// which collectives begin means nothing here, as none keeps another from going on.
template <CollectiveKind kind, bool is_source = true>
class First final : public AsyncKernel {
 public:
  explicit First(KernelInit& init) : attrs_(init, kind, "merge_op") {
    GetNumber(init, "group_size", &group_size_);
    GetNumber(init, "group_key", &group_key_);
    GetNumber(init, "instance_key", &instance_key_);
    if (kind == CollectiveKind::kReduce) {
      std::vector<int64_t> offsets;
      init.Get("subdiv_offsets", &offsets);
      for (const int64_t offset : offsets) {
        if (offset != static_cast<int32_t>(offset)) {
          init.Fail(InvalidArgument("Attr subdiv_offsets has value ", offset,
                                    " out of range for an int32"));
        }
        subdiv_offsets_.push_back(static_cast<int>(offset));
      }
    }
    if (kind == CollectiveKind::kBroadcast) init.Get("shape", &shape_);
  }

  void ComputeAsync(KernelContext& ctx, Done done) const override {
    RunCollective(ctx, Args(ctx), std::move(done));
  }

 private:
  static void GetNumber(KernelInit& init, const char* name, int32_t* value) {
    int64_t wide = 0;
    init.Get(name, &wide);
    *value = static_cast<int32_t>(wide);
    if (*value != wide) {
      init.Fail(InvalidArgument("Attr ", name, " has value ", wide, " out of range for an int32"));
    }
  }
  StatusOr<CollectiveArgs> Args(const KernelContext& ctx) const {
    CollectiveArgs args = attrs_.Args(ctx);
    args.group_size = group_size_;
    args.group_key = group_key_;
    args.instance_key = instance_key_;
    args.subdiv_offsets = subdiv_offsets_;
    if (kind != CollectiveKind::kBroadcast) return WithInput(std::move(args), ctx.input(0));
    args.is_source = is_source;
    args.shape = shape_;
    if (!is_source) return args;
    if (!(ctx.input(0).shape() == shape_)) {
      return InvalidArgument("Declared shape of op ", ctx.node().name(), " ", shape_.ToString(),
                             " does not match shape of input ", ctx.input(0).shape().ToString());
    }
    return WithInput(std::move(args), ctx.input(0));
  }

  const Attributes attrs_;
  int32_t group_size_ = 0, group_key_ = 0, instance_key_ = 0;
  std::vector<int> subdiv_offsets_;
  Shape shape_;
};

// Keys are inputs.
template <CollectiveKind kind, bool is_source = true>
class Second final : public AsyncKernel {
 public:
  explicit Second(KernelInit& init) : attrs_(init, kind, "merge_op") {
    if (!Merges(kind)) return;
    init.Get("max_subdivs_per_device", &max_subdivs_);
    if (max_subdivs_ < -1 || max_subdivs_ > 1024) {
      init.Fail(
          InvalidArgument("max_subdivs_per_device must be from -1 to 1024 but got ", max_subdivs_));
    }
  }

  void ComputeAsync(KernelContext& ctx, Done done) const override {
    RunCollective(ctx, Args(ctx), std::move(done));
  }

 private:
  StatusOr<CollectiveArgs> Args(const KernelContext& ctx) const {
    CollectiveArgs args = attrs_.Args(ctx);
    const int first_key = is_source ? 1 : 0;
    TFLEET_ASSIGN_OR_RETURN(args.group_size, NumberInput(ctx, first_key, "group_size"));
    TFLEET_ASSIGN_OR_RETURN(args.group_key, NumberInput(ctx, first_key + 1, "group_key"));
    TFLEET_ASSIGN_OR_RETURN(args.instance_key, NumberInput(ctx, first_key + 2, "instance_key"));
    args.max_subdivs = static_cast<int>(max_subdivs_);
    args.is_source = kind == CollectiveKind::kBroadcast && is_source;
    if (is_source) return WithInput(std::move(args), ctx.input(0));
    const Tensor& shape = ctx.input(3);
    if (shape.rank() != 1) {
      return InvalidArgument("shape must be a vector but is ", shape.shape().ToString());
    }
    std::vector<int64_t> dims;
    for (int64_t i = 0; i < shape.num_elements(); ++i) {
      dims.push_back(shape.dtype() == DType::kInt32 ? shape.values<int32_t>()[i]
                                                    : shape.values<int64_t>()[i]);
    }
    TFLEET_ASSIGN_OR_RETURN(args.shape, Shape::Make(dims));
    return args;
  }

  const Attributes attrs_;
  int64_t max_subdivs_ = -1;
};

// The group is a resource.
template <CollectiveKind kind>
class Third final : public AsyncKernel {
 public:
  explicit Third(KernelInit& init) : attrs_(init, kind, "reduction") {}

  void ComputeAsync(KernelContext& ctx, Done done) const override {
    RunCollective(ctx, Args(ctx), std::move(done));
  }

 private:
  StatusOr<CollectiveArgs> Args(KernelContext& ctx) const {
    CollectiveArgs args = attrs_.Args(ctx);
    TFLEET_ASSIGN_OR_RETURN(const ResourceRef<Communicator> group,
                            LookupResource<Communicator>(ctx, 1));
    if (ctx.input(2).num_elements() != 0) {
      return Unimplemented("Group assignments are not supported yet; give an empty one");
    }
    args.group_key = group->group_key;
    args.group_size = group->group_size;
    args.rank = group->rank;
    args.instance_key = group->NextInstance();
    args.is_joined = true;
    if (args.timeout.count() == 0) args.timeout = group->timeout;
    return WithInput(std::move(args), ctx.input(0));
  }

  const Attributes attrs_;
};

}  // namespace

void RegisterCommunicatorKernels(KernelRegistry& kernels);

void RegisterCollectiveKernels(KernelRegistry& kernels) {
  using Kind = CollectiveKind;
  kernels.Add<First<Kind::kReduce>>("CollectiveReduce", kCpu);
  kernels.Add<First<Kind::kGather>>("CollectiveGather", kCpu);
  kernels.Add<First<Kind::kBroadcast>>("CollectiveBcastSend", kCpu);
  kernels.Add<First<Kind::kBroadcast, false>>("CollectiveBcastRecv", kCpu);
  kernels.Add<Second<Kind::kReduce>>("CollectiveReduceV2", kCpu);
  kernels.Add<Second<Kind::kReduceScatter>>("CollectiveReduceScatterV2", kCpu);
  kernels.Add<Second<Kind::kGather>>("CollectiveGatherV2", kCpu);
  kernels.Add<Second<Kind::kAllToAll>>("CollectiveAllToAllV2", kCpu);
  kernels.Add<Second<Kind::kBroadcast>>("CollectiveBcastSendV2", kCpu);
  kernels.Add<Second<Kind::kBroadcast, false>>("CollectiveBcastRecvV2", kCpu);
  kernels.Add<Third<Kind::kReduce>>("CollectiveReduceV3", kCpu);
  kernels.Add<Third<Kind::kAllToAll>>("CollectiveAllToAllV3", kCpu);
  RegisterCommunicatorKernels(kernels);
}

}  // namespace tensorfleet::portable
