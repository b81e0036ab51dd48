// Leader election and event sending against an API server over real sockets.

#include <gmock/gmock.h>

#include <thread>

#include "operator/k8s/event_recorder.h"
#include "operator/k8s/leader_lease.h"
#include "operator/testing/api_fixture.h"

namespace tensorfleet::k8s {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using tensorfleet::testing::ApiFixture;
using tensorfleet::testing::Fault;
using tensorfleet::testing::Json;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

class LeaseTest : public ApiFixture {
 protected:
  LeaderLeaseOptions Options(const std::string& identity) {
    LeaderLeaseOptions options;
    options.ns = ns();
    options.name = "leader";
    options.identity = identity;
    options.lease_duration = seconds(1);
    options.renew_deadline = milliseconds(700);
    options.retry_period = milliseconds(50);
    return options;
  }
  std::string Holder() {
    const auto lease = client().Get(ObjectPath("coordination.k8s.io/v1", ns(), "leases", "leader"));
    return lease.ok() ? Json::parse(*lease)["spec"].value("holderIdentity", "") : "";
  }
};

TEST_F(LeaseTest, TheFirstBecomesLeaderAndTheSecondWaits) {
  LeaderLease first(&client(), Clock::Real(), Options("first"));
  LeaderLease second(&client(), Clock::Real(), Options("second"));
  CancellationManager cancel;
  ASSERT_TRUE(first.Acquire(&cancel).ok());
  CancellationManager hold;
  std::thread holder([&] { EXPECT_TRUE(first.Hold(&hold).ok()); });
  CancellationManager wait;
  std::thread stop([&] {
    std::this_thread::sleep_for(milliseconds(1500));
    wait.StartCancel();
  });
  EXPECT_EQ(second.Acquire(&wait).code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(Holder(), "first");
  stop.join();
  hold.StartCancel();
  holder.join();
}

TEST_F(LeaseTest, AReleasedLeaseIsTakenOverAtOnce) {
  LeaderLeaseOptions slow = Options("first");
  slow.lease_duration = seconds(60);
  LeaderLease first(&client(), Clock::Real(), slow);
  LeaderLease second(&client(), Clock::Real(), Options("second"));
  CancellationManager cancel;
  ASSERT_TRUE(first.Acquire(&cancel).ok());
  ASSERT_TRUE(first.Release().ok());
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_TRUE(second.Acquire(&cancel).ok());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(2));
  EXPECT_EQ(Holder(), "second");
}

TEST_F(LeaseTest, AnAbandonedLeaseIsTakenOverWhenItRunsOut) {
  LeaderLease first(&client(), Clock::Real(), Options("first"));
  LeaderLease second(&client(), Clock::Real(), Options("second"));
  CancellationManager cancel;
  ASSERT_TRUE(first.Acquire(&cancel).ok());
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_TRUE(second.Acquire(&cancel).ok());
  const auto waited = std::chrono::steady_clock::now() - begin;
  EXPECT_GE(waited, milliseconds(900));
  EXPECT_LT(waited, seconds(3));
}

// Whoever watches leases by labels of their own loses sight of one that is written whole.
TEST_F(LeaseTest, RenewalKeepsWhatOthersHaveWrittenOnTheLease) {
  const std::string path = ObjectPath("coordination.k8s.io/v1", ns(), "leases", "leader");
  LeaderLease first(&client(), Clock::Real(), Options("first"));
  CancellationManager cancel;
  ASSERT_TRUE(first.Acquire(&cancel).ok());
  ASSERT_TRUE(client()
                  .MergePatch(path, R"({"metadata":{"labels":{"team":"a"},
                                        "annotations":{"note":"b"}}})")
                  .ok());
  ASSERT_TRUE(first.Acquire(&cancel).ok());
  ASSERT_TRUE(first.Release().ok());
  const Json lease = Json::parse(*client().Get(path));
  EXPECT_EQ(lease["metadata"]["labels"]["team"], "a");
  EXPECT_EQ(lease["metadata"]["labels"][kLeaseLabel], kLeaseLabelValue);
  EXPECT_EQ(lease["metadata"]["annotations"]["note"], "b");
  EXPECT_EQ(lease["metadata"]["annotations"][kLeaseScope], "");
}

TEST_F(LeaseTest, AHolderThatIsOustedNotices) {
  LeaderLease first(&client(), Clock::Real(), Options("first"));
  CancellationManager cancel;
  ASSERT_TRUE(first.Acquire(&cancel).ok());
  ASSERT_TRUE(client()
                  .MergePatch(ObjectPath("coordination.k8s.io/v1", ns(), "leases", "leader"),
                              R"({"spec":{"holderIdentity":"usurper"}})")
                  .ok());
  EXPECT_THAT(first.Hold(&cancel).message(), HasSubstr("taken by usurper"));
}

