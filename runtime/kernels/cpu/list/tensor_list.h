// Lists of tensors, as functional loops keep their values in: what a variant of type
// "tensorflow::TensorList" holds.
#pragma once

#include <memory>
#include <vector>

#include "runtime/kernels/kernel.h"
#include "runtime/tensor/variant.h"

namespace tensorfleet::cpu {

class TensorList final : public VariantValue, public std::enable_shared_from_this<TensorList> {
 public:
  TensorList(DType dtype, PartialShape element_shape, int64_t max_elements = -1)
      : dtype_(dtype), element_shape_(std::move(element_shape)), max_elements_(max_elements) {}
  TensorList(const TensorList& other)
      : VariantValue(),
        std::enable_shared_from_this<TensorList>(),
        elements(other.elements),
        depth(other.depth),
        dtype_(other.dtype_),
        element_shape_(other.element_shape_),
        max_elements_(other.max_elements_) {}

  std::string TypeName() const override { return kTypeName; }
  StatusOr<VariantData> Encode() const override;
  // Errors: InvalidArgument for data that no list encodes to.
  static StatusOr<std::shared_ptr<TensorList>> Decode(const VariantData& data);
  static constexpr char kTypeName[] = "tensorflow::TensorList";

  DType dtype() const { return dtype_; }
  const PartialShape& element_shape() const { return element_shape_; }
  int64_t max_elements() const { return max_elements_; }
  int64_t size() const { return static_cast<int64_t>(elements.size()); }

  // What is known of the elements' shape from the list, `wanted` and the elements that there are.
  // Errors: InvalidArgument when they contradict each other.
  StatusOr<PartialShape> CommonShape(const PartialShape& wanted) const;

  // Invalid tensors stand for elements that have not been set.
  std::vector<Tensor> elements;
  // How many lists and optionals are in one another here, this one included: NestWithin, for each
  // element that comes in.
  int depth = 1;

 private:
  const DType dtype_;
  const PartialShape element_shape_;
  const int64_t max_elements_;
};

using TensorListPtr = std::shared_ptr<const TensorList>;

// The list in scalar variant input `i`. Errors: InvalidArgument.
StatusOr<TensorListPtr> ListFromInput(const KernelContext& ctx, int i);
StatusOr<TensorListPtr> ListFromVariant(const Variant& variant);
// The same list to be changed: the input's own when nobody else holds it, else a copy.
StatusOr<std::shared_ptr<TensorList>> TakeList(KernelContext& ctx, int i);

// The list to be changed: itself when nobody but `list` and, where that is not shared either, one
// variant holds it, else a copy.
std::shared_ptr<TensorList> OwnList(const TensorListPtr& list, bool variant_is_unique);

// Sets output `i` to a scalar variant that holds the list.
void SetList(KernelContext& ctx, int i, std::shared_ptr<const TensorList> list);

// Makes the list longer or shorter; new elements are not set. Errors: ResourceExhausted.
Status ResizeList(int64_t size, TensorList* list);

// Errors: InvalidArgument unless the list's elements are of attribute element_dtype.
Status CheckListDType(const TensorList& list, DType dtype);

// A shape as an op's input: a vector with -1 for open dimensions, or the scalar -1 for any shape.
// Errors: InvalidArgument.
StatusOr<PartialShape> ElementShapeFromInput(const Tensor& t);

// A kernel with the attribute element_dtype.
class ListKernel : public Kernel {
 public:
  explicit ListKernel(KernelInit& init) { init.Get("element_dtype", &dtype_); }

 protected:
  DType dtype_ = DType::kInvalid;
};

}  // namespace tensorfleet::cpu
