#include "runtime/ops/all.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tensorfleet {
namespace {

TEST(BuiltinOps, EverySchemaCanBeRead) {
  for (const std::string& name : BuiltinOps().Names()) {
    const StatusOr<const OpSchema*> schema = BuiltinOps().Find(name);
    ASSERT_TRUE(schema.ok()) << name << ": " << schema.status();
    EXPECT_EQ((*schema)->name, name);
  }
}

TEST(BuiltinOps, EveryOpHasADescriptionAndARuleForItsOutputShapes) {
  for (const std::string& name : BuiltinOps().Names()) {
    const OpSchema& schema = **BuiltinOps().Find(name);
    if (!schema.outputs.empty()) {
      EXPECT_NE(schema.shape_fn, nullptr) << name << " has outputs but no shape rule";
    }
    EXPECT_FALSE(schema.doc.empty()) << name;
  }
}

TEST(BuiltinOps, EveryTypeAndLengthAttributeIsDeclared) {
  for (const std::string& name : BuiltinOps().Names()) {
    const OpSchema& schema = **BuiltinOps().Find(name);
    std::vector<ArgSpec> args = schema.inputs;
    args.insert(args.end(), schema.outputs.begin(), schema.outputs.end());
    for (const ArgSpec& arg : args) {
      for (const std::string& attr : {arg.type_attr, arg.type_list_attr, arg.number_attr}) {
        if (attr.empty()) continue;
        EXPECT_NE(schema.FindAttr(attr), nullptr)
            << name << " argument " << arg.name << " needs " << attr;
      }
    }
  }
}

}  // namespace
}  // namespace tensorfleet
