// FlatMapDataset and InterleaveDataset: the data sets that a function makes of the elements, one
// after the other or several in turn.
#include "runtime/data/dataset_kernel.h"
#include "runtime/data/families.h"
#include "runtime/data/nested.h"
#include "runtime/data/unary_iterator.h"

namespace tensorfleet::data {
namespace {

class Interleave final : public Dataset {
 public:
  Interleave(DatasetRef input, CapturedFunctionRef function, ElementType type, int64_t cycle_length,
             int64_t block_length)
      : Dataset(std::move(type), {std::move(input)}),
        function_(std::move(function)),
        cycle_length_(cycle_length),
        block_length_(block_length) {}
  const CapturedFunctionRef& function() const { return function_; }
  int64_t cycle_length() const { return cycle_length_; }
  int64_t block_length() const { return block_length_; }

 private:
  StatusOr<IteratorPtr> MakeIterator(IteratorScope& scope, int depth) const override;
  const CapturedFunctionRef function_;
  const int64_t cycle_length_;
  const int64_t block_length_;
};

class InterleaveIterator final : public UnaryIterator<Interleave> {
 public:
  using UnaryIterator::UnaryIterator;
  Status Open() override {
    TFLEET_ASSIGN_OR_RETURN(function_, scope_.Bind(dataset_->function()));
    return OpenInput();
  }
  bool MayWait() const override { return true; }

  StatusOr<bool> Next(Element* out) override {
    while (input_ != nullptr || num_open_ > 0) {
      TFLEET_RETURN_IF_ERROR(scope_.CheckCancelled());
      if (at_ == cycle_.size()) cycle_.emplace_back();
      NestedIterator& current = cycle_[at_];
      if (current.is_open()) {
        TFLEET_ASSIGN_OR_RETURN(const bool more, current.iterator().Next(out));
        if (more) {
          if (++taken_of_block_ == dataset_->block_length()) Advance();
          return true;
        }
        current.Close();
        --num_open_;
        Advance();
      } else if (input_ != nullptr) {
        Element args;
        TFLEET_ASSIGN_OR_RETURN(const bool more, NextInput(&args));
        if (!more) continue;
        TFLEET_ASSIGN_OR_RETURN(current, NestedIterator::Open(function_, std::move(args),
                                                              dataset_->type(), scope_, depth_));
        ++num_open_;
      } else {
        Advance();
      }
    }
    return false;
  }

  Status Save(StateWriter& to) override {
    to.PutInt("at", static_cast<int64_t>(at_));
    to.PutInt("taken_of_block", taken_of_block_);
    to.PutInt("cycle_count", static_cast<int64_t>(cycle_.size()));
    for (size_t i = 0; i < cycle_.size(); ++i) {
      TFLEET_RETURN_IF_ERROR(cycle_[i].Save(to, absl::StrCat("cycle", i)));
    }
    return UnaryIterator::Save(to);
  }
  Status Restore(StateReader& from) override {
    TFLEET_RETURN_IF_ERROR(UnaryIterator::Restore(from));
    TFLEET_ASSIGN_OR_RETURN(const int64_t at, from.GetInt("at"));
    TFLEET_ASSIGN_OR_RETURN(taken_of_block_, from.GetInt("taken_of_block"));
    TFLEET_ASSIGN_OR_RETURN(const int64_t count, from.GetCount("cycle_count"));
    if (at < 0 || at > count || count > dataset_->cycle_length()) {
      return InvalidArgument("the saved iterator reads the ", at, ". of ", count, " data sets");
    }
    at_ = at;
    cycle_.clear();
    num_open_ = 0;
    for (int64_t i = 0; i < count; ++i) {
      TFLEET_ASSIGN_OR_RETURN(cycle_.emplace_back(),
                              NestedIterator::Restore(from, absl::StrCat("cycle", i), function_,
                                                      dataset_->input()->type().types,
                                                      dataset_->type(), scope_, depth_));
      num_open_ += cycle_.back().is_open();
    }
    return OkStatus();
  }

 private:
  void Advance() {
    taken_of_block_ = 0;
    ++at_;
    // After the input's end places that were never taken stay empty.
    const bool is_full = static_cast<int64_t>(at_) >= dataset_->cycle_length();
    if (is_full || (input_ == nullptr && at_ >= cycle_.size())) at_ = 0;
  }

  BoundFunction function_;
  std::vector<NestedIterator> cycle_;  // as many as have been needed
  size_t at_ = 0;
  int64_t taken_of_block_ = 0;
  int64_t num_open_ = 0;
};

StatusOr<IteratorPtr> Interleave::MakeIterator(IteratorScope& scope, int depth) const {
  return Opened<InterleaveIterator>(this, scope, depth);
}

class FlatMapKernel final : public DatasetKernel {
 public:
  explicit FlatMapKernel(KernelInit& init)
      : DatasetKernel(init), function_(init, "f", "other_arguments") {}

 private:
  StatusOr<DatasetRef> Make(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(DatasetRef input, DatasetInput(ctx, 0));
    return std::make_shared<Interleave>(std::move(input), function_.Capture(ctx), declared(),
                                        /*cycle_length=*/1, /*block_length=*/1);
  }
  const FunctionAttr function_;
};

class InterleaveKernel final : public DatasetKernel {
 public:
  explicit InterleaveKernel(KernelInit& init)
      : DatasetKernel(init), function_(init, "f", "other_arguments") {}

 private:
  StatusOr<DatasetRef> Make(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(DatasetRef input, DatasetInput(ctx, 0));
    const int n = ctx.num_inputs();
    TFLEET_ASSIGN_OR_RETURN(int64_t cycle_length, ScalarInput<int64_t>(ctx, n - 2, "cycle_length"));
    TFLEET_ASSIGN_OR_RETURN(const int64_t block_length,
                            ScalarInput<int64_t>(ctx, n - 1, "block_length"));
    if (cycle_length == kAutotune) cycle_length = std::max(1, ctx.pool().num_threads());
    if (cycle_length <= 0) return InvalidArgument("cycle_length must be greater than zero.");
    if (block_length <= 0) return InvalidArgument("block_length must be greater than zero.");
    return std::make_shared<Interleave>(std::move(input), function_.Capture(ctx), declared(),
                                        cycle_length, block_length);
  }
  const FunctionAttr function_;
};

}  // namespace

void RegisterFlatMapKernels(KernelRegistry& kernels) {
  kernels.Add<FlatMapKernel>("FlatMapDataset", kCpu);
  kernels.Add<InterleaveKernel>("InterleaveDataset", kCpu);
}

}  // namespace tensorfleet::data
