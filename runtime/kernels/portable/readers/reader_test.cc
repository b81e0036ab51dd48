// Readers through their kernels, of both versions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/io/file_system.h"
#include "runtime/kernels/testing/op_test.h"

namespace tensorfleet::portable {
namespace {

using ::testing::HasSubstr;

// The same tests with references to names, as the first version has them, and with handles.
class Readers : public OpTest, public ::testing::WithParamInterface<const char*> {
 protected:
  OpNode Named(const char* op) { return OpNode(absl::StrCat(op, GetParam())); }

  // What a node that makes something hands out.
  OpInput Made(const OpNode& node) {
    OpOutputs outputs;
    EXPECT_EQ(RunInto(node, {}, &outputs), absl::OkStatus());
    if (outputs[0].ref) return outputs[0].ref;
    return outputs[0].tensor;
  }
  OpInput QueueOf(std::initializer_list<std::string> works) {
    const OpInput queue = Made(Named("FIFOQueue")
                                   .Attr("component_types", std::vector<DType>{DType::kString})
                                   .Attr("shared_name", "q"));
    EXPECT_EQ(Run(Named("QueueEnqueueMany"), {queue, Tensor::Vector<std::string>(works)}).status(),
              absl::OkStatus());
    EXPECT_EQ(Run(Named("QueueClose"), {queue}).status(), absl::OkStatus());
    return queue;
  }
  static std::string Written(const std::string& name, const std::string& contents) {
    const std::string path = ::testing::TempDir() + "/" + name;
    EXPECT_EQ(WriteWholeFile(*FileSystem::Local(), path, contents), absl::OkStatus());
    return path;
  }
};

TEST_P(Readers, GiveTheLinesOfOneFileAfterTheOther) {
  const std::string a = Written("a", "1\n2\n"), b = Written("b", "3");
  const OpInput queue = QueueOf({a, b});
  const OpInput reader = Made(Named("TextLineReader").Attr("shared_name", "r"));
  const auto first = Run(Named("ReaderRead"), {reader, queue});
  ASSERT_EQ(first.status(), absl::OkStatus());
  ExpectSame((*first)[0], Tensor::Scalar<std::string>(a + ":1"));
  ExpectSame((*first)[1], Tensor::Scalar("1"));
  const auto second = Run(Named("ReaderReadUpTo"), {reader, queue, Tensor::Scalar<int64_t>(9)});
  ASSERT_EQ(second.status(), absl::OkStatus());
  ExpectSame((*second)[1], Tensor::Vector<std::string>({"2"}));
  EXPECT_EQ((*Run(Named("ReaderRead"), {reader, queue}))[1].scalar<std::string>(), "3");
  EXPECT_EQ(Run(Named("ReaderRead"), {reader, queue}).status().code(),
            absl::StatusCode::kOutOfRange);
  ExpectSame(RunOne(Named("ReaderNumRecordsProduced"), {reader}), Tensor::Scalar<int64_t>(3));
  ExpectSame(RunOne(Named("ReaderNumWorkUnitsCompleted"), {reader}), Tensor::Scalar<int64_t>(2));
}

TEST_P(Readers, CanBeResetAndRestoredWhereTheirStateIsSimple) {
  const OpInput queue = QueueOf({"x", "y"});
  const OpInput reader = Made(Named("IdentityReader").Attr("shared_name", "r"));
  EXPECT_EQ((*Run(Named("ReaderRead"), {reader, queue}))[0].scalar<std::string>(), "x");
  const Tensor state = RunOne(Named("ReaderSerializeState"), {reader});
  EXPECT_EQ(Run(Named("ReaderReset"), {reader}).status(), absl::OkStatus());
  ExpectSame(RunOne(Named("ReaderNumRecordsProduced"), {reader}), Tensor::Scalar<int64_t>(0));
  EXPECT_EQ(Run(Named("ReaderRestoreState"), {reader, state}).status(), absl::OkStatus());
  ExpectSame(RunOne(Named("ReaderNumRecordsProduced"), {reader}), Tensor::Scalar<int64_t>(1));
  EXPECT_EQ(Run(Named("ReaderRestoreState"), {reader, Tensor::Scalar("\xff")}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_P(Readers, EndWithTheirStep) {
  const OpInput queue = Made(Named("FIFOQueue")
                                 .Attr("component_types", std::vector<DType>{DType::kString})
                                 .Attr("shared_name", "q"));
  const OpInput reader = Made(Named("WholeFileReader").Attr("shared_name", "r"));
  cancellation().StartCancel();
  EXPECT_EQ(Run(Named("ReaderRead"), {reader, queue}).status().code(),
            absl::StatusCode::kCancelled);
}

TEST_P(Readers, RefuseANegativeNumberOfRecords) {
  const OpInput queue = QueueOf({"x"});
  const OpInput reader = Made(Named("IdentityReader").Attr("shared_name", "r"));
  EXPECT_THAT(std::string(Run(Named("ReaderReadUpTo"), {reader, queue, Tensor::Scalar<int64_t>(-1)})
                              .status()
                              .message()),
              HasSubstr("num_records must be >= 0"));
}

INSTANTIATE_TEST_SUITE_P(Versions, Readers, ::testing::Values("", "V2"),
                         [](const auto& info) { return info.param[0] == 0 ? "First" : "Second"; });

}  // namespace
}  // namespace tensorfleet::portable
