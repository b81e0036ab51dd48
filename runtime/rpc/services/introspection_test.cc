// What health checks and reflection answer, read with protobuf's own parsers.
#include "runtime/rpc/services/introspection.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/impl/grpc_library.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace tensorfleet::rpc {
namespace {

using ::google::protobuf::internal::WireFormatLite;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;

const grpc::internal::GrpcLibraryInitializer kGrpc;

// The fields of a message by number; numbers as decimal text.
std::multimap<int, std::string> FieldsOf(const std::string& bytes) {
  std::multimap<int, std::string> fields;
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const uint8_t*>(bytes.data()),
                                            static_cast<int>(bytes.size()));
  while (const uint32_t tag = in.ReadTag()) {
    const int field = WireFormatLite::GetTagFieldNumber(tag);
    std::string value;
    uint64_t number = 0;
    if (WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_VARINT) {
      EXPECT_TRUE(in.ReadVarint64(&number));
      value = std::to_string(number);
    } else {
      EXPECT_TRUE(WireFormatLite::ReadBytes(&in, &value));
    }
    fields.emplace(field, value);
  }
  return fields;
}
std::vector<std::string> All(const std::multimap<int, std::string>& fields, int number) {
  std::vector<std::string> values;
  for (auto [it, end] = fields.equal_range(number); it != end; ++it) values.push_back(it->second);
  return values;
}
// A message with one field of bytes; short ones only.
std::string Message(int field, const std::string& value) {
  return std::string(1, static_cast<char>(field << 3 | 2)) +
         std::string(1, static_cast<char>(value.size())) + value;
}

TEST(Health, TellsOfTheServerAndOfEachService) {
  Health health;
  for (const std::string service : {"", "tensorflow.MasterService", "tensorflow.WorkerService"}) {
    const std::string request = service.empty() ? "" : Message(1, service);
    EXPECT_THAT(All(FieldsOf(health.Check(request).value()), 1), ElementsAre("1")) << service;
  }
  health.set_serving(false);
  EXPECT_THAT(All(FieldsOf(health.Check("").value()), 1), ElementsAre("2"));
}

TEST(Health, DoesNotKnowOtherServices) {
  const Status status = Health().Check(Message(1, "other.Service")).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("other.Service"));
}

TEST(Health, RefusesWhatIsNoRequest) {
  EXPECT_EQ(Health().Check("\x0a\x7f").status().code(), absl::StatusCode::kInternal);
}

TEST(Reflection, ListsTheServices) {
  const auto response = FieldsOf(Reflect(Message(7, "*")));
  std::vector<std::string> names;
  for (const std::string& service : All(FieldsOf(All(response, 6).at(0)), 1)) {
    names.push_back(All(FieldsOf(service), 1).at(0));
  }
  EXPECT_THAT(names, IsSupersetOf({"tensorflow.MasterService", "tensorflow.WorkerService",
                                   "grpc.health.v1.Health"}));
}

// Without all of them a tool cannot use any.
TEST(Reflection, GivesAServicesFileWithAllThatItImports) {
  const std::string request = Message(4, "tensorflow.MasterService");
  const auto response = FieldsOf(Reflect(request));
  EXPECT_THAT(All(response, 2), ElementsAre(request));
  std::vector<std::string> names, imports;
  for (const std::string& bytes : All(FieldsOf(All(response, 4).at(0)), 1)) {
    google::protobuf::FileDescriptorProto file;
    ASSERT_TRUE(file.ParseFromString(bytes));
    names.push_back(file.name());
    imports.insert(imports.end(), file.dependency().begin(), file.dependency().end());
  }
  EXPECT_EQ(names.at(0), "proto/master_service.proto");
  for (const std::string& import : imports) EXPECT_THAT(names, ::testing::Contains(import));
  EXPECT_THAT(All(FieldsOf(Reflect(Message(3, "proto/graph.proto"))), 4), ::testing::SizeIs(1));
}

TEST(Reflection, SaysWhatItDoesNotKnow) {
  constexpr const char* kNotFound = "5";
  constexpr const char* kUnimplemented = "12";
  const auto code_of = [](const std::string& request) {
    return All(FieldsOf(All(FieldsOf(Reflect(request)), 7).at(0)), 1);
  };
  EXPECT_THAT(code_of(Message(4, "no.such.Symbol")), ElementsAre(kNotFound));
  EXPECT_THAT(code_of(Message(3, "no/such.proto")), ElementsAre(kNotFound));
  EXPECT_THAT(code_of(Message(5, "")), ElementsAre(kUnimplemented));
}

}  // namespace
}  // namespace tensorfleet::rpc
