// Requests recorded from TensorFlow 2.15.1's Python client, testdata/*_request.pb: the bytes of
//
//   with tf.device("/job:ps/task:0"): v = v1.Variable([[1., 2.]], name="v")
//   x = placeholder(float32, [None, 1], "x"); y = matmul(x, v, name="y")
//   constant(["a", "bc"], name="s"); constant([1.5, 2.5], float16, name="h")
//   Session("grpc://localhost:38899", config).run([y, v.op], {x: [[3.], [4.]]}, RunOptions(...))

#include <google/protobuf/unknown_field_set.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "proto/master.pb.h"

namespace tensorfleet {
namespace {

namespace pb = google::protobuf;
using pb::util::MessageDifferencer;

std::string ReadRecorded(const std::string& name) {
  std::ifstream in(FLEET_SOURCE_DIR "/proto/testdata/" + name, std::ios::binary);
  EXPECT_TRUE(in.is_open()) << name;
  return std::string(std::istreambuf_iterator<char>(in), {});
}

// Fails for every field that a message, or one inside it, carries without a place in our schema.
void ExpectNoUnknownFields(const pb::Message& message) {
  const pb::Reflection& reflection = *message.GetReflection();
  EXPECT_TRUE(reflection.GetUnknownFields(message).empty()) << message.GetTypeName();
  std::vector<const pb::FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const pb::FieldDescriptor* field : fields) {
    if (field->message_type() == nullptr) continue;
    if (!field->is_repeated()) {
      ExpectNoUnknownFields(reflection.GetMessage(message, field));
      continue;
    }
    for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
      ExpectNoUnknownFields(reflection.GetRepeatedMessage(message, field, i));
    }
  }
}

template <typename Message>
Message Parse(const std::string& bytes) {
  Message message;
  EXPECT_TRUE(message.ParseFromString(bytes)) << message.GetTypeName();
  return message;
}

// Byte for byte the same but for the order of map entries, which is nobody's promise.
template <typename Message>
void ExpectReserialisesEqually(const Message& message, const std::string& bytes) {
  const std::string again = message.SerializeAsString();
  EXPECT_EQ(again.size(), bytes.size());
  EXPECT_TRUE(MessageDifferencer::Equals(Parse<Message>(again), message));
}

TEST(ClientBytes, CreateSessionIsUnderstoodCompletely) {
  const std::string bytes = ReadRecorded("create_session_request.pb");
  const auto request = Parse<tensorflow::CreateSessionRequest>(bytes);
  ExpectNoUnknownFields(request);
  ExpectReserialisesEqually(request, bytes);
}

TEST(ClientBytes, CreateSessionSaysWhatTheClientMeant) {
  const auto request =
      Parse<tensorflow::CreateSessionRequest>(ReadRecorded("create_session_request.pb"));
  EXPECT_EQ(request.target(), "grpc://localhost:38899");
  EXPECT_EQ(request.graph_def().versions().producer(), 1645);
  const tensorflow::ConfigProto& config = request.config();
  EXPECT_EQ(config.device_count().at("CPU"), 2);
  EXPECT_EQ(config.device_filters(1), "/job:worker/task:0");
  EXPECT_EQ(config.inter_op_parallelism_threads(), -1);
  EXPECT_EQ(config.operation_timeout_in_ms(), 5000);
  EXPECT_EQ(config.cluster_def().job(0).tasks().at(3), "worker-3:2222");
  EXPECT_EQ(config.graph_options().optimizer_options().opt_level(),
            tensorflow::OptimizerOptions::L0);
  EXPECT_EQ(config.graph_options().rewrite_options().constant_folding(),
            tensorflow::RewriterConfig::OFF);
  EXPECT_TRUE(config.experimental().disable_optimize_for_static_graph());

  const tensorflow::NodeDef* product = nullptr;
  for (const tensorflow::NodeDef& node : request.graph_def().node()) {
    if (node.name() == "v") EXPECT_EQ(node.device(), "/job:ps/task:0");
    if (node.name() == "y") product = &node;
  }
  ASSERT_NE(product, nullptr);
  EXPECT_EQ(product->op(), "MatMul");
  EXPECT_EQ(product->input(1), "v/read");
  EXPECT_EQ(product->attr().at("T").type(), tensorflow::DT_FLOAT);
}

