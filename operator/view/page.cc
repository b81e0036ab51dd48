#include "operator/view/page.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "operator/k8s/client.h"
#include "operator/view/top_table.h"

namespace tensorfleet::view {
namespace {

constexpr char kStyle[] =
    "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:72rem;padding:0 1rem;"
    "color:#1c2430;background:#fff}"
    "h1{font-size:1.4rem;margin:0 0 .3rem}h2{font-size:1.05rem;margin:1.6rem 0 .4rem}"
    "a{color:#0b5cad}table{border-collapse:collapse;width:100%}"
    "th,td{text-align:left;padding:.25rem .9rem .25rem 0;border-bottom:1px solid #e3e7ec;"
    "vertical-align:top}th{font-weight:600;color:#55606e}"
    "td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}"
    ".s{display:inline-block;padding:0 .5em;border-radius:.6em;background:#e3e7ec}"
    ".Running,.Succeeded{background:#d6f0dc}"
    ".Failed,.CrashLoopBackOff,.Error,.ImagePullBackOff,.ErrImagePull{background:#f8d7d7}"
    ".Pending,.Restarting,.ContainerCreating,.Terminating,.Suspended,.Created,.Submitted"
    "{background:#fbeecb}"
    ".q{color:#55606e}svg{background:#f6f8fa;border-radius:4px}"
    ".c{display:inline-block;margin-right:2rem}pre{background:#f6f8fa;padding:1rem;overflow:auto}"
    "@media(prefers-color-scheme:dark){body{background:#14181d;color:#d7dde5}a{color:#6db3f2}"
    "th,td{border-color:#2b323b}th,.q{color:#98a3b1}.s{background:#2b323b}"
    ".Running,.Succeeded{background:#1d4a2a}.Failed,.CrashLoopBackOff,.Error{background:#5c2323}"
    ".Pending,.Restarting,.Created,.Submitted{background:#55471c}svg,pre{background:#1b2129}}";

std::string Page(const std::string& title, int refresh_seconds, const std::string& body) {
  return absl::StrCat(
      "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width\">",
      refresh_seconds > 0
          ? absl::StrCat("<meta http-equiv=\"refresh\" content=\"", refresh_seconds, "\">")
          : "",
      "<title>", Escaped(title), "</title><style>", kStyle, "</style></head><body>", body,
      "</body></html>\n");
}

std::string State(const std::string& state) {
  return absl::StrCat("<span class=\"s ", Escaped(state), "\">", Escaped(state), "</span>");
}

std::string Cell(const std::string& text) { return absl::StrCat("<td>", Escaped(text), "</td>"); }
std::string NumberCell(const std::string& text) {
  return absl::StrCat("<td class=\"n\">", Escaped(text), "</td>");
}

std::string JobPath(const JobRow& job) {
  return absl::StrCat("/jobs/", k8s::QueryEscape(job.ns), "/", k8s::QueryEscape(job.name));
}

// A line through the values from the first to the last, between the lowest and the highest.
std::string CurveOf(const std::string& name, const std::vector<double>& values) {
  if (values.empty()) return "";
  constexpr double kWidth = 420, kHeight = 90, kEdge = 6;
  constexpr size_t kPoints = 420;
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const double range = *high - *low;
  std::string points;
  const size_t count = std::min(values.size(), kPoints);
  for (size_t i = 0; i < count; ++i) {
    const double value = values[count == 1 ? 0 : i * (values.size() - 1) / (count - 1)];
    const double x = count == 1 ? kWidth / 2 : kEdge + (kWidth - 2 * kEdge) * i / (count - 1);
    const double part = range > 0 ? (value - *low) / range : 0.5;
    absl::StrAppendFormat(&points, "%s%.1f,%.1f", i == 0 ? "" : " ", x,
                          kHeight - kEdge - (kHeight - 2 * kEdge) * part);
  }
  return absl::StrFormat(
      "<div class=\"c\"><div>%s <b>%.5g</b> <span class=\"q\">from %.5g to %.5g</span></div>"
      "<svg width=\"%.0f\" height=\"%.0f\" role=\"img\" aria-label=\"%s\"><polyline fill=\"none\" "
      "stroke=\"#0b5cad\" stroke-width=\"1.5\" points=\"%s\"/></svg></div>",
      name, values.back(), *low, *high, kWidth, kHeight, name, points);
}

std::string TaskRow(const std::string& ns, const Task& task, const std::string& now) {
  const TaskNumbers n = task.numbers.value_or(TaskNumbers());
  const bool known = task.numbers.has_value();
  std::string row = absl::StrCat(
      "<tr><td><a href=\"/logs/", k8s::QueryEscape(ns), "/", k8s::QueryEscape(task.pod), "\">",
      Escaped(task.name), "</a></td><td>", State(task.state), "</td>", Cell(task.node),
      NumberCell(Between(task.started, now)),
      NumberCell(known ? absl::StrFormat("%.0f", n.steps) : ""),
      NumberCell(n.steps_per_second ? absl::StrFormat("%.4g", *n.steps_per_second) : ""));
  absl::StrAppend(&row, NumberCell(known ? Bytes(n.sent) : ""),
                  NumberCell(known ? Bytes(n.received) : ""),
                  NumberCell(known ? absl::StrFormat("%.0f", n.waiting) : ""),
                  NumberCell(known ? Bytes(n.resident) : ""),
                  NumberCell(task.restarts > 0 ? absl::StrCat(task.restarts) : ""),
                  Cell(task.last_end), "</tr>");
  return row;
}

}  // namespace

std::string Escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string JobsPage(const JobPage& jobs, const std::string& ns, const std::string& now) {
  std::string body = absl::StrCat(
      "<h1>TFJobs</h1><p class=\"q\">",
      ns.empty() ? "of all namespaces" : absl::StrCat("of namespace ", Escaped(ns)), "</p>");
  if (jobs.jobs.empty()) absl::StrAppend(&body, "<p>There are none.</p>");
  absl::StrAppend(&body,
                  "<table><tr><th>job</th><th>namespace</th><th>state</th><th>replicas</th>"
                  "<th class=\"n\">age</th></tr>");
  for (const JobRow& job : jobs.jobs) {
    absl::StrAppend(&body, "<tr><td><a href=\"", JobPath(job), "\">", Escaped(job.name),
                    "</a></td>", Cell(job.ns), "<td>", State(job.state), "</td>",
                    Cell(job.replicas), NumberCell(Between(job.created, now)), "</tr>");
  }
  absl::StrAppend(&body, "</table>");
  if (!jobs.next.empty()) {
    absl::StrAppend(&body, "<p><a href=\"/?",
                    ns.empty() ? "" : absl::StrCat("namespace=", k8s::QueryEscape(ns), "&amp;"),
                    "from=", k8s::QueryEscape(jobs.next), "\">more</a></p>");
  }
  return Page("TFJobs", 10, body);
}

std::string OneJobPage(const JobFacts& job, const Readings& readings, const std::string& log_of,
                       const std::string& now) {
  const std::string end = job.ended.empty() ? now : job.ended;
  std::string body =
      absl::StrCat("<p><a href=\"/?namespace=", k8s::QueryEscape(job.row.ns), "\">",
                   Escaped(job.row.ns), "</a></p><h1>", Escaped(job.row.name), " ",
                   State(job.row.state), "</h1><p class=\"q\">", Escaped(job.row.replicas), " · ",
                   Between(job.started.empty() ? job.row.created : job.started, end), "</p>");
  if (!job.reason.empty()) absl::StrAppend(&body, "<p>", Escaped(job.reason), "</p>");
  if (!readings.loss.empty() || !readings.accuracy.empty() || !readings.step.empty()) {
    absl::StrAppend(&body, "<h2>Training</h2>");
    if (!readings.step.empty()) absl::StrAppend(&body, "<p>step ", Escaped(readings.step), "</p>");
    absl::StrAppend(&body, CurveOf("loss", readings.loss), CurveOf("accuracy", readings.accuracy),
                    "<p class=\"q\">as ", Escaped(log_of), " has said in its last ", kLogLines,
                    " lines</p>");
  }
  absl::StrAppend(&body,
                  "<h2>Tasks</h2><table><tr><th>task, log</th><th>state</th><th>node</th>"
                  "<th class=\"n\">for</th><th class=\"n\">steps</th><th class=\"n\">steps/s</th>"
                  "<th class=\"n\">sent</th><th class=\"n\">received</th>"
                  "<th class=\"n\">waited for</th><th class=\"n\">memory</th>"
                  "<th class=\"n\">restarts</th><th>last end</th></tr>");
  for (const Task& task : job.tasks) absl::StrAppend(&body, TaskRow(job.row.ns, task, end));
  absl::StrAppend(&body, "</table>");
  if (job.tasks.size() > kMostTasksAsked) {
    absl::StrAppend(&body, "<p class=\"q\">Of the first ", kMostTasksAsked,
                    " running tasks the numbers are shown.</p>");
  }
  absl::StrAppend(&body, "<h2>Timeline</h2><table>");
  for (const Moment& moment : job.moments) {
    absl::StrAppend(&body, "<tr>", Cell(moment.time), "<td><b>", Escaped(moment.what), "</b></td>",
                    Cell(moment.text), "</tr>");
  }
  absl::StrAppend(&body, "</table>");
  return Page(job.row.name, job.ended.empty() ? 5 : 0, body);
}

std::string ErrorPage(const std::string& title, const std::string& text) {
  return Page(title, 0,
              absl::StrCat("<h1>", Escaped(title), "</h1><p>", Escaped(text),
                           "</p><p><a href=\"/\">all jobs</a></p>"));
}

}  // namespace tensorfleet::view
