#include "runtime/tensor/memory_account.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/tensor/tensor.h"

namespace tensorfleet {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kMega = int64_t{1} << 20;

TEST(MemoryAccount, HoldsATensorUntilItsLastHandleGoes) {
  const auto account = MemoryAccount::Open("the test", 0, nullptr);
  Tensor kept;
  {
    const MemoryAccount::Scope scope(account.get());
    kept = *Tensor::Zeros(DType::kInt8, {kMega});
  }
  const Tensor again = kept;
  kept.Clear();
  EXPECT_EQ(account->used(), kMega);
  (void)*Tensor::Zeros(DType::kInt8, {kMega});
  EXPECT_EQ(account->used(), kMega) << "outside of the scope";
}

TEST(MemoryAccount, RefusesWhatIsOverItsLimitByName) {
  const auto account = MemoryAccount::Open("session 17", 2 * kMega, nullptr);
  const MemoryAccount::Scope scope(account.get());
  const Tensor first = *Tensor::Zeros(DType::kInt8, {kMega});
  const Status refused = Tensor::Zeros(DType::kInt8, {kMega + 1}).status();
  EXPECT_TRUE(absl::IsResourceExhausted(refused));
  EXPECT_THAT(refused.message(), HasSubstr("session 17 holds 1048576 bytes"));
  EXPECT_THAT(refused.message(), HasSubstr("its limit is 2097152"));
  EXPECT_EQ(account->used(), kMega);
  EXPECT_TRUE(Tensor::Zeros(DType::kInt8, {kMega}).ok());
}

TEST(MemoryAccount, StringsCountAsTheyLieInMemory) {
  const auto account = MemoryAccount::Open("the test", kMega, nullptr);
  const MemoryAccount::Scope scope(account.get());
  EXPECT_FALSE(Tensor::Allocate(DType::kString, {kMega}).ok());
  const Tensor some = *Tensor::Allocate(DType::kString, {1000});
  EXPECT_EQ(account->used(), static_cast<int64_t>(1000 * sizeof(std::string)));
}

TEST(MemoryAccount, AChildCountsForItsParentAndMayGoFirst) {
  const auto session = MemoryAccount::Open("session", 2 * kMega, nullptr);
  auto step = MemoryAccount::Open("step", 0, session.get());
  Tensor kept;
  {
    const MemoryAccount::Scope scope(step.get());
    kept = *Tensor::Zeros(DType::kInt8, {kMega});
    EXPECT_THAT(std::string(Tensor::Zeros(DType::kInt8, {2 * kMega}).status().message()),
                HasSubstr("session holds"));
  }
  step = nullptr;
  EXPECT_GE(session->used(), kMega) << "a value that outlives its step is still the session's";
  kept.Clear();
  EXPECT_EQ(session->used(), 0);
}

}  // namespace
}  // namespace tensorfleet