TEST(ClientBytes, RunStepSaysWhatTheClientMeant) {
  const std::string bytes = ReadRecorded("run_step_request.pb");
  const auto request = Parse<tensorflow::RunStepRequest>(bytes);
  ExpectNoUnknownFields(request);
  ExpectReserialisesEqually(request, bytes);
  EXPECT_EQ(request.session_handle(), "0123456789abcdef");
  ASSERT_EQ(request.feed_size(), 1);
  EXPECT_EQ(request.feed(0).name(), "x:0");
  EXPECT_EQ(request.feed(0).tensor().tensor_shape().dim(0).size(), 2);
  EXPECT_EQ(request.feed(0).tensor().tensor_content(), std::string("\0\0@@\0\0\x80@", 8));
  EXPECT_EQ(request.fetch(0), "y:0");
  EXPECT_EQ(request.target(0), "v");
  EXPECT_EQ(request.options().trace_level(), tensorflow::RunOptions::FULL_TRACE);
  EXPECT_EQ(request.options().timeout_in_ms(), 4000);
  EXPECT_TRUE(request.store_errors_in_response_body());
  EXPECT_EQ(request.request_id(), -8118319239308296615);
}

TEST(Schemas, AGraphSurvivesTheWire) {
  tensorflow::GraphDef graph;
  graph.mutable_versions()->set_producer(1645);
  tensorflow::NodeDef& node = *graph.add_node();
  node.set_name("c");
  node.set_op("Const");
  tensorflow::TensorProto& value = *(*node.mutable_attr())["value"].mutable_tensor();
  value.set_dtype(tensorflow::DT_INT64);
  value.add_int64_val(-1);
  (*node.mutable_attr())["empty"].mutable_list();
  const auto back = Parse<tensorflow::GraphDef>(graph.SerializeAsString());
  EXPECT_TRUE(MessageDifferencer::Equals(back, graph));
  EXPECT_EQ(back.node(0).attr().at("value").tensor().int64_val(0), -1);
  EXPECT_TRUE(back.node(0).attr().at("empty").has_list());
}

// A newer peer's fields must neither be an error nor get lost on the way through.
TEST(Schemas, UnknownFieldsAreKept) {
  tensorflow::NodeDef node;
  node.set_name("c");
  const std::string newer = node.SerializeAsString() + std::string("\xc2\x3e\x03xyz", 6);  // 1000
  const auto message = Parse<tensorflow::NodeDef>(newer);
  EXPECT_EQ(message.name(), "c");
  EXPECT_EQ(message.GetReflection()->GetUnknownFields(message).field(0).number(), 1000);
  EXPECT_EQ(message.SerializeAsString(), newer);
}

TEST(Schemas, UnknownEnumValuesAreKept) {
  const std::string newer("\x08\xe7\x07", 3);  // dtype: 999
  const auto tensor = Parse<tensorflow::TensorProto>(newer);
  EXPECT_EQ(static_cast<int>(tensor.dtype()), 999);
  EXPECT_FALSE(tensorflow::DataType_IsValid(tensor.dtype()));
  EXPECT_EQ(tensor.SerializeAsString(), newer);
}

TEST(Schemas, PackedAndUnpackedListsAreTheSame) {
  const std::string packed("\x3a\x02\x05\x06", 4);  // int_val: [5, 6]
  const std::string unpacked("\x38\x05\x38\x06", 4);
  const auto tensor = Parse<tensorflow::TensorProto>(unpacked);
  EXPECT_TRUE(MessageDifferencer::Equals(tensor, Parse<tensorflow::TensorProto>(packed)));
  EXPECT_EQ(tensor.SerializeAsString(), packed);
}

}  // namespace
}  // namespace tensorfleet
