#include "runtime/cli/inspect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "runtime/io/checkpoint_writer.h"
#include "runtime/io/testing/scratch_dir.h"
#include "runtime/train/checkpoint/checkpoint_state.h"
#include "runtime/train/session/event_writer.h"
#include "runtime/train/testing/counting_model.h"

namespace tensorfleet::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class InspectTest : public ::testing::Test {
 protected:
  // "kernel" [2,3] and "words [2]" at model.ckpt-7, which the folder names as its latest.
  void WriteCheckpoint() {
    auto writer = *CheckpointWriter::Open(FileSystem::Local(), dir_.Path("model.ckpt-7"));
    ASSERT_TRUE(writer->Add("kernel", Tensor::Of<float>(Shape({2, 3}), {1, 2, 3, 4, 5, 6})).ok());
    ASSERT_TRUE(writer->Add("words", Tensor::Vector<std::string>({"a", "b"})).ok());
    ASSERT_TRUE(writer->Finish().ok());
    train::CheckpointList list;
    list.kept = {{dir_.Path("model.ckpt-7"), 1}};
    ASSERT_TRUE(train::WriteCheckpointList(dir_.path(), list).ok());
  }

  std::string Printed(const std::string& path, const InspectOptions& options = {}) {
    std::ostringstream out;
    const Status status = Inspect(path, options, out);
    EXPECT_TRUE(status.ok()) << status;
    return out.str();
  }

  std::string Refused(const std::string& path, const InspectOptions& options = {}) {
    std::ostringstream out;
    const Status status = Inspect(path, options, out);
    EXPECT_FALSE(status.ok()) << out.str();
    return std::string(status.message());
  }

  ScratchDir dir_;
};

TEST_F(InspectTest, ListsTheTensorsOfACheckpoint) {
  WriteCheckpoint();
  const std::string list = "checkpoint " + dir_.Path("model.ckpt-7") +
                           ": 2 tensors, 24 bytes without strings\n" + "kernel  float    [2,3]\n" +
                           "words   string   [2]\n";
  EXPECT_EQ(Printed(dir_.Path("model.ckpt-7")), list);
  EXPECT_EQ(Printed(dir_.path()), list);
  EXPECT_THAT(Printed(dir_.Path("model.ckpt-7.index")), HasSubstr("kernel  float    [2,3]\n"));
}

TEST_F(InspectTest, PrintsTheValuesOfOneTensor) {
  WriteCheckpoint();
  InspectOptions options;
  options.tensor = "kernel";
  options.max_elements = 100;
  EXPECT_THAT(Printed(dir_.path(), options),
              AllOf(HasSubstr("kernel  float [2,3]\n"), HasSubstr("1 2 3"), HasSubstr("4 5 6")));
  options.max_elements = 1;
  EXPECT_THAT(Printed(dir_.path(), options), AllOf(HasSubstr("[1..."), Not(HasSubstr("5"))));
  options.tensor = "kernels";
  EXPECT_EQ(Refused(dir_.path(), options), "Key kernels not found in checkpoint");
}

TEST_F(InspectTest, PrintsTheRecordsOfAnEventFile) {
  auto writer = *train::EventWriter::Open(dir_.path());
  ASSERT_TRUE(writer->AddScalar("loss", 0.5f, 7).ok());
  ASSERT_TRUE(writer->AddSession(tensorflow::SessionLog::CHECKPOINT, 7, "/m-7").ok());
  ASSERT_TRUE(writer->Close().ok());
  EXPECT_THAT(Printed(writer->path()),
              AllOf(HasSubstr("step 0  brain.Event:2\n"), HasSubstr("step 7  loss=0.5\n"),
                    HasSubstr("step 7  session CHECKPOINT /m-7\n")));
  InspectOptions options;
  options.tensor = "loss";
  EXPECT_THAT(Refused(writer->path(), options), HasSubstr("is an event file"));
}

TEST_F(InspectTest, SaysOfADamagedEventFileWhereItIsDamaged) {
  auto writer = *train::EventWriter::Open(dir_.path());
  ASSERT_TRUE(writer->AddScalar("loss", 0.5f, 7).ok());
  ASSERT_TRUE(writer->Close().ok());
  const std::string whole = *ReadWholeFile(*FileSystem::Local(), writer->path());
  const std::string cut = whole.substr(0, whole.size() - 3);
  ASSERT_TRUE(WriteWholeFile(*FileSystem::Local(), writer->path(), cut).ok());
  std::ostringstream out;
  const Status status = Inspect(writer->path(), {}, out);
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(out.str(), HasSubstr("brain.Event:2")) << "what is whole is shown";
}

TEST_F(InspectTest, SaysOfAGraphHowItIsTrained) {
  tensorflow::MetaGraphDef meta = train::CountingModel();
  ASSERT_TRUE(
      WriteWholeFile(*FileSystem::Local(), dir_.Path("m.meta"), meta.SerializeAsString()).ok());
  EXPECT_THAT(Printed(dir_.Path("m.meta")),
              AllOf(HasSubstr("train ops         train\n"), HasSubstr("loss              loss:0\n"),
                    HasSubstr("variable          w:0\n"), Not(HasSubstr("not known here"))));
}

TEST_F(InspectTest, SaysOfAGraphWhatKeepsItFromBeingTrained) {
  tensorflow::MetaGraphDef meta = train::CountingModel();
  meta.mutable_collection_def()->erase("train_op");
  tensorflow::NodeDef* node = meta.mutable_graph_def()->add_node();
  node->set_name("odd");
  node->set_op("NobodysOp");
  ASSERT_TRUE(
      WriteWholeFile(*FileSystem::Local(), dir_.Path("m.meta"), meta.SerializeAsString()).ok());
  EXPECT_THAT(Printed(dir_.Path("m.meta")),
              AllOf(HasSubstr("not known here    op NobodysOp, 1 node\n"),
                    HasSubstr("to be trained     no: "), HasSubstr("--train_op")));
}

TEST_F(InspectTest, SaysWhatThereMayBeWhenItIsNothingOfThat) {
  EXPECT_THAT(Refused(dir_.Path("none")),
              AllOf(HasSubstr("there is no " + dir_.Path("none")), HasSubstr("a checkpoint (")));
  EXPECT_THAT(Refused(dir_.path()), HasSubstr(dir_.path() + " holds no checkpoint"));
  ASSERT_TRUE(WriteWholeFile(*FileSystem::Local(), dir_.Path("text"), "hello").ok());
  EXPECT_THAT(Refused(dir_.Path("text")), HasSubstr("neither a checkpoint nor a MetaGraphDef"));
}

}  // namespace
}  // namespace tensorfleet::cli
