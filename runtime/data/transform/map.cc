// MapDataset: a function of each element.
#include "runtime/data/dataset_kernel.h"
#include "runtime/data/families.h"
#include "runtime/data/unary_iterator.h"

namespace tensorfleet::data {
namespace {

class Map final : public Dataset {
 public:
  Map(DatasetRef input, CapturedFunctionRef function, ElementType type, bool preserves)
      : Dataset(std::move(type), {std::move(input)}),
        function_(std::move(function)),
        preserves_cardinality_(preserves) {}
  const CapturedFunctionRef& function() const { return function_; }
  bool preserves_cardinality() const { return preserves_cardinality_; }
  // A function may end the sequence, by OutOfRange.
  int64_t Cardinality() const override {
    return preserves_cardinality_ ? input()->Cardinality() : kUnknownCardinality;
  }

 private:
  StatusOr<IteratorPtr> MakeIterator(IteratorScope& scope, int depth) const override;
  const CapturedFunctionRef function_;
  const bool preserves_cardinality_;
};

class MapIterator final : public UnaryIterator<Map> {
 public:
  using UnaryIterator::UnaryIterator;
  Status Open() override {
    TFLEET_ASSIGN_OR_RETURN(function_, scope_.Bind(dataset_->function()));
    return OpenInput();
  }
  bool MayWait() const override { return true; }
  StatusOr<bool> Next(Element* out) override {
    Element args;
    TFLEET_ASSIGN_OR_RETURN(const bool more, NextInput(&args));
    if (!more) return false;
    const Status status = function_.Call(std::move(args), out, &dataset_->type().types);
    if (absl::IsOutOfRange(status)) {
      if (!dataset_->preserves_cardinality()) return false;
      return InvalidArgument("Function invocation produced OutOfRangeError: ", status.message());
    }
    TFLEET_RETURN_IF_ERROR(status);
    return true;
  }

 private:
  BoundFunction function_;
};

StatusOr<IteratorPtr> Map::MakeIterator(IteratorScope& scope, int depth) const {
  return Opened<MapIterator>(this, scope, depth);
}

class MapKernel final : public DatasetKernel {
 public:
  explicit MapKernel(KernelInit& init)
      : DatasetKernel(init), function_(init, "f", "other_arguments") {
    init.Get("preserve_cardinality", &preserves_cardinality_);
  }

 private:
  StatusOr<DatasetRef> Make(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(DatasetRef input, DatasetInput(ctx, 0));
    return std::make_shared<Map>(std::move(input), function_.Capture(ctx), declared(),
                                 preserves_cardinality_);
  }
  const FunctionAttr function_;
  bool preserves_cardinality_ = false;
};

}  // namespace

void RegisterMapKernels(KernelRegistry& kernels) { kernels.Add<MapKernel>("MapDataset", kCpu); }

}  // namespace tensorfleet::data
