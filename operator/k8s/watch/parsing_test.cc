// The parts that take bytes apart: field masks, list and watch splitting, errors, versions.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/k8s/api_error.h"
#include "operator/k8s/client.h"
#include "operator/k8s/rate_limiter.h"
#include "operator/k8s/watch/field_mask.h"
#include "operator/k8s/watch/splitter.h"
#include "operator/k8s/watch/versions.h"
#include "operator/k8s/watch/watch_event.h"

namespace tensorfleet::k8s {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

StatusOr<std::string> Cut(const FieldMask& mask, absl::string_view in) {
  std::string out;
  TFLEET_RETURN_IF_ERROR(mask.Cut(in, &out));
  return out;
}

TEST(FieldMask, KeepsOnlyTheNamedPaths) {
  const FieldMask mask({{"metadata", "name"}, {"metadata", "labels", "a/b.c"}, {"status"}});
  EXPECT_EQ(*Cut(mask, R"( {"kind":"Pod","metadata" : {"name":"x","labels":{"a/b.c":"1","z":"2"},
            "managedFields":[{"a":"}\"]"}]}, "spec":{"deep":[1,[2,{"x":null}]]},"status":{"p":[1, 2]}} )"),
            R"({"metadata":{"name":"x","labels":{"a/b.c":"1"}},"status":{"p":[1, 2]}})");
}

TEST(FieldMask, GoesThroughArrays) {
  const FieldMask mask({{"items", "id"}});
  EXPECT_EQ(*Cut(mask, R"({"items":[{"id":1,"x":2},{"x":3},{"id":-4.5e3}],"more":true})"),
            R"({"items":[{"id":1},{},{"id":-4.5e3}]})");
}

TEST(FieldMask, HandsOnScalarsWhereObjectsWereExpected) {
  const FieldMask mask({{"metadata", "name"}});
  EXPECT_EQ(*Cut(mask, R"({"metadata":"odd"})"), R"({"metadata":"odd"})");
}

TEST(FieldMask, RefusesMalformedText) {
  const FieldMask mask({{"a"}});
  for (const char* text :
       {"", "{", R"({"a")", R"({"a":)", R"({"a":1)", R"({"a":1,})", R"({"a":1}})", "{a:1}",
        R"({"b":"x)", R"({"b":[1})", R"({"a":1 "b":2})", R"({"b":})", "nul\x01{"}) {
    const auto cut = Cut(mask, text);
    // What is kept is checked by the parser it is given to; what frames it is checked here.
    if (cut.ok()) {
      EXPECT_THAT(text, ::testing::AnyOf(R"({"b":[1})", "nul\x01{")) << *cut;
    }
  }
}

TEST(FieldMask, RefusesBottomlessNesting) {
  FieldMask mask({{"a", "b"}});
  EXPECT_FALSE(Cut(mask, std::string(100000, '[')).ok());
}

TEST(LineSplitter, FindsLinesHoweverTheyAreCut) {
  const std::string text = "{\"a\":1}\n{\"b\":2}\n\n{\"c\":3}\n";
  for (size_t piece = 1; piece <= text.size(); ++piece) {
    LineSplitter splitter;
    std::vector<std::string> lines;
    for (size_t at = 0; at < text.size(); at += piece) {
      ASSERT_TRUE(splitter
                      .Feed(text.substr(at, piece),
                            [&](absl::string_view line) {
                              lines.emplace_back(line);
                              return OkStatus();
                            })
                      .ok());
    }
    EXPECT_THAT(lines, ElementsAre("{\"a\":1}", "{\"b\":2}", "{\"c\":3}"));
  }
}

TEST(LineSplitter, RefusesALineWithoutEnd) {
  LineSplitter splitter;
  const std::string megabyte(1 << 20, 'x');
  Status status;
  for (int i = 0; i < 20 && status.ok(); ++i) {
    status = splitter.Feed(megabyte, [](absl::string_view) { return OkStatus(); });
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
}

struct SplitList {
  Status status;
  std::vector<std::string> items;
  StatusOr<std::string> envelope;
};
SplitList Split(const std::string& text, size_t piece) {
  SplitList out;
  ListSplitter splitter;
  for (size_t at = 0; at < text.size() && out.status.ok(); at += piece) {
    out.status = splitter.Feed(text.substr(at, piece), [&](absl::string_view item) {
      out.items.emplace_back(item);
      return OkStatus();
    });
  }
  out.envelope = splitter.Envelope();
  return out;
}

TEST(ListSplitter, GivesItemsOneByOneHoweverTheTextIsCut) {
  const std::string text =
      R"({"kind":"items","metadata":{"resourceVersion":"7","items":[3]},"items":[{"a":"]}"}, {"b":{"c":[]}}],"x":1})";
  for (size_t piece = 1; piece <= text.size(); ++piece) {
    const SplitList out = Split(text, piece);
    ASSERT_TRUE(out.status.ok()) << out.status;
    EXPECT_THAT(out.items, ElementsAre(R"({"a":"]}"})", R"({"b":{"c":[]}})"));
    EXPECT_EQ(
        *out.envelope,
        R"({"kind":"items","metadata":{"resourceVersion":"7","items":[3]},"items":[],"x":1})");
  }
}

TEST(ListSplitter, TakesListsWithoutItems) {
  EXPECT_TRUE(Split(R"({"items":null})", 100).items.empty());
  EXPECT_TRUE(Split(R"({"items":[]})", 100).envelope.ok());
  EXPECT_TRUE(Split(R"({"items":"x"})", 1).envelope.ok());
}

