#include "operator/plan/condition_update.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/testing/builders.h"

namespace tensorfleet::plan {
namespace {

using api::TFJobStatus;
using testing::After;
using testing::ConditionsOf;

TFJobStatus With(std::vector<api::Condition> conditions) {
  TFJobStatus status;
  status.conditions = std::move(conditions);
  return status;
}

api::Condition True(const char* type, double seconds = 0) {
  return {type, true, std::string("TFJob") + type, "old text", After(seconds), After(seconds)};
}

TEST(SetCondition, AppendsANewOneAtTheEndWithBothTimes) {
  TFJobStatus status = With({True("Created")});
  EXPECT_TRUE(SetCondition(status, "Running", true, "TFJobRunning", "text", After(5)));
  EXPECT_EQ(ConditionsOf(status), "Created,Running");
  const api::Condition& running = status.conditions.back();
  EXPECT_EQ(running.reason, "TFJobRunning");
  EXPECT_EQ(running.message, "text");
  EXPECT_EQ(running.last_update_time, After(5));
  EXPECT_EQ(running.last_transition_time, After(5));
}

TEST(SetCondition, SameTypeStatusAndReasonChangesNothingNotEvenTheMessage) {
  TFJobStatus status = With({True("Restarting")});
  EXPECT_FALSE(SetCondition(status, "Restarting", true, "TFJobRestarting", "new text", After(5)));
  EXPECT_EQ(status.conditions[0].message, "old text");
  EXPECT_EQ(status.conditions[0].last_update_time, After(0));
}

TEST(SetCondition, AnotherReasonMovesItToTheEndAndKeepsTheTransitionTime) {
  TFJobStatus status = With({True("Running"), True("Created")});
  EXPECT_TRUE(SetCondition(status, "Running", true, "Other", "text", After(5)));
  EXPECT_EQ(ConditionsOf(status), "Created,Running");
  EXPECT_EQ(status.conditions.back().last_transition_time, After(0));
  EXPECT_EQ(status.conditions.back().last_update_time, After(5));
}

TEST(SetCondition, AnotherStatusMovesTheTransitionTime) {
  TFJobStatus status = With({True("Suspended")});
  SetCondition(status, "Suspended", false, "TFJobResumed", "text", After(5));
  EXPECT_EQ(status.conditions[0].last_transition_time, After(5));
}

TEST(SetCondition, RunningDropsRestarting) {
  TFJobStatus status = With({True("Created"), True("Restarting")});
  SetCondition(status, "Running", true, "TFJobRunning", "", After(5));
  EXPECT_EQ(ConditionsOf(status), "Created,Running");
}

TEST(SetCondition, RestartingDropsRunning) {
  TFJobStatus status = With({True("Created"), True("Running")});
  SetCondition(status, "Restarting", true, "TFJobRestarting", "", After(5));
  EXPECT_EQ(ConditionsOf(status), "Created,Restarting");
}

class EndingCondition : public ::testing::TestWithParam<const char*> {};

TEST_P(EndingCondition, TurnsRunningToFalseInPlaceAndKeepsItsTimesAndReason) {
  TFJobStatus status = With({True("Running"), True("Created")});
  SetCondition(status, GetParam(), true, "Why", "", After(5));
  EXPECT_EQ(ConditionsOf(status), std::string("Running(False),Created,") + GetParam());
  EXPECT_EQ(status.conditions[0].reason, "TFJobRunning");
  EXPECT_EQ(status.conditions[0].last_transition_time, After(0));
}

TEST_P(EndingCondition, DropsRestarting) {
  TFJobStatus status = With({True("Created"), True("Restarting")});
  SetCondition(status, GetParam(), true, "Why", "", After(5));
  EXPECT_EQ(ConditionsOf(status), std::string("Created,") + GetParam());
}

TEST_P(EndingCondition, IsFinal) {
  for (const char* later :
       {"Succeeded", "Failed", "Running", "Restarting", "Suspended", "Created"}) {
    TFJobStatus status = With({True(GetParam())});
    EXPECT_FALSE(SetCondition(status, later, true, "Other", "", After(5))) << later;
    EXPECT_EQ(ConditionsOf(status), GetParam());
  }
}

INSTANTIATE_TEST_SUITE_P(Both, EndingCondition, ::testing::Values("Succeeded", "Failed"));

}  // namespace
}  // namespace tensorfleet::plan
