// What iterators over one input have in common.
#pragma once

#include <memory>
#include <utility>

#include "runtime/data/iterator.h"

namespace tensorfleet::data {

// `D` is the data set's class. The input goes as soon as it has ended.
template <typename D>
class UnaryIterator : public Iterator {
 public:
  UnaryIterator(const D* dataset, IteratorScope& scope, int depth)
      : dataset_(Kept(dataset)), scope_(scope), depth_(depth) {}
  virtual Status Open() { return OpenInput(); }
  bool MayWait() const override { return input_ != nullptr && input_->MayWait(); }
  Status Save(StateWriter& to) override { return SaveInput(to, "input", input_.get()); }
  Status Restore(StateReader& from) override {
    return RestoreInput(from, "input", dataset_->input(), scope_, depth_, &input_);
  }

 protected:
  Status OpenInput() {
    TFLEET_ASSIGN_OR_RETURN(input_, InputIterator(dataset_->input(), scope_, depth_));
    return OkStatus();
  }
  StatusOr<bool> NextInput(Element* out) {
    if (input_ == nullptr) return false;
    TFLEET_ASSIGN_OR_RETURN(const bool more, input_->Next(out));
    if (!more) input_.reset();
    return more;
  }

  const std::shared_ptr<const D> dataset_;
  IteratorScope& scope_;
  const int depth_;
  IteratorPtr input_;
};

// For Dataset::MakeIterator: `I(dataset, scope, depth)`, opened.
template <typename I, typename D>
StatusOr<IteratorPtr> Opened(const D* dataset, IteratorScope& scope, int depth) {
  auto iterator = std::make_unique<I>(dataset, scope, depth);
  TFLEET_RETURN_IF_ERROR(iterator->Open());
  return IteratorPtr(std::move(iterator));
}

}  // namespace tensorfleet::data
