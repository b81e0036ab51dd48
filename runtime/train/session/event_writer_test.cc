#include "runtime/train/session/event_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/io/testing/scratch_dir.h"

namespace tensorfleet::train {
namespace {

using ::testing::HasSubstr;

std::vector<tensorflow::Event> ReadEvents(const std::string& path) {
  std::vector<tensorflow::Event> events;
  auto reader = *RecordReader::Open(FileSystem::Local(), path);
  std::string record;
  while (*reader->Read(&record)) {
    events.emplace_back();
    EXPECT_TRUE(events.back().ParseFromString(record));
  }
  return events;
}

TEST(EventWriter, TheFirstRecordSaysWhatTheFileIs) {
  ScratchDir dir;
  ManualClock clock;
  auto writer = *EventWriter::Open(dir.Path("logs"), &clock);
  EXPECT_THAT(writer->path(), HasSubstr("/logs/events.out.tfevents.1700000000."));
  ASSERT_TRUE(writer->Close().ok());
  const auto events = ReadEvents(writer->path());
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].file_version(), "brain.Event:2");
  EXPECT_EQ(events[0].wall_time(), 1.7e9);
}

TEST(EventWriter, ValuesCarryTagAndStep) {
  ScratchDir dir;
  auto writer = *EventWriter::Open(dir.path());
  ASSERT_TRUE(writer->AddScalar("loss", 0.5f, 7).ok());
  ASSERT_TRUE(writer->AddSession(tensorflow::SessionLog::CHECKPOINT, 7, "/m-7").ok());
  ASSERT_TRUE(writer->Close().ok());
  const auto events = ReadEvents(writer->path());
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[1].step(), 7);
  EXPECT_EQ(events[1].summary().value(0).tag(), "loss");
  EXPECT_EQ(events[1].summary().value(0).simple_value(), 0.5f);
  EXPECT_EQ(events[2].session_log().checkpoint_path(), "/m-7");
}

TEST(EventWriter, TwoWritersOfOneSecondHaveFilesOfTheirOwn) {
  ScratchDir dir;
  ManualClock clock;
  auto first = *EventWriter::Open(dir.path(), &clock);
  auto second = *EventWriter::Open(dir.path(), &clock);
  EXPECT_NE(first->path(), second->path());
}

TEST(EventWriter, RefusesWhatIsNoSummary) {
  ScratchDir dir;
  auto writer = *EventWriter::Open(dir.path());
  EXPECT_EQ(writer->AddSummary("\xff\xff", 1).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tensorfleet::train
