#include "runtime/data/rows.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "runtime/tensor/resource_handle.h"

namespace tensorfleet::data {
namespace {

// Batches up to this are allocated as a whole; larger ones grow.
constexpr int64_t kWholeBytes = int64_t{4} << 20;

template <typename E>
void CopyObjects(void* to, void* from, int64_t n, bool may_take) {
  E* const source = static_cast<E*>(from);
  E* const target = static_cast<E*>(to);
  if (may_take) {
    std::move(source, source + n, target);
  } else {
    std::copy(source, source + n, target);
  }
}

}  // namespace

void CopyElements(DType dtype, void* to, void* from, int64_t n, bool may_take) {
  switch (dtype) {
    case DType::kString:
      return CopyObjects<std::string>(to, from, n, may_take);
    case DType::kResource:
      return CopyObjects<ResourceHandle>(to, from, n, may_take);
    case DType::kVariant:
      return CopyObjects<Variant>(to, from, n, may_take);
    default:
      if (n > 0) std::memcpy(to, from, n * ElementSize(dtype));
  }
}

BatchBuilder::BatchBuilder(const std::vector<DType>& types, int64_t size)
    : types_(types), size_(size) {}

Status BatchBuilder::Reserve(const Element& element) {
  if (capacity_ == 0) {
    shapes_.clear();
    int64_t row_bytes = 1;
    for (const Tensor& component : element) {
      shapes_.push_back(component.shape());
      row_bytes += component.bytes();
    }
    capacity_ = std::min(size_, std::max<int64_t>(1, kWholeBytes / row_bytes));
  } else {
    capacity_ = capacity_ > size_ / 2 ? size_ : 2 * capacity_;
  }
  Element grown;
  for (size_t i = 0; i < element.size(); ++i) {
    TFLEET_ASSIGN_OR_RETURN(const Shape shape, shapes_[i].Stacked(capacity_));
    TFLEET_ASSIGN_OR_RETURN(Tensor rows, Tensor::Allocate(types_[i], shape));
    if (count_ > 0) {
      CopyElements(types_[i], rows.mutable_raw(), rows_[i].mutable_raw(),
                   count_ * shapes_[i].num_elements(), /*may_take=*/true);
    }
    grown.push_back(std::move(rows));
  }
  rows_ = std::move(grown);
  return OkStatus();
}

Status BatchBuilder::Add(Element element) {
  if (count_ > 0) {
    for (size_t i = 0; i < element.size(); ++i) {
      if (element[i].shape() != shapes_[i]) {
        return InvalidArgument("Cannot batch tensors with different shapes in component ", i,
                               ". First element had shape ", shapes_[i].ToString(), " and element ",
                               count_, " had shape ", element[i].shape().ToString(), ".");
      }
    }
  }
  if (count_ == capacity_) {
    const Status reserved = Reserve(element);
    if (!reserved.ok()) {
      capacity_ = count_;
      return reserved;
    }
  }
  for (size_t i = 0; i < element.size(); ++i) {
    Tensor& component = element[i];
    const int64_t n = component.num_elements();
    if (n == 0) continue;
    char* const to = static_cast<char*>(rows_[i].mutable_raw()) +
                     count_ * n * static_cast<int64_t>(ElementSize(types_[i]));
    CopyElements(types_[i], to, component.mutable_raw(), n, component.buffer_is_unique());
  }
  ++count_;
  return OkStatus();
}

StatusOr<Element> BatchBuilder::Finish() {
  Element batch = std::move(rows_);
  rows_.clear();
  if (count_ < capacity_) {
    for (Tensor& component : batch) {
      component = component.Rows(0, count_);
      // What is much smaller than its memory does not keep it.
      if (count_ < capacity_ / 2) {
        TFLEET_ASSIGN_OR_RETURN(component, component.Clone());
      }
    }
  }
  count_ = 0;
  capacity_ = 0;
  return batch;
}

Element BatchBuilder::Row(int64_t i) const {
  Element row;
  for (const Tensor& component : rows_) row.push_back(RowOf(component, i));
  return row;
}

Tensor RowOf(const Tensor& batch, int64_t i) {
  return batch.Rows(i, i + 1).Reshaped(batch.shape().SubShape(1, batch.rank()));
}

PartialShape WithoutFirst(const PartialShape& shape) {
  return shape.has_rank() && shape.rank() > 0 ? PartialShape(shape.dims().subspan(1))
                                              : PartialShape::Unknown();
}
PartialShape WithFirst(int64_t size, const PartialShape& shape) {
  if (!shape.has_rank()) return PartialShape::Unknown();
  PartialShape with;
  with = PartialShape({size});
  for (const int64_t dim : shape.dims()) with.AddDim(dim);
  return with;
}

}  // namespace tensorfleet::data
