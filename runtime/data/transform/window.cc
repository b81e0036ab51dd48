// WindowDataset: windows over the elements, each window as a data set for each component.
#include <deque>

#include "runtime/data/composed.h"
#include "runtime/data/dataset_kernel.h"
#include "runtime/data/families.h"
#include "runtime/data/unary_iterator.h"

namespace tensorfleet::data {
namespace {

ElementType WindowType(const Dataset& input) {
  const size_t n = input.type().size();
  return {std::vector<DType>(n, DType::kVariant),
          std::vector<PartialShape>(n, PartialShape(Shape()))};
}

class Window final : public Dataset {
 public:
  Window(DatasetRef input, int64_t size, int64_t shift, int64_t stride, bool drops_remainder)
      : Dataset(WindowType(*input), {input}),
        size_(size),
        shift_(shift),
        stride_(stride),
        drops_remainder_(drops_remainder) {}
  int64_t size() const { return size_; }
  int64_t shift() const { return shift_; }
  int64_t stride() const { return stride_; }
  bool drops_remainder() const { return drops_remainder_; }
  // From the first to the last element of a window.
  int64_t span() const { return (size_ - 1) * stride_ + 1; }
  int64_t Cardinality() const override {
    const int64_t n = input()->Cardinality();
    if (n < 0) return n;
    if (!drops_remainder_) return n / shift_ + (n % shift_ != 0);
    return n < span() ? 0 : (n - span()) / shift_ + 1;
  }

 private:
  StatusOr<IteratorPtr> MakeIterator(IteratorScope& scope, int depth) const override;
  const int64_t size_;
  const int64_t shift_;
  const int64_t stride_;
  const bool drops_remainder_;
};

class WindowIterator final : public UnaryIterator<Window> {
 public:
  using UnaryIterator::UnaryIterator;
  bool MayWait() const override { return input_ != nullptr; }
  StatusOr<bool> Next(Element* out) override {
    // What the last window leaves over, and what no window wants, when they are far apart.
    while (skip_ > 0 && input_ != nullptr) {
      TFLEET_RETURN_IF_ERROR(scope_.CheckCancelled());
      Element dropped;
      TFLEET_ASSIGN_OR_RETURN(const bool more, NextInput(&dropped));
      if (more) --skip_;
    }
    while (input_ != nullptr && static_cast<int64_t>(buffer_.size()) < dataset_->span()) {
      TFLEET_RETURN_IF_ERROR(scope_.CheckCancelled());
      Element element;
      TFLEET_ASSIGN_OR_RETURN(const bool more, NextInput(&element));
      if (more) buffer_.push_back(std::move(element));
    }
    if (buffer_.empty() ||
        (dataset_->drops_remainder() && static_cast<int64_t>(buffer_.size()) < dataset_->span())) {
      buffer_.clear();
      return false;
    }
    const size_t n = dataset_->input()->type().size();
    std::vector<std::vector<Element>> columns(n);
    const int64_t stride = dataset_->stride();
    for (int64_t i = 0, taken = 0;
         taken < dataset_->size() && i < static_cast<int64_t>(buffer_.size());
         i += stride, ++taken) {
      for (size_t k = 0; k < n; ++k) columns[k].push_back({buffer_[i][k]});
    }
    out->clear();
    const ElementType& type = dataset_->input()->type();
    for (size_t k = 0; k < n; ++k) {
      out->push_back(
          DatasetTensor(MakeElements({{type.types[k]}, {type.shapes[k]}}, std::move(columns[k]))));
    }
    const int64_t have = static_cast<int64_t>(buffer_.size());
    const int64_t dropped = std::min(have, dataset_->shift());
    buffer_.erase(buffer_.begin(), buffer_.begin() + dropped);
    skip_ = dataset_->shift() - dropped;
    return true;
  }
  Status Save(StateWriter& to) override {
    to.PutInt("skip", skip_);
    to.PutElements("buffer", std::vector<Element>(buffer_.begin(), buffer_.end()));
    return UnaryIterator::Save(to);
  }
  Status Restore(StateReader& from) override {
    TFLEET_ASSIGN_OR_RETURN(skip_, from.GetInt("skip"));
    TFLEET_ASSIGN_OR_RETURN(std::vector<Element> buffer,
                            from.GetElements("buffer", dataset_->input()->type().types));
    buffer_.assign(buffer.begin(), buffer.end());
    return UnaryIterator::Restore(from);
  }

 private:
  std::deque<Element> buffer_;  // from where the next window begins
  int64_t skip_ = 0;            // elements before that
};

StatusOr<IteratorPtr> Window::MakeIterator(IteratorScope& scope, int depth) const {
  return Opened<WindowIterator>(this, scope, depth);
}

class WindowKernel final : public DatasetKernel {
 public:
  using DatasetKernel::DatasetKernel;

 private:
  StatusOr<DatasetRef> Make(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(DatasetRef input, DatasetInput(ctx, 0));
    TFLEET_ASSIGN_OR_RETURN(const int64_t size, ScalarInput<int64_t>(ctx, 1, "size"));
    TFLEET_ASSIGN_OR_RETURN(const int64_t shift, ScalarInput<int64_t>(ctx, 2, "shift"));
    TFLEET_ASSIGN_OR_RETURN(const int64_t stride, ScalarInput<int64_t>(ctx, 3, "stride"));
    TFLEET_ASSIGN_OR_RETURN(const bool drops, ScalarInput<bool>(ctx, 4, "drop_remainder"));
    if (size <= 0) return InvalidArgument("Window size must be greater than zero.");
    if (shift <= 0) return InvalidArgument("Window shift must be greater than zero.");
    if (stride <= 0) return InvalidArgument("Window stride must be greater than zero.");
    int64_t span = 0;
    if (__builtin_mul_overflow(size, stride, &span)) {
      return InvalidArgument("a window of ", size, " elements that are ", stride,
                             " apart is too long");
    }
    return std::make_shared<Window>(std::move(input), size, shift, stride, drops);
  }
};

}  // namespace

void RegisterWindowKernels(KernelRegistry& kernels) {
  kernels.Add<WindowKernel>("WindowDataset", kCpu);
}

}  // namespace tensorfleet::data
