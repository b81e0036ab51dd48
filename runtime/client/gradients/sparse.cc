// Gradients of ops on sparse tensors, for their values.
#include "runtime/client/gradients/context.h"
#include "runtime/client/gradients/families.h"
#include "runtime/client/gradients/shape_math.h"
#include "runtime/client/ops.h"

namespace tensorfleet {
namespace {

using C = GradientContext;

// Of (sparse_indices, output_shape, sparse_values, default_value).
void SparseToDense(C& c) {
  const Scope& s = c.scope();
  const Output picked = ops::GatherNd(s, c.g(), c.x(0));
  if (c.wants(2)) c.Set(2, picked);
  if (!c.wants(3)) return;
  const Term all = SumOf(Reshaped(c.g(), Ints(s, {-1})), {0});
  c.Set(3, all - SumOf(Reshaped({s, picked}, Ints(s, {-1})), {0}));
}

// Of (a_indices, a_values, a_shape, b): of each entry, the product of the row of the gradient and
// the row of b that met in it.
void SparseTensorDenseMatMul(C& c) {
  const Scope& s = c.scope();
  const bool adjoint_a = c.Attr<bool>("adjoint_a"), adjoint_b = c.Attr<bool>("adjoint_b");
  if (IsComplex(c.g().dtype())) {
    c.scope().Fail(
        Unimplemented("the gradient of SparseTensorDenseMatMul of complex numbers (node '",
                      c.node().name(), "') is not there"));
    return;
  }
  if (c.wants(3)) {
    const Term product(s, ops::SparseTensorDenseMatMul(s, c.x(0), c.x(1), c.x(2), c.g(),
                                                       {.adjoint_a = !adjoint_a}));
    c.Set(3, adjoint_b ? Term(s, ops::Transpose(s, product, Ints(s, {1, 0}))) : product);
  }
  if (!c.wants(1)) return;
  const auto column = [&](int i) {
    return ops::Reshape(s, ops::Slice(s, c.x(0), Ints(s, {0, i}), Ints(s, {-1, 1})), Ints(s, {-1}));
  };
  const Output rows = column(adjoint_a ? 1 : 0), columns = column(adjoint_a ? 0 : 1);
  const Output b = adjoint_b ? ops::Transpose(s, c.x(3), Ints(s, {1, 0})) : c.x(3).output();
  const Term left(s, ops::Gather(s, c.g(), rows)), right(s, ops::Gather(s, b, columns));
  c.Set(1, SumOf(left * right, {1}));
}

void SparseFillEmptyRows(C& c) {
  const auto gradients = ops::SparseFillEmptyRowsGrad(c.scope(), c.y(3), c.g(1));
  c.Set(1, gradients.d_values);
  c.Set(3, gradients.d_default_value);
}

// Reordering the entries' numbers says where each came from.
void SparseReorder(C& c) {
  const Scope& s = c.scope();
  const Output numbers = RangeTo(s, ops::Size(s, c.x(1)));
  const Output order = ops::SparseReorder(s, c.x(0), numbers, c.x(2)).output_values;
  c.Set(1, ops::Gather(s, c.g(1), ops::InvertPermutation(s, order)));
}

void SparseAdd(C& c) {
  const auto gradients = ops::SparseAddGrad(c.scope(), c.g(1), c.x(0), c.x(3), c.y(0));
  c.Set(1, gradients.a_val_grad);
  c.Set(4, gradients.b_val_grad);
}

}  // namespace

void RegisterSparseGradients(GradientRegistry& registry) {
  registry.Add("SparseToDense", SparseToDense);
  registry.Add("SparseTensorDenseMatMul", SparseTensorDenseMatMul);
  registry.Add("SparseFillEmptyRows", SparseFillEmptyRows);
  registry.Add("SparseReorder", SparseReorder);
  registry.Add("SparseAdd", SparseAdd);
  for (const char* op :
       {"SparseMatMul", "SparseConcat", "SparseSlice", "SparseReduceSum", "SparseReduceMax",
        "SparseSoftmax", "SparseAddGrad", "SparseFillEmptyRowsGrad"}) {
    registry.AddMissing(op,
                        "of sparse tensors, only conversions, products with dense matrices, "
                        "additions and reorderings are differentiated");
  }
}

}  // namespace tensorfleet