TEST_F(LeaseTest, AHolderThatCannotRenewStepsDown) {
  FLEET_NEEDS_FAKE_SERVER();
  LeaderLease first(&client(), Clock::Real(), Options("first"));
  CancellationManager cancel;
  ASSERT_TRUE(first.Acquire(&cancel).ok());
  Fault fault;
  fault.times = 1000;
  fake()->Inject(fault);
  EXPECT_THAT(first.Hold(&cancel).message(), HasSubstr("could not be renewed"));
}

// A lease of a second is another's after that: a leader that waits for an answer would go on
// writing.
TEST_F(LeaseTest, AHolderStepsDownInTimeThoughTheServerDoesNotAnswer) {
  FLEET_NEEDS_FAKE_SERVER();
  LeaderLease first(&client(), Clock::Real(), Options("first"));
  CancellationManager cancel;
  ASSERT_TRUE(first.Acquire(&cancel).ok());
  Fault fault;
  fault.kind = Fault::Kind::kDelay;
  fault.delay = milliseconds(2500);
  fault.method = "PUT";
  fake()->Inject(fault);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THAT(first.Hold(&cancel).message(), HasSubstr("could not be renewed"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(2));
}

TEST_F(LeaseTest, AShortFailureDoesNotCostTheLeadership) {
  FLEET_NEEDS_FAKE_SERVER();
  LeaderLease first(&client(), Clock::Real(), Options("first"));
  CancellationManager cancel;
  ASSERT_TRUE(first.Acquire(&cancel).ok());
  Fault fault;
  fault.times = 3;
  fake()->Inject(fault);
  std::thread stop([&] {
    std::this_thread::sleep_for(seconds(1));
    cancel.StartCancel();
  });
  EXPECT_TRUE(first.Hold(&cancel).ok());
  stop.join();
}

class RecorderTest : public ApiFixture {
 protected:
  ObjectReference Job(const std::string& name = "job") {
    return {"kubeflow.org/v1", "TFJob", ns(), name, "uid-" + name, "7"};
  }
  std::unique_ptr<EventRecorder> Recorder(EventRecorder::Options options = {}) {
    options.component = "tfjob-controller";
    return std::make_unique<EventRecorder>(&client(), Clock::Real(), std::move(options));
  }
  // All events about `job`.
  std::vector<Json> Events(const std::string& job = "job") {
    std::vector<Json> events;
    const auto list = client().Get(CollectionPath("v1", ns(), "events"));
    EXPECT_TRUE(list.ok()) << list.status();
    const Json parsed = Json::parse(*list);
    for (const Json& event : parsed["items"]) {
      if (event["involvedObject"]["name"] == job) events.push_back(event);
    }
    return events;
  }
};

TEST_F(RecorderTest, SendsEveryEventAtOrdinaryRates) {
  auto recorder = Recorder();
  for (int i = 0; i < 5; ++i) {
    recorder->Record(Job(), "Normal", "SuccessfulCreatePod",
                     absl::StrCat("Created pod: job-worker-", i));
  }
  ASSERT_TRUE(recorder->Drain(seconds(10)));
  const auto events = Events();
  ASSERT_THAT(events, SizeIs(5));
  EXPECT_EQ(events[0]["source"]["component"], "tfjob-controller");
  EXPECT_EQ(events[0]["involvedObject"]["kind"], "TFJob");
  EXPECT_EQ(events[0]["involvedObject"]["uid"], "uid-job");
  EXPECT_EQ(events[0]["type"], "Normal");
  EXPECT_EQ(events[0]["count"], 1);
}

TEST_F(RecorderTest, CountsRepeatsInOneObject) {
  auto recorder = Recorder();
  for (int i = 0; i < 4; ++i) {
    recorder->Record(Job(), "Warning", "BackOff", "again");
    ASSERT_TRUE(recorder->Drain(seconds(10)));
  }
  const auto events = Events();
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_EQ(events[0]["count"], 4);
}

TEST_F(RecorderTest, FromTheEleventhSimilarMessageOnOneObjectStandsForAll) {
  auto recorder = Recorder();
  for (int i = 0; i < 15; ++i) {
    recorder->Record(Job(), "Warning", "Failed", absl::StrCat("problem number ", i));
    ASSERT_TRUE(recorder->Drain(seconds(10)));
  }
  const auto events = Events();
  ASSERT_THAT(events, SizeIs(11));
  int combined = 0;
  for (const Json& event : events) {
    if (event["message"].get<std::string>().find("(combined from similar events)") == 0) {
      ++combined;
      EXPECT_EQ(event["count"], 5);
    }
  }
  EXPECT_EQ(combined, 1);
}

TEST_F(RecorderTest, InABurstThoseOfOneJobAreMergedAndNoneIsLost) {
  EventRecorder::Options options;
  options.merge_above = 20;
  options.busy_qps = 1;
  options.is_busy = [] { return true; };
  auto recorder = Recorder(options);
  for (int job = 0; job < 20; ++job) {
    for (int pod = 0; pod < 5; ++pod) {
      recorder->Record(Job(absl::StrCat("j", job)), "Normal", "SuccessfulCreatePod",
                       absl::StrCat("Created pod: p", pod));
    }
  }
  ASSERT_TRUE(recorder->Drain(seconds(10)));
  EXPECT_EQ(recorder->dropped(), 0);
  int total = 0;
  for (int job = 0; job < 20; ++job) {
    for (const Json& event : Events(absl::StrCat("j", job))) total += event["count"].get<int>();
  }
  EXPECT_EQ(total, 100);
  const auto merged = Events("j10");
  ASSERT_THAT(merged, SizeIs(1));
  EXPECT_EQ(merged[0]["message"], "Created pod: p0, p1, p2, p3, p4");
}

TEST_F(RecorderTest, NeverMakesItsCallerWait) {
  FLEET_NEEDS_FAKE_SERVER();
  Fault slow;
  slow.kind = Fault::Kind::kDelay;
  slow.delay = milliseconds(300);
  slow.path_contains = "events";
  fake()->Inject(slow);
  auto recorder = Recorder();
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 1000; ++i) recorder->Record(Job(), "Normal", "R", absl::StrCat(i));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(200));
}

