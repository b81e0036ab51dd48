// Lists of tensors to and from tensors: Stack, FromTensor, Gather, Scatter, Concat, Split.
// Schemas: runtime/ops/list/tensor_list_ops.cc.
#include "runtime/kernels/cpu/elements.h"
#include "runtime/kernels/cpu/index_input.h"
#include "runtime/kernels/cpu/list/nesting.h"
#include "runtime/kernels/cpu/list/tensor_list.h"
#include "runtime/kernels/kernel_registry.h"
#include "runtime/kernels/stack_rows.h"
#include "runtime/tensor/memory_account.h"

namespace tensorfleet::cpu {
namespace {

// Elements `picked` of the list as the rows of one tensor; those that have not been set are zeros.
StatusOr<Tensor> Stacked(const TensorList& list, absl::Span<const int64_t> picked,
                         const PartialShape& wanted) {
  TFLEET_ASSIGN_OR_RETURN(const PartialShape known, list.CommonShape(wanted));
  std::vector<Tensor> rows;
  for (const int64_t i : picked) rows.push_back(list.elements[i]);
  const bool lacks_some =
      std::any_of(rows.begin(), rows.end(), [](const Tensor& row) { return !row.is_valid(); });
  if ((rows.empty() || lacks_some) && !known.is_fully_defined()) {
    return InvalidArgument("Tried to stack ",
                           rows.empty() ? "elements of an empty list"
                                        : "list which only contains "
                                          "uninitialized elements",
                           " with non-fully-defined element_shape: ", known.ToString());
  }
  if (lacks_some) {
    TFLEET_ASSIGN_OR_RETURN(const Shape shape, known.ToShape());
    TFLEET_ASSIGN_OR_RETURN(const Tensor zeros, Tensor::Zeros(list.dtype(), shape));
    for (Tensor& row : rows) {
      if (!row.is_valid()) row = zeros;
    }
  }
  for (const Tensor& row : rows) {
    if (!known.IsCompatibleWith(row.shape())) {
      return InvalidArgument("Tried to stack an element of shape ", row.shape().ToString(),
                             " in a list of shape ", known.ToString());
    }
  }
  return StackRows(list.dtype(), known, rows);
}

std::vector<int64_t> Everything(const TensorList& list) {
  std::vector<int64_t> all(list.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int64_t>(i);
  return all;
}

// Row [begin, end) of `t` in memory of its own, as an element of a list may outlive the others.
StatusOr<Tensor> OwnRows(const Tensor& t, int64_t begin, int64_t end) {
  return t.Rows(begin, end).Clone();
}
StatusOr<Tensor> OwnRow(const Tensor& t, int64_t row) {
  TFLEET_ASSIGN_OR_RETURN(const Tensor own, OwnRows(t, row, row + 1));
  return own.Reshaped(t.shape().SubShape(1, t.rank()));
}

Status CheckRows(const Tensor& t, const PartialShape& element_shape) {
  if (t.rank() < 1) {
    return InvalidArgument("Tensor must be at least a vector, but saw shape: ",
                           t.shape().ToString());
  }
  if (element_shape.IsCompatibleWith(t.shape().SubShape(1, t.rank()))) return OkStatus();
  return InvalidArgument("Specified a list with shape ", element_shape.ToString(),
                         " from a tensor with shape ", t.shape().SubShape(1, t.rank()).ToString());
}

class TensorListStack final : public ListKernel {
 public:
  explicit TensorListStack(KernelInit& init) : ListKernel(init) {
    init.Get("num_elements", &expected_);
  }
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const TensorListPtr list, ListFromInput(ctx, 0));
    TFLEET_RETURN_IF_ERROR(CheckListDType(*list, dtype_));
    if (expected_ != -1 && list->size() != expected_) {
      return InvalidArgument("Operation expected a list with ", expected_,
                             " elements but got a list with ", list->size(), " elements.");
    }
    TFLEET_ASSIGN_OR_RETURN(const PartialShape wanted, ElementShapeFromInput(ctx.input(1)));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, Stacked(*list, Everything(*list), wanted));
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  int64_t expected_ = -1;
};

class TensorListGather final : public ListKernel {
 public:
  using ListKernel::ListKernel;
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const TensorListPtr list, ListFromInput(ctx, 0));
    TFLEET_RETURN_IF_ERROR(CheckListDType(*list, dtype_));
    TFLEET_ASSIGN_OR_RETURN(const PartialShape wanted, ElementShapeFromInput(ctx.input(2)));
    const Integers indices = IntegersOf(ctx.input(1));
    for (const int64_t index : indices) {
      if (index < 0 || index >= list->size()) {
        return InvalidArgument("Index ", index, " out o range; list only has ", list->size(),
                               " elements.");
      }
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor out, Stacked(*list, indices, wanted));
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }
};

