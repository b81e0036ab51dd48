// Gradients of ops that pass elements on in another arrangement, each exactly once or repeated.
#include "runtime/client/gradients/broadcast.h"
#include "runtime/client/gradients/families.h"
#include "runtime/client/gradients/shape_math.h"
#include "runtime/client/ops.h"

namespace tensorfleet {
namespace {

using C = GradientContext;

void Identity(C& c) { c.Set(0, c.gradient(0)); }

void IdentityN(C& c) {
  for (int i = 0; i < c.num_inputs(); ++i) c.Set(i, c.gradient(i));
}

void PreventGradient(C& c) {
  c.scope().Fail(
      InvalidArgument("the gradient of node '", c.node().name(),
                      "' is asked for, which it prevents: ", c.Attr<std::string>("message")));
}

void CheckNumerics(C& c) {
  c.Set(0, ops::CheckNumerics(c.scope(), c.g(),
                              "Not a number (NaN) or infinity (Inf) values detected in gradient. " +
                                  c.Attr<std::string>("message")));
}

void Sums(C& c) {
  for (int i = 0; i < c.num_inputs(); ++i) c.Set(i, c.gradient(0));
}

void Cast(C& c) {
  const DType from = c.Attr<DType>("SrcT");
  if (IsFloating(from) || IsComplex(from)) c.Set(0, ops::Cast(c.scope(), c.g(), from));
}

void InShapeOfInput(C& c) { c.Set(0, Reshaped(c.g(), c.ShapeOfX(0))); }

void Transpose(C& c) {
  c.Set(0, ops::Transpose(c.scope(), c.g(), ops::InvertPermutation(c.scope(), c.x(1))));
}
void ConjugateTranspose(C& c) {
  c.Set(0, ops::ConjugateTranspose(c.scope(), c.g(), ops::InvertPermutation(c.scope(), c.x(1))));
}

void Reverse(C& c) { c.Set(0, ops::Reverse(c.scope(), c.g(), c.x(1))); }
void ReverseV2(C& c) { c.Set(0, ops::ReverseV2(c.scope(), c.g(), c.x(1))); }
void ReverseSequence(C& c) {
  c.Set(0, ops::ReverseSequence(c.scope(), c.g(), c.x(1), c.Attr<int64_t>("seq_dim"),
                                {.batch_dim = c.Attr<int64_t>("batch_dim")}));
}
void Roll(C& c) { c.Set(0, ops::Roll(c.scope(), c.g(), -c.x(1), c.x(2))); }

// As [multiples[0], size[0], multiples[1], size[1], ...], the copies are the even axes.
void Tile(C& c) {
  const Scope& s = c.scope();
  const Term shape = c.ShapeOfX(0);
  const Output multiples = CastTo(s, c.x(1), DType::kInt32);
  const Output pairs =
      ops::Reshape(s, ops::Pack(s, {multiples, shape}, {.axis = 1}), Ints(s, {-1}));
  const Output even = ops::Range(s, Int(s, 0), ops::Size(s, pairs), Int(s, 2));
  c.Set(0, Reshaped(SumOver(Reshaped(c.g(), pairs), even), shape));
}

void BroadcastTo(C& c) {
  c.Set(0, ReducedTo(c.g(), {c.StaticShapeOfX(0), [&c] { return c.ShapeOfX(0); }},
                     {c.StaticShapeOfY(0), [&c] { return c.ShapeOfY(0); }}));
}

// What was padded is cut off again.
void Pad(C& c) {
  const Scope& s = c.scope();
  const Output before =
      ops::Slice(s, c.x(1), IntsOf(s, DType::kInt32, {0, 0}), IntsOf(s, DType::kInt32, {-1, 1}));
  const Output begin = ops::Reshape(s, before, Ints(s, {-1}));
  c.Set(0, ops::Slice(s, c.g(), begin, c.ShapeOfX(0, begin.dtype())));
}

// Padding the elements' numbers says where each padded element came from.
void MirrorPad(C& c) {
  const Scope& s = c.scope();
  const Term shape = c.ShapeOfX(0), size = ProductOf(shape);
  const Term origin(
      s, ops::MirrorPad(s, Reshaped(RangeTo(s, size), shape), c.x(1), c.Attr<std::string>("mode")));
  const Output minus_one = Ints(s, {-1});
  const Output places = Expanded(Reshaped(origin, minus_one), 1);
  const Term sums(s, ops::ScatterNd(s, places, Reshaped(c.g(), minus_one),
                                    ops::Reshape(s, size, Ints(s, {1}))));
  c.Set(0, Reshaped(sums, shape));
}

// Of (padded, paddings): each element was the sum of its images.
void MirrorPadGrad(C& c) {
  c.Set(0, ops::MirrorPad(c.scope(), c.g(), c.x(1), c.Attr<std::string>("mode")));
}

void SpaceToBatch(C& c) { c.Set(0, ops::BatchToSpaceND(c.scope(), c.g(), c.x(1), c.x(2))); }
void BatchToSpace(C& c) { c.Set(0, ops::SpaceToBatchND(c.scope(), c.g(), c.x(1), c.x(2))); }
void SpaceToDepth(C& c) {
  c.Set(0, ops::DepthToSpace(c.scope(), c.g(), c.Attr<int64_t>("block_size"),
                             {.data_format = c.Attr<std::string>("data_format")}));
}
void DepthToSpace(C& c) {
  c.Set(0, ops::SpaceToDepth(c.scope(), c.g(), c.Attr<int64_t>("block_size"),
                             {.data_format = c.Attr<std::string>("data_format")}));
}

void Fill(C& c) {
  const Scope& s = c.scope();
  const Output flat = Reshaped(c.g(), Ints(s, {-1}));
  c.Set(1, SumOf({s, flat}, {0}));
}

// The gradient of a variable's value is kept for its handle.
void ReadVariable(C& c) { c.Set(0, c.gradient(0)); }

}  // namespace

void RegisterArrayGradients(GradientRegistry& registry) {
  for (const char* op :
       {"Identity", "RefIdentity", "Snapshot", "DebugGradientIdentity", "GuaranteeConst",
        "DeepCopy", "EnsureShape", "PlaceholderWithDefault", "Print"}) {
    registry.Add(op, Identity);
  }
  registry.Add("IdentityN", IdentityN);
  registry.Add("PreventGradient", PreventGradient);
  registry.Add("CheckNumerics", CheckNumerics);
  registry.Add("CheckNumericsV2", CheckNumerics);
  registry.Add("AddN", Sums);
  registry.Add("AccumulateNV2", Sums);
  registry.Add("Cast", Cast);
  for (const char* op : {"Reshape", "ExpandDims", "Squeeze"}) registry.Add(op, InShapeOfInput);
  registry.Add("Transpose", Transpose);
  registry.Add("ConjugateTranspose", ConjugateTranspose);
  registry.Add("Reverse", Reverse);
  registry.Add("ReverseV2", ReverseV2);
  registry.Add("ReverseSequence", ReverseSequence);
  registry.Add("Roll", Roll);
  registry.Add("Tile", Tile);
  registry.Add("BroadcastTo", BroadcastTo);
  registry.Add("Pad", Pad);
  registry.Add("PadV2", Pad);
  registry.Add("MirrorPad", MirrorPad);
  registry.Add("MirrorPadGrad", MirrorPadGrad);
  registry.Add("SpaceToBatchND", SpaceToBatch);
  registry.Add("BatchToSpaceND", BatchToSpace);
  registry.Add("SpaceToDepth", SpaceToDepth);
  registry.Add("DepthToSpace", DepthToSpace);
  registry.Add("Fill", Fill);
  registry.Add("ReadVariableOp", ReadVariable);
}

}  // namespace tensorfleet
