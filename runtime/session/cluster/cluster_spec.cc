#include "runtime/session/cluster/cluster_spec.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "runtime/base/small_file.h"
#include "runtime/device/device_name.h"
#include "runtime/session/cluster/cluster_json.h"

namespace tensorfleet {
namespace {

constexpr int kMaxTaskIndex = 1 << 24;

bool IsJobName(absl::string_view name) {
  if (name.empty() || !absl::ascii_isalpha(name[0])) return false;
  for (const char c : name) {
    if (!absl::ascii_isalnum(c) && c != '_' && c != '-') return false;
  }
  return true;
}

}  // namespace

Status CheckAddress(absl::string_view address) {
  const size_t colon = address.rfind(':');
  const auto bad = [&](absl::string_view why) {
    return InvalidArgument("'", address, "' is not an address of the form host:port: ", why);
  };
  if (absl::StrContains(address, "://")) return bad("leave out the scheme");
  if (colon == absl::string_view::npos) return bad("there is no port");
  const absl::string_view host = address.substr(0, colon);
  if (host.empty()) return bad("there is no host");
  if (absl::StrContains(host, ':') && !(host.front() == '[' && host.back() == ']')) {
    return bad("an IPv6 host must be in brackets");
  }
  for (const char c : host) {
    if (!absl::ascii_isgraph(c) || c == '/' || c == ',') {
      return bad("the host holds a character that no host name has");
    }
  }
  int port = 0;
  const absl::string_view digits = address.substr(colon + 1);
  if (digits.find_first_not_of("0123456789") != absl::string_view::npos ||
      !absl::SimpleAtoi(digits, &port) || port < 1 || port > 65535) {
    return bad("the port must be a number from 1 to 65535");
  }
  return OkStatus();
}

StatusOr<ClusterSpec> ClusterSpec::Make(std::vector<Job> jobs) {
  std::set<std::string> names;
  std::map<std::string, std::string> taken;
  for (const Job& job : jobs) {
    if (!IsJobName(job.name)) {
      return InvalidArgument("job name '", job.name,
                             "' must be a letter followed by letters, digits, '_' or '-'");
    }
    if (!names.insert(job.name).second) {
      return InvalidArgument("job '", job.name, "' is listed twice");
    }
    for (const auto& [index, address] : job.tasks) {
      if (index < 0 || index > kMaxTaskIndex) {
        return InvalidArgument("job '", job.name, "': task index ", index, " is out of range");
      }
      const std::string where = absl::StrCat("job '", job.name, "', task ", index, ": ");
      if (Status s = CheckAddress(address); !s.ok()) return Prefixed(where, s);
      const auto [it, is_new] =
          taken.emplace(address, DeviceName::Task(job.name, index).TaskString());
      if (!is_new) {
        return InvalidArgument(where, "address ", address, " is that of ", it->second, " already");
      }
    }
  }
  ClusterSpec spec;
  spec.jobs_ = std::move(jobs);
  return spec;
}

StatusOr<ClusterSpec> ClusterSpec::FromProto(const tensorflow::ClusterDef& def) {
  std::vector<Job> jobs;
  for (const tensorflow::JobDef& job_def : def.job()) {
    Job job{job_def.name(), {}};
    for (const auto& [index, address] : job_def.tasks()) job.tasks[index] = address;
    jobs.push_back(std::move(job));
  }
  return Make(std::move(jobs));
}

StatusOr<ClusterSpec> ClusterSpec::FromBinary(absl::string_view bytes) {
  tensorflow::ClusterDef def;
  if (!def.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return InvalidArgument("the bytes are not a ClusterDef message");
  }
  return FromProto(def);
}

StatusOr<ClusterSpec> ClusterSpec::FromText(absl::string_view text) {
  tensorflow::ClusterDef def;
  // Errors with line and column instead of lines on standard error.
  struct FirstError : google::protobuf::io::ErrorCollector {
    void AddError(int line, int column, const std::string& message) override {
      if (what.empty())
        what = absl::StrCat("line ", line + 1, ", column ", column + 1, ": ", message);
    }
    std::string what;
  } error;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  if (!parser.ParseFromString(std::string(text), &def)) {
    return InvalidArgument("the text is not a ClusterDef message: ", error.what);
  }
  return FromProto(def);
}

StatusOr<ClusterSpec> ClusterSpec::FromFlag(absl::string_view flag) {
  flag = absl::StripAsciiWhitespace(flag);
  if (absl::StartsWith(flag, "@")) {
    TFLEET_ASSIGN_OR_RETURN(std::string text, ReadSmallFile(std::string(flag.substr(1))));
    const bool is_json = absl::StartsWith(absl::StripLeadingAsciiWhitespace(text), "{");
    return is_json ? FromJson(text) : FromText(text);
  }
  if (absl::StartsWith(flag, "{")) return FromJson(flag);
  std::vector<Job> jobs;
  for (const absl::string_view part : absl::StrSplit(flag, ',')) {
    const std::vector<absl::string_view> halves = absl::StrSplit(part, '|');
    if (halves.size() != 2) {
      return InvalidArgument("'", part, "' is not of the form job|host:port;host:port");
    }
    Job job{std::string(halves[0]), {}};
    int index = 0;
    for (const absl::string_view address : absl::StrSplit(halves[1], ';')) {
      job.tasks[index++] = std::string(address);
    }
    jobs.push_back(std::move(job));
  }
  return Make(std::move(jobs));
}

void ClusterSpec::ToProto(tensorflow::ClusterDef* def) const {
  def->Clear();
  for (const Job& job : jobs_) {
    tensorflow::JobDef* out = def->add_job();
    out->set_name(job.name);
    for (const auto& [index, address] : job.tasks) (*out->mutable_tasks())[index] = address;
  }
}

std::string ClusterSpec::ToText() const {
  tensorflow::ClusterDef def;
  ToProto(&def);
  std::string text;
  google::protobuf::TextFormat::PrintToString(def, &text);
  return text;
}

const ClusterSpec::Job* ClusterSpec::FindJob(absl::string_view name) const {
  for (const Job& job : jobs_) {
    if (job.name == name) return &job;
  }
  return nullptr;
}

StatusOr<std::string> ClusterSpec::Address(absl::string_view job_name, int task) const {
  const Job* job = FindJob(job_name);
  if (job == nullptr) {
    const std::string known = absl::StrJoin(
        jobs_, ", ", [](std::string* out, const Job& j) { absl::StrAppend(out, j.name); });
    return NotFound("there is no job '", job_name, "' in the cluster; its jobs are: ", known);
  }
  const auto it = job->tasks.find(task);
  if (it == job->tasks.end()) {
    return NotFound("job '", job_name, "' has no task ", task, "; its tasks are ", Describe(*job));
  }
  return it->second;
}

std::vector<std::pair<std::string, std::string>> ClusterSpec::Tasks() const {
  std::vector<std::pair<std::string, std::string>> tasks;
  for (const Job& job : jobs_) {
    for (const auto& [index, address] : job.tasks) {
      tasks.emplace_back(DeviceName::Task(job.name, index).TaskString(), address);
    }
  }
  return tasks;
}

std::string ClusterSpec::Describe(const Job& job) {
  return absl::StrCat("{", absl::StrJoin(job.tasks, ", ", absl::PairFormatter(" -> ")), "}");
}

}  // namespace tensorfleet
