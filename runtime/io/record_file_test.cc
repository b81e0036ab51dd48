#include "runtime/io/record_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/io/testing/scratch_dir.h"

namespace tensorfleet {
namespace {

using ::testing::HasSubstr;

class RecordFileTest : public ::testing::TestWithParam<Compression> {
 protected:
  void WriteRecords(const std::vector<std::string>& records) {
    auto writer = RecordWriter::Open(&files_, path_, GetParam());
    ASSERT_EQ(writer.status(), OkStatus());
    for (const std::string& record : records) ASSERT_EQ((*writer)->Write(record), OkStatus());
    ASSERT_EQ((*writer)->Close(), OkStatus());
  }
  StatusOr<std::vector<std::string>> ReadRecords() {
    TFLEET_ASSIGN_OR_RETURN(std::unique_ptr<RecordReader> reader,
                            RecordReader::Open(&files_, path_, GetParam()));
    std::vector<std::string> records;
    std::string record;
    while (true) {
      TFLEET_ASSIGN_OR_RETURN(const bool more, reader->Read(&record));
      if (!more) return records;
      records.push_back(record);
    }
  }
  FileSystem& files_ = *FileSystem::Local();
  ScratchDir dir_;
  const std::string path_ = dir_.Path("records");
};

TEST_P(RecordFileTest, ReadsBackWhatWasWritten) {
  const std::vector<std::string> records = {"a", "", std::string(700'000, 'b'),
                                            std::string("\0\1", 2)};
  WriteRecords(records);
  EXPECT_EQ(ReadRecords().value(), records);
}

TEST_P(RecordFileTest, AnEmptyFileHasNoRecords) {
  WriteRecords({});
  EXPECT_TRUE(ReadRecords().value().empty());
}

TEST_P(RecordFileTest, ACutOffFileIsAnErrorThatNamesIt) {
  WriteRecords({"first", "second"});
  const std::string bytes = ReadWholeFile(files_, path_).value();
  for (size_t n = 1; n + 1 < bytes.size(); ++n) {
    if (GetParam() == Compression::kNone && n == 5 + 16) continue;  // between records
    ASSERT_EQ(WriteWholeFile(files_, path_, absl::string_view(bytes).substr(0, n)), OkStatus());
    const Status status = ReadRecords().status();
    ASSERT_EQ(status.code(), absl::StatusCode::kDataLoss) << n;
    ASSERT_THAT(std::string(status.message()), HasSubstr(path_));
  }
}

TEST_P(RecordFileTest, ADamagedByteIsNoticed) {
  const std::vector<std::string> records = {"first", "second"};
  WriteRecords(records);
  const std::string bytes = ReadWholeFile(files_, path_).value();
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] ^= 0x10;
    ASSERT_EQ(WriteWholeFile(files_, path_, damaged), OkStatus());
    const auto read = ReadRecords();
    // A compressed file has bits that mean nothing to the data: times, names, padding.
    const bool is_harmless = GetParam() != Compression::kNone && read.ok() && *read == records;
    ASSERT_TRUE(!read.ok() || is_harmless) << "byte " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(All, RecordFileTest,
                         ::testing::Values(Compression::kNone, Compression::kZlib,
                                           Compression::kGzip));

}  // namespace
}  // namespace tensorfleet
