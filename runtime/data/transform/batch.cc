// BatchDataset, BatchDatasetV2: elements as the rows of one.
#include "runtime/data/composed.h"
#include "runtime/data/dataset_kernel.h"
#include "runtime/data/families.h"
#include "runtime/data/rows.h"
#include "runtime/data/unary_iterator.h"

namespace tensorfleet::data {
namespace {

ElementType BatchedType(const Dataset& input, int64_t size, bool drops_remainder) {
  ElementType type = input.type();
  const int64_t n = input.Cardinality();
  const bool is_whole = drops_remainder || n == kInfinite;
  for (PartialShape& shape : type.shapes) {
    shape = WithFirst(is_whole ? size : PartialShape::kUnknownDim, shape);
  }
  return type;
}

class Batch final : public Dataset {
 public:
  Batch(DatasetRef input, int64_t size, bool drops_remainder)
      : Dataset(BatchedType(*input, size, drops_remainder), {input}),
        size_(size),
        drops_remainder_(drops_remainder) {}
  int64_t size() const { return size_; }
  bool drops_remainder() const { return drops_remainder_; }
  int64_t Cardinality() const override {
    const int64_t n = input()->Cardinality();
    return n < 0 ? n : n / size_ + (n % size_ != 0 && !drops_remainder_);
  }

 private:
  StatusOr<IteratorPtr> MakeIterator(IteratorScope& scope, int depth) const override;
  const int64_t size_;
  const bool drops_remainder_;
};

class BatchIterator final : public UnaryIterator<Batch> {
 public:
  using UnaryIterator::UnaryIterator;
  bool MayWait() const override {
    return input_ != nullptr && (dataset_->size() > kQuick || input_->MayWait());
  }
  StatusOr<bool> Next(Element* out) override {
    if (input_ == nullptr) return false;
    BatchBuilder batch(dataset_->input()->type().types, dataset_->size());
    Element element;
    while (!batch.is_full()) {
      if (batch.count() % kQuick == kQuick - 1) TFLEET_RETURN_IF_ERROR(scope_.CheckCancelled());
      TFLEET_ASSIGN_OR_RETURN(const bool more, NextInput(&element));
      if (!more) break;
      TFLEET_RETURN_IF_ERROR(batch.Add(std::move(element)));
      element.clear();
    }
    if (batch.count() == 0 || (!batch.is_full() && dataset_->drops_remainder())) return false;
    TFLEET_ASSIGN_OR_RETURN(*out, batch.Finish());
    return true;
  }

 private:
  static constexpr int64_t kQuick = 1024;  // elements that take no time to speak of
};

StatusOr<IteratorPtr> Batch::MakeIterator(IteratorScope& scope, int depth) const {
  return Opened<BatchIterator>(this, scope, depth);
}

class BatchKernel final : public DatasetKernel {
 public:
  using DatasetKernel::DatasetKernel;

 private:
  StatusOr<DatasetRef> Make(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(DatasetRef input, DatasetInput(ctx, 0));
    TFLEET_ASSIGN_OR_RETURN(const int64_t size, ScalarInput<int64_t>(ctx, 1, "batch_size"));
    if (size <= 0) return InvalidArgument("Batch size must be greater than zero.");
    bool drops_remainder = false;
    if (ctx.num_inputs() > 2) {
      TFLEET_ASSIGN_OR_RETURN(drops_remainder, ScalarInput<bool>(ctx, 2, "drop_remainder"));
    }
    return std::make_shared<Batch>(std::move(input), size, drops_remainder);
  }
};

}  // namespace

DatasetRef MakeBatch(DatasetRef input, int64_t size, bool drops_remainder) {
  return std::make_shared<Batch>(std::move(input), size, drops_remainder);
}

void RegisterBatchKernels(KernelRegistry& kernels) {
  kernels.Add<BatchKernel>("BatchDataset", kCpu);
  kernels.Add<BatchKernel>("BatchDatasetV2", kCpu);
}

}  // namespace tensorfleet::data
