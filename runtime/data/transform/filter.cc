// FilterDataset: the elements that a function says yes to.
#include "runtime/data/dataset_kernel.h"
#include "runtime/data/families.h"
#include "runtime/data/predicate.h"
#include "runtime/data/unary_iterator.h"

namespace tensorfleet::data {
namespace {

class Filter final : public Dataset {
 public:
  Filter(DatasetRef input, CapturedFunctionRef predicate)
      : Dataset(input->type(), {input}), predicate_(std::move(predicate)) {}
  const CapturedFunctionRef& predicate() const { return predicate_; }

 private:
  StatusOr<IteratorPtr> MakeIterator(IteratorScope& scope, int depth) const override;
  const CapturedFunctionRef predicate_;
};

class FilterIterator final : public UnaryIterator<Filter> {
 public:
  using UnaryIterator::UnaryIterator;
  Status Open() override {
    TFLEET_ASSIGN_OR_RETURN(predicate_, scope_.Bind(dataset_->predicate()));
    return OpenInput();
  }
  bool MayWait() const override { return true; }
  StatusOr<bool> Next(Element* out) override {
    while (true) {
      TFLEET_RETURN_IF_ERROR(scope_.CheckCancelled());
      TFLEET_ASSIGN_OR_RETURN(const bool more, NextInput(out));
      if (!more) return false;
      const StatusOr<bool> passes = SaysYes(predicate_, *out);
      if (absl::IsOutOfRange(passes.status())) return false;
      TFLEET_RETURN_IF_ERROR(passes.status());
      if (*passes) return true;
    }
  }

 private:
  BoundFunction predicate_;
};

StatusOr<IteratorPtr> Filter::MakeIterator(IteratorScope& scope, int depth) const {
  return Opened<FilterIterator>(this, scope, depth);
}

class FilterKernel final : public DatasetKernel {
 public:
  explicit FilterKernel(KernelInit& init)
      : DatasetKernel(init), predicate_(init, "predicate", "other_arguments") {}

 private:
  StatusOr<DatasetRef> Make(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(DatasetRef input, DatasetInput(ctx, 0));
    return std::make_shared<Filter>(std::move(input), predicate_.Capture(ctx));
  }
  const FunctionAttr predicate_;
};

}  // namespace

void RegisterFilterKernels(KernelRegistry& kernels) {
  kernels.Add<FilterKernel>("FilterDataset", kCpu);
}

}  // namespace tensorfleet::data
