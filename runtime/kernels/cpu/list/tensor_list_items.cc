// Lists of tensors, element by element: making them, adding, taking, reading and setting elements.
// A list that nobody else holds is changed in place, so that a loop that fills a list costs no
// copies. Schemas: runtime/ops/list/tensor_list_ops.cc.
#include <algorithm>

#include "runtime/kernels/cpu/index_input.h"
#include "runtime/kernels/cpu/list/nesting.h"
#include "runtime/kernels/cpu/list/tensor_list.h"
#include "runtime/kernels/kernel_registry.h"

namespace tensorfleet::cpu {
namespace {

StatusOr<int64_t> IntInput(const KernelContext& ctx, int i, const char* name) {
  if (!ctx.input(i).shape().is_scalar()) {
    return InvalidArgument(name, " must be a scalar, but has shape ",
                           ctx.input(i).shape().ToString());
  }
  return int64_t{ctx.input(i).scalar<int32_t>()};
}

Status CheckElement(const char* verb, const TensorList& list, const Tensor& element) {
  if (list.element_shape().IsCompatibleWith(element.shape())) return OkStatus();
  return InvalidArgument("Tried to ", verb, " Op element shape: ", element.shape().ToString(),
                         " list shape: ", list.element_shape().ToString());
}

// An element that has not been set reads as zeros of the shape that is known.
StatusOr<Tensor> ElementOrZeros(const TensorList& list, int64_t i, const PartialShape& wanted) {
  const Tensor& element = list.elements[i];
  if (element.is_valid()) {
    if (!wanted.IsCompatibleWith(element.shape())) {
      return InvalidArgument("Incompatible shapes during merge: ", wanted.ToString(), " vs. ",
                             element.shape().ToString());
    }
    return element;
  }
  TFLEET_ASSIGN_OR_RETURN(const PartialShape known, list.CommonShape(wanted));
  if (!known.is_fully_defined()) {
    return InvalidArgument("Trying to read an uninitialized tensor but element_shape is not fully ",
                           "defined. element ", i, ", ", known.ToString());
  }
  TFLEET_ASSIGN_OR_RETURN(const Shape shape, known.ToShape());
  return Tensor::Zeros(list.dtype(), shape);
}

class EmptyTensorList final : public ListKernel {
 public:
  using ListKernel::ListKernel;
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(PartialShape shape, ElementShapeFromInput(ctx.input(0)));
    TFLEET_ASSIGN_OR_RETURN(const int64_t most, IntInput(ctx, 1, "max_num_elements"));
    SetList(ctx, 0, std::make_shared<TensorList>(dtype_, std::move(shape), most));
    return OkStatus();
  }
};

class TensorListReserve final : public ListKernel {
 public:
  using ListKernel::ListKernel;
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(PartialShape shape, ElementShapeFromInput(ctx.input(0)));
    TFLEET_ASSIGN_OR_RETURN(const int64_t size, IntInput(ctx, 1, "num_elements"));
    if (size < 0) {
      return InvalidArgument("The num_elements to reserve must be a non negative number, but got ",
                             size);
    }
    auto list = std::make_shared<TensorList>(dtype_, std::move(shape));
    TFLEET_RETURN_IF_ERROR(ResizeList(size, list.get()));
    SetList(ctx, 0, std::move(list));
    return OkStatus();
  }
};

class TensorListPushBack final : public ListKernel {
 public:
  using ListKernel::ListKernel;
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(std::shared_ptr<TensorList> list, TakeList(ctx, 0));
    TFLEET_RETURN_IF_ERROR(CheckListDType(*list, dtype_));
    TFLEET_RETURN_IF_ERROR(
        CheckElement("append a tensor with incompatible shape to a list.", *list, ctx.input(1)));
    if (list->max_elements() >= 0 && list->size() >= list->max_elements()) {
      return InvalidArgument("Tried to push item into a full list list size: ", list->size(),
                             " max_num_elements: ", list->max_elements());
    }
    TFLEET_RETURN_IF_ERROR(NestWithin(ctx.input(1), &list->depth));
    list->elements.push_back(ctx.TakeInput(1));
    SetList(ctx, 0, std::move(list));
    return OkStatus();
  }
};

