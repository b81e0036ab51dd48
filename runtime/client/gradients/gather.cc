// Gradients of ops that pick entries by number, or put them at given places.
#include "runtime/client/gradients/context.h"
#include "runtime/client/gradients/families.h"
#include "runtime/client/gradients/shape_math.h"
#include "runtime/client/ops.h"

namespace tensorfleet {
namespace {

using C = GradientContext;

// The rows that a gather along axis 0 took, as slices of a table of shape `table`.
Gradient RowsOf(C& c, const Term& indices, const Output& table) {
  const Scope& s = c.scope();
  const Output count =
      ops::Reshape(s, ops::Size(s, indices, {.out_type = table.dtype()}), Ints(s, {1}));
  const Output shape = Joined(s, {count, VectorSlice(s, table, 1)});
  return IndexedSlices{Reshaped(c.g(), shape), Reshaped(indices, Ints(s, {-1})), table};
}

void Gather(C& c) { c.Set(0, RowsOf(c, c.x(1), c.ShapeOfX(0, DType::kInt64))); }

// The shape of a variable, which its handle tells where the variable lives.
Output VariableShapeOf(C& c, DType dtype) {
  const Scope there = c.scope().OnDevice("").ColocatedWith(c.x(0).output().op());
  return ops::VariableShape(there, c.x(0), {.out_type = dtype});
}

void ResourceGather(C& c) {
  if (c.Attr<int64_t>("batch_dims") != 0) {
    c.scope().Fail(Unimplemented("the gradient of ResourceGather with batch_dims (node '",
                                 c.node().name(),
                                 "') is not there; read the variable and use "
                                 "GatherV2"));
    return;
  }
  c.Set(0, RowsOf(c, c.x(1), VariableShapeOf(c, DType::kInt64)));
}

// Any axis and batch dimensions, scalars that count from the front: with B batches, O entries
// before the axis and n along it, the entries are rows [batch * n + index] of a [B * n, O, ...]
// tensor.
void GatherAlongAxis(C& c, const Term& axis, const Term& batch_dims) {
  const Scope& s = c.scope();
  const Term params = c.ShapeOfX(0), indices(s, CastTo(s, c.x(1), DType::kInt32));
  const auto vector = [&](const Output& scalar) { return ops::Reshape(s, scalar, Ints(s, {1})); };
  const Term zero(s, Int(s, 0)), end(s, ops::Size(s, params));
  // How many elements the dimensions [begin, end) have.
  const auto count = [&](const Term& from, const Term& to) {
    return ProductOf({s, ops::Slice(s, params, vector(from), vector(to - from))});
  };
  const Term batches = count(zero, batch_dims), outer = count(batch_dims, axis);
  const Term n = count(axis, axis + 1.0), inner = count(axis + 1.0, end);
  const Output minus_one = Ints(s, {-1});
  const Output swap = Ints(s, {0, 2, 1, 3});

  // Worked out rather than left to Reshape, which cannot tell a size next to an empty dimension.
  const Term index_count(
      s, ops::FloorDiv(s, ops::Size(s, indices), Of(ops::Maximum, batches, Term(s, Int(s, 1)))));
  const Output gradient_shape =
      Joined(s, {vector(batches), vector(outer), vector(index_count), vector(inner)});
  const Term rows(s, ops::Transpose(s, Reshaped(c.g(), gradient_shape), swap));
  const Term offsets = Expanded(RangeTo(s, batches) * n, 1);
  const Term per_batch = Reshaped(indices, Joined(s, {vector(batches), vector(index_count)}));
  const Term places = Expanded(Reshaped(per_batch + offsets, minus_one), 1);
  const Output updates_shape =
      Joined(s, {vector(batches * index_count), vector(outer), vector(inner)});
  const Output table = Joined(s, {vector(batches * n), vector(outer), vector(inner)});
  const Term sums(s, ops::ScatterNd(s, places, Reshaped(rows, updates_shape), table));
  const Output unfolded = Joined(s, {vector(batches), vector(n), vector(outer), vector(inner)});
  const Term back(s, ops::Transpose(s, Reshaped(sums, unfolded), swap));
  c.Set(0, Reshaped(back, params));
}

// A number of a dimension, counted from the end where it is negative.
Term FromFront(const Term& dimension, const Output& rank) {
  const Scope& s = dimension.scope();
  const Output is_negative = ops::Less(s, dimension, dimension.Number(0));
  return {s, ops::SelectV2(s, is_negative, dimension + Term(s, rank), dimension)};
}

void GatherV2(C& c) {
  const Scope& s = c.scope();
  const auto axis = c.ConstantX(2);
  const int64_t batch_dims = c.Attr<int64_t>("batch_dims");
  const bool is_known = axis && axis->size() == 1;
  if (is_known && (*axis)[0] == 0 && batch_dims == 0) return Gather(c);
  Term from_front(s, CastTo(s, c.x(2), DType::kInt32));
  if (is_known && (*axis)[0] >= 0) {
    from_front = Term(s, Int(s, static_cast<int32_t>((*axis)[0])));
  } else {
    from_front = FromFront(from_front, ops::Size(s, c.ShapeOfX(0)));
  }
  Term batch(s, Int(s, static_cast<int32_t>(batch_dims)));
  if (batch_dims < 0) batch = FromFront(batch, ops::Size(s, c.ShapeOfX(1)));
  GatherAlongAxis(c, from_front, batch);
}

// Index tuples of length 1 are rows of a table.
bool PicksRows(C& c) {
  const PartialShape indices = c.StaticShapeOfX(1);
  return indices.has_rank() && indices.rank() == 2 && indices.dim(1) == 1;
}

Gradient RowsOrScattered(C& c, const Term& table_shape) {
  const Scope& s = c.scope();
  const Term indices(s, CastTo(s, c.x(1), table_shape.dtype()));
  if (!PicksRows(c)) return Gradient(ops::ScatterNd(s, indices, c.g(), table_shape));
  return IndexedSlices{c.g(), Reshaped(indices, Ints(s, {-1})), table_shape};
}

void GatherNd(C& c) {
  const DType type = c.Attr<DType>("Tindices") == DType::kInt64 ? DType::kInt64 : DType::kInt32;
  c.Set(0, RowsOrScattered(c, c.ShapeOfX(0, type)));
}

void ResourceGatherNd(C& c) {
  c.Set(0, RowsOrScattered(c, {c.scope(), VariableShapeOf(c, c.Attr<DType>("Tindices"))}));
}

// Of (indices, updates, shape).
void ScatterNd(C& c) { c.Set(1, ops::GatherNd(c.scope(), c.g(), c.x(0))); }

// Of (tensor, indices, updates).
void TensorScatterUpdate(C& c) {
  const Term zeros = Of(ops::ZerosLike, c.x(2));
  c.Set(0, ops::TensorScatterUpdate(c.scope(), c.g(), c.x(1), zeros));
  c.Set(2, ops::GatherNd(c.scope(), c.g(), c.x(1)));
}
void TensorScatterAdd(C& c) {
  c.Set(0, c.gradient(0));
  c.Set(2, ops::GatherNd(c.scope(), c.g(), c.x(1)));
}
void TensorScatterSub(C& c) {
  c.Set(0, c.gradient(0));
  c.Set(2, ops::Neg(c.scope(), ops::GatherNd(c.scope(), c.g(), c.x(1))));
}

// The elements that equal the result, of the tensor and of the updates, share its gradient.
void TensorScatterExtreme(C& c) {
  const Scope& s = c.scope();
  const DType type = c.g().dtype();
  const auto wins = [&](const Term& a, const Output& b) {
    return Term(s, ops::Cast(s, ops::Equal(s, a, b), type));
  };
  const Term kept = wins(c.x(0), c.y());
  const Term updated = wins(c.x(2), ops::GatherNd(s, c.y(), c.x(1)));
  const Output shape = c.ShapeOfX(0, c.Attr<DType>("Tindices"));
  const Term winners = kept + Term(s, ops::ScatterNd(s, c.x(1), updated, shape));
  const Term share = c.g() / winners;  // whoever wins, there is one
  if (c.wants(0)) c.Set(0, share * kept);
  if (c.wants(2)) c.Set(2, Term(s, ops::GatherNd(s, share, c.x(1))) * updated);
}

// Dealing out the rows' numbers says where each row went.
void DynamicPartition(C& c) {
  const Scope& s = c.scope();
  const Term shape = c.ShapeOfX(1);
  const Term numbers = Reshaped(RangeTo(s, ProductOf(shape)), shape);
  const std::vector<Output> went = ops::DynamicPartition(s, numbers, c.x(1), c.num_outputs());
  std::vector<Output> gradients;
  for (int i = 0; i < c.num_outputs(); ++i) gradients.push_back(c.g(i));
  c.Set(0, Reshaped({s, ops::DynamicStitch(s, went, gradients)}, c.ShapeOfX(0)));
}

void DynamicStitch(C& c) {
  const int count = c.num_inputs() / 2;
  for (int i = 0; i < count; ++i) {
    if (c.wants(count + i)) c.Set(count + i, ops::Gather(c.scope(), c.g(), c.x(i)));
  }
}

// Of (input, k): the chosen elements by their places in the flattened input.
void TopK(C& c) {
  const Scope& s = c.scope();
  const Term shape = c.ShapeOfX(0), size = ProductOf(shape);
  const Term length(s, VectorElement(s, shape, -1));
  const Term k(s, VectorElement(s, c.ShapeOfY(0), -1));
  const Term rows = Of(ops::FloorDiv, size, Of(ops::Maximum, length, Term(s, Int(s, 1))));
  const Term chosen = Reshaped(Term(s, CastTo(s, c.y(1), DType::kInt32)), ops::Pack(s, {rows, k}));
  const Term places = chosen + Expanded(RangeTo(s, rows) * length, 1);
  const Output minus_one = Ints(s, {-1});
  const Term sums(
      s, ops::ScatterNd(s, Expanded(Reshaped(places, minus_one), 1), Reshaped(c.g(), minus_one),
                        ops::Reshape(s, size, Ints(s, {1}))));
  c.Set(0, Reshaped(sums, shape));
}

}  // namespace

void RegisterGatherGradients(GradientRegistry& registry) {
  registry.Add("Gather", Gather);
  registry.Add("GatherV2", GatherV2);
  registry.Add("ResourceGather", ResourceGather);
  registry.Add("GatherNd", GatherNd);
  registry.Add("ResourceGatherNd", ResourceGatherNd);
  registry.Add("ScatterNd", ScatterNd);
  registry.Add("TensorScatterUpdate", TensorScatterUpdate);
  registry.Add("TensorScatterAdd", TensorScatterAdd);
  registry.Add("TensorScatterSub", TensorScatterSub);
  registry.Add("TensorScatterMax", TensorScatterExtreme);
  registry.Add("TensorScatterMin", TensorScatterExtreme);
  registry.Add("DynamicPartition", DynamicPartition);
  registry.Add("DynamicStitch", DynamicStitch);
  registry.Add("ParallelDynamicStitch", DynamicStitch);
  registry.Add("TopK", TopK);
  registry.Add("TopKV2", TopK);
}

}  // namespace tensorfleet
