// Queues. Schemas: runtime/ops/portable/queue_ops.cc; what a queue does: queue.h.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "runtime/kernels/kernel_registry.h"
#include "runtime/kernels/named_resource.h"
#include "runtime/kernels/portable/queue.h"

namespace tensorfleet::portable {
namespace {

std::string TypeList(const std::vector<DType>& types) {
  return absl::StrJoin(types, ", ", [](std::string* out, DType t) { out->append(DTypeName(t)); });
}
std::string ShapeList(const std::vector<PartialShape>& shapes) {
  return absl::StrCat(
      "[",
      absl::StrJoin(shapes, ", ",
                    [](std::string* out, const PartialShape& s) { out->append(s.ToString()); }),
      "]");
}

// TensorFlow's queues count in 32 bits.
Status CheckIsInt32(absl::string_view attr, int64_t value) {
  if (value == static_cast<int32_t>(value)) return OkStatus();
  return InvalidArgument("Attr ", attr, " has value ", value, " out of range for an int32");
}

class QueueKernel final : public Kernel {
 public:
  explicit QueueKernel(KernelInit& init) : resource_(init), op_(init.node().op()) {
    spec_.kind = std::string(absl::StripSuffix(op_, "V2"));
    spec_.name = resource_.name();
    spec_.pads = spec_.kind == "PaddingFIFOQueue";
    init.Get("component_types", &spec_.types);
    init.Get("shapes", &spec_.shapes);
    init.Get("capacity", &spec_.capacity);
    init.Fail(CheckIsInt32("capacity", spec_.capacity));
    init.Fail(CheckShapes());
    if (spec_.kind == "RandomShuffleQueue") {
      init.Get("min_after_dequeue", &spec_.min_after_dequeue);
      init.Fail(CheckIsInt32("min_after_dequeue", spec_.min_after_dequeue));
      init.Get("seed", &seed_);
      init.Get("seed2", &seed2_);
      init.Fail(CheckMinAfterDequeue());
    }
    if (spec_.kind == "PriorityQueue") {
      spec_.types.insert(spec_.types.begin(), DType::kInt64);
      spec_.shapes.insert(spec_.shapes.begin(), PartialShape(Shape()));
    }
  }

  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(ResourceRef<Queue> queue,
                            resource_.FindOrMake(ctx, [&]() -> StatusOr<ResourceRef<Queue>> {
                              return ResourceRef<Queue>::Adopt(new Queue(spec_, MakeStore()));
                            }));
    TFLEET_RETURN_IF_ERROR(CheckMatches(queue->spec()));
    resource_.SetOutput(ctx, "N10tensorflow14QueueInterfaceE");
    return OkStatus();
  }

 private:
  std::unique_ptr<QueueStore> MakeStore() const {
    if (spec_.kind == "PriorityQueue") return MakePriorityStore();
    if (spec_.kind == "RandomShuffleQueue") return MakeShuffleStore(seed_, seed2_);
    return MakeFifoStore();
  }

  Status CheckShapes() const {
    if (spec_.pads) {
      if (spec_.shapes.size() != spec_.types.size()) {
        return InvalidArgument("Shapes must be provided for all components, but received ",
                               spec_.types.size(), " dtypes and ", spec_.shapes.size(), " shapes.");
      }
      for (const PartialShape& shape : spec_.shapes) {
        if (!shape.has_rank()) {
          return InvalidArgument("shape ", shape.ToString(), " must have known rank.");
        }
      }
      return OkStatus();
    }
    for (const PartialShape& shape : spec_.shapes) {
      if (!shape.is_fully_defined()) {
        return InvalidArgument("Shape ", shape.ToString(), " is not fully defined");
      }
    }
    if (!spec_.shapes.empty() && spec_.shapes.size() != spec_.types.size()) {
      return InvalidArgument("Different number of component types.  Types: ", TypeList(spec_.types),
                             ", Shapes: ", ShapeList(spec_.shapes));
    }
    return OkStatus();
  }

  Status CheckMinAfterDequeue() const {
    if (spec_.min_after_dequeue < 0) {
      return InvalidArgument("min_after_dequeue ", spec_.min_after_dequeue, " must be >= 0");
    }
    if (spec_.capacity >= 0 && spec_.min_after_dequeue >= spec_.capacity) {
      return InvalidArgument("min_after_dequeue ", spec_.min_after_dequeue, " must be < capacity ",
                             spec_.capacity);
    }
    return OkStatus();
  }

