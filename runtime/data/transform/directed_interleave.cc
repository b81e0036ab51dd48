// DirectedInterleaveDataset: elements of several inputs, the next one's number out of a data set.
#include "runtime/data/dataset_kernel.h"
#include "runtime/data/families.h"
#include "runtime/data/iterator.h"

namespace tensorfleet::data {
namespace {

class Directed final : public Dataset {
 public:
  // Input 0 gives the numbers of the others, counted from 0.
  Directed(std::vector<DatasetRef> inputs, ElementType type, bool stops_on_empty)
      : Dataset(std::move(type), std::move(inputs)), stops_on_empty_(stops_on_empty) {}
  bool stops_on_empty() const { return stops_on_empty_; }
  int64_t Cardinality() const override {
    // As long as the selector wants, where all go on for ever.
    int64_t sum = 0;
    for (size_t i = 1; i < inputs().size(); ++i) {
      const int64_t n = inputs()[i]->Cardinality();
      if (n == kInfinite) {
        if (inputs()[0]->Cardinality() == kInfinite) return kInfinite;
        return kUnknownCardinality;
      }
      if (n < 0 || stops_on_empty_) sum = kUnknownCardinality;
      if (sum >= 0 && __builtin_add_overflow(sum, n, &sum)) sum = kUnknownCardinality;
    }
    return inputs()[0]->Cardinality() == kInfinite ? sum : kUnknownCardinality;
  }

 private:
  StatusOr<IteratorPtr> MakeIterator(IteratorScope& scope, int depth) const override;
  const bool stops_on_empty_;
};

class DirectedIterator final : public Iterator {
 public:
  DirectedIterator(const Directed* dataset, IteratorScope& scope, int depth)
      : dataset_(Kept(dataset)), scope_(scope), depth_(depth) {}
  Status Open() {
    for (const DatasetRef& input : dataset_->inputs()) {
      TFLEET_ASSIGN_OR_RETURN(inputs_.emplace_back(), InputIterator(input, scope_, depth_));
    }
    open_ = inputs_.size() - 1;
    return OkStatus();
  }
  bool MayWait() const override { return !inputs_.empty(); }
  StatusOr<bool> Next(Element* out) override {
    Element number;
    while (!inputs_.empty() && open_ > 0) {
      TFLEET_RETURN_IF_ERROR(scope_.CheckCancelled());
      TFLEET_ASSIGN_OR_RETURN(const bool more, inputs_[0]->Next(&number));
      if (!more) break;
      if (number[0].num_elements() != 1) {
        return InvalidArgument("Selector index must be a scalar, not of shape ",
                               number[0].shape().ToString());
      }
      const int64_t selected = number[0].scalar<int64_t>();
      if (selected < 0 || selected + 1 >= static_cast<int64_t>(inputs_.size())) {
        return InvalidArgument("Selector index out of range: ", selected,
                               " >= ", inputs_.size() - 1);
      }
      IteratorPtr& input = inputs_[selected + 1];
      if (input == nullptr) continue;
      TFLEET_ASSIGN_OR_RETURN(const bool has_one, input->Next(out));
      if (has_one) return true;
      if (dataset_->stops_on_empty()) break;
      input.reset();
      --open_;
    }
    inputs_.clear();
    return false;
  }
  Status Save(StateWriter& to) override {
    to.PutInt("is_over", inputs_.empty());
    for (size_t i = 0; i < inputs_.size(); ++i) {
      TFLEET_RETURN_IF_ERROR(SaveInput(to, absl::StrCat("input", i), inputs_[i].get()));
    }
    return OkStatus();
  }
  Status Restore(StateReader& from) override {
    TFLEET_ASSIGN_OR_RETURN(const int64_t is_over, from.GetInt("is_over"));
    if (is_over != 0) inputs_.clear();
    open_ = 0;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      TFLEET_RETURN_IF_ERROR(RestoreInput(from, absl::StrCat("input", i), dataset_->inputs()[i],
                                          scope_, depth_, &inputs_[i]));
      if (i == 0 && inputs_[0] == nullptr) {
        return InvalidArgument("the saved iterator lacks its selector");
      }
      open_ += i > 0 && inputs_[i] != nullptr;
    }
    return OkStatus();
  }

 private:
  const std::shared_ptr<const Directed> dataset_;
  IteratorScope& scope_;
  const int depth_;
  std::vector<IteratorPtr> inputs_;  // none at the end; an input that has ended is null
  size_t open_ = 0;                  // of those that are selected from
};

StatusOr<IteratorPtr> Directed::MakeIterator(IteratorScope& scope, int depth) const {
  auto iterator = std::make_unique<DirectedIterator>(this, scope, depth);
  TFLEET_RETURN_IF_ERROR(iterator->Open());
  return IteratorPtr(std::move(iterator));
}

class DirectedKernel final : public DatasetKernel {
 public:
  explicit DirectedKernel(KernelInit& init) : DatasetKernel(init) {
    if (FindAttr(init.def(), "stop_on_empty_dataset") != nullptr) {
      init.Get("stop_on_empty_dataset", &stops_on_empty_);
    }
  }

 private:
  StatusOr<DatasetRef> Make(KernelContext& ctx) const override {
    std::vector<DatasetRef> inputs;
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      TFLEET_ASSIGN_OR_RETURN(inputs.emplace_back(), DatasetInput(ctx, i));
    }
    const ElementType& selector = inputs[0]->type();
    if (selector.size() != 1 || selector.types[0] != DType::kInt64 ||
        !selector.shapes[0].IsCompatibleWith(PartialShape(Shape()))) {
      return InvalidArgument("The selector input must be a dataset of scalar int64 elements.");
    }
    ElementType type = inputs[1]->type();
    for (size_t i = 2; i < inputs.size(); ++i) {
      if (inputs[i]->type().types != type.types) {
        return InvalidArgument("All inputs must have the same output_dtypes. Input ", i - 1,
                               " has others than input 0");
      }
    }
    if (declared().types == type.types) type.shapes = declared().shapes;
    return std::make_shared<Directed>(std::move(inputs), std::move(type), stops_on_empty_);
  }
  bool stops_on_empty_ = false;
};

}  // namespace

void RegisterDirectedInterleaveKernels(KernelRegistry& kernels) {
  kernels.Add<DirectedKernel>("DirectedInterleaveDataset", kCpu);
  kernels.Add<DirectedKernel>("ExperimentalDirectedInterleaveDataset", kCpu);
}

}  // namespace tensorfleet::data