class TensorListPopBack final : public ListKernel {
 public:
  using ListKernel::ListKernel;
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const PartialShape wanted, ElementShapeFromInput(ctx.input(1)));
    TFLEET_ASSIGN_OR_RETURN(std::shared_ptr<TensorList> list, TakeList(ctx, 0));
    TFLEET_RETURN_IF_ERROR(CheckListDType(*list, dtype_));
    if (list->elements.empty()) return InvalidArgument("Trying to pop from an empty list.");
    TFLEET_ASSIGN_OR_RETURN(Tensor last, ElementOrZeros(*list, list->size() - 1, wanted));
    list->elements.pop_back();
    SetList(ctx, 0, std::move(list));
    ctx.SetOutput(1, std::move(last));
    return OkStatus();
  }
};

class TensorListGetItem final : public ListKernel {
 public:
  using ListKernel::ListKernel;
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const TensorListPtr list, ListFromInput(ctx, 0));
    TFLEET_RETURN_IF_ERROR(CheckListDType(*list, dtype_));
    TFLEET_ASSIGN_OR_RETURN(const int64_t index, IntInput(ctx, 1, "index"));
    if (index < 0 || index >= list->size()) {
      return InvalidArgument("Trying to access element ", index, " in a list with ", list->size(),
                             " elements.");
    }
    TFLEET_ASSIGN_OR_RETURN(const PartialShape wanted, ElementShapeFromInput(ctx.input(2)));
    TFLEET_ASSIGN_OR_RETURN(Tensor element, ElementOrZeros(*list, index, wanted));
    ctx.SetOutput(0, std::move(element));
    return OkStatus();
  }
};

class TensorListSetItem final : public ListKernel {
 public:
  explicit TensorListSetItem(KernelInit& init) : ListKernel(init) {
    init.Get("resize_if_index_out_of_bounds", &grows_);
  }
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const int64_t index, IntInput(ctx, 1, "index"));
    TFLEET_ASSIGN_OR_RETURN(std::shared_ptr<TensorList> list, TakeList(ctx, 0));
    TFLEET_RETURN_IF_ERROR(CheckListDType(*list, dtype_));
    if (index < 0 || (index >= list->size() && !grows_)) {
      return InvalidArgument("Trying to modify element ", index, " in a list with ", list->size(),
                             " elements.");
    }
    TFLEET_RETURN_IF_ERROR(
        CheckElement("set a tensor with incompatible shape at a list index.", *list, ctx.input(2)));
    if (index >= list->size()) TFLEET_RETURN_IF_ERROR(ResizeList(index + 1, list.get()));
    TFLEET_RETURN_IF_ERROR(NestWithin(ctx.input(2), &list->depth));
    list->elements[index] = ctx.TakeInput(2);
    SetList(ctx, 0, std::move(list));
    return OkStatus();
  }

 private:
  bool grows_ = false;
};

class TensorListResize final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const int64_t size, IntInput(ctx, 1, "size"));
    if (size < 0) {
      return InvalidArgument("TensorListSlice expects size to be non-negative. Got: ", size);
    }
    TFLEET_ASSIGN_OR_RETURN(std::shared_ptr<TensorList> list, TakeList(ctx, 0));
    TFLEET_RETURN_IF_ERROR(ResizeList(size, list.get()));
    SetList(ctx, 0, std::move(list));
    return OkStatus();
  }
};

class TensorListLength final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const TensorListPtr list, ListFromInput(ctx, 0));
    ctx.SetOutput(0, Tensor::Scalar(static_cast<int32_t>(list->size())));
    return OkStatus();
  }
};

class TensorListElementShape final : public Kernel {
 public:
  explicit TensorListElementShape(KernelInit& init) { init.Get("shape_type", &type_); }
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const TensorListPtr list, ListFromInput(ctx, 0));
    const PartialShape& shape = list->element_shape();
    const int64_t any = -1;
    TFLEET_ASSIGN_OR_RETURN(
        Tensor dims,
        IntegerVector(type_, shape.has_rank() ? shape.dims() : absl::MakeConstSpan(&any, 1)));
    ctx.SetOutput(0, shape.has_rank() ? dims : dims.Reshaped(Shape()));
    return OkStatus();
  }

 private:
  DType type_ = DType::kInt32;
};

