#include "runtime/device/device_name.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "runtime/base/check.h"

namespace tensorfleet {
namespace {

using absl::string_view;

bool IsJobName(string_view job) {
  if (job.empty() || !absl::ascii_isalpha(job[0])) return false;
  for (const char c : job) {
    if (!absl::ascii_isalnum(c) && c != '_' && c != '-') return false;
  }
  return true;
}

bool IsTypeName(string_view type) {
  if (type.empty() || !absl::ascii_isalpha(type[0])) return false;
  for (const char c : type) {
    if (!absl::ascii_isalnum(c) && c != '_') return false;
  }
  return true;
}

std::string CanonicalType(string_view type) {
  const std::string upper = absl::AsciiStrToUpper(type);
  return upper == "CPU" || upper == "GPU" || upper == "TPU" ? upper : std::string(type);
}

// A decimal number or "*", which leaves the part open.
bool ParseIndex(string_view text, std::optional<int>* out) {
  if (text == "*") return true;
  int value = 0;
  if (text.empty() || text.find_first_not_of("0123456789") != string_view::npos ||
      !absl::SimpleAtoi(text, &value)) {
    return false;
  }
  *out = value;
  return true;
}

// "CPU:0", "CPU:*", "CPU".
bool ParseTypeAndId(string_view text, DeviceName* name) {
  const size_t colon = text.find(':');
  const string_view type = text.substr(0, colon);
  if (type != "*") {
    if (!IsTypeName(type)) return false;
    name->type = CanonicalType(type);
  }
  return colon == string_view::npos || ParseIndex(text.substr(colon + 1), &name->id);
}

bool ParsePart(string_view part, DeviceName* name) {
  if (absl::ConsumePrefix(&part, "job:")) {
    if (part == "*") return true;
    name->job = std::string(part);
    return IsJobName(part);
  }
  if (absl::ConsumePrefix(&part, "replica:")) return ParseIndex(part, &name->replica);
  if (absl::ConsumePrefix(&part, "task:")) return ParseIndex(part, &name->task);
  if (absl::ConsumePrefix(&part, "device:")) return ParseTypeAndId(part, name);
  // The old spelling names the type itself.
  const std::string lower = absl::AsciiStrToLower(part);
  if (absl::StartsWith(lower, "cpu:") || absl::StartsWith(lower, "gpu:")) {
    return ParseTypeAndId(part, name);
  }
  return false;
}

template <typename T>
Status MergePart(const char* what, std::optional<T>& into, const std::optional<T>& from) {
  if (!from) return OkStatus();
  if (into && *into != *from) {
    return InvalidArgument("Cannot merge devices with incompatible ", what, ": '", *into, "' and '",
                           *from, "'");
  }
  into = from;
  return OkStatus();
}

}  // namespace

StatusOr<DeviceName> DeviceName::Parse(string_view text) {
  DeviceName name;
  if (text.empty()) return name;
  if (text[0] != '/')
    return InvalidArgument("'", text, "' is not a device name: it does not begin with '/'");
  for (const string_view part : absl::StrSplit(text.substr(1), '/')) {
    if (!ParsePart(part, &name)) {
      return InvalidArgument("'", text, "' is not a device name: '/", part, "' cannot be read");
    }
  }
  return name;
}

DeviceName DeviceName::Task(string_view job, int task) {
  DeviceName name;
  name.job = std::string(job);
  name.replica = 0;
  name.task = task;
  return name;
}

std::string DeviceName::ToString() const {
  std::string out;
  if (job) absl::StrAppend(&out, "/job:", *job);
  if (replica) absl::StrAppend(&out, "/replica:", *replica);
  if (task) absl::StrAppend(&out, "/task:", *task);
  if (type || id) {
    absl::StrAppend(&out, "/device:", type.value_or("*"));
    absl::StrAppend(&out, ":", id ? absl::StrCat(*id) : "*");
  }
  return out;
}

std::string DeviceName::TaskString() const {
  TFLEET_CHECK(job && task);
  return absl::StrCat("/job:", *job, "/replica:", replica.value_or(0), "/task:", *task);
}

bool DeviceName::IsCompatibleWith(const DeviceName& other) const {
  const auto fits = [](const auto& a, const auto& b) { return !a || !b || *a == *b; };
  return fits(job, other.job) && fits(replica, other.replica) && fits(task, other.task) &&
         fits(type, other.type) && fits(id, other.id);
}

bool DeviceName::Matches(const DeviceName& full) const {
  const auto fits = [](const auto& wanted, const auto& have) { return !wanted || wanted == have; };
  return fits(job, full.job) && fits(replica, full.replica) && fits(task, full.task) &&
         fits(type, full.type) && fits(id, full.id);
}

Status DeviceName::MergeFrom(const DeviceName& other) {
  DeviceName merged = *this;
  TFLEET_RETURN_IF_ERROR(MergePart("jobs", merged.job, other.job));
  TFLEET_RETURN_IF_ERROR(MergePart("replicas", merged.replica, other.replica));
  TFLEET_RETURN_IF_ERROR(MergePart("tasks", merged.task, other.task));
  TFLEET_RETURN_IF_ERROR(MergePart("types", merged.type, other.type));
  TFLEET_RETURN_IF_ERROR(MergePart("ids", merged.id, other.id));
  *this = std::move(merged);
  return OkStatus();
}

void DeviceName::OverrideWith(const DeviceName& over) {
  if (over.job) job = over.job;
  if (over.replica) replica = over.replica;
  if (over.task) task = over.task;
  if (over.type) type = over.type;
  if (over.id) id = over.id;
}

}  // namespace tensorfleet
