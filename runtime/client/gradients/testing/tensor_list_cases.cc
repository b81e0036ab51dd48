#include "runtime/client/control_flow.h"
#include "runtime/client/gradients.h"
#include "runtime/client/gradients/shape_math.h"
#include "runtime/client/gradients/testing/cases.h"
#include "runtime/client/ops.h"

namespace tensorfleet {
namespace {

using Xs = std::vector<Output>;

// An element shape that says nothing.
Output Any(const Scope& s) { return Int(s, -1); }
// The elements of the lists here are vectors of two, unless a case says otherwise.
Output Pair(const Scope& s) { return Ints(s, {2}); }

Output Reserved(const Scope& s, int32_t size, DType type) {
  return ops::TensorListReserve(s, Pair(s), Int(s, size), type);
}
Output Rows(const Scope& s, const Output& tensor) {
  return ops::TensorListFromTensor(s, tensor, Any(s));
}
Output Stacked(const Scope& s, const Output& list, DType type) {
  return ops::TensorListStack(s, list, Pair(s), type);
}
Output Item(const Scope& s, const Output& list, const Output& i, DType type) {
  return ops::TensorListGetItem(s, list, i, Pair(s), type);
}

// Three rows; the last two are taken off again.
Xs PushesAndPops(const Scope& s, const Xs& x) {
  const DType type = x[0].dtype();
  Output list = ops::EmptyTensorList(s, Any(s), Int(s, 3), type);
  for (const Output& row : ops::Unpack(s, x[0], 3)) list = ops::TensorListPushBack(s, list, row);
  const auto last = ops::TensorListPopBack(s, list, Pair(s), type);
  const auto second = ops::TensorListPopBack(s, last.output_handle, Pair(s), type);
  return {ops::Mul(s, last.tensor, ops::Square(s, second.tensor)),
          Stacked(s, second.output_handle, type), Stacked(s, last.output_handle, type)};
}

Xs PopsOfWhichTheRestIsUnused(const Scope& s, const Xs& x) {
  return {ops::Square(s, ops::TensorListPopBack(s, Rows(s, x[0]), Pair(s), x[0].dtype()).tensor)};
}

// Elements 0 and 1 are rows of x, 2 is element 0 squared; 0 is read twice, 1 is set twice.
Xs SetsAndGets(const Scope& s, const Xs& x) {
  const DType type = x[0].dtype();
  Output list = Reserved(s, 4, type);
  const auto set = [&](int i, const Output& item) {
    list = ops::TensorListSetItem(s, list, Int(s, i), item);
  };
  const std::vector<Output> rows = ops::Unpack(s, x[0], 2);
  set(0, rows[0]);
  set(1, ops::Square(s, rows[0]));
  const Output overwritten = Item(s, list, Int(s, 1), type);
  set(1, rows[1]);
  const Output first = Item(s, list, Int(s, 0), type);
  set(2, ops::Square(s, first));
  return {ops::Mul(s, first, Item(s, list, Int(s, 2), type)), overwritten, Stacked(s, list, type)};
}

Xs SetsBehindTheEnd(const Scope& s, const Xs& x) {
  const DType type = x[0].dtype();
  const Output list = Rows(s, x[0]);
  const Output longer = ops::TensorListSetItem(s, list, Int(s, 3), Item(s, list, Int(s, 0), type),
                                               {.resize_if_index_out_of_bounds = true});
  return {ops::Square(s, Stacked(s, longer, type)), Stacked(s, list, type)};
}

Xs StacksAndBack(const Scope& s, const Xs& x) {
  return {ops::Square(s, Stacked(s, Rows(s, x[0]), x[0].dtype()))};
}

// Some rows several times, some never.
Xs Gathers(const Scope& s, const Xs& x) {
  return {ops::TensorListGather(s, Rows(s, ops::Square(s, x[0])), Ints(s, {2, 0, 2, 2}), Pair(s),
                                x[0].dtype())};
}

// Two rows to place 2, of which the later one stays; nothing to place 1.
Xs Scatters(const Scope& s, const Xs& x) {
  const Output list = ops::TensorListScatter(s, x[0], Ints(s, {2, 0, 2}), Pair(s));
  return {ops::Square(s, Stacked(s, list, x[0].dtype()))};
}

Xs ScattersToALength(const Scope& s, const Xs& x) {
  const Output list = ops::TensorListScatterV2(s, x[0], Ints(s, {3, 0, 1}), Pair(s), Int(s, 5));
  return {ops::Square(s, Stacked(s, list, x[0].dtype()))};
}

// Over an element that was there, and behind the end.
Xs ScattersIntoAList(const Scope& s, const Xs& x) {
  const DType type = x[0].dtype();
  const Output list = Rows(s, x[0]);
  const Output changed = ops::TensorListScatterIntoExistingList(s, list, x[1], Ints(s, {4, 1, 4}));
  return {ops::Square(s, Stacked(s, changed, type)), Stacked(s, list, type)};
}

// Of 1, 3 and 2 rows.
Output Pieces(const Scope& s, const Output& x) {
  return ops::TensorListSplit(s, x, Any(s), Const(s, Tensor::Vector<int64_t>({1, 3, 2})));
}

Xs Concatenates(const Scope& s, const Xs& x) {
  return {ops::Square(s, ops::TensorListConcat(s, Pieces(s, x[0]), x[0].dtype()).tensor)};
}

Xs ConcatenatesV2(const Scope& s, const Xs& x) {
  const Output none = Const(s, Tensor::Vector<int64_t>({}));
  return {ops::Square(
      s, ops::TensorListConcatV2(s, Pieces(s, x[0]), Ints(s, {-1, 2}), none, x[0].dtype()).tensor)};
}

// The other pieces' gradients are not set.
Xs SplitsAndGetsOne(const Scope& s, const Xs& x) {
  const Output piece =
      ops::TensorListGetItem(s, Pieces(s, x[0]), Int(s, 1), Ints(s, {3, 2}), x[0].dtype());
  return {ops::Square(s, piece)};
}

Xs Resizes(const Scope& s, const Xs& x) {
  const DType type = x[0].dtype();
  const Output list = ops::TensorListFromTensor(s, x[0], Pair(s));
  const Output shorter = ops::TensorListResize(s, list, Int(s, 2));
  const Output longer = ops::TensorListResize(s, shorter, Int(s, 4));
  return {ops::Square(s, Stacked(s, longer, type)), Stacked(s, list, type)};
}

Xs Optionals(const Scope& s, const Xs& x) {
  const DType type = x[0].dtype();
  const Output made = ops::OptionalFromValue(s, {ops::Square(s, x[0]), Int(s, 7), x[1]});
  // The last component is not used.
  const std::vector<Output> parts = ops::OptionalGetValue(
      s, made, {type, DType::kInt32, type}, std::vector<PartialShape>(3, PartialShape::Unknown()));
  return {ops::Square(s, parts[0])};
}

// body(i, variables, constants) for i = 0, 1, 2.
Outputs Thrice(const Scope& s, const Outputs& variables, const Outputs& constants,
               const std::function<Outputs(const Scope&, const Output&, const Outputs&,
                                           const Outputs&)>& body) {
  Outputs all = {Int(s, 0)};
  all.insert(all.end(), variables.begin(), variables.end());
  const Outputs last = WhileLoop(
      s, all, constants,
      [](const Scope& t, const Outputs& v, const Outputs&) {
        return ops::Less(t, v[0], Int(t, 3));
      },
      [&](const Scope& t, const Outputs& v, const Outputs& c) {
        Outputs next = body(t, v[0], Outputs(v.begin() + 1, v.end()), c);
        next.insert(next.begin(), ops::AddV2(t, v[0], Int(t, 1)));
        return next;
      });
  return last.empty() ? last : Outputs(last.begin() + 1, last.end());
}

// h = tanh(row + h) over the rows of x[0], each h kept: the way of an unrolled recurrent network.
Xs Unrolled(const Scope& s, const Xs& x) {
  const DType type = x[0].dtype();
  const Outputs last =
      Thrice(s, {x[1], Reserved(s, 3, type)}, {Rows(s, x[0])},
             [type](const Scope& t, const Output& i, const Outputs& v, const Outputs& c) {
               const Output h = ops::Tanh(t, ops::AddV2(t, Item(t, c[0], i, type), v[0]));
               return Outputs{h, ops::TensorListSetItem(t, v[1], i, h)};
             });
  return {Stacked(s, last[1], type), last[0]};
}

// Each element follows from the one before, which is read from the list that is being filled.
Xs GrowsFromItsElements(const Scope& s, const Xs& x) {
  const DType type = x[0].dtype();
  const Output empty = ops::EmptyTensorList(s, Pair(s), Any(s), type);
  const Output list = Thrice(
      s, {ops::TensorListPushBack(s, empty, x[0])}, {},
      [type](const Scope& t, const Output& i, const Outputs& v, const Outputs&) {
        return Outputs{ops::TensorListPushBack(t, v[0], ops::Sin(t, Item(t, v[0], i, type)))};
      })[0];
  return {Stacked(s, list, type)};
}

// One element less in each round, and what is left of the list is there after the loop.
Xs ShrinksInALoop(const Scope& s, const Xs& x) {
  const DType type = x[0].dtype();
  const Outputs last =
      Thrice(s, {Rows(s, x[0]), x[1]}, {},
             [type](const Scope& t, const Output&, const Outputs& v, const Outputs&) {
               const auto popped = ops::TensorListPopBack(t, v[0], Pair(t), type);
               return Outputs{popped.output_handle, ops::Mul(t, popped.tensor, ops::Sin(t, v[1]))};
             });
  return {last[1], Stacked(s, last[0], type)};
}

// Each round drops the list that it is given and makes one of another length.
Xs ReplacedInALoop(const Scope& s, const Xs& x) {
  const DType type = x[0].dtype();
  const Outputs last =
      Thrice(s, {Rows(s, x[0]), ops::Square(s, x[1])}, {x[1]},
             [](const Scope& t, const Output&, const Outputs& v, const Outputs& c) {
               const Output two = ops::Pack(t, {ops::Mul(t, c[0], v[1]), c[0]});
               return Outputs{Rows(t, two), ops::Sin(t, v[1])};
             });
  return {Stacked(s, last[0], type), last[1]};
}

// A list that is changed in one branch only, in the second round.
Xs ChangedInABranch(const Scope& s, const Xs& x) {
  const DType type = x[0].dtype();
  const Output list = Thrice(
      s, {Rows(s, x[0])}, {x[1]},
      [type](const Scope& t, const Output& i, const Outputs& v, const Outputs& c) {
        return Conditional(
            t, ops::Equal(t, i, Int(t, 1)), {v[0], c[0]},
            [type](const Scope& u, const Outputs& in) {
              const Output item = Item(u, in[0], Int(u, 0), type);
              return Outputs{ops::TensorListSetItem(u, in[0], Int(u, 2), ops::Mul(u, item, in[1]))};
            },
            [](const Scope&, const Outputs& in) { return Outputs{in[0]}; });
      })[0];
  return {ops::Square(s, Stacked(s, list, type))};
}

// One loop leaves a list on a stack in each round, another takes them from there.
Xs LeftOnAStack(const Scope& s, const Xs& x) {
  const DType type = x[0].dtype();
  const Output stack = ops::StackV2(s, Any(s), DType::kVariant);
  const Outputs left = Thrice(
      s, {x[0]}, {stack}, [](const Scope& t, const Output&, const Outputs& v, const Outputs& c) {
        const Output next = ops::Sin(t, v[0]);
        const Output pushed = ops::StackPushV2(t, c[0], Rows(t, ops::Pack(t, {v[0], next})));
        return Outputs{ops::Identity(t.After({pushed.op()}), next)};
      });
  const Output zero = ops::ZerosLike(s.After({left[0].op()}), x[0]);
  return Thrice(s, {zero}, {stack},
                [type](const Scope& t, const Output&, const Outputs& v, const Outputs& c) {
                  const Scope after = t.After({v[0].op()});
                  const Output list = ops::StackPopV2(after, c[0], DType::kVariant);
                  const Output more =
                      ops::Mul(t, Item(t, list, Int(t, 0), type), Item(t, list, Int(t, 1), type));
                  return Outputs{ops::AddV2(t, v[0], more)};
                });
}

// The first derivative is the function here.
Xs SlopesOf(Xs (*build)(const Scope&, const Xs&), const Scope& s, const Xs& x) {
  Xs slopes;
  for (const Gradient& slope : AddSymbolicGradients(s, build(s, x), x)) {
    slopes.push_back(slope.dense());
  }
  return slopes;
}
Xs SlopesOfGathers(const Scope& s, const Xs& x) { return SlopesOf(Gathers, s, x); }
Xs SlopesOfUnrolled(const Scope& s, const Xs& x) { return SlopesOf(Unrolled, s, x); }
Xs SlopesOfGrowing(const Scope& s, const Xs& x) { return SlopesOf(GrowsFromItsElements, s, x); }
Xs SlopesOfReplaced(const Scope& s, const Xs& x) { return SlopesOf(ReplacedInALoop, s, x); }
Xs SlopesOfShrinking(const Scope& s, const Xs& x) { return SlopesOf(ShrinksInALoop, s, x); }

}  // namespace

std::vector<GradientCase> TensorListCases() {
  const Shape one({2}), two({2, 2}), three({3, 2}), four({4, 2}), six({6, 2});
  return {
      {"TensorListPushBack", {three}, PushesAndPops},
      {"TensorListPushBack", {one}, GrowsFromItsElements, -2, 2, "in a loop"},
      {"TensorListPushBack", {one}, SlopesOfGrowing, -2, 2, "in a loop, second derivative"},
      {"TensorListPopBack", {three}, PushesAndPops},
      {"TensorListPopBack", {three}, PopsOfWhichTheRestIsUnused, -2, 2, "without the rest"},
      {"TensorListPopBack", {four, one}, ShrinksInALoop, -2, 2, "in a loop"},
      {"TensorListPopBack", {four, one}, SlopesOfShrinking, -1, 1, "in a loop, second derivative"},
      {"TensorListSetItem", {two}, SetsAndGets},
      {"TensorListSetItem", {two}, SetsBehindTheEnd, -2, 2, "behind the end"},
      {"TensorListSetItem", {three, one}, Unrolled, -2, 2, "in a loop"},
      {"TensorListSetItem", {three, one}, SlopesOfUnrolled, -2, 2, "in a loop, second derivative"},
      {"TensorListSetItem", {three, one}, ChangedInABranch, -2, 2, "in a branch in a loop"},
      {"TensorListGetItem", {two}, SetsAndGets},
      {"TensorListGetItem", {one}, LeftOnAStack, -2, 2, "of lists left on a stack by a loop"},
      {"TensorListResize", {three}, Resizes},
      {"TensorListStack", {three}, StacksAndBack},
      {"TensorListFromTensor", {three}, StacksAndBack},
      {"TensorListFromTensor", {three, one}, ReplacedInALoop, -1, 1, "in a loop"},
      {"TensorListFromTensor",
       {three, one},
       SlopesOfReplaced,
       -1,
       1,
       "in a loop, second derivative"},
      {"TensorListGather", {three}, Gathers},
      {"TensorListGather", {three}, SlopesOfGathers, -2, 2, "second derivative"},
      {"TensorListScatter", {three}, Scatters},
      {"TensorListScatterV2", {three}, ScattersToALength},
      {"TensorListScatterIntoExistingList", {three, three}, ScattersIntoAList},
      {"TensorListConcat", {six}, Concatenates},
      {"TensorListConcatV2", {six}, ConcatenatesV2},
      {"TensorListSplit", {six}, SplitsAndGetsOne},
      {"OptionalFromValue", {three, one}, Optionals},
      {"OptionalGetValue", {three, one}, Optionals},
  };
}

}  // namespace tensorfleet
