// SkipDataset: all but the first elements.
#include "runtime/data/dataset_kernel.h"
#include "runtime/data/families.h"
#include "runtime/data/unary_iterator.h"

namespace tensorfleet::data {
namespace {

class Skip final : public Dataset {
 public:
  Skip(DatasetRef input, int64_t count) : Dataset(input->type(), {input}), count_(count) {}
  // Below 0: all.
  int64_t count() const { return count_; }
  int64_t Cardinality() const override {
    if (count_ < 0) return 0;
    const int64_t n = input()->Cardinality();
    return n < 0 ? n : std::max<int64_t>(0, n - count_);
  }

 private:
  StatusOr<IteratorPtr> MakeIterator(IteratorScope& scope, int depth) const override;
  const int64_t count_;
};

class SkipIterator final : public UnaryIterator<Skip> {
 public:
  using UnaryIterator::UnaryIterator;
  bool MayWait() const override {
    return input_ != nullptr && (skipped_ < dataset_->count() || input_->MayWait());
  }
  StatusOr<bool> Next(Element* out) override {
    if (dataset_->count() < 0) input_.reset();
    while (input_ != nullptr && skipped_ < dataset_->count()) {
      TFLEET_RETURN_IF_ERROR(scope_.CheckCancelled());
      const int64_t piece = std::min<int64_t>(dataset_->count() - skipped_, kPiece);
      TFLEET_ASSIGN_OR_RETURN(const bool more, input_->Skip(piece));
      skipped_ += piece;
      if (!more) input_.reset();
    }
    return NextInput(out);
  }
  Status Save(StateWriter& to) override {
    to.PutInt("skipped", skipped_);
    return UnaryIterator::Save(to);
  }
  Status Restore(StateReader& from) override {
    TFLEET_ASSIGN_OR_RETURN(skipped_, from.GetInt("skipped"));
    return UnaryIterator::Restore(from);
  }

 private:
  static constexpr int64_t kPiece = 1000;  // between looks at the cancellation
  int64_t skipped_ = 0;
};

StatusOr<IteratorPtr> Skip::MakeIterator(IteratorScope& scope, int depth) const {
  return Opened<SkipIterator>(this, scope, depth);
}

class SkipKernel final : public DatasetKernel {
 public:
  using DatasetKernel::DatasetKernel;

 private:
  StatusOr<DatasetRef> Make(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(DatasetRef input, DatasetInput(ctx, 0));
    TFLEET_ASSIGN_OR_RETURN(const int64_t count, ScalarInput<int64_t>(ctx, 1, "count"));
    return std::make_shared<Skip>(std::move(input), count);
  }
};

}  // namespace

void RegisterSkipKernels(KernelRegistry& kernels) { kernels.Add<SkipKernel>("SkipDataset", kCpu); }

}  // namespace tensorfleet::data