TEST(ListSplitter, SaysWhenAListIsMalformedOrBreaksOff) {
  EXPECT_FALSE(Split("[]", 100).status.ok());
  EXPECT_FALSE(Split(R"({"items":[1]})", 100).status.ok());
  EXPECT_FALSE(Split("{}x", 100).status.ok());
  EXPECT_FALSE(Split("{}}", 100).status.ok());
  EXPECT_FALSE(Split(R"({"items":[{"a":1},)", 100).envelope.ok());
}

TEST(WatchEvent, IsTakenApart) {
  const auto event = SplitWatchEvent(R"({"type":"MODIFIED","object":{"a":"\"}"},"more":[1,{}]})");
  ASSERT_TRUE(event.ok()) << event.status();
  EXPECT_EQ(event->type, WatchEventType::kModified);
  EXPECT_EQ(event->object, R"({"a":"\"}"})");
  EXPECT_TRUE(SplitWatchEvent(R"( { "object" : {} , "n":1, "type" : "ADDED" } )").ok());
}

TEST(WatchEvent, IsRefusedWhenMalformed) {
  for (const char* text :
       {"", "x", "{}", R"({"type":"ADDED"})", R"({"object":{}})", R"({"type":"NEW","object":{}})",
        R"({"type":"ADDED","object":[]})", R"({"type":"ADDED","object":{)", R"({"type"})",
        R"({"type":"ADDED" "object":{}})", R"({:})", R"({"type":,"object":{}})"}) {
    EXPECT_FALSE(SplitWatchEvent(text).ok()) << text;
  }
}

TEST(ApiError, CarriesReasonAndWaitingTime) {
  Response response;
  response.status = 429;
  response.headers = {{"retry-after", "2"}};
  response.body =
      R"({"kind":"Status","reason":"TooManyRequests","message":"slow down","code":429})";
  const Status status = ErrorFromResponse("POST /x", response);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("POST /x: slow down"));
  ASSERT_TRUE(ApiErrorOf(status).has_value());
  EXPECT_EQ(ApiErrorOf(status)->retry_after, std::chrono::seconds(2));
}

TEST(ApiError, TellsANameTakenFromAConflict) {
  Response response;
  response.status = 409;
  response.body = R"({"kind":"Status","reason":"AlreadyExists","message":"m"})";
  EXPECT_TRUE(IsNameTaken(ErrorFromResponse("x", response)));
  EXPECT_FALSE(IsConflict(ErrorFromResponse("x", response)));
  response.body = R"({"kind":"Status","reason":"Conflict","message":"m"})";
  EXPECT_FALSE(IsNameTaken(ErrorFromResponse("x", response)));
  EXPECT_TRUE(IsConflict(ErrorFromResponse("x", response)));
}

TEST(ApiError, KnowsExpiryByCodeOrReason) {
  EXPECT_TRUE(
      IsExpired(ErrorFromStatusObject("w", R"({"kind":"Status","code":410,"reason":"Gone"})")));
  EXPECT_TRUE(
      IsExpired(ErrorFromStatusObject("w", R"({"kind":"Status","code":500,"reason":"Expired"})")));
  EXPECT_FALSE(IsExpired(ErrorFromStatusObject("w", R"({"kind":"Status","code":500})")));
  EXPECT_FALSE(IsExpired(Unavailable("410")));
}

TEST(ApiError, SurvivesBodiesThatAreNoStatus) {
  for (const char* body :
       {"", "<html>", "[1]", R"({"kind":"Status","code":"x","details":[],"reason":7})"}) {
    Response response;
    response.status = 503;
    response.body = body;
    EXPECT_EQ(ErrorFromResponse("x", response).code(), absl::StatusCode::kUnavailable);
  }
}

TEST(Versions, CompareAsNumbers) {
  EXPECT_TRUE(IsNewer("10", "9"));
  EXPECT_FALSE(IsNewer("9", "10"));
  EXPECT_FALSE(IsNewer("10", "10"));
  EXPECT_TRUE(IsNewer("18446744073709551617", "18446744073709551616"));
  EXPECT_TRUE(IsNewer("opaque-a", "opaque-b"));
}

TEST(Paths, AreThoseOfTheApi) {
  EXPECT_EQ(CollectionPath("v1", "ns", "pods"), "/api/v1/namespaces/ns/pods");
  EXPECT_EQ(ObjectPath("kubeflow.org/v1", "ns", "tfjobs", "x"),
            "/apis/kubeflow.org/v1/namespaces/ns/tfjobs/x");
  EXPECT_EQ(CollectionPath("kubeflow.org/v1", "", "tfjobs"), "/apis/kubeflow.org/v1/tfjobs");
  EXPECT_EQ(QueryEscape("a/b=c d"), "a%2fb%3dc%20d");
}

TEST(RateLimiter, LetsABurstThroughAndSpacesTheRest) {
  ManualClock clock;
  RateLimiter limiter(10, 3, &clock);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(limiter.Reserve().count(), 0);
  EXPECT_EQ(limiter.Reserve(), std::chrono::milliseconds(100));
  EXPECT_EQ(limiter.Reserve(), std::chrono::milliseconds(200));
  clock.Advance(std::chrono::seconds(10));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(limiter.Reserve().count(), 0);
  EXPECT_GT(limiter.Reserve().count(), 0);
}

TEST(RateLimiter, WaitsNoLongerThanItsCaller) {
  RateLimiter limiter(0.001, 1, Clock::Real());
  CancellationManager cancel;
  ASSERT_TRUE(limiter.Acquire(&cancel).ok());
  cancel.StartCancel();
  EXPECT_EQ(limiter.Acquire(&cancel).code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace tensorfleet::k8s
