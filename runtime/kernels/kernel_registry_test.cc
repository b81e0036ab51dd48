#include "runtime/kernels/kernel_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/graph/testing/test_ops.h"

namespace tensorfleet {
namespace {

using ::testing::HasSubstr;

class Noop : public Kernel {
 public:
  Status Compute(KernelContext&) const override { return OkStatus(); }
};

class ReadsAttr final : public Noop {
 public:
  explicit ReadsAttr(KernelInit& init) { init.Get("absent", &value_); }

 private:
  int64_t value_ = 0;
};

class KernelRegistryTest : public testing::Test {
 protected:
  Node* CopyOf(DType type) {
    tensorflow::NodeDef def;
    def.set_name(graph_.UniqueName("copy"));
    def.set_op("Copy");
    SetAttr(&def, "T", type);
    return *graph_.AddNode(std::move(def));
  }
  Graph graph_{&testing_ops::Ops(), nullptr};
  KernelRegistry registry_;
};

TEST_F(KernelRegistryTest, ChoosesByDeviceAndType) {
  registry_.Add<Noop>("Copy", kCpu, {{"T", DType::kFloat}});
  EXPECT_TRUE(registry_.Check(*CopyOf(DType::kFloat), kCpu).ok());
  EXPECT_FALSE(registry_.Check(*CopyOf(DType::kFloat), "GPU").ok());
}

TEST_F(KernelRegistryTest, SaysWhatThereIsInstead) {
  registry_.Add<Noop>("Copy", kCpu, {{"T", DType::kFloat}});
  const Status status = registry_.Check(*CopyOf(DType::kInt32), kCpu);
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("'Copy' on CPU with T=int32"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("CPU with T=float"));
}

TEST_F(KernelRegistryTest, AnErrorWhileMakingAKernelNamesTheNode) {
  registry_.Add<ReadsAttr>("Copy", kCpu);
  KernelInit init(*CopyOf(DType::kFloat), nullptr, nullptr, nullptr);
  EXPECT_THAT(std::string(registry_.Make(init, kCpu).status().message()),
              HasSubstr("{{node copy}}"));
}

}  // namespace
}  // namespace tensorfleet
