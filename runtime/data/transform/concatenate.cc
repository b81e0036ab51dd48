// ConcatenateDataset: one input after the other.
#include "runtime/data/dataset_kernel.h"
#include "runtime/data/families.h"
#include "runtime/data/iterator.h"

namespace tensorfleet::data {
namespace {

// What fits elements of both.
PartialShape CommonShape(const PartialShape& a, const PartialShape& b) {
  if (!a.has_rank() || !b.has_rank() || a.rank() != b.rank()) return PartialShape::Unknown();
  PartialShape common = a;
  for (int i = 0; i < a.rank(); ++i) {
    if (a.dim(i) != b.dim(i)) common.set_dim(i, PartialShape::kUnknownDim);
  }
  return common;
}

class Concatenate final : public Dataset {
 public:
  Concatenate(ElementType type, std::vector<DatasetRef> inputs)
      : Dataset(std::move(type), std::move(inputs)) {}
  int64_t Cardinality() const override {
    int64_t sum = 0;
    for (const DatasetRef& input : inputs()) {
      const int64_t n = input->Cardinality();
      if (n == kInfinite || sum == kInfinite) {
        sum = kInfinite;
      } else if (n == kUnknownCardinality || sum == kUnknownCardinality) {
        sum = kUnknownCardinality;
      } else if (__builtin_add_overflow(sum, n, &sum)) {
        sum = kInfinite;
      }
    }
    return sum;
  }

 private:
  StatusOr<IteratorPtr> MakeIterator(IteratorScope& scope, int depth) const override;
};

class ConcatenateIterator final : public Iterator {
 public:
  ConcatenateIterator(const Concatenate* dataset, IteratorScope& scope, int depth)
      : dataset_(Kept(dataset)), scope_(scope), depth_(depth) {}
  Status Open() {
    TFLEET_ASSIGN_OR_RETURN(current_, InputIterator(dataset_->inputs()[at_], scope_, depth_));
    return OkStatus();
  }
  bool MayWait() const override { return current_ != nullptr && current_->MayWait(); }
  StatusOr<bool> Next(Element* out) override {
    while (current_ != nullptr) {
      TFLEET_ASSIGN_OR_RETURN(const bool more, current_->Next(out));
      if (more) return true;
      current_.reset();
      if (++at_ < dataset_->inputs().size()) TFLEET_RETURN_IF_ERROR(Open());
    }
    return false;
  }
  Status Save(StateWriter& to) override {
    to.PutInt("at", static_cast<int64_t>(at_));
    return SaveInput(to, "current", current_.get());
  }
  Status Restore(StateReader& from) override {
    TFLEET_ASSIGN_OR_RETURN(const int64_t at, from.GetInt("at"));
    const int64_t n = static_cast<int64_t>(dataset_->inputs().size());
    if (at < 0 || at > n) {
      return InvalidArgument("the saved iterator reads input ", at, " of ", n);
    }
    at_ = at;
    current_.reset();
    if (at == n) return OkStatus();
    return RestoreInput(from, "current", dataset_->inputs()[at_], scope_, depth_, &current_);
  }

 private:
  const std::shared_ptr<const Concatenate> dataset_;
  IteratorScope& scope_;
  const int depth_;
  size_t at_ = 0;
  IteratorPtr current_;
};

StatusOr<IteratorPtr> Concatenate::MakeIterator(IteratorScope& scope, int depth) const {
  auto iterator = std::make_unique<ConcatenateIterator>(this, scope, depth);
  TFLEET_RETURN_IF_ERROR(iterator->Open());
  return IteratorPtr(std::move(iterator));
}

class ConcatenateKernel final : public DatasetKernel {
 public:
  using DatasetKernel::DatasetKernel;

 private:
  StatusOr<DatasetRef> Make(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(DatasetRef first, DatasetInput(ctx, 0));
    TFLEET_ASSIGN_OR_RETURN(DatasetRef second, DatasetInput(ctx, 1));
    ElementType type = first->type();
    if (type.types != second->type().types) {
      return InvalidArgument(
          "input dataset and dataset to concatenate have different output_types");
    }
    for (size_t i = 0; i < type.size(); ++i) {
      type.shapes[i] = CommonShape(type.shapes[i], second->type().shapes[i]);
    }
    return std::make_shared<Concatenate>(
        std::move(type), std::vector<DatasetRef>{std::move(first), std::move(second)});
  }
};

}  // namespace

void RegisterConcatenateKernels(KernelRegistry& kernels) {
  kernels.Add<ConcatenateKernel>("ConcatenateDataset", kCpu);
}

}  // namespace tensorfleet::data
