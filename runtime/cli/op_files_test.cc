#include "runtime/cli/op_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "runtime/kernels/cpu/all.h"
#include "runtime/ops/all.h"

namespace tensorfleet::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(OpFiles, AreThoseOfTheFamily) {
  const OpFiles add = FilesOf("Add");
  EXPECT_THAT(add.schema, ElementsAre("runtime/ops/math/binary_ops.cc"));
  EXPECT_THAT(add.kernels, ElementsAre("runtime/kernels/cpu/math/binary_arithmetic.cc"));
  EXPECT_THAT(add.tests, ::testing::Contains("runtime/kernels/cpu/math/binary_test.cc"));
  EXPECT_THAT(FilesOf("ResourceApplyAdam").kernels,
              ElementsAre("runtime/kernels/cpu/training/optimizers.cc"));
  EXPECT_THAT(FilesOf("NoSuchOp").schema, IsEmpty());
}

TEST(OpFiles, AreThereForEveryOp) {
  for (const std::string& op : BuiltinOps().Names()) {
    const OpFiles files = FilesOf(op);
    EXPECT_EQ(files.schema.size(), 1u) << op;
    if (!CpuKernels().ConstraintsOf(op, kCpu).empty()) {
      EXPECT_THAT(files.kernels, Not(IsEmpty())) << op;
      EXPECT_THAT(files.tests, Not(IsEmpty())) << op;
    }
    for (const auto& list : {files.schema, files.kernels, files.tests}) {
      for (const std::string& file : list) {
        EXPECT_TRUE(std::filesystem::exists(std::string(SOURCE_DIR) + "/" + file)) << file;
      }
    }
  }
}

}  // namespace
}  // namespace tensorfleet::cli