  // A shared queue that is there already must be the one that this node describes.
  Status CheckMatches(const QueueSpec& have) const {
    if (have.kind != spec_.kind) return InvalidArgument("Expected ", have.kind, ", found ", op_);
    const std::string who = absl::StrCat("Shared queue '", have.name, "' has ");
    if (have.capacity != spec_.capacity) {
      return InvalidArgument(who, "capacity ", have.capacity, " but requested capacity was ",
                             spec_.capacity);
    }
    if (have.types != spec_.types) {
      return InvalidArgument(who, "component types ", TypeList(have.types),
                             " but requested component types were ", TypeList(spec_.types));
    }
    if (have.shapes != spec_.shapes) {
      return InvalidArgument(who, "component shapes ", ShapeList(have.shapes),
                             " but requested component shapes were ", ShapeList(spec_.shapes));
    }
    if (have.min_after_dequeue != spec_.min_after_dequeue) {
      return InvalidArgument(who, "min_after_dequeue ", have.min_after_dequeue,
                             " but requested min_after_dequeue was ", spec_.min_after_dequeue, ".");
    }
    return OkStatus();
  }

  const NamedResource<Queue> resource_;
  const std::string op_;
  QueueSpec spec_;
  int64_t seed_ = 0, seed2_ = 0;
};

Queue::Caller CallerOf(const KernelContext& ctx) {
  return {ctx.step().cancellation, &ctx.step().device->pool()};
}

// An operation on the queue behind input 0.
class QueueAccess : public AsyncKernel {
 public:
  explicit QueueAccess(KernelInit& init) {
    if (FindAttr(init.def(), "timeout_ms") == nullptr) return;
    int64_t timeout = -1;
    init.Get("timeout_ms", &timeout);
    if (timeout != -1) init.Fail(InvalidArgument("Timeout not supported yet."));
  }
  void ComputeAsync(KernelContext& ctx, Done done) const final {
    StatusOr<ResourceRef<Queue>> queue = LookupNamedResource<Queue>(ctx, 0);
    if (!queue.ok()) return done(queue.status());
    Access(ctx, **queue, std::move(done));
  }

 protected:
  virtual void Access(KernelContext& ctx, Queue& queue, Done done) const = 0;

  // The node's components, [first, ...) of its inputs or all of its outputs, must be the queue's.
  static Status CheckTypes(const Node& node, const Queue& queue, bool takes_components) {
    const std::vector<DType>& mine = takes_components ? node.input_types() : node.output_types();
    const std::vector<DType>& components = queue.spec().types;
    const size_t first = takes_components ? 1 : 0;
    if (std::vector<DType>(mine.begin() + first, mine.end()) == components) return OkStatus();
    std::vector<DType> inputs = node.input_types(), outputs = components;
    if (takes_components) {
      inputs = components;
      inputs.insert(inputs.begin(), node.input_types().front());
      outputs.clear();
    }
    return InvalidArgument("Signature mismatch, have: ", TypeList(node.input_types()), "->",
                           TypeList(node.output_types()), " expected: ", TypeList(inputs), "->",
                           TypeList(outputs));
  }
};

template <bool kMany>
class EnqueueKernel final : public QueueAccess {
 public:
  using QueueAccess::QueueAccess;

 private:
  void Access(KernelContext& ctx, Queue& queue, Done done) const override {
    if (Status s = CheckTypes(ctx.node(), queue, true); !s.ok()) return done(s);
    QueueTuple tuple;
    for (int i = 1; i < ctx.num_inputs(); ++i) tuple.push_back(ctx.TakeInput(i));
    if (kMany) {
      queue.EnqueueMany(std::move(tuple), CallerOf(ctx), std::move(done));
    } else {
      queue.Enqueue(std::move(tuple), CallerOf(ctx), std::move(done));
    }
  }
};

Queue::DequeueDone SetOutputs(KernelContext& ctx, AsyncKernel::Done done) {
  return [&ctx, done = std::move(done)](Status status, QueueTuple tuple) {
    for (size_t i = 0; i < tuple.size(); ++i)
      ctx.SetOutput(static_cast<int>(i), std::move(tuple[i]));
    done(std::move(status));
  };
}

class DequeueKernel final : public QueueAccess {
 public:
  using QueueAccess::QueueAccess;

