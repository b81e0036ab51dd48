// Ops that run through a whole data set in one step: ReduceDataset, DatasetToSingleElement.
#include "runtime/base/contain.h"
#include "runtime/data/dataset_kernel.h"
#include "runtime/data/dataset_options.h"
#include "runtime/data/families.h"
#include "runtime/data/iterator.h"
#include "runtime/data/whole_dataset.h"

namespace tensorfleet::data {

void RunThroughDataset(KernelContext& ctx, AsyncKernel::Done done,
                       std::function<Status(KernelContext&, IteratorScope&)> work) {
  const auto shared = std::make_shared<AsyncKernel::Done>(std::move(done));
  const Status started = RunOnDataThread([&ctx, shared, work = std::move(work)] {
    const Status status = Contained([&] {
      IteratorScope scope(&ctx.pool(), ctx.step().cancellation, "a data set run in one step");
      const IteratorScope::Work mine(scope);
      return work(ctx, scope);
    });
    (*shared)(status);
  });
  if (!started.ok()) (*shared)(started);
}

StatusOr<IteratorPtr> OpenWhole(const DatasetRef& dataset, IteratorScope& scope) {
  ApplyOptions(*dataset, scope);
  return dataset->NewIterator(scope, 0);
}

namespace {

class ReduceKernel final : public AsyncKernel {
 public:
  explicit ReduceKernel(KernelInit& init) : function_(init, "f", "other_arguments") {
    init.Get("output_types", &types_);
    std::vector<DType> state_types;
    init.Get("Tstate", &state_types);
    num_state_ = static_cast<int>(state_types.size());
    if (init.status().ok() && types_.size() != state_types.size()) {
      init.Fail(InvalidArgument("The state has ", state_types.size(), " components and the result ",
                                types_.size(), ": there must be as many"));
    }
  }
  bool IsExpensive() const override { return true; }
  void ComputeAsync(KernelContext& ctx, Done done) const override {
    RunThroughDataset(ctx, std::move(done), [this](KernelContext& ctx, IteratorScope& scope) {
      return Reduce(ctx, scope);
    });
  }

 private:
  Status Reduce(KernelContext& ctx, IteratorScope& scope) const {
    TFLEET_ASSIGN_OR_RETURN(const DatasetRef dataset, DatasetInput(ctx, 0));
    TFLEET_ASSIGN_OR_RETURN(const BoundFunction function, scope.Bind(function_.Capture(ctx)));
    TFLEET_ASSIGN_OR_RETURN(const IteratorPtr iterator, OpenWhole(dataset, scope));
    Element state;
    for (int i = 0; i < num_state_; ++i) state.push_back(ctx.TakeInput(1 + i));
    while (true) {
      TFLEET_RETURN_IF_ERROR(scope.CheckCancelled());
      Element element;
      TFLEET_ASSIGN_OR_RETURN(const bool more, iterator->Next(&element));
      if (!more) break;
      Element args = state;
      for (Tensor& component : element) args.push_back(std::move(component));
      Element next;
      const Status status = function.Call(std::move(args), &next, &types_);
      if (absl::IsOutOfRange(status)) break;  // the function has seen enough
      TFLEET_RETURN_IF_ERROR(status);
      state = std::move(next);
    }
    TFLEET_RETURN_IF_ERROR(CheckTypes(state, types_));
    for (int i = 0; i < num_state_; ++i) ctx.SetOutput(i, std::move(state[i]));
    return OkStatus();
  }

  const FunctionAttr function_;
  std::vector<DType> types_;
  int num_state_ = 0;
};

class SingleElementKernel final : public AsyncKernel {
 public:
  explicit SingleElementKernel(KernelInit& init) { init.Get("output_types", &types_); }
  bool IsExpensive() const override { return true; }
  void ComputeAsync(KernelContext& ctx, Done done) const override {
    RunThroughDataset(ctx, std::move(done), [this](KernelContext& ctx, IteratorScope& scope) {
      return Take(ctx, scope);
    });
  }

 private:
  Status Take(KernelContext& ctx, IteratorScope& scope) const {
    TFLEET_ASSIGN_OR_RETURN(const DatasetRef dataset, DatasetInput(ctx, 0));
    TFLEET_ASSIGN_OR_RETURN(const IteratorPtr iterator, OpenWhole(dataset, scope));
    Element element, second;
    TFLEET_ASSIGN_OR_RETURN(const bool has_one, iterator->Next(&element));
    if (!has_one) return InvalidArgument("Dataset was empty.");
    TFLEET_RETURN_IF_ERROR(CheckTypes(element, types_));
    TFLEET_ASSIGN_OR_RETURN(const bool has_two, iterator->Next(&second));
    if (has_two) return InvalidArgument("Dataset had more than one element.");
    for (size_t i = 0; i < element.size(); ++i) {
      ctx.SetOutput(static_cast<int>(i), std::move(element[i]));
    }
    return OkStatus();
  }
  std::vector<DType> types_;
};

class CardinalityKernel final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const DatasetRef dataset, DatasetInput(ctx, 0));
    ctx.SetOutput(0, Tensor::Scalar<int64_t>(dataset->Cardinality()));
    return OkStatus();
  }
};

}  // namespace

void RegisterReduceKernels(KernelRegistry& kernels) {
  kernels.Add<ReduceKernel>("ReduceDataset", kCpu);
  kernels.Add<SingleElementKernel>("DatasetToSingleElement", kCpu);
  kernels.Add<CardinalityKernel>("DatasetCardinality", kCpu);
  kernels.Add<CardinalityKernel>("ExperimentalDatasetCardinality", kCpu);
}

}  // namespace tensorfleet::data
