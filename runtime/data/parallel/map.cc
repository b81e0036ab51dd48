// ParallelMapDataset, MapAndBatchDataset and ParallelFilterDataset: functions of several elements
// at once.
#include "runtime/data/composed.h"
#include "runtime/data/dataset_kernel.h"
#include "runtime/data/families.h"
#include "runtime/data/iterator.h"
#include "runtime/data/parallel/ordered_calls.h"
#include "runtime/data/predicate.h"

namespace tensorfleet::data {
namespace {

struct MapOptions {
  int64_t parallelism = 1;
  Order order = Order::kByOptions;
  bool preserves_cardinality = false;
};

class ParallelMap final : public Dataset {
 public:
  ParallelMap(DatasetRef input, CapturedFunctionRef function, ElementType type, MapOptions options)
      : Dataset(std::move(type), {std::move(input)}),
        function_(std::move(function)),
        options_(options) {}
  const CapturedFunctionRef& function() const { return function_; }
  const MapOptions& options() const { return options_; }
  int64_t Cardinality() const override {
    return options_.preserves_cardinality ? input()->Cardinality() : kUnknownCardinality;
  }

 private:
  StatusOr<IteratorPtr> MakeIterator(IteratorScope& scope, int depth) const override;
  const CapturedFunctionRef function_;
  const MapOptions options_;
};

class ParallelFilter final : public Dataset {
 public:
  ParallelFilter(DatasetRef input, CapturedFunctionRef predicate, MapOptions options)
      : Dataset(input->type(), {input}), predicate_(std::move(predicate)), options_(options) {}
  const CapturedFunctionRef& function() const { return predicate_; }
  const MapOptions& options() const { return options_; }

 private:
  StatusOr<IteratorPtr> MakeIterator(IteratorScope& scope, int depth) const override;
  const CapturedFunctionRef predicate_;
  const MapOptions options_;
};

// `D` is one of the two.
template <typename D>
class CallsIterator final : public Iterator {
 public:
  CallsIterator(const D* dataset, IteratorScope& scope, int depth)
      : dataset_(Kept(dataset)), scope_(scope), depth_(depth) {}
  Status Open() {
    TFLEET_ASSIGN_OR_RETURN(function_, scope_.Bind(dataset_->function()));
    TFLEET_ASSIGN_OR_RETURN(IteratorPtr input, InputIterator(dataset_->input(), scope_, depth_));
    OrderedCalls::Options options;
    options.parallelism = dataset_->options().parallelism;
    options.is_ordered = IsDeterministic(dataset_->options().order, scope_);
    options.types = dataset_->type().types;
    options.call = [this](Element element, OrderedCalls::Result* result) {
      Call(std::move(element), result);
    };
    calls_.emplace(&scope_, std::move(input), std::move(options));
    return OkStatus();
  }
  bool MayWait() const override { return true; }
  StatusOr<bool> Next(Element* out) override {
    if (is_over_) return false;
    const StatusOr<bool> more = calls_->Next(out);
    if (absl::IsOutOfRange(more.status())) {
      is_over_ = true;  // the function has said so
      return false;
    }
    return more;
  }
  Status Save(StateWriter& to) override {
    to.PutInt("is_over", is_over_);
    return calls_->Save(to);
  }
  Status Restore(StateReader& from) override {
    TFLEET_ASSIGN_OR_RETURN(is_over_, from.GetInt("is_over"));
    return calls_->Restore(from, dataset_->input(), scope_, depth_);
  }

 private:
  void Call(Element element, OrderedCalls::Result* result) const {
    if constexpr (std::is_same_v<D, ParallelMap>) {
      result->status =
          function_.Call(std::move(element), &result->element, &dataset_->type().types);
      if (absl::IsOutOfRange(result->status) && dataset_->options().preserves_cardinality) {
        result->status = InvalidArgument("Function invocation produced OutOfRangeError: ",
                                         result->status.message());
      }
    } else {
      const StatusOr<bool> passes = SaysYes(function_, element);
      result->status = passes.status();
      if (passes.ok()) result->is_left_out = !*passes;
      result->element = std::move(element);
    }
  }

  const std::shared_ptr<const D> dataset_;
  IteratorScope scope_;
  const int depth_;
  BoundFunction function_;
  bool is_over_ = false;
  std::optional<OrderedCalls> calls_;
};

template <typename D>
StatusOr<IteratorPtr> OpenedCalls(const D* dataset, IteratorScope& scope, int depth) {
  auto iterator = std::make_unique<CallsIterator<D>>(dataset, scope, depth);
  TFLEET_RETURN_IF_ERROR(iterator->Open());
  return IteratorPtr(std::move(iterator));
}
StatusOr<IteratorPtr> ParallelMap::MakeIterator(IteratorScope& scope, int depth) const {
  return OpenedCalls(this, scope, depth);
}
StatusOr<IteratorPtr> ParallelFilter::MakeIterator(IteratorScope& scope, int depth) const {
  return OpenedCalls(this, scope, depth);
}

Status CheckParallelism(int64_t parallelism) {
  if (parallelism > 0 || parallelism == kAutotune) return OkStatus();
  return InvalidArgument("num_parallel_calls must be greater than zero.");
}

// input_dataset, other_arguments..., num_parallel_calls.
class ParallelMapKernel final : public DatasetKernel {
 public:
  explicit ParallelMapKernel(KernelInit& init)
      : DatasetKernel(init), function_(init, "f", "other_arguments") {
    init.Get("preserve_cardinality", &options_.preserves_cardinality);
    if (FindAttr(init.def(), "deterministic") != nullptr) {
      options_.order = OrderAttr(init);
    } else {
      bool sloppy = false;
      init.Get("sloppy", &sloppy);
      options_.order = sloppy ? Order::kSloppy : Order::kDeterministic;
    }
  }