class TensorListFromTensor final : public ListKernel {
 public:
  using ListKernel::ListKernel;
  Status Compute(KernelContext& ctx) const override {
    const Tensor& tensor = ctx.input(0);
    TFLEET_ASSIGN_OR_RETURN(PartialShape shape, ElementShapeFromInput(ctx.input(1)));
    TFLEET_RETURN_IF_ERROR(CheckRows(tensor, shape));
    auto list = std::make_shared<TensorList>(dtype_, std::move(shape));
    TFLEET_RETURN_IF_ERROR(CheckWorkSpace(tensor.dim(0), sizeof(Tensor) + kBufferAlignment));
    LoopWatch watch(ctx, /*cost=*/50);
    for (int64_t row = 0; row < tensor.dim(0); ++row) {
      watch.Pass();
      TFLEET_ASSIGN_OR_RETURN(Tensor element, OwnRow(tensor, row));
      TFLEET_RETURN_IF_ERROR(NestWithin(element, &list->depth));
      list->elements.push_back(std::move(element));
    }
    SetList(ctx, 0, std::move(list));
    return OkStatus();
  }
};

// Row i of `tensor` becomes element indices[i]; the list grows as far as it must.
Status ScatterRows(const Tensor& tensor, const Tensor& indices, TensorList* list) {
  if (indices.rank() != 1 || indices.dim(0) != tensor.dim(0)) {
    return InvalidArgument("Specified ", indices.num_elements(), " indices of shape ",
                           indices.shape().ToString(), " for ", tensor.dim(0), " rows of a tensor");
  }
  const Integers to = IntegersOf(indices);
  for (size_t i = 0; i < to.size(); ++i) {
    if (to[i] < 0) {
      return InvalidArgument("Indices in TensorListScatter must all be non-negative, but got ",
                             to[i]);
    }
    if (to[i] >= list->size()) TFLEET_RETURN_IF_ERROR(ResizeList(to[i] + 1, list));
    Tensor& element = list->elements[to[i]];
    TFLEET_ASSIGN_OR_RETURN(element, OwnRow(tensor, static_cast<int64_t>(i)));
    TFLEET_RETURN_IF_ERROR(NestWithin(element, &list->depth));
  }
  return OkStatus();
}

class TensorListScatter final : public ListKernel {
 public:
  using ListKernel::ListKernel;
  Status Compute(KernelContext& ctx) const override {
    const Tensor& tensor = ctx.input(0);
    TFLEET_ASSIGN_OR_RETURN(PartialShape shape, ElementShapeFromInput(ctx.input(2)));
    TFLEET_RETURN_IF_ERROR(CheckRows(tensor, shape));
    auto list = std::make_shared<TensorList>(dtype_, std::move(shape));
    int64_t size = -1;
    if (ctx.num_inputs() == 4) {
      TFLEET_ASSIGN_OR_RETURN(size, ScalarInteger(ctx.input(3), "num_elements"));
    }
    if (size < -1) {
      return InvalidArgument("TensorListScatter expects num_elements >= -1, found: ", size);
    }
    if (size >= 0) {
      for (const int64_t index : IntegersOf(ctx.input(1))) {
        if (index >= size) {
          return InvalidArgument("TensorListScatter: Trying to scatter at index ", index,
                                 " in list with size ", size);
        }
      }
      TFLEET_RETURN_IF_ERROR(ResizeList(size, list.get()));
    }
    TFLEET_RETURN_IF_ERROR(ScatterRows(tensor, ctx.input(1), list.get()));
    SetList(ctx, 0, std::move(list));
    return OkStatus();
  }
};