 private:
  void Access(KernelContext& ctx, Queue& queue, Done done) const override {
    if (Status s = CheckTypes(ctx.node(), queue, false); !s.ok()) return done(s);
    queue.Dequeue(CallerOf(ctx), SetOutputs(ctx, std::move(done)));
  }
};

template <bool kUpTo>
class DequeueManyKernel final : public QueueAccess {
 public:
  using QueueAccess::QueueAccess;

 private:
  void Access(KernelContext& ctx, Queue& queue, Done done) const override {
    if (Status s = CheckTypes(ctx.node(), queue, false); !s.ok()) return done(s);
    if (ctx.input(1).num_elements() != 1) {
      return done(InvalidArgument("the number of elements to dequeue must be a scalar, not ",
                                  ctx.input(1).shape().ToString()));
    }
    const int32_t n = ctx.input(1).scalar<int32_t>();
    if (n < 0) {
      return done(InvalidArgument(kUpTo ? "DequeueUpToOp" : "DequeueManyOp", " requested ", n,
                                  " < 0 elements"));
    }
    queue.DequeueMany(n, kUpTo, CallerOf(ctx), SetOutputs(ctx, std::move(done)));
  }
};

class QueueCloseKernel final : public QueueAccess {
 public:
  explicit QueueCloseKernel(KernelInit& init) : QueueAccess(init) {
    init.Get("cancel_pending_enqueues", &cancel_pending_);
  }

 private:
  void Access(KernelContext& ctx, Queue& queue, Done done) const override {
    queue.Close(cancel_pending_, CallerOf(ctx), std::move(done));
  }
  bool cancel_pending_ = false;
};

// The name of the queue behind a handle, for ops of the first version.
class FakeQueueKernel final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    const ResourceHandle* handle = HandleFromInput(ctx, 0);
    if (handle == nullptr) return InvalidArgument("input 0 is not a scalar resource handle");
    TFLEET_RETURN_IF_ERROR(CheckHandleDevice(ctx, *handle));
    ctx.SetRefOutput(0, MakeNameReference(handle->container, handle->name));
    return OkStatus();
  }
};

class QueueSizeKernel final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const ResourceRef<Queue> queue, LookupNamedResource<Queue>(ctx, 0));
    ctx.SetOutput(0, Tensor::Scalar<int32_t>(static_cast<int32_t>(queue->size())));
    return OkStatus();
  }
};

class QueueIsClosedKernel final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const ResourceRef<Queue> queue, LookupNamedResource<Queue>(ctx, 0));
    ctx.SetOutput(0, Tensor::Scalar<bool>(queue->is_closed()));
    return OkStatus();
  }
};

}  // namespace

void RegisterQueueKernels(KernelRegistry& kernels) {
  for (const char* version : {"", "V2"}) {
    const auto name = [version](const char* op) { return absl::StrCat(op, version); };
    for (const char* queue :
         {"FIFOQueue", "PaddingFIFOQueue", "PriorityQueue", "RandomShuffleQueue"}) {
      kernels.Add<QueueKernel>(name(queue), kCpu);
    }
    kernels.Add<EnqueueKernel<false>>(name("QueueEnqueue"), kCpu);
    kernels.Add<EnqueueKernel<true>>(name("QueueEnqueueMany"), kCpu);
    kernels.Add<DequeueKernel>(name("QueueDequeue"), kCpu);
    kernels.Add<DequeueManyKernel<false>>(name("QueueDequeueMany"), kCpu);
    kernels.Add<DequeueManyKernel<true>>(name("QueueDequeueUpTo"), kCpu);
    kernels.Add<QueueCloseKernel>(name("QueueClose"), kCpu);
    kernels.Add<QueueSizeKernel>(name("QueueSize"), kCpu);
    kernels.Add<QueueIsClosedKernel>(name("QueueIsClosed"), kCpu);
  }
  kernels.Add<FakeQueueKernel>("FakeQueue", kCpu);
}

}  // namespace tensorfleet::portable
