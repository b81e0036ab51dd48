// Gradients of lists of tensors. The gradient of a list is a list as long, whose elements are the
// gradients of the list's; one that is not set there stands for zeros. Of the list itself only its
// length and the shape of its elements are asked for: a loop that kept the list of each round would
// have to copy it in each round.
#include "runtime/client/gradients/context.h"
#include "runtime/client/gradients/families.h"
#include "runtime/client/gradients/shape_math.h"
#include "runtime/client/ops.h"

namespace tensorfleet {
namespace {

using C = GradientContext;

Output ElementShape(const Scope& scope, const Output& list) {
  return ops::TensorListElementShape(scope, list, DType::kInt64);
}

DType ElementType(const C& c) { return c.Attr<DType>("element_dtype"); }

Term LengthOfX(const C& c) { return c.MeasuredX(0, ops::TensorListLength); }

// A list like input 0, with no element set.
Output NothingLikeX(const C& c) {
  return ops::TensorListReserve(c.scope(), c.MeasuredX(0, ElementShape), LengthOfX(c),
                                ElementType(c));
}

// The shape of the rows of input `i`, which become elements.
Output RowShape(const C& c, int i) {
  const PartialShape known = c.StaticShapeOfX(i);
  if (known.has_rank() && known.rank() == 0) {
    c.scope().Fail(InvalidArgument(c.node().op(), " (node '", c.node().name(),
                                   "') wants a tensor with rows, found a scalar"));
    return Output();
  }
  return VectorSlice(c.scope(), c.ShapeOfX(i), 1);
}

// Of (list, tensor) -> list.
void PushBack(C& c) {
  const auto last = ops::TensorListPopBack(c.scope(), c.g(), c.ShapeOfX(1), ElementType(c));
  c.Set(0, last.output_handle);
  c.Set(1, last.tensor);
}

// Of (list, element_shape) -> (list, tensor).
void PopBack(C& c) {
  const Scope& s = c.scope();
  const Output rest =
      c.has_gradient(0)
          ? c.g(0).output()
          : ops::TensorListReserve(s, c.MeasuredY(0, ElementShape),
                                   c.MeasuredY(0, ops::TensorListLength), ElementType(c));
  c.Set(0, ops::TensorListPushBack(s, rest, c.g(1)));
}

// Of (list, index, element_shape) -> item.
void GetItem(C& c) { c.Set(0, ops::TensorListSetItem(c.scope(), NothingLikeX(c), c.x(1), c.g())); }

// Of (list, index, item) -> list.
void SetItem(C& c) {
  const Scope& s = c.scope();
  const Output item = ops::TensorListGetItem(s, c.g(), c.x(1), c.ShapeOfX(2), ElementType(c));
  c.Set(2, item);
  if (!c.wants(0)) return;
  // The zeros come from what was read, so that nobody else holds the list that they are put into.
  const Output before = ops::TensorListSetItem(s, c.g(), c.x(1), ops::ZerosLike(s, item));
  const bool may_grow = c.Attr<bool>("resize_if_index_out_of_bounds");
  c.Set(0, may_grow ? ops::TensorListResize(s, before, LengthOfX(c)) : before);
}

// Of (list, size) -> list.
void Resize(C& c) { c.Set(0, ops::TensorListResize(c.scope(), c.g(), LengthOfX(c))); }

// Of (list, element_shape) -> tensor.
void Stack(C& c) {
  c.Set(0, ops::TensorListFromTensor(c.scope(), c.g(), c.MeasuredX(0, ElementShape)));
}

// Of (tensor, element_shape) -> list.
void FromTensor(C& c) {
  const PartialShape known = c.StaticShapeOfX(0);
  const int64_t rows = known.has_rank() && known.rank() > 0 ? known.dim(0) : -1;
  c.Set(0, ops::TensorListStack(c.scope(), c.g(), RowShape(c, 0), ElementType(c),
                                {.num_elements = rows}));
}

// Of (list, indices, element_shape) -> rows. What was taken several times gets the sum.
void Gather(C& c) {
  const Scope& s = c.scope();
  const auto places = ops::Unique(s, c.x(1));
  const Output sums = ops::UnsortedSegmentSum(s, c.g(), places.idx, ops::Size(s, places.y));
  c.Set(0, ops::TensorListScatterIntoExistingList(s, NothingLikeX(c), sums, places.y));
}

// Of input `rows`, whose rows are put into a list at the places of input `indices`. Of several that
// are put at one place the last one stays.
Output RowsOf(C& c, int rows, int indices) {
  const Scope& s = c.scope();
  const Term at = c.x(indices);
  const Output gradients = ops::TensorListGather(s, c.g(), at, RowShape(c, rows), ElementType(c));
  const auto places = ops::Unique(s, at);
  const Output order = RangeTo(s, ops::Size(s, at));
  const Output last = ops::UnsortedSegmentMax(s, order, places.idx, ops::Size(s, places.y));
  const Output stays = ops::Equal(s, order, ops::Gather(s, last, places.idx));
  return ops::Select(s, stays, gradients, ops::ZerosLike(s, gradients));
}

// Of (rows, indices, element_shape, ...) -> list.
void Scatter(C& c) { c.Set(0, RowsOf(c, 0, 1)); }

// Of (list, rows, indices) -> list, which may have become longer.
void ScatterIntoExistingList(C& c) {
  const Scope& s = c.scope();
  const Output rows = RowsOf(c, 1, 2);
  c.Set(1, rows);
  if (!c.wants(0)) return;
  const Output before =
      ops::TensorListScatterIntoExistingList(s, c.g(), ops::ZerosLike(s, rows), c.x(2));
  c.Set(0, ops::TensorListResize(s, before, LengthOfX(c)));
}

// Of (list, ...) -> (tensor, lengths).
void Concat(C& c) {
  c.Set(0, ops::TensorListSplit(c.scope(), c.g(0), c.MeasuredX(0, ElementShape), c.y(1)));
}

// Of (tensor, element_shape, lengths) -> list.
void Split(C& c) {
  const Scope& s = c.scope();
  const Output shape = Joined(s, {Ints(s, {-1}), RowShape(c, 0)});
  c.Set(0, ops::TensorListConcatV2(s, c.g(), shape, c.x(2), ElementType(c)).tensor);
}

}  // namespace

void RegisterTensorListGradients(GradientRegistry& registry) {
  registry.Add("TensorListPushBack", PushBack);
  registry.Add("TensorListPopBack", PopBack);
  registry.Add("TensorListGetItem", GetItem);
  registry.Add("TensorListSetItem", SetItem);
  registry.Add("TensorListResize", Resize);
  registry.Add("TensorListStack", Stack);
  registry.Add("TensorListFromTensor", FromTensor);
  registry.Add("TensorListGather", Gather);
  registry.Add("TensorListScatter", Scatter);
  registry.Add("TensorListScatterV2", Scatter);
  registry.Add("TensorListScatterIntoExistingList", ScatterIntoExistingList);
  registry.Add("TensorListConcat", Concat);
  registry.Add("TensorListConcatV2", Concat);
  registry.Add("TensorListSplit", Split);
}

}  // namespace tensorfleet