class TensorListConcatLists final : public ListKernel {
 public:
  using ListKernel::ListKernel;
  Status Compute(KernelContext& ctx) const override {
    if (ctx.input(0).shape() != ctx.input(1).shape()) {
      return InvalidArgument(
          "Incompatible input TensorList tensor shapes: ", ctx.input(0).shape().ToString(), " vs. ",
          ctx.input(1).shape().ToString());
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DType::kVariant, ctx.input(0).shape()));
    for (int64_t i = 0; i < out.num_elements(); ++i) {
      TFLEET_ASSIGN_OR_RETURN(const TensorListPtr a,
                              ListFromVariant(ctx.input(0).values<Variant>()[i]));
      TFLEET_ASSIGN_OR_RETURN(const TensorListPtr b,
                              ListFromVariant(ctx.input(1).values<Variant>()[i]));
      TFLEET_RETURN_IF_ERROR(CheckListDType(*a, dtype_));
      TFLEET_RETURN_IF_ERROR(CheckListDType(*b, dtype_));
      if (!(a->element_shape() == b->element_shape())) {
        return InvalidArgument("input_a and input_b TensorList element shapes are not identical: ",
                               a->element_shape().ToString(), " vs. ",
                               b->element_shape().ToString());
      }
      auto both = std::make_shared<TensorList>(*a);
      both->depth = std::max(a->depth, b->depth);
      both->elements.insert(both->elements.end(), b->elements.begin(), b->elements.end());
      out.mutable_values<Variant>()[i] = Variant(std::move(both));
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }
};

// A vector of lists and a tensor whose row i goes to list i.
class TensorListPushBackBatch final : public ListKernel {
 public:
  using ListKernel::ListKernel;
  Status Compute(KernelContext& ctx) const override {
    const Tensor& handles = ctx.input(0);
    const Tensor& rows = ctx.input(1);
    if (rows.rank() < 1 || handles.rank() != 1 || handles.dim(0) != rows.dim(0)) {
      return InvalidArgument("Expected as many lists as the tensor has rows, but saw shapes ",
                             handles.shape().ToString(), " and ", rows.shape().ToString());
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DType::kVariant, handles.shape()));
    for (int64_t i = 0; i < rows.dim(0); ++i) {
      TFLEET_ASSIGN_OR_RETURN(const TensorListPtr from,
                              ListFromVariant(handles.values<Variant>()[i]));
      TFLEET_RETURN_IF_ERROR(CheckListDType(*from, dtype_));
      // A row of its own: element kernels may need aligned memory, and the rest may be let go.
      TFLEET_ASSIGN_OR_RETURN(
          Tensor row, rows.Rows(i, i + 1).Reshaped(rows.shape().SubShape(1, rows.rank())).Clone());
      TFLEET_RETURN_IF_ERROR(
          CheckElement("append a tensor with incompatible shape to a list.", *from, row));
      auto list = std::make_shared<TensorList>(*from);
      TFLEET_RETURN_IF_ERROR(NestWithin(row, &list->depth));
      list->elements.push_back(std::move(row));
      out.mutable_values<Variant>()[i] = Variant(std::move(list));
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }
};

}  // namespace

void RegisterTensorListItemKernels(KernelRegistry& r) {
  r.Add<EmptyTensorList>("EmptyTensorList", kCpu);
  r.Add<TensorListReserve>("TensorListReserve", kCpu);
  r.Add<TensorListPushBack>("TensorListPushBack", kCpu);
  r.Add<TensorListPushBackBatch>("TensorListPushBackBatch", kCpu);
  r.Add<TensorListPopBack>("TensorListPopBack", kCpu);
  r.Add<TensorListGetItem>("TensorListGetItem", kCpu);
  r.Add<TensorListSetItem>("TensorListSetItem", kCpu);
  r.Add<TensorListResize>("TensorListResize", kCpu);
  r.Add<TensorListLength>("TensorListLength", kCpu);
  r.Add<TensorListElementShape>("TensorListElementShape", kCpu);
  r.Add<TensorListConcatLists>("TensorListConcatLists", kCpu);
}

}  // namespace tensorfleet::cpu
