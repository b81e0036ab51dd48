#include "runtime/kernels/resource_manager.h"

#include <gtest/gtest.h>

namespace tensorfleet {
namespace {

StatusOr<ResourceRef<Variable>> MakeVariable() {
  return ResourceRef<Variable>::Adopt(new Variable(DType::kFloat));
}

// Tells when it goes.
class Counted final : public Resource {
 public:
  explicit Counted(int* live) : live_(live) { ++*live_; }
  ~Counted() override { --*live_; }
  std::string DebugString() const override { return "Counted"; }

 private:
  int* const live_;
};

TEST(ResourceManager, FindsWhatWasMadeAndNamesWhatIsNot) {
  ResourceManager manager("ps");
  ASSERT_TRUE(manager.FindOrMake<Variable>("", "v", MakeVariable).ok());
  EXPECT_TRUE(manager.Find<Variable>("ps", "v").ok());
  EXPECT_EQ(manager.Find<Variable>("", "w").status(),
            NotFound("Resource ps/w/N10tensorflow3VarE does not exist."));
}

TEST(ResourceManager, TypesDoNotMeetUnderOneName) {
  int live = 0;  // outlives what the manager holds
  ResourceManager manager("ps");
  ASSERT_TRUE(manager.FindOrMake<Variable>("", "x", MakeVariable).ok());
  EXPECT_TRUE(manager.Add("", "x", ResourceRef<Counted>::Adopt(new Counted(&live))).ok());
  EXPECT_EQ(manager.Add("", "x", ResourceRef<Counted>::Adopt(new Counted(&live))).code(),
            absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(live, 1);
}

TEST(ResourceManager, ClearDropsOneContainerAndItsHoldersKeepTheirs) {
  int live = 0;  // outlives what the manager holds
  ResourceManager manager("ps");
  ASSERT_TRUE(manager.Add("", "a", ResourceRef<Counted>::Adopt(new Counted(&live))).ok());
  ASSERT_TRUE(manager.Add("other", "a", ResourceRef<Counted>::Adopt(new Counted(&live))).ok());
  const uint64_t before = manager.generation();
  {
    const ResourceRef<Counted> held = *manager.Find<Counted>("", "a");
    manager.Clear("");
    EXPECT_EQ(live, 2);
  }
  EXPECT_EQ(live, 1);
  EXPECT_GT(manager.generation(), before);
  EXPECT_TRUE(manager.Find<Counted>("other", "a").ok());
}

TEST(Variable, IsCopiedBeforeAWriteWhileSomebodyHoldsItsValue) {
  const ResourceRef<Variable> variable = *MakeVariable();
  MutexLock lock(&variable->mu());
  EXPECT_EQ(variable->Writable().status().code(), absl::StatusCode::kFailedPrecondition);
  variable->mutable_tensor() = Tensor::Scalar<float>(1);
  const Tensor read = variable->tensor();
  (*variable->Writable())->mutable_values<float>()[0] = 2;
  EXPECT_EQ(read.scalar<float>(), 1);
  EXPECT_EQ(variable->tensor().scalar<float>(), 2);
}

}  // namespace
}  // namespace tensorfleet
