// ScanDataset: a function of a state and each element, which gives the next state and an element.
#include "runtime/data/dataset_kernel.h"
#include "runtime/data/families.h"
#include "runtime/data/unary_iterator.h"

namespace tensorfleet::data {
namespace {

class Scan final : public Dataset {
 public:
  Scan(DatasetRef input, CapturedFunctionRef function, Element initial, ElementType type,
       bool preserves)
      : Dataset(std::move(type), {std::move(input)}),
        function_(std::move(function)),
        initial_(std::move(initial)),
        preserves_cardinality_(preserves) {
    for (const Tensor& state : initial_) result_types_.push_back(state.dtype());
    const std::vector<DType>& types = this->type().types;
    result_types_.insert(result_types_.end(), types.begin(), types.end());
  }
  const CapturedFunctionRef& function() const { return function_; }
  const Element& initial() const { return initial_; }
  // The state's, then the element's.
  const std::vector<DType>& result_types() const { return result_types_; }
  bool preserves_cardinality() const { return preserves_cardinality_; }
  int64_t Cardinality() const override {
    return preserves_cardinality_ ? input()->Cardinality() : kUnknownCardinality;
  }

 private:
  StatusOr<IteratorPtr> MakeIterator(IteratorScope& scope, int depth) const override;
  const CapturedFunctionRef function_;
  const Element initial_;
  std::vector<DType> result_types_;
  const bool preserves_cardinality_;
};

class ScanIterator final : public UnaryIterator<Scan> {
 public:
  using UnaryIterator::UnaryIterator;
  Status Open() override {
    TFLEET_ASSIGN_OR_RETURN(function_, scope_.Bind(dataset_->function()));
    state_ = dataset_->initial();
    return OpenInput();
  }
  bool MayWait() const override { return true; }
  StatusOr<bool> Next(Element* out) override {
    Element element;
    TFLEET_ASSIGN_OR_RETURN(const bool more, NextInput(&element));
    if (!more) return false;
    Element args = state_;
    for (Tensor& component : element) args.push_back(std::move(component));
    Element results;
    const Status status = function_.Call(std::move(args), &results, &dataset_->result_types());
    if (absl::IsOutOfRange(status)) {
      if (!dataset_->preserves_cardinality()) return false;
      return InvalidArgument("Function invocation produced OutOfRangeError: ", status.message());
    }
    TFLEET_RETURN_IF_ERROR(status);
    const auto middle = results.begin() + static_cast<int64_t>(state_.size());
    out->assign(std::make_move_iterator(middle), std::make_move_iterator(results.end()));
    results.erase(middle, results.end());
    state_ = std::move(results);
    return true;
  }
  Status Save(StateWriter& to) override {
    to.PutElement("state", state_);
    return UnaryIterator::Save(to);
  }
  Status Restore(StateReader& from) override {
    std::vector<DType> types;
    for (const Tensor& state : dataset_->initial()) types.push_back(state.dtype());
    TFLEET_ASSIGN_OR_RETURN(state_, from.GetElement("state", types));
    return UnaryIterator::Restore(from);
  }

 private:
  BoundFunction function_;
  Element state_;
};

StatusOr<IteratorPtr> Scan::MakeIterator(IteratorScope& scope, int depth) const {
  return Opened<ScanIterator>(this, scope, depth);
}

class ScanKernel final : public DatasetKernel {
 public:
  explicit ScanKernel(KernelInit& init)
      : DatasetKernel(init), function_(init, "f", "other_arguments") {
    init.Get("preserve_cardinality", &preserves_cardinality_);
    std::vector<DType> state;
    init.Get("Tstate", &state);
    num_state_ = static_cast<int>(state.size());
  }

 private:
  StatusOr<DatasetRef> Make(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(DatasetRef input, DatasetInput(ctx, 0));
    Element initial;
    for (int i = 0; i < num_state_; ++i) initial.push_back(ctx.input(1 + i));
    return std::make_shared<Scan>(std::move(input), function_.Capture(ctx), std::move(initial),
                                  declared(), preserves_cardinality_);
  }
  const FunctionAttr function_;
  bool preserves_cardinality_ = false;
  int num_state_ = 0;
};

}  // namespace

void RegisterScanKernels(KernelRegistry& kernels) {
  kernels.Add<ScanKernel>("ScanDataset", kCpu);
  kernels.Add<ScanKernel>("ExperimentalScanDataset", kCpu);
}

}  // namespace tensorfleet::data
