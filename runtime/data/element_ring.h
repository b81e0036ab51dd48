// Elements in a line: added at the end, taken from the front, each found by its place.
#pragma once

#include <vector>

#include "runtime/data/dataset.h"
#include "runtime/tensor/memory_account.h"

namespace tensorfleet::data {

// Not thread-safe.
class ElementRing {
 public:
  bool empty() const { return size_ == 0; }
  int64_t size() const { return size_; }
  Element& at(int64_t i) { return slots_[(first_ + i) & mask()]; }
  const Element& at(int64_t i) const { return slots_[(first_ + i) & mask()]; }
  // Errors: ResourceExhausted.
  Status Push(Element element) {
    if (size_ == static_cast<int64_t>(slots_.size())) TFLEET_RETURN_IF_ERROR(Grow());
    at(size_) = std::move(element);
    ++size_;
    return OkStatus();
  }
  void PopFront() {
    at(0).clear();
    ++first_;
    --size_;
  }

 private:
  // About what a small element takes beside its tensors' own accounts.
  static constexpr size_t kBytesOfElement = 256;

  int64_t mask() const { return static_cast<int64_t>(slots_.size()) - 1; }
  Status Grow() {
    const int64_t capacity = slots_.empty() ? 16 : 2 * static_cast<int64_t>(slots_.size());
    TFLEET_RETURN_IF_ERROR(CheckWorkSpace(capacity - size_, kBytesOfElement));
    std::vector<Element> grown(capacity);
    for (int64_t i = 0; i < size_; ++i) grown[i] = std::move(at(i));
    slots_ = std::move(grown);
    first_ = 0;
    return OkStatus();
  }

  std::vector<Element> slots_;  // a power of two of them
  int64_t first_ = 0;
  int64_t size_ = 0;
};

}  // namespace tensorfleet::data
