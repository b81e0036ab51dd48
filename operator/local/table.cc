#include "operator/local/table.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace tensorfleet::local {
namespace {

constexpr const char* kHeights[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr size_t kCurveWidth = 40;
constexpr size_t kSummaryRows = 6;

std::string TypeOf(const std::string& replica) { return replica.substr(0, replica.rfind('-')); }

std::string Number(const std::optional<double>& value) {
  return value ? absl::StrFormat("%.4g", *value) : "";
}

std::string RowText(const ReplicaRow& row, size_t name_width) {
  std::string text = absl::StrFormat("  %-*s  %-10s %9s %9s %9s", static_cast<int>(name_width),
                                     row.name, row.state, row.step ? absl::StrCat(*row.step) : "",
                                     Number(row.steps_per_second), Number(row.loss));
  if (row.restarts > 0) absl::StrAppend(&text, "  restarts ", row.restarts);
  if (row.exit_code && *row.exit_code != 0) absl::StrAppend(&text, "  exit code ", *row.exit_code);
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

// One row a type, such as "worker  12 Running, 4 Pending", with the furthest step.
std::vector<std::string> TypeRows(const JobView& job) {
  std::vector<std::string> types;
  std::map<std::string, std::map<std::string, int>> states;
  std::map<std::string, int64_t> steps;
  for (const ReplicaRow& row : job.replicas) {
    const std::string type = TypeOf(row.name);
    if (states.find(type) == states.end()) types.push_back(type);
    ++states[type][row.state];
    if (row.step) steps[type] = std::max(steps[type], *row.step);
  }
  std::vector<std::string> lines;
  for (const std::string& type : types) {
    const std::string counts =
        absl::StrJoin(states[type], ", ", [](std::string* out, const auto& entry) {
          absl::StrAppend(out, entry.second, " ", entry.first);
        });
    std::string line = absl::StrFormat("  %-10s  %s", type, counts);
    if (steps.count(type) > 0) absl::StrAppend(&line, "  step ", steps[type]);
    lines.push_back(std::move(line));
  }
  return lines;
}

size_t NameWidth(const JobView& job) {
  size_t width = 7;
  for (const ReplicaRow& row : job.replicas) width = std::max(width, row.name.size());
  return width;
}

std::string Heading(const JobView& job) {
  return absl::StrFormat("  %-*s  %-10s %9s %9s %9s", static_cast<int>(NameWidth(job)), "replica",
                         "state", "step", "steps/s", "loss");
}

std::vector<std::string> Rows(const JobView& job, size_t max_rows) {
  if (job.replicas.size() > max_rows) return TypeRows(job);
  std::vector<std::string> lines;
  for (const ReplicaRow& row : job.replicas) lines.push_back(RowText(row, NameWidth(job)));
  return lines;
}

std::string AccuracyText(const JobView& job) {
  const double best = *std::max_element(job.accuracy.begin(), job.accuracy.end());
  std::string text = absl::StrFormat("  accuracy  %.4g", job.accuracy.back());
  if (best > job.accuracy.back()) absl::StrAppendFormat(&text, " (best %.4g)", best);
  const std::string curve = Curve(job.accuracy, kCurveWidth);
  if (!curve.empty()) absl::StrAppend(&text, "  ", curve);
  return text;
}

}  // namespace

std::string Curve(const std::vector<double>& values, size_t width) {
  if (values.size() < 2 || width == 0) return "";
  std::vector<double> points;
  const size_t count = std::min(width, values.size());
  for (size_t i = 0; i < count; ++i) {
    const size_t begin = i * values.size() / count, end = (i + 1) * values.size() / count;
    double sum = 0;
    for (size_t at = begin; at < end; ++at) sum += values[at];
    points.push_back(sum / static_cast<double>(end - begin));
  }
  const auto [low, high] = std::minmax_element(points.begin(), points.end());
  const double range = *high - *low;
  std::string text;
  for (const double point : points) {
    const double height = range > 0 ? (point - *low) / range * 7 : 0;
    text += kHeights[std::isfinite(height) ? std::clamp(static_cast<int>(height + 0.5), 0, 7) : 0];
  }
  return text;
}

std::vector<std::string> TableOf(const JobView& job, size_t max_rows) {
  std::vector<std::string> lines = {absl::StrCat(job.name, "  ", job.state, "  ", job.elapsed)};
  if (job.restarts > 0) absl::StrAppend(&lines.back(), "  restarts ", job.restarts);
  if (job.replicas.size() <= max_rows && !job.replicas.empty()) {
    size_t width = 7;
    for (const ReplicaRow& row : job.replicas) width = std::max(width, row.name.size());
    lines.push_back(absl::StrFormat("  %-*s  %-10s %9s %9s %9s", static_cast<int>(width), "replica",
                                    "state", "step", "steps/s", "loss"));
  }
  for (std::string& row : Rows(job, max_rows)) lines.push_back(std::move(row));
  if (!job.accuracy.empty()) lines.push_back(AccuracyText(job));
  return lines;
}

std::vector<std::string> SummaryOf(const JobView& job, const std::string& log_folder) {
  std::vector<std::string> lines = {
      absl::StrCat(job.name, ": ", job.state, " after ", job.elapsed)};
  if (job.restarts > 0) {
    absl::StrAppend(&lines.back(), ", ", job.restarts,
                    job.restarts == 1 ? " restart" : " restarts");
  }
  // Ten lines have room for one of the two.
  if (!job.reason.empty()) {
    lines.push_back(absl::StrCat("  ", job.reason));
  } else if (job.replicas.size() <= kSummaryRows && !job.replicas.empty()) {
    lines.push_back(Heading(job));
  }
  for (std::string& row : Rows(job, kSummaryRows)) lines.push_back(std::move(row));
  if (!job.accuracy.empty()) lines.push_back(AccuracyText(job));
  // What has failed is where to look; else whoever leads.
  const ReplicaRow* look = job.replicas.empty() ? nullptr : &job.replicas.front();
  for (const ReplicaRow& row : job.replicas) {
    if (row.exit_code.value_or(0) == 0) continue;
    look = &row;
    break;
  }
  if (look != nullptr) {
    lines.push_back(absl::StrCat("  logs      ", log_folder, "/", look->name, ".log, and ",
                                 job.replicas.size() - 1, " more"));
  }
  return lines;
}

absl::string_view FirstCharacters(absl::string_view text, size_t width) {
  size_t characters = 0, at = 0;
  while (at < text.size() && characters < width) {
    ++at;
    while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) ++at;
    ++characters;
  }
  return text.substr(0, at);
}

}  // namespace tensorfleet::local
