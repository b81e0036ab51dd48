// RepeatDataset: its input several times, or for ever.
#include "runtime/data/dataset_kernel.h"
#include "runtime/data/families.h"
#include "runtime/data/unary_iterator.h"

namespace tensorfleet::data {
namespace {

class Repeat final : public Dataset {
 public:
  Repeat(DatasetRef input, int64_t count) : Dataset(input->type(), {input}), count_(count) {}
  // Below 0: for ever.
  int64_t count() const { return count_; }
  int64_t Cardinality() const override {
    return TimesCardinality(input()->Cardinality(), count_ < 0 ? kInfinite : count_);
  }

 private:
  StatusOr<IteratorPtr> MakeIterator(IteratorScope& scope, int depth) const override;
  const int64_t count_;
};

class RepeatIterator final : public UnaryIterator<Repeat> {
 public:
  using UnaryIterator::UnaryIterator;
  Status Open() override { return dataset_->count() == 0 ? OkStatus() : OpenInput(); }
  StatusOr<bool> Next(Element* out) override {
    while (input_ != nullptr) {
      TFLEET_RETURN_IF_ERROR(scope_.CheckCancelled());
      TFLEET_ASSIGN_OR_RETURN(const bool more, NextInput(out));
      if (more) {
        is_empty_ = false;
        return true;
      }
      ++round_;
      // An empty input would be repeated for ever without giving anything.
      const bool goes_on = dataset_->count() < 0 ? !is_empty_ : round_ < dataset_->count();
      if (!goes_on) break;
      is_empty_ = true;
      TFLEET_RETURN_IF_ERROR(OpenInput());
    }
    return false;
  }
  Status Save(StateWriter& to) override {
    to.PutInt("round", round_);
    to.PutInt("is_empty", is_empty_);
    return UnaryIterator::Save(to);
  }
  Status Restore(StateReader& from) override {
    TFLEET_ASSIGN_OR_RETURN(round_, from.GetInt("round"));
    TFLEET_ASSIGN_OR_RETURN(is_empty_, from.GetInt("is_empty"));
    return UnaryIterator::Restore(from);
  }

 private:
  int64_t round_ = 0;
  bool is_empty_ = true;  // nothing has come in this round
};

StatusOr<IteratorPtr> Repeat::MakeIterator(IteratorScope& scope, int depth) const {
  return Opened<RepeatIterator>(this, scope, depth);
}

class RepeatKernel final : public DatasetKernel {
 public:
  using DatasetKernel::DatasetKernel;

 private:
  StatusOr<DatasetRef> Make(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(DatasetRef input, DatasetInput(ctx, 0));
    TFLEET_ASSIGN_OR_RETURN(const int64_t count, ScalarInput<int64_t>(ctx, 1, "count"));
    return std::make_shared<Repeat>(std::move(input), count);
  }
};

}  // namespace

void RegisterRepeatKernels(KernelRegistry& kernels) {
  kernels.Add<RepeatKernel>("RepeatDataset", kCpu);
}

}  // namespace tensorfleet::data