class TensorListScatterIntoExistingList final : public ListKernel {
 public:
  using ListKernel::ListKernel;
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(std::shared_ptr<TensorList> list, TakeList(ctx, 0));
    TFLEET_RETURN_IF_ERROR(CheckListDType(*list, dtype_));
    TFLEET_RETURN_IF_ERROR(CheckRows(ctx.input(1), list->element_shape()));
    TFLEET_RETURN_IF_ERROR(ScatterRows(ctx.input(1), ctx.input(2), list.get()));
    SetList(ctx, 0, std::move(list));
    return OkStatus();
  }
};

// Elements one after another along their first dimension, and how long each is.
class TensorListConcat final : public ListKernel {
 public:
  explicit TensorListConcat(KernelInit& init) : ListKernel(init) {
    if (init.node().op() == "TensorListConcat") init.Get("element_shape", &shape_);
  }
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const TensorListPtr list, ListFromInput(ctx, 0));
    TFLEET_RETURN_IF_ERROR(CheckListDType(*list, dtype_));
    PartialShape wanted = shape_;
    if (ctx.num_inputs() > 1) {
      TFLEET_ASSIGN_OR_RETURN(wanted, ElementShapeFromInput(ctx.input(1)));
    }
    TFLEET_ASSIGN_OR_RETURN(wanted, wanted.MergedWith(list->element_shape()));
    const absl::Span<const int64_t> leading =
        ctx.num_inputs() > 2 ? ctx.input(2).values<int64_t>() : absl::Span<const int64_t>();
    PartialShape row;  // an element without its first dimension
    if (wanted.has_rank()) {
      if (wanted.rank() < 1) {
        return InvalidArgument("Concat requires elements to be at least vectors, found scalars ",
                               "instead.");
      }
      row = PartialShape(wanted.dims().subspan(1));
    }
    for (const Tensor& element : list->elements) {
      if (!element.is_valid()) continue;
      if (element.rank() < 1) {
        return InvalidArgument("Concat saw a scalar shape at an index");
      }
      TFLEET_ASSIGN_OR_RETURN(row, row.MergedWith(element.shape().SubShape(1, element.rank())));
    }
    if (!row.is_fully_defined()) {
      return InvalidArgument("All except the first dimension must be fully defined when ",
                             "concating an empty tensor list. element_shape: ", wanted.ToString());
    }
    TFLEET_ASSIGN_OR_RETURN(const Shape row_shape, row.ToShape());
    const int64_t length = wanted.has_rank() ? wanted.dim(0) : PartialShape::kUnknownDim;
    return Join(ctx, *list, row_shape, length, leading);
  }

 private:
  // `length` is that of elements that have not been set, -1 when `leading` says it or nothing does.
  Status Join(KernelContext& ctx, const TensorList& list, const Shape& row, int64_t length,
              absl::Span<const int64_t> leading) const {
    std::vector<int64_t> lengths;
    int64_t total = 0;
    for (int64_t i = 0; i < list.size(); ++i) {
      const Tensor& element = list.elements[i];
      int64_t own = element.is_valid() ? element.dim(0) : length;
      if (!element.is_valid() && own < 0 && i < static_cast<int64_t>(leading.size())) {
        own = leading[i];
      }
      if (own < 0) {
        return InvalidArgument("List contains uninitialized tensor at index ", i,
                               " but leading_dims has only ", leading.size(), " elements.");
      }
      if (__builtin_add_overflow(total, own, &total)) {
        return InvalidArgument("the elements of the list are too long together");
      }
      lengths.push_back(own);
    }
    TFLEET_ASSIGN_OR_RETURN(const Shape head, Shape::Make({total}));
    TFLEET_ASSIGN_OR_RETURN(const Shape shape, head.Concatenated(row));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, Tensor::Zeros(list.dtype(), shape));
    int64_t at = 0;
    for (int64_t i = 0; i < list.size(); ++i) {
      const Tensor& element = list.elements[i];
      if (element.is_valid() && element.num_elements() > 0) {
        CopyElements(list.dtype(), MutableElementAt(out, at * row.num_elements()), element.raw(),
                     element.num_elements());
      }
      at += lengths[i];
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor length_vector, IntegerVector(DType::kInt64, lengths));
    ctx.SetOutput(0, std::move(out));
    ctx.SetOutput(1, std::move(length_vector));
    return OkStatus();
  }

  PartialShape shape_;
};

