#include "runtime/train/model/layers.h"

#include "runtime/client/gradients/shape_math.h"
#include "runtime/client/ops.h"

namespace tensorfleet::train {
namespace {

// x times a matrix, over the last axis of x.
Output TimesMatrix(const Scope& scope, const Output& x, const Output& kernel, int64_t units) {
  const PartialShape shape = scope.ShapeOf(x);
  if (shape.rank() == 2) return ops::MatMul(scope, x, kernel);
  const Output rows = ops::Reshape(scope, x, Ints(scope, {-1, shape.dim(-1)}));
  const Output outer = VectorSlice(scope, ShapeTensor(scope, x), 0, -1);
  return ops::Reshape(scope, ops::MatMul(scope, rows, kernel),
                      Joined(scope, {outer, Ints(scope, {units})}));
}

}  // namespace

Output Dense(const Scope& scope, Variables& variables, const Output& x, int64_t units,
             const DenseOptions& options) {
  const PartialShape shape = scope.ShapeOf(x);
  if (!shape.has_rank() || shape.rank() < 2 || !shape.has_dim(-1)) {
    scope.Fail(InvalidArgument("Dense '", options.name,
                               "' needs an input of rank 2 or more with a "
                               "known last dimension; it was given ",
                               shape.ToString()));
    return Output();
  }
  const Scope at = scope.SubScope(options.name);
  const VariableOptions typed = {.dtype = x.dtype()};
  const Variable kernel = variables.Make(at.Named("kernel"), Shape::Make({shape.dim(-1), units}),
                                         options.kernel_initializer, typed);
  if (!kernel.is_valid()) return Output();
  Output y = TimesMatrix(at, x, kernel.value, units);
  if (options.use_bias) {
    const Variable bias =
        variables.Make(at.Named("bias"), Shape::Make({units}), options.bias_initializer, typed);
    y = ops::BiasAdd(at, y, bias.value);
  }
  return options.activation ? options.activation(at, y) : y;
}

Output Flatten(const Scope& scope, const Output& x) {
  const Scope at = scope.SubScope("flatten");
  const PartialShape shape = scope.ShapeOf(x);
  // The known size of a row, where there is one, lets a dense layer follow.
  int64_t row = shape.has_rank() && shape.rank() > 0 ? 1 : -1;
  for (int i = 1; shape.has_rank() && i < shape.rank(); ++i) {
    row = row < 0 || !shape.has_dim(i) ? -1 : row * shape.dim(i);
  }
  if (row > 0) return ops::Reshape(at, x, Ints(at, {-1, row}));
  const Output batch = VectorSlice(at, ShapeTensor(at, x), 0, 1);
  return ops::Reshape(at, x, Joined(at, {batch, Ints(at, {-1})}));
}

Output Dropout(const Scope& scope, const Output& x, double rate, const Output& training,
               int64_t seed) {
  if (!(rate >= 0 && rate < 1)) {
    scope.Fail(InvalidArgument("the rate of Dropout is in [0, 1); it was given ", rate));
    return Output();
  }
  const Scope at = scope.SubScope("dropout");
  ops::RandomUniformAttrs seeds;
  seeds.seed = seed;
  seeds.seed2 = seed == 0 ? 0 : 1;
  const Output draw = ops::RandomUniform(at, ShapeTensor(at, x), x.dtype(), seeds);
  const Output keeps = ops::GreaterEqual(at, draw, ScalarConst(at, x.dtype(), rate));
  const Output scaled = ops::Mul(at, x, ScalarConst(at, x.dtype(), 1 / (1 - rate)));
  const Output dropped = ops::SelectV2(at, keeps, scaled, ScalarConst(at, x.dtype(), 0));
  return ops::SelectV2(at, training, dropped, x);
}

namespace {

// Reads rows where the table is, so that only those travel.
Output RowsOf(const Scope& scope, const Variable& table, const Output& ids) {
  const Scope there = AtVariable(scope, table);
  if (table.is_resource()) return ops::ResourceGather(there, table.handle, ids, table.dtype);
  return ops::Gather(there, table.value, ids);
}

}  // namespace

Output Embedding(const Scope& scope, Variables& variables, const Output& ids, int64_t rows,
                 int64_t columns, const EmbeddingOptions& options) {
  if (options.parts < 1 || rows < options.parts || columns < 1) {
    scope.Fail(InvalidArgument("Embedding '", options.name, "' of ", rows, " rows and ", columns,
                               " columns cannot be in ", options.parts, " parts"));
    return Output();
  }
  const Scope at = scope.SubScope(options.name);
  const VariableOptions typed = {.dtype = options.dtype};
  if (options.parts == 1) {
    return RowsOf(
        at,
        variables.Make(at.Named("table"), Shape::Make({rows, columns}), options.initializer, typed),
        ids);
  }
  const Output flat = ops::Reshape(at, ids, Ints(at, {-1}));
  const Term count(at, ScalarConst(at, ids.dtype(), options.parts));
  const Output part = CastTo(at, Of(ops::FloorMod, Term(at, flat), count), DType::kInt32);
  const Output row = Of(ops::FloorDiv, Term(at, flat), count);
  const std::vector<Output> rows_of_part = ops::DynamicPartition(at, row, part, options.parts);
  const Output numbers = RangeTo(at, ops::Size(at, flat));
  const std::vector<Output> places = ops::DynamicPartition(at, numbers, part, options.parts);
  std::vector<Output> found;
  for (int i = 0; i < options.parts; ++i) {
    const int64_t size = rows / options.parts + (i < rows % options.parts ? 1 : 0);
    const Variable table = variables.Make(at.Named(absl::StrCat("table/part_", i)),
                                          Shape::Make({size, columns}), options.initializer, typed);
    if (!table.is_valid()) return Output();
    found.push_back(RowsOf(at, table, rows_of_part[i]));
  }
  const Output stitched = ops::ParallelDynamicStitch(at, places, found);
  return ops::Reshape(at, stitched, Joined(at, {ShapeTensor(at, ids), Ints(at, {columns})}));
}

}  // namespace tensorfleet::train
