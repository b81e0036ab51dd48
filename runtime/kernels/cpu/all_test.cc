#include "runtime/kernels/cpu/all.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/kernels/accelerator.h"
#include "runtime/ops/all.h"

namespace tensorfleet {
namespace {

TEST(CpuKernels, EveryOpHasAKernel) {
  const std::vector<std::string> with_kernel = CpuKernels().Ops(kCpu);
  for (const std::string& op : BuiltinOps().Names()) {
    if (op == kClusterOp) continue;  // its kernel is made by the accelerator that it is placed on
    const bool has_kernel = std::binary_search(with_kernel.begin(), with_kernel.end(), op);
    EXPECT_TRUE(has_kernel) << op << " has no kernel";
  }
}

TEST(CpuKernels, EveryKernelIsOfAKnownOpAndItsAttributes) {
  for (const std::string& op : CpuKernels().Ops(kCpu)) {
    const StatusOr<const OpSchema*> schema = BuiltinOps().Find(op);
    ASSERT_TRUE(schema.ok()) << op << " has kernels but no schema";
    for (const TypeConstraints& constraints : CpuKernels().ConstraintsOf(op, kCpu)) {
      for (const TypeConstraint& constraint : constraints) {
        EXPECT_NE((*schema)->FindAttr(constraint.attr), nullptr)
            << op << " has no attribute " << constraint.attr;
      }
    }
  }
}

}  // namespace
}  // namespace tensorfleet