 private:
  StatusOr<DatasetRef> Make(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(DatasetRef input, DatasetInput(ctx, 0));
    const int last = ctx.num_inputs() - 1;
    MapOptions options = options_;
    if (ctx.input(last).dtype() == DType::kInt32) {
      TFLEET_ASSIGN_OR_RETURN(options.parallelism,
                              ScalarInput<int32_t>(ctx, last, "num_parallel_calls"));
    } else {
      TFLEET_ASSIGN_OR_RETURN(options.parallelism,
                              ScalarInput<int64_t>(ctx, last, "num_parallel_calls"));
    }
    TFLEET_RETURN_IF_ERROR(CheckParallelism(options.parallelism));
    return std::make_shared<ParallelMap>(std::move(input), function_.Capture(ctx), declared(),
                                         options);
  }
  const FunctionAttr function_;
  MapOptions options_;
};

// input_dataset, other_arguments..., batch_size, num_parallel_calls, drop_remainder.
class MapAndBatchKernel final : public DatasetKernel {
 public:
  explicit MapAndBatchKernel(KernelInit& init)
      : DatasetKernel(init), function_(init, "f", "other_arguments") {
    init.Get("preserve_cardinality", &options_.preserves_cardinality);
  }

 private:
  StatusOr<DatasetRef> Make(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(DatasetRef input, DatasetInput(ctx, 0));
    const int n = ctx.num_inputs();
    TFLEET_ASSIGN_OR_RETURN(const int64_t size, ScalarInput<int64_t>(ctx, n - 3, "batch_size"));
    if (size <= 0) return InvalidArgument("batch_size must be greater than zero.");
    MapOptions options = options_;
    TFLEET_ASSIGN_OR_RETURN(options.parallelism,
                            ScalarInput<int64_t>(ctx, n - 2, "num_parallel_calls"));
    TFLEET_RETURN_IF_ERROR(CheckParallelism(options.parallelism));
    TFLEET_ASSIGN_OR_RETURN(const bool drops, ScalarInput<bool>(ctx, n - 1, "drop_remainder"));
    ElementType type = declared();
    for (PartialShape& shape : type.shapes) shape = WithoutFirst(shape);
    auto mapped = std::make_shared<ParallelMap>(std::move(input), function_.Capture(ctx),
                                                std::move(type), options);
    return MakeBatch(std::move(mapped), size, drops);
  }
  const FunctionAttr function_;
  MapOptions options_;
};

class ParallelFilterKernel final : public DatasetKernel {
 public:
  explicit ParallelFilterKernel(KernelInit& init)
      : DatasetKernel(init), predicate_(init, "predicate", "other_arguments") {
    options_.order = OrderAttr(init);
  }

 private:
  StatusOr<DatasetRef> Make(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(DatasetRef input, DatasetInput(ctx, 0));
    MapOptions options = options_;
    TFLEET_ASSIGN_OR_RETURN(options.parallelism,
                            ScalarInput<int64_t>(ctx, ctx.num_inputs() - 1, "num_parallel_calls"));
    TFLEET_RETURN_IF_ERROR(CheckParallelism(options.parallelism));
    return std::make_shared<ParallelFilter>(std::move(input), predicate_.Capture(ctx), options);
  }
  const FunctionAttr predicate_;
  MapOptions options_;
};

// input_dataset, batch_size, num_parallel_calls, drop_remainder: taking elements is what takes
// time, so one thread makes as many batches ahead.
class ParallelBatchKernel final : public DatasetKernel {
 public:
  explicit ParallelBatchKernel(KernelInit& init) : DatasetKernel(init) { OrderAttr(init); }

 private:
  StatusOr<DatasetRef> Make(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(DatasetRef input, DatasetInput(ctx, 0));
    TFLEET_ASSIGN_OR_RETURN(const int64_t size, ScalarInput<int64_t>(ctx, 1, "batch_size"));
    if (size <= 0) return InvalidArgument("Batch size must be greater than zero.");
    TFLEET_ASSIGN_OR_RETURN(const int64_t parallelism,
                            ScalarInput<int64_t>(ctx, 2, "num_parallel_calls"));
    TFLEET_RETURN_IF_ERROR(CheckParallelism(parallelism));
    TFLEET_ASSIGN_OR_RETURN(const bool drops, ScalarInput<bool>(ctx, 3, "drop_remainder"));
    return MakePrefetch(MakeBatch(std::move(input), size, drops), parallelism);
  }
};

}  // namespace

void RegisterParallelMapKernels(KernelRegistry& kernels) {
  kernels.Add<ParallelMapKernel>("ParallelMapDataset", kCpu);
  kernels.Add<ParallelMapKernel>("ParallelMapDatasetV2", kCpu);
  kernels.Add<MapAndBatchKernel>("MapAndBatchDataset", kCpu);
  kernels.Add<MapAndBatchKernel>("ExperimentalMapAndBatchDataset", kCpu);
  kernels.Add<ParallelFilterKernel>("ParallelFilterDataset", kCpu);
  kernels.Add<ParallelBatchKernel>("ParallelBatchDataset", kCpu);
}

}  // namespace tensorfleet::data
