// UnbatchDataset: the rows of elements as elements.
#include <algorithm>

#include "runtime/data/composed.h"
#include "runtime/data/dataset_kernel.h"
#include "runtime/data/families.h"
#include "runtime/data/unary_iterator.h"

namespace tensorfleet::data {
namespace {

ElementType RowType(const Dataset& input) {
  ElementType type = input.type();
  for (PartialShape& shape : type.shapes) shape = WithoutFirst(shape);
  return type;
}

class Unbatch final : public Dataset {
 public:
  explicit Unbatch(DatasetRef input) : Dataset(RowType(*input), {input}) {}
  int64_t Cardinality() const override {
    const int64_t n = input()->Cardinality();
    if (n == kInfinite || n == 0) return n;
    const PartialShape& shape = input()->type().shapes[0];
    const bool is_known = n > 0 && shape.has_rank() && shape.rank() > 0 && shape.has_dim(0);
    return is_known ? TimesCardinality(n, shape.dim(0)) : kUnknownCardinality;
  }

 private:
  StatusOr<IteratorPtr> MakeIterator(IteratorScope& scope, int depth) const override;
};

class UnbatchIterator final : public UnaryIterator<Unbatch> {
 public:
  using UnaryIterator::UnaryIterator;
  bool MayWait() const override { return input_ != nullptr && (at_ >= size_ || input_->MayWait()); }
  StatusOr<bool> Next(Element* out) override {
    while (at_ >= size_) {
      TFLEET_RETURN_IF_ERROR(scope_.CheckCancelled());
      batch_.clear();
      TFLEET_ASSIGN_OR_RETURN(const bool more, NextInput(&batch_));
      if (!more) return false;
      at_ = 0;
      size_ = 0;
      for (const Tensor& component : batch_) {
        if (component.rank() == 0) {
          return InvalidArgument("Input element must have a non-scalar value in each component.");
        }
        if (component.dim(0) != batch_[0].dim(0)) {
          return InvalidArgument(
              "Input element must have the same batch size in each component. "
              "Component 0 had size ",
              batch_[0].dim(0), " but another had size ", component.dim(0));
        }
      }
      size_ = batch_[0].dim(0);
    }
    out->clear();
    for (const Tensor& component : batch_) out->push_back(RowOf(component, at_));
    if (++at_ == size_) batch_.clear();
    return true;
  }
  Status Save(StateWriter& to) override {
    to.PutInt("left", size_ - at_);
    if (at_ < size_) {
      to.PutInt("at", at_);
      to.PutElement("batch", batch_);
    }
    return UnaryIterator::Save(to);
  }
  Status Restore(StateReader& from) override {
    TFLEET_ASSIGN_OR_RETURN(const int64_t left, from.GetInt("left"));
    at_ = size_ = 0;
    if (left > 0) {
      TFLEET_ASSIGN_OR_RETURN(at_, from.GetInt("at"));
      TFLEET_ASSIGN_OR_RETURN(batch_, from.GetElement("batch", dataset_->type().types));
      size_ = at_ + left;
      for (const Tensor& component : batch_) {
        if (at_ < 0 || component.rank() == 0 || component.dim(0) != size_) {
          return InvalidArgument("the saved iterator is at row ", at_, " of another batch");
        }
      }
    }
    return UnaryIterator::Restore(from);
  }

 private:
  Element batch_;
  int64_t at_ = 0, size_ = 0;  // row
};

StatusOr<IteratorPtr> Unbatch::MakeIterator(IteratorScope& scope, int depth) const {
  return Opened<UnbatchIterator>(this, scope, depth);
}

class UnbatchKernel final : public DatasetKernel {
 public:
  using DatasetKernel::DatasetKernel;

 private:
  StatusOr<DatasetRef> Make(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(DatasetRef input, DatasetInput(ctx, 0));
    return std::make_shared<Unbatch>(std::move(input));
  }
};

}  // namespace

DatasetRef MakeUnbatch(DatasetRef input) { return std::make_shared<Unbatch>(std::move(input)); }

void RegisterUnbatchKernels(KernelRegistry& kernels) {
  kernels.Add<UnbatchKernel>("UnbatchDataset", kCpu);
  kernels.Add<UnbatchKernel>("ExperimentalUnbatchDataset", kCpu);
}

}  // namespace tensorfleet::data