// As while an API server restarts.
TEST_F(RecorderTest, WhatAServerThatIsAwayDidNotTakeIsSentAgain) {
  FLEET_NEEDS_FAKE_SERVER();
  Fault away;
  away.kind = Fault::Kind::kHangUp;
  away.path_contains = "events";
  away.times = 3;
  fake()->Inject(away);
  auto recorder = Recorder();
  for (int i = 0; i < 3; ++i) recorder->Record(Job(), "Normal", "R", absl::StrCat(i));
  ASSERT_TRUE(recorder->Drain(seconds(20)));
  std::vector<std::string> messages;
  for (const Json& event : Events()) messages.push_back(event["message"]);
  EXPECT_THAT(messages, UnorderedElementsAre("0", "1", "2"));
}

TEST_F(RecorderTest, AnEventWhoseAnswerIsLostIsNotToldTwice) {
  FLEET_NEEDS_FAKE_SERVER();
  Fault lost;
  lost.kind = Fault::Kind::kLoseAnswer;
  lost.path_contains = "events";
  lost.times = 2;
  fake()->Inject(lost);
  auto recorder = Recorder();
  recorder->Record(Job(), "Normal", "R", "once");
  ASSERT_TRUE(recorder->Drain(seconds(20)));
  EXPECT_THAT(Events(), SizeIs(1));
}

TEST_F(RecorderTest, AnObjectOfTheLongestNameHasEventsToo) {
  auto recorder = Recorder();
  const std::string name(253, 'a');
  recorder->Record(Job(name), "Normal", "R", "told");
  ASSERT_TRUE(recorder->Drain(seconds(10)));
  const auto events = Events(name);
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_LE(events[0]["metadata"]["name"].get<std::string>().size(), 253u);
}

TEST_F(RecorderTest, AnEventThatTheServerForgotBeginsAnew) {
  FLEET_NEEDS_FAKE_SERVER();
  auto recorder = Recorder();
  recorder->Record(Job(), "Normal", "R", "same");
  ASSERT_TRUE(recorder->Drain(seconds(10)));
  const std::string name = Events()[0]["metadata"]["name"];
  ASSERT_TRUE(client().Delete(ObjectPath("v1", ns(), "events", name)).ok());
  recorder->Record(Job(), "Normal", "R", "same");
  ASSERT_TRUE(recorder->Drain(seconds(10)));
  EXPECT_THAT(Events(), SizeIs(1));
}

TEST(CombineMessages, SharesTheBeginning) {
  EXPECT_EQ(CombineMessages({"Created pod: a", "Created pod: b"}), "Created pod: a, b");
  EXPECT_EQ(CombineMessages({"one thing", "another: thing"}), "one thing; another: thing");
  std::vector<std::string> many;
  for (int i = 0; i < 500; ++i) many.push_back(absl::StrCat("Created pod: job-worker-", i));
  EXPECT_LE(CombineMessages(many).size(), 1024u);
  EXPECT_THAT(CombineMessages(many), HasSubstr(" more"));
}

}  // namespace
}  // namespace tensorfleet::k8s
