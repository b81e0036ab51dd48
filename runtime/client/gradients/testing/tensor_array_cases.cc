#include "runtime/client/control_flow.h"
#include "runtime/client/gradients.h"
#include "runtime/client/gradients/shape_math.h"
#include "runtime/client/gradients/testing/cases.h"
#include "runtime/client/ops.h"

namespace tensorfleet {
namespace {

using Xs = std::vector<Output>;

ops::TensorArrayV3Outputs ArrayOf(const Scope& s, int32_t size, DType type,
                                  const PartialShape& element = PartialShape::Unknown()) {
  return ops::TensorArrayV3(s, Int(s, size), type,
                            {.element_shape = element, .clear_after_read = false});
}

// Elements 0 and 1 are rows of x, 2 is element 0 squared; 0 is read twice and 1 never.
Xs WritesAndReads(const Scope& s, const Xs& x) {
  const auto array = ArrayOf(s, 3, x[0].dtype(), Shape({2}));
  Output flow = array.flow;
  const std::vector<Output> rows = ops::Unpack(s, x[0], 2);
  for (int i = 0; i < 2; ++i) {
    flow = ops::TensorArrayWriteV3(s, array.handle, Int(s, i), rows[i], flow);
  }
  const auto read = [&](int i) {
    return ops::TensorArrayReadV3(s, array.handle, Int(s, i), flow, x[0].dtype());
  };
  const Output first = read(0);
  flow = ops::TensorArrayWriteV3(s, array.handle, Int(s, 2), ops::Square(s, first), flow);
  return {ops::Mul(s, first, read(2)), read(0)};
}

Xs ScattersAndGathers(const Scope& s, const Xs& x) {
  const auto array = ArrayOf(s, 4, x[0].dtype());
  const Output flow =
      ops::TensorArrayScatterV3(s, array.handle, Ints(s, {2, 0, 1}), x[0], array.flow);
  return {ops::TensorArrayGatherV3(s, array.handle, Ints(s, {0, 1, 2, 0}), flow, x[0].dtype())};
}

Xs SplitsAndConcatenates(const Scope& s, const Xs& x) {
  const auto array = ArrayOf(s, 3, x[0].dtype());
  const Output lengths = Const(s, Tensor::Vector<int64_t>({1, 3, 2}));
  const Output flow = ops::TensorArraySplitV3(s, array.handle, x[0], lengths, array.flow);
  const Output all = ops::TensorArrayConcatV3(s, array.handle, flow, x[0].dtype()).value;
  return {ops::Square(s, all)};
}

// h = tanh(row + h) over the rows of x[0], each h kept: the way of an unrolled recurrent network.
Xs Unrolled(const Scope& s, const Xs& x) {
  const DType type = x[0].dtype();
  const auto in = ArrayOf(s, 3, type), out = ArrayOf(s, 3, type, Shape({2}));
  const Output places = Ints(s, {0, 1, 2});
  const Output filled = ops::TensorArrayScatterV3(s, in.handle, places, x[0], in.flow);
  const Outputs last = WhileLoop(
      s, {Int(s, 0), x[1], out.flow}, {in.handle, filled, out.handle},
      [](const Scope& t, const Outputs& v, const Outputs&) {
        return ops::Less(t, v[0], Int(t, 3));
      },
      [type](const Scope& t, const Outputs& v, const Outputs& c) {
        const Output row = ops::TensorArrayReadV3(t, c[0], v[0], c[1], type);
        const Output h = ops::Tanh(t, ops::AddV2(t, row, v[1]));
        return Outputs{ops::AddV2(t, v[0], Int(t, 1)), h,
                       ops::TensorArrayWriteV3(t, c[2], v[0], h, v[2])};
      });
  return {ops::TensorArrayGatherV3(s, out.handle, places, last[2], type), last[1]};
}

// The first derivative is the function here.
Xs SlopesOfCubes(const Scope& s, const Xs& x) {
  const auto array = ArrayOf(s, 3, x[0].dtype(), Shape({2}));
  const Output places = Ints(s, {0, 1, 2});
  const Output flow = ops::TensorArrayScatterV3(s, array.handle, places, x[0], array.flow);
  const Output rows = ops::TensorArrayGatherV3(s, array.handle, places, flow, x[0].dtype());
  return {AddSymbolicGradients(s, {ops::Mul(s, rows, ops::Square(s, rows))}, {x[0]})[0].dense()};
}

}  // namespace

std::vector<GradientCase> TensorArrayCases() {
  std::vector<GradientCase> cases = {
      {"TensorArrayWriteV3", {Shape({2, 2})}, WritesAndReads},
      {"TensorArrayScatterV3", {Shape({3, 2})}, ScattersAndGathers},
      {"TensorArraySplitV3", {Shape({6, 2})}, SplitsAndConcatenates},
      {"TensorArrayReadV3", {Shape({3, 2}), Shape({2})}, Unrolled, -2, 2, "in a loop"},
      {"TensorArrayGradV3", {Shape({3, 2})}, SlopesOfCubes, -2, 2, "second derivative"},
  };
  for (const char* op : {"TensorArrayGatherV3", "TensorArrayConcatV3"}) {
    cases.push_back(cases[op[11] == 'G' ? 1 : 2]);
    cases.back().op = op;
  }
  return cases;
}

}  // namespace tensorfleet