class TensorListSplit final : public ListKernel {
 public:
  using ListKernel::ListKernel;
  Status Compute(KernelContext& ctx) const override {
    const Tensor& tensor = ctx.input(0);
    TFLEET_ASSIGN_OR_RETURN(PartialShape shape, ElementShapeFromInput(ctx.input(1)));
    if (tensor.rank() < 1) {
      return InvalidArgument("Tensor must be at least a vector, but saw shape: ",
                             tensor.shape().ToString());
    }
    if (ctx.input(2).rank() != 1) {
      return InvalidArgument("Expected lengths to be a vector, received shape: ",
                             ctx.input(2).shape().ToString());
    }
    auto list = std::make_shared<TensorList>(dtype_, std::move(shape));
    int64_t at = 0;
    for (const int64_t length : ctx.input(2).values<int64_t>()) {
      if (length < 0) {
        return InvalidArgument("Invalid value in lengths: ", length, ", it must not be negative");
      }
      if (length > tensor.dim(0) - at) {
        return InvalidArgument("Attempting to slice [", at, ", ", at, "+", length,
                               ") from tensor with length ", tensor.dim(0));
      }
      TFLEET_ASSIGN_OR_RETURN(Tensor element, OwnRows(tensor, at, at + length));
      if (!list->element_shape().IsCompatibleWith(element.shape())) {
        return InvalidArgument("TensorListSplit requires element_shape to be compatible with ",
                               element.shape().ToString(), ", but it is ",
                               list->element_shape().ToString());
      }
      TFLEET_RETURN_IF_ERROR(NestWithin(element, &list->depth));
      list->elements.push_back(std::move(element));
      at += length;
    }
    if (at != tensor.dim(0)) {
      return InvalidArgument("Unused values in tensor. Length of tensor: ", tensor.dim(0),
                             " Values used: ", at);
    }
    SetList(ctx, 0, std::move(list));
    return OkStatus();
  }
};

}  // namespace

void RegisterTensorListConvertKernels(KernelRegistry& r) {
  r.Add<TensorListStack>("TensorListStack", kCpu);
  r.Add<TensorListGather>("TensorListGather", kCpu);
  r.Add<TensorListFromTensor>("TensorListFromTensor", kCpu);
  r.Add<TensorListScatter>("TensorListScatter", kCpu);
  r.Add<TensorListScatter>("TensorListScatterV2", kCpu);
  r.Add<TensorListScatterIntoExistingList>("TensorListScatterIntoExistingList", kCpu);
  r.Add<TensorListConcat>("TensorListConcat", kCpu);
  r.Add<TensorListConcat>("TensorListConcatV2", kCpu);
  r.Add<TensorListSplit>("TensorListSplit", kCpu);
}

}  // namespace tensorfleet::cpu
