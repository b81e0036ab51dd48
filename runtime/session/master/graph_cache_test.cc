#include "runtime/session/master/graph_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tensorfleet {
namespace {

class GraphCacheTest : public ::testing::Test {
 protected:
  // A graph of that size that is ready; false when it was there already.
  bool Make(const std::string& key, int64_t bytes) {
    bool is_new = false;
    const auto graph = cache_.FindOrMake(key, {}, &is_new);
    if (!is_new) return false;
    PreparedGraph::Contents contents;
    contents.bytes = bytes;
    graph->SetReady(OkStatus(), std::move(contents));
    cache_.Weigh(key, *graph);
    return true;
  }
  void Remember(const std::string& key, const std::string& request) {
    bool is_new = false;
    auto variant = std::make_shared<GraphCache::Variant>();
    variant->graph = cache_.FindOrMake(key, {}, &is_new);
    cache_.AddVariant(key, request, std::move(variant));
  }

  GraphCache cache_{{/*graphs=*/3, /*bytes=*/100}};
};

TEST_F(GraphCacheTest, DropsTheGraphThatWasUsedLeastRecently) {
  for (const char* key : {"a", "b", "c"}) EXPECT_TRUE(Make(key, 1));
  EXPECT_FALSE(Make("a", 1));
  EXPECT_TRUE(Make("d", 1));  // in the place of b
  EXPECT_FALSE(Make("a", 1));
  EXPECT_FALSE(Make("c", 1));
  EXPECT_TRUE(Make("b", 1));
}

TEST_F(GraphCacheTest, DropsGraphsThatTogetherAreTooLarge) {
  EXPECT_TRUE(Make("a", 60));
  EXPECT_TRUE(Make("b", 60));
  EXPECT_FALSE(Make("b", 60));
  EXPECT_TRUE(Make("a", 60));
}

TEST_F(GraphCacheTest, KeepsTheLastGraphHoweverLargeItIs) {
  EXPECT_TRUE(Make("a", 1));
  EXPECT_TRUE(Make("large", 1000));
  EXPECT_FALSE(Make("large", 1000));
  EXPECT_TRUE(Make("a", 1));
}

TEST_F(GraphCacheTest, ARequestIsAUseOfItsGraphAndGoesWithIt) {
  for (const char* key : {"a", "b", "c"}) EXPECT_TRUE(Make(key, 1));
  Remember("a", "A");
  Remember("b", "B");
  Remember("c", "C");
  EXPECT_NE(cache_.Find("A"), nullptr);
  EXPECT_TRUE(Make("d", 1));  // in the place of b
  EXPECT_NE(cache_.Find("A"), nullptr);
  EXPECT_EQ(cache_.Find("B"), nullptr);
}

TEST_F(GraphCacheTest, AGraphThatLackedAPeerIsMadeAnew) {
  bool is_new = false;
  cache_.FindOrMake("a", {}, &is_new)->SetReady(Unavailable("no worker"), {});
  (void)cache_.FindOrMake("a", {}, &is_new);
  EXPECT_TRUE(is_new);
}

TEST_F(GraphCacheTest, AGraphWithAFaultOfItsOwnIsRemembered) {
  bool is_new = false;
  cache_.FindOrMake("a", {}, &is_new)->SetReady(InvalidArgument("no such node"), {});
  EXPECT_EQ(cache_.FindOrMake("a", {}, &is_new)->status(), InvalidArgument("no such node"));
  EXPECT_FALSE(is_new);
}

TEST_F(GraphCacheTest, AGraphThatNobodyWaitsForIsCancelledAndMadeAnew) {
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
