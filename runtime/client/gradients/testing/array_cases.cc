#include "runtime/client/gradients/shape_math.h"
#include "runtime/client/gradients/testing/cases.h"
#include "runtime/client/ops.h"

namespace tensorfleet {
namespace {

using Xs = std::vector<Output>;

// Pairs of numbers as a matrix with two columns.
Output Pairs(const Scope& s, std::vector<int64_t> values) {
  const int64_t rows = static_cast<int64_t>(values.size()) / 2;
  return ops::Reshape(s, Ints(s, values), Ints(s, {rows, 2}));
}

template <typename Fn>
GradientCase One(const char* op, Shape shape, Fn fn, const char* note = "") {
  return {op, {shape}, [fn](const Scope& s, const Xs& x) { return Xs{fn(s, x[0])}; }, -2, 2, note};
}

void AddPassing(std::vector<GradientCase>& cases) {
  cases.push_back(One("Identity", Shape({3}), ops::Identity));
  cases.push_back(One("Snapshot", Shape({3}), ops::Snapshot));
  cases.push_back(One("DebugGradientIdentity", Shape({3}), ops::DebugGradientIdentity));
  cases.push_back(One("GuaranteeConst", Shape({3}), ops::GuaranteeConst));
  cases.push_back(One("DeepCopy", Shape({3}), ops::DeepCopy));
  cases.push_back(One("EnsureShape", Shape({3}), [](const Scope& s, const Output& x) {
    return ops::EnsureShape(s, x, PartialShape({-1}));
  }));
  cases.push_back(One("PlaceholderWithDefault", Shape({3}), [](const Scope& s, const Output& x) {
    return ops::PlaceholderWithDefault(s, x, PartialShape({3}));
  }));
  cases.push_back(One("CheckNumerics", Shape({3}), [](const Scope& s, const Output& x) {
    return ops::CheckNumerics(s, x, "message");
  }));
  cases.push_back({"IdentityN", {Shape({3}), Shape({2})}, [](const Scope& s, const Xs& x) {
                     return ops::IdentityN(s, x);
                   }});
  cases.push_back({"AddN", {Shape({3}), Shape({3})}, [](const Scope& s, const Xs& x) {
                     return Xs{ops::AddN(s, {x[0], x[1], x[0]})};
                   }});
  cases.push_back({"AccumulateNV2", {Shape({3}), Shape({3})}, [](const Scope& s, const Xs& x) {
                     return Xs{ops::AccumulateNV2(s, {x[0], x[1]}, PartialShape({3}))};
                   }});
  cases.push_back(One("Cast", Shape({3}), [](const Scope& s, const Output& x) {
    return ops::Cast(s, ops::Cast(s, x, DType::kDouble), x.dtype());
  }));
}

void AddShapes(std::vector<GradientCase>& cases) {
  cases.push_back(One("Reshape", Shape({2, 3}), [](const Scope& s, const Output& x) {
    return ops::Reshape(s, x, Ints(s, {3, -1}));
  }));
  cases.push_back(One("ExpandDims", Shape({2, 3}), [](const Scope& s, const Output& x) {
    return ops::ExpandDims(s, x, Int(s, 1));
  }));
  cases.push_back(One("Squeeze", Shape({1, 3, 1}), [](const Scope& s, const Output& x) {
    return ops::Squeeze(s, x, {.squeeze_dims = {0}});
  }));
  cases.push_back(One("Transpose", Shape({2, 3, 2}), [](const Scope& s, const Output& x) {
    return ops::Transpose(s, x, Ints(s, {2, 0, 1}));
  }));
  cases.push_back(One("ConjugateTranspose", Shape({2, 3}), [](const Scope& s, const Output& x) {
    return ops::ConjugateTranspose(s, x, Ints(s, {1, 0}));
  }));
  cases.push_back(One("ReverseV2", Shape({2, 3}), [](const Scope& s, const Output& x) {
    return ops::ReverseV2(s, x, Ints(s, {1}));
  }));
  cases.push_back(One("Reverse", Shape({2, 3}), [](const Scope& s, const Output& x) {
    return ops::Reverse(s, x, Const(s, Tensor::Vector<bool>({false, true})));
  }));
  cases.push_back(One("ReverseSequence", Shape({2, 3}), [](const Scope& s, const Output& x) {
    return ops::ReverseSequence(s, x, Ints(s, {2, 3}), 1);
  }));
  cases.push_back(One("Roll", Shape({2, 3}), [](const Scope& s, const Output& x) {
    return ops::Roll(s, x, Int(s, 2), Int(s, 1));
  }));
  cases.push_back(One("Tile", Shape({2, 3}), [](const Scope& s, const Output& x) {
    return ops::Tile(s, x, Ints(s, {3, 2}));
  }));
  cases.push_back(One("BroadcastTo", Shape({2, 1}), [](const Scope& s, const Output& x) {
    return ops::BroadcastTo(s, x, Ints(s, {3, 2, 4}));
  }));
  cases.push_back(One("Fill", Shape(), [](const Scope& s, const Output& x) {
    return ops::Fill(s, Ints(s, {2, 3}), x);
  }));
  cases.push_back(One("Pad", Shape({2, 3}), [](const Scope& s, const Output& x) {
    return ops::Pad(s, x, Pairs(s, {1, 0, 2, 1}));
  }));
  cases.push_back(One("PadV2", Shape({2, 3}), [](const Scope& s, const Output& x) {
    return ops::PadV2(s, x, Pairs(s, {1, 0, 2, 1}), ScalarConst(s, x.dtype(), 7));
  }));
  for (const char* mode : {"REFLECT", "SYMMETRIC"}) {
    cases.push_back(One(
        "MirrorPad", Shape({2, 3}),
        [mode](const Scope& s, const Output& x) {
          return ops::MirrorPad(s, x, Pairs(s, {1, 0, 2, 1}), mode);
        },
        mode));
    cases.push_back(One(
        "MirrorPadGrad", Shape({4, 5}),
        [mode](const Scope& s, const Output& x) {
          return ops::MirrorPadGrad(s, x, Pairs(s, {1, 1, 1, 0}), mode);
        },
        mode));
  }
  cases.push_back(One("SpaceToBatchND", Shape({1, 4, 1}), [](const Scope& s, const Output& x) {
    return ops::SpaceToBatchND(s, x, Ints(s, {2}), Pairs(s, {1, 1}));
  }));
  cases.push_back(One("BatchToSpaceND", Shape({2, 3, 1}), [](const Scope& s, const Output& x) {
    return ops::BatchToSpaceND(s, x, Ints(s, {2}), Pairs(s, {1, 0}));
  }));
  cases.push_back(One("SpaceToDepth", Shape({1, 2, 4, 1}),
                      [](const Scope& s, const Output& x) { return ops::SpaceToDepth(s, x, 2); }));
  cases.push_back(One("DepthToSpace", Shape({1, 1, 2, 4}),
                      [](const Scope& s, const Output& x) { return ops::DepthToSpace(s, x, 2); }));
}

void AddJoins(std::vector<GradientCase>& cases) {
  const std::vector<Shape> kTwo = {Shape({2, 1}), Shape({2, 3})};
  cases.push_back({"Concat", kTwo, [](const Scope& s, const Xs& x) {
                     return Xs{ops::Concat(s, Int(s, 1), {x[0], x[1]})};
                   }});
  cases.push_back({"ConcatV2", kTwo, [](const Scope& s, const Xs& x) {
                     return Xs{ops::ConcatV2(s, {x[0], x[1], x[0]}, Int(s, -1))};
                   }});
  cases.push_back({"Pack", {Shape({2, 3}), Shape({2, 3})}, [](const Scope& s, const Xs& x) {
                     return Xs{ops::Pack(s, {x[0], x[1]}, {.axis = 1})};
                   }});
  cases.push_back({"Unpack", {Shape({2, 3})}, [](const Scope& s, const Xs& x) {
                     return ops::Unpack(s, x[0], 3, {.axis = 1});
                   }});
  cases.push_back(
      {"Unpack",
       {Shape({2, 3})},
       [](const Scope& s, const Xs& x) { return Xs{ops::Unpack(s, x[0], 3, {.axis = -1})[1]}; },
       -2,
       2,
       "of which one is used"});
  cases.push_back({"Split", {Shape({2, 6})}, [](const Scope& s, const Xs& x) {
                     return ops::Split(s, Int(s, 1), x[0], 3);
                   }});
  cases.push_back({"Split",
                   {Shape({2, 6})},
                   [](const Scope& s, const Xs& x) { return ops::Split(s, Int(s, 1), x[0], 1); },
                   -2,
                   2,
                   "into one"});
  cases.push_back({"SplitV", {Shape({2, 6})}, [](const Scope& s, const Xs& x) {
                     const Xs parts = ops::SplitV(s, x[0], Ints(s, {1, 3, 2}), Int(s, 1), 3);
                     return Xs{parts[0], parts[2]};
                   }});
  cases.push_back(
      {"ParallelConcat", {Shape({1, 3}), Shape({1, 3})}, [](const Scope& s, const Xs& x) {
         return Xs{ops::ParallelConcat(s, {x[0], x[1]}, PartialShape({2, 3}))};
       }});
}

}  // namespace

std::vector<GradientCase> ArrayCases() {
  std::vector<GradientCase> cases;
  AddPassing(cases);
  AddShapes(cases);
  AddJoins(cases);
  return cases;
}

}  // namespace tensorfleet
