// Every op that there is either has a gradient, is known to have none, or says why it lacks one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/client/gradients/registry.h"
#include "runtime/ops/all.h"

namespace tensorfleet {
namespace {

bool MayCarryGradient(const OpSchema& schema, const ArgSpec& arg) {
  const auto carries = [](DType type) {
    return IsFloating(type) || IsComplex(type) || BaseType(type) == DType::kResource ||
           type == DType::kVariant;
  };
  if (!arg.type_list_attr.empty()) return true;
  if (arg.type_attr.empty()) return carries(arg.type);
  const AttrSpec* attr = schema.FindAttr(arg.type_attr);
  if (attr->allowed_types.empty()) return true;
  return std::any_of(attr->allowed_types.begin(), attr->allowed_types.end(), carries);
}

bool MayCarryGradient(const OpSchema& schema, const std::vector<ArgSpec>& args) {
  return std::any_of(args.begin(), args.end(),
                     [&](const ArgSpec& arg) { return MayCarryGradient(schema, arg); });
}

// Assign, Scatter*, Apply*, ...: there is nothing to differentiate in a change of state, so to ask
// for it is an error. The other ops on references pass values on.
bool ChangesAVariable(const OpSchema& schema) {
  return !schema.inputs.empty() && schema.inputs[0].is_ref && schema.name.substr(0, 3) != "Ref";
}

TEST(GradientCoverage, EveryOpThatCouldHaveAGradientHasOneOrSaysWhyNot) {
  for (const std::string& op : BuiltinOps().Names()) {
    const OpSchema& schema = **BuiltinOps().Find(op);
    if (ChangesAVariable(schema)) continue;
    if (!MayCarryGradient(schema, schema.inputs) || !MayCarryGradient(schema, schema.outputs)) {
      continue;
    }
    EXPECT_NE(BuiltinGradients().Find(op), nullptr)
        << op << " has neither a gradient (runtime/client/gradients), nor is it listed in "
        << "constant.cc or missing.cc there";
  }
}

TEST(GradientCoverage, EveryGradientIsOfAKnownOp) {
  for (const std::string& op : BuiltinGradients().Ops()) {
    EXPECT_TRUE(BuiltinOps().Find(op).ok()) << op;
  }
}

}  // namespace
}  // namespace tensorfleet
