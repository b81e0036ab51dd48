#include "runtime/train/model/recurrent.h"

#include "runtime/client/gradients/shape_math.h"
#include "runtime/client/ops.h"

namespace tensorfleet::train {

LstmOutputs Lstm(const Scope& scope, Variables& variables, const Output& x, int64_t units,
                 const LstmOptions& options) {
  const PartialShape shape = scope.ShapeOf(x);
  if (!shape.has_rank() || shape.rank() != 3 || !shape.has_dim(1) || !shape.has_dim(2)) {
    scope.Fail(InvalidArgument("Lstm '", options.name,
                               "' needs [batch, time, features] with known "
                               "time and features; it was given ",
                               shape.ToString()));
    return {};
  }
  const Scope at = scope.SubScope(options.name);
  const int64_t time = shape.dim(1), features = shape.dim(2);
  const VariableOptions typed = {.dtype = x.dtype()};
  const Variable kernel =
      variables.Make(at.Named("kernel"), Shape::Make({features + units, 4 * units}),
                     options.kernel_initializer, typed);
  const Variable bias = variables.Make(at.Named("bias"), Shape::Make({4 * units}), Zeros(), typed);
  if (!bias.is_valid()) return {};
  const Output batch = VectorSlice(at, ShapeTensor(at, x), 0, 1);
  Term state(at,
             ops::Fill(at, Joined(at, {batch, Ints(at, {units})}), ScalarConst(at, x.dtype(), 0)));
  Term said = state;
  const Output last_axis = Int(at, 1);
  std::vector<Output> all;
  for (const Output& now : ops::Unpack(at, x, time, {.axis = 1})) {
    const Output seen = ops::ConcatV2(at, {now, said}, last_axis);
    const Output gates = ops::BiasAdd(at, ops::MatMul(at, seen, kernel.value), bias.value);
    const std::vector<Output> part = ops::Split(at, last_axis, gates, 4);
    if (part.size() != 4) return {};
    const Term input = Of(ops::Sigmoid, Term(at, part[0])),
               value = Of(ops::Tanh, Term(at, part[1]));
    const Term forget = Of(ops::Sigmoid, Term(at, part[2]) + options.forget_bias);
    state = forget * state + input * value;
    said = Of(ops::Sigmoid, Term(at, part[3])) * Of(ops::Tanh, state);
    all.push_back(said);
  }
  return {ops::Pack(at, all, {.axis = 1}), said};
}

}  // namespace tensorfleet::train
