#include "operator/view/top_table.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace tensorfleet::view {
namespace {

std::string Rate(const std::optional<double>& rate) {
  return rate ? absl::StrFormat("%.4g", *rate) : "";
}

std::string TaskLine(const Task& task, int name_width, int node_width) {
  const TaskNumbers none;
  const TaskNumbers& n = task.numbers ? *task.numbers : none;
  std::string line =
      absl::StrFormat("  %-*s  %-17s %-*s %9s %9s %10s %10s %7s %9s", name_width, Plain(task.name),
                      Plain(task.state), node_width, Plain(task.node),
                      task.numbers ? absl::StrFormat("%.0f", n.steps) : "",
                      Rate(n.steps_per_second), task.numbers ? Bytes(n.sent) : "",
                      n.sent_per_second ? absl::StrCat(Bytes(*n.sent_per_second), "/s") : "",
                      task.numbers ? absl::StrFormat("%.0f", n.waiting) : "",
                      task.numbers ? Bytes(n.resident) : "");
  if (task.restarts > 0) absl::StrAppend(&line, "  restarts ", task.restarts);
  if (!task.last_end.empty()) absl::StrAppend(&line, "  ", Plain(task.last_end));
  absl::StripTrailingAsciiWhitespace(&line);
  return line;
}

}  // namespace

std::string Bytes(double bytes) {
  static constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB", "PB"};
  size_t unit = 0;
  if (!std::isfinite(bytes) || bytes < 0) return "";
  while (bytes >= 999.5 && unit + 1 < std::size(kUnits)) {
    bytes /= 1000;
    ++unit;
  }
  return absl::StrFormat("%.*f %s", unit > 0 && bytes < 9.95 ? 1 : 0, bytes, kUnits[unit]);
}

std::string Between(const std::string& from, const std::string& to) {
  absl::Time begin, end;
  std::string error;
  if (!absl::ParseTime(absl::RFC3339_full, from, &begin, &error) ||
      !absl::ParseTime(absl::RFC3339_full, to, &end, &error)) {
    return "";
  }
  const int64_t seconds = std::max<int64_t>(0, absl::ToInt64Seconds(end - begin));
  if (seconds < 120) return absl::StrCat(seconds, " s");
  if (seconds < 2 * 3600) return absl::StrCat(seconds / 60, " min");
  if (seconds < 2 * 86400) return absl::StrCat(seconds / 3600, " h");
  return absl::StrCat(seconds / 86400, " d");
}

std::string Now() {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::Now(), absl::UTCTimeZone());
}

std::string Plain(const std::string& text) {
  std::string plain = text;
  for (char& c : plain) {
    if (absl::ascii_iscntrl(c)) c = '?';
  }
  return plain;
}

std::vector<std::string> TopTable(const JobFacts& job, const std::string& now, size_t most_tasks) {
  const std::string end = job.ended.empty() ? now : job.ended;
  std::vector<std::string> lines = {
      absl::StrCat(Plain(job.row.ns), "/", Plain(job.row.name), "  ", Plain(job.row.state), "  ",
                   Between(job.started.empty() ? job.row.created : job.started, end))};
  if (job.row.state != "Running" && !job.reason.empty()) {
    lines.push_back(absl::StrCat("  ", Plain(job.reason)));
  }
  if (!job.progress.empty()) lines.push_back(absl::StrCat("  ", Plain(job.progress)));
  int name_width = 4, node_width = 4;
  const size_t shown = std::min(most_tasks, job.tasks.size());
  for (size_t i = 0; i < shown; ++i) {
    name_width = std::max(name_width, static_cast<int>(job.tasks[i].name.size()));
    node_width = std::max(node_width, static_cast<int>(job.tasks[i].node.size()));
  }
  lines.push_back(absl::StrFormat("  %-*s  %-17s %-*s %9s %9s %10s %10s %7s %9s", name_width,
                                  "task", "state", node_width, "node", "steps", "steps/s", "sent",
                                  "sent/s", "waiting", "memory"));
  for (size_t i = 0; i < shown; ++i) {
    lines.push_back(TaskLine(job.tasks[i], name_width, node_width));
  }
  if (shown < job.tasks.size()) {
    lines.push_back(absl::StrCat("  and ", job.tasks.size() - shown, " more"));
  }
  return lines;
}

}  // namespace tensorfleet::view
