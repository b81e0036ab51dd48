#include "runtime/session/step_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tensorfleet {
namespace {

class StepCacheTest : public ::testing::Test {
 protected:
  // A step of that size that is ready; false when it was there already.
  bool Make(const std::string& key, int64_t bytes) {
    bool is_new = false;
    const auto step = cache_.FindOrMake(key, {}, &is_new);
    if (!is_new) return false;
    CompiledStep::Contents contents;
    contents.bytes = bytes;
    step->SetReady(OkStatus(), std::move(contents));
    cache_.Weigh(key, *step);
    return true;
  }
  void Remember(const std::string& key, const std::string& request) {
    bool is_new = false;
    auto variant = std::make_shared<StepCache::Variant>();
    variant->step = cache_.FindOrMake(key, {}, &is_new);
    cache_.AddVariant(key, request, std::move(variant));
  }

  StepCache cache_{{/*steps=*/3, /*bytes=*/100}};
};

TEST_F(StepCacheTest, DropsTheStepThatWasUsedLeastRecently) {
  for (const char* key : {"a", "b", "c"}) EXPECT_TRUE(Make(key, 1));
  EXPECT_FALSE(Make("a", 1));
  EXPECT_TRUE(Make("d", 1));  // in the place of b
  EXPECT_FALSE(Make("a", 1));
  EXPECT_FALSE(Make("c", 1));
  EXPECT_TRUE(Make("b", 1));
}

TEST_F(StepCacheTest, DropsStepsThatTogetherAreTooLarge) {
  EXPECT_TRUE(Make("a", 60));
  EXPECT_TRUE(Make("b", 60));
  EXPECT_FALSE(Make("b", 60));
  EXPECT_TRUE(Make("a", 60));
}

TEST_F(StepCacheTest, KeepsTheLastStepHoweverLargeItIs) {
  EXPECT_TRUE(Make("a", 1));
  EXPECT_TRUE(Make("large", 1000));
  EXPECT_FALSE(Make("large", 1000));
  EXPECT_TRUE(Make("a", 1));
}

TEST_F(StepCacheTest, ARequestIsAUseOfItsStepAndGoesWithIt) {
  for (const char* key : {"a", "b", "c"}) EXPECT_TRUE(Make(key, 1));
  Remember("a", "A");
  Remember("b", "B");
  Remember("c", "C");
  EXPECT_NE(cache_.Find("A"), nullptr);
  EXPECT_TRUE(Make("d", 1));  // in the place of b
  EXPECT_NE(cache_.Find("A"), nullptr);
  EXPECT_EQ(cache_.Find("B"), nullptr);
}

TEST_F(StepCacheTest, AStepThatLackedAPeerIsMadeAnew) {
  bool is_new = false;
  cache_.FindOrMake("a", {}, &is_new)->SetReady(Unavailable("no worker"), {});
  (void)cache_.FindOrMake("a", {}, &is_new);
  EXPECT_TRUE(is_new);
}

TEST_F(StepCacheTest, AStepWithAFaultOfItsOwnIsRemembered) {
  bool is_new = false;
  cache_.FindOrMake("a", {}, &is_new)->SetReady(InvalidArgument("no such node"), {});
  EXPECT_EQ(cache_.FindOrMake("a", {}, &is_new)->status(), InvalidArgument("no such node"));
  EXPECT_FALSE(is_new);
}

TEST_F(StepCacheTest, AStepThatNobodyWaitsForIsCancelledAndMadeAnew) {
  bool is_new = false;
  const auto first = cache_.FindOrMake("a", {}, &is_new);
  EXPECT_EQ(cache_.FindOrMake("a", {}, &is_new), first);
  first->Leave();
  EXPECT_FALSE(first->cancellation()->is_cancelled());
  first->Leave();
  EXPECT_TRUE(first->cancellation()->is_cancelled());
  EXPECT_NE(cache_.FindOrMake("a", {}, &is_new), first);
  EXPECT_TRUE(is_new);
}

}  // namespace
}  // namespace tensorfleet
