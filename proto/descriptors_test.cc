// Compares every schema in this folder with the interface dump of TensorFlow 2.15.1's descriptors,
// testdata/tf-messages.txt (its first lines explain the format). Our descriptors are written in the
// same line format, so that a difference reads as the line that is wrong.
//
// Not compared: the dump's last two columns. The default column is always the proto3 zero value,
// and `deprecated` is advice to compilers: our code has to read such fields, so the schemas say it
// in a comment instead.

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace tensorfleet {
namespace {

namespace pb = google::protobuf;
using ::testing::IsEmpty;

// What a message, enum or service consists of: lines in the dump's format, by full name.
using Lines = std::map<std::string, std::set<std::string>>;

// What the dump has and we leave out, by proto file, message, enum or service, with the reason.
const std::map<std::string, std::string>& LeftOut() {
  static const auto& reasons = *new std::map<std::string, std::string>{
      {"google/protobuf/any.proto", "comes with protobuf"},
      {"google/protobuf/wrappers.proto", "comes with protobuf"},
      {"tensorflow/core/debug/debug_service.proto", "served by a debugger, not by a server"},
      {"tensorflow/core/framework/dataset.proto", "compressed data-set elements, made by no op"},
      {"tensorflow/core/framework/dataset_metadata.proto", "only names data sets in profiles"},
      {"tensorflow/core/framework/log_memory.proto", "text of TensorFlow's memory log"},
      {"tensorflow/core/profiler/tfprof_log.proto", "used by the debug service alone"},
      {"tensorflow/core/protobuf/device_properties.proto", "private to TensorFlow's optimiser"},
      {"tensorflow/core/protobuf/eager_service.proto", "only TF2 eager clients call it"},
      {"tensorflow/core/protobuf/remote_tensor_handle.proto", "used by the eager service alone"},
      {"tsl/protobuf/coordination_service.proto", "session clients never call it"},
      {"tsl/protobuf/status.proto", "used by TF2's coordination alone"},
      {"tensorflow.DebuggedSourceFile", "used by the debug service alone"},
      {"tensorflow.DebuggedSourceFiles", "used by the debug service alone"},
      {"tensorflow.RequestedExitCode", "heartbeat of TPU hosts"},
      {"tensorflow.WatchdogConfig", "heartbeat of TPU hosts"},
      {"tensorflow.WorkerHealth", "heartbeat of TPU hosts"},
      {"tensorflow.WorkerHeartbeatRequest", "heartbeat of TPU hosts"},
      {"tensorflow.WorkerHeartbeatResponse", "heartbeat of TPU hosts"},
      {"tensorflow.WorkerShutdownMode", "heartbeat of TPU hosts"},
      {"tensorflow.CoordinationService", "session clients never call it"},
      {"tensorflow.EventListener", "served by a debugger, not by a server"},
      {"tensorflow.eager.EagerService", "only TF2 eager clients call it"},
  };
  return reasons;
}

struct Dump {
  Lines lines;
  std::map<std::string, std::string> files;  // the .proto file that a name comes from
};

Dump ReadDump() {
  Dump dump;
  std::ifstream in(FLEET_SOURCE_DIR "/proto/testdata/tf-messages.txt");
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::vector<std::string> columns = absl::StrSplit(line, '|');
    const std::string& kind = columns.at(0);
    std::string name = columns.at(1);
    if (kind == "M" || kind == "E") {
      dump.files[name] = columns.at(2);
      columns = {kind, name};
    } else if (kind == "F") {
      columns.resize(8);
    } else if (kind == "S") {
      name = std::vector<std::string>(absl::StrSplit(name, '/')).at(1);
      columns.resize(5);
    } else if (kind == "R" && columns.at(3).empty()) {
      columns[3] = "-";
    }
    dump.lines[name].insert(absl::StrJoin(columns, "|"));
  }
  return dump;
}

std::string TypeName(const pb::FieldDescriptor& field) {
  if (field.is_map()) {
    return absl::StrCat("map<", TypeName(*field.message_type()->map_key()), ",",
                        TypeName(*field.message_type()->map_value()), ">");
  }
  if (field.message_type() != nullptr) return field.message_type()->full_name();
  if (field.enum_type() != nullptr) return field.enum_type()->full_name();
  return field.type_name();
}

std::string FieldLine(const pb::FieldDescriptor& field) {
  const char* label = field.is_map()        ? "map"
                      : field.is_repeated() ? "repeated"
                      : field.has_presence() && field.real_containing_oneof() == nullptr &&
                              field.message_type() == nullptr
                          ? "optional"
                          : "singular";
  const pb::OneofDescriptor* oneof = field.real_containing_oneof();
  const char* packed = !field.is_packable() ? "-" : field.is_packed() ? "yes" : "no";
  return absl::StrJoin({std::string("F"), field.containing_type()->full_name(), field.name(),
                        absl::StrCat(field.number()), TypeName(field), std::string(label),
                        oneof == nullptr ? std::string("-") : oneof->name(), std::string(packed)},
                       "|");
}

// `end_offset`: protobuf's ranges end before `end` in messages and at `end` in enums.
template <typename Descriptor>
void AddReserved(const Descriptor& descriptor, int end_offset, std::set<std::string>& lines) {
  std::set<int> numbers;
  for (int i = 0; i < descriptor.reserved_range_count(); ++i) {
    const auto& range = *descriptor.reserved_range(i);
    for (int n = range.start; n < range.end + end_offset; ++n) numbers.insert(n);
  }
  std::vector<std::string> names;
  for (int i = 0; i < descriptor.reserved_name_count(); ++i) {
    names.push_back(descriptor.reserved_name(i));
  }
  if (numbers.empty() && names.empty()) return;
  lines.insert(absl::StrCat("R|", descriptor.full_name(), "|",
                            numbers.empty() ? "-" : absl::StrJoin(numbers, ","), "|",
                            names.empty() ? "-" : absl::StrJoin(names, ",")));
}

void Describe(const pb::EnumDescriptor& type, Lines& out) {
  std::set<std::string>& lines = out[type.full_name()];
  lines.insert(absl::StrCat("E|", type.full_name()));
  for (int i = 0; i < type.value_count(); ++i) {
    const pb::EnumValueDescriptor& value = *type.value(i);
    lines.insert(absl::StrCat("V|", type.full_name(), "|", value.name(), "|", value.number()));
  }
  AddReserved(type, /*end_offset=*/1, lines);
}

void Describe(const pb::Descriptor& type, Lines& out) {
  if (type.options().map_entry()) return;
  std::set<std::string>& lines = out[type.full_name()];
  lines.insert(absl::StrCat("M|", type.full_name()));
  for (int i = 0; i < type.field_count(); ++i) lines.insert(FieldLine(*type.field(i)));
  AddReserved(type, /*end_offset=*/0, lines);
  for (int i = 0; i < type.enum_type_count(); ++i) Describe(*type.enum_type(i), out);
  for (int i = 0; i < type.nested_type_count(); ++i) Describe(*type.nested_type(i), out);
}

void Describe(const pb::ServiceDescriptor& service, Lines& out) {
  std::set<std::string>& lines = out[service.full_name()];
  for (int i = 0; i < service.method_count(); ++i) {
    const pb::MethodDescriptor& method = *service.method(i);
    const bool streams = method.client_streaming() || method.server_streaming();
    lines.insert(absl::StrCat(
        "S|/", service.full_name(), "/", method.name(), "|", method.input_type()->full_name(), "|",
        method.output_type()->full_name(), "|", streams ? "stream" : "unary"));
  }
}

// Every message, enum and service of the schemas in the build.
Lines ReadOurs() {
  std::ifstream in(FLEET_DESCRIPTOR_SET, std::ios::binary);
  pb::FileDescriptorSet files;
  EXPECT_TRUE(files.ParseFromIstream(&in)) << FLEET_DESCRIPTOR_SET;
  pb::DescriptorPool pool;
  Lines ours;
  for (const pb::FileDescriptorProto& proto : files.file()) {
    const pb::FileDescriptor* file = pool.BuildFile(proto);
    if (file == nullptr) {
      ADD_FAILURE() << proto.name() << " does not build";
      continue;
    }
    if (!absl::StartsWith(proto.name(), "proto/")) continue;  // comes with protobuf
    EXPECT_EQ(file->syntax(), pb::FileDescriptor::SYNTAX_PROTO3) << proto.name();
    for (int i = 0; i < file->enum_type_count(); ++i) Describe(*file->enum_type(i), ours);
    for (int i = 0; i < file->message_type_count(); ++i) Describe(*file->message_type(i), ours);
    for (int i = 0; i < file->service_count(); ++i) Describe(*file->service(i), ours);
  }
  return ours;
}

std::set<std::string> Minus(const std::set<std::string>& a, const std::set<std::string>& b) {
  std::set<std::string> rest;
  for (const std::string& line : a) {
    if (b.count(line) == 0) rest.insert(line);
  }
  return rest;
}

class Descriptors : public ::testing::Test {
 protected:
  const Dump dump_ = ReadDump();
  const Lines ours_ = ReadOurs();
};

TEST_F(Descriptors, SayWhatTensorFlowsSay) {
  ASSERT_GT(ours_.size(), 200u);
  for (const auto& [name, lines] : ours_) {
    const auto theirs = dump_.lines.find(name);
    ASSERT_NE(theirs, dump_.lines.end()) << name << " is not a TensorFlow name";
    EXPECT_THAT(Minus(lines, theirs->second), IsEmpty()) << "is only in our " << name;
    EXPECT_THAT(Minus(theirs->second, lines), IsEmpty()) << "is missing in our " << name;
  }
}

TEST_F(Descriptors, LeaveNothingOutWithoutAReason) {
  ASSERT_GT(dump_.lines.size(), 300u);
  std::set<std::string> used;
  for (const auto& [name, lines] : dump_.lines) {
    if (ours_.count(name) > 0) continue;
    const auto file = dump_.files.find(name);
    if (LeftOut().count(name) > 0) {
      used.insert(name);
    } else if (file != dump_.files.end() && LeftOut().count(file->second) > 0) {
      used.insert(file->second);
    } else {
      ADD_FAILURE() << name << " is in the dump, but neither in our schemas nor in LeftOut()";
    }
  }
  for (const auto& [name, reason] : LeftOut()) {
    EXPECT_EQ(used.count(name), 1u) << name << " is in LeftOut(), but nothing of it is left out";
  }
}

TEST_F(Descriptors, TakeNoMessageFromAFileThatIsLeftOut) {
  for (const auto& [name, lines] : ours_) {
    const auto file = dump_.files.find(name);
    if (file == dump_.files.end()) continue;
    EXPECT_EQ(LeftOut().count(file->second), 0u) << name << " of " << file->second;
  }
}

TEST(ProtoFolder, HasEverySchemaInTheBuild) {
  std::vector<std::string> present;
  for (const auto& entry : std::filesystem::directory_iterator(FLEET_SOURCE_DIR "/proto")) {
    const std::string name = entry.path().filename().string();
    if (absl::EndsWith(name, ".proto")) present.push_back(name);
  }
  const std::vector<std::string> built = absl::StrSplit(FLEET_PROTO_FILES, ',');
  EXPECT_THAT(present, ::testing::UnorderedElementsAreArray(built));
}

}  // namespace
}  // namespace tensorfleet
