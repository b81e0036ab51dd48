// TakeDataset: the first elements.
#include "runtime/data/dataset_kernel.h"
#include "runtime/data/families.h"
#include "runtime/data/unary_iterator.h"

namespace tensorfleet::data {
namespace {

class Take final : public Dataset {
 public:
  Take(DatasetRef input, int64_t count) : Dataset(input->type(), {input}), count_(count) {}
  // Below 0: all.
  int64_t count() const { return count_; }
  int64_t Cardinality() const override {
    const int64_t n = input()->Cardinality();
    if (n == kUnknownCardinality && count_ != 0) return kUnknownCardinality;
    if (n == kInfinite || count_ == 0) return count_ < 0 ? n : count_;
    return count_ < 0 ? n : std::min(n, count_);
  }

 private:
  StatusOr<IteratorPtr> MakeIterator(IteratorScope& scope, int depth) const override;
  const int64_t count_;
};

class TakeIterator final : public UnaryIterator<Take> {
 public:
  using UnaryIterator::UnaryIterator;
  StatusOr<bool> Next(Element* out) override {
    if (dataset_->count() >= 0 && taken_ >= dataset_->count()) {
      input_.reset();
      return false;
    }
    TFLEET_ASSIGN_OR_RETURN(const bool more, NextInput(out));
    taken_ += more;
    return more;
  }
  Status Save(StateWriter& to) override {
    to.PutInt("taken", taken_);
    return UnaryIterator::Save(to);
  }
  Status Restore(StateReader& from) override {
    TFLEET_ASSIGN_OR_RETURN(taken_, from.GetInt("taken"));
    return UnaryIterator::Restore(from);
  }

 private:
  int64_t taken_ = 0;
};

StatusOr<IteratorPtr> Take::MakeIterator(IteratorScope& scope, int depth) const {
  return Opened<TakeIterator>(this, scope, depth);
}

class TakeKernel final : public DatasetKernel {
 public:
  using DatasetKernel::DatasetKernel;

 private:
  StatusOr<DatasetRef> Make(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(DatasetRef input, DatasetInput(ctx, 0));
    TFLEET_ASSIGN_OR_RETURN(const int64_t count, ScalarInput<int64_t>(ctx, 1, "count"));
    return std::make_shared<Take>(std::move(input), count);
  }
};

}  // namespace

void RegisterTakeKernels(KernelRegistry& kernels) { kernels.Add<TakeKernel>("TakeDataset", kCpu); }

}  // namespace tensorfleet::data
