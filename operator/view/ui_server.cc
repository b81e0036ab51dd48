#include "operator/view/ui_server.h"

#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "operator/view/page.h"
#include "operator/view/readings.h"
#include "operator/view/top_table.h"

namespace tensorfleet::view {
namespace {

constexpr int kJobsAPage = 200;
constexpr int kMostConnections = 32;

// Percent-encoding undone; what is no such encoding stays.
std::string Decoded(absl::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    uint32_t byte = 0;
    if (text[i] == '%' && i + 2 < text.size() &&
        absl::SimpleHexAtoi(text.substr(i + 1, 2), &byte)) {
      out += static_cast<char>(byte);
      i += 2;
    } else {
      out += text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

// The value of `name` in "a=1&b=2".
std::string FromQuery(absl::string_view query, absl::string_view name) {
  for (absl::string_view part : absl::StrSplit(query, '&')) {
    if (absl::ConsumePrefix(&part, name) && absl::ConsumePrefix(&part, "=")) return Decoded(part);
  }
  return "";
}

int HttpCode(const Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kNotFound:
      return 404;
    case absl::StatusCode::kInvalidArgument:
      return 400;
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kPermissionDenied:
      return 403;
    default:
      return 502;
  }
}

struct Answer {
  int code = 200;
  std::string body;
  const char* type = "text/html; charset=utf-8";
};

Answer Failed(const Status& status) {
  return {HttpCode(status), ErrorPage("This cannot be shown", std::string(status.message()))};
}

// The pod that tells how training goes: the chief, else the first worker.
const Task* Teller(const JobFacts& job) {
  for (const char* name : {"chief", "master", "worker"}) {
    for (const Task& task : job.tasks) {
      if (task.job == name) return &task;
    }
  }
  return nullptr;
}

Answer AnswerTo(const std::string& target, const std::string& own_ns, JobReader* reader) {
  const size_t mark = target.find('?');
  const std::string path = target.substr(0, mark);
  const std::string query = mark == std::string::npos ? "" : target.substr(mark + 1);
  if (path == "/healthz") return {200, "ok\n", "text/plain"};
  if (path == "/") {
    std::string ns = FromQuery(query, "namespace");
    if (ns.empty()) ns = own_ns;
    const StatusOr<JobPage> jobs = reader->List(ns, kJobsAPage, FromQuery(query, "from"));
    if (!jobs.ok()) return Failed(jobs.status());
    return {200, JobsPage(*jobs, ns, Now())};
  }
  const std::vector<std::string> parts = absl::StrSplit(path, '/');
  if (parts.size() == 4 && parts[1] == "jobs") {
    const StatusOr<JobFacts> job = reader->Read(Decoded(parts[2]), Decoded(parts[3]));
    if (!job.ok()) return Failed(job.status());
    Readings readings;
    const Task* const teller = Teller(*job);
    if (teller != nullptr) {
      const StatusOr<std::string> log = reader->Log(job->row.ns, teller->pod);
      if (log.ok()) readings = ReadLog(*log);
    }
    return {200, OneJobPage(*job, readings, teller == nullptr ? "" : teller->pod, Now())};
  }
  if (parts.size() == 4 && parts[1] == "logs") {
    StatusOr<std::string> log = reader->Log(Decoded(parts[2]), Decoded(parts[3]));
    if (!log.ok()) return Failed(log.status());
    return {200, *std::move(log), "text/plain; charset=utf-8"};
  }
  return {404, ErrorPage("There is no such page", path)};
}

// Another site's page may have its name point here: only who means this machine is answered.
bool IsOwnName(absl::string_view host) {
  const size_t colon = host.rfind(':');
  if (colon != absl::string_view::npos && !absl::EndsWith(host, "]")) host = host.substr(0, colon);
  return host == "localhost" || host == "127.0.0.1" || host == "[::1]";
}

}  // namespace

StatusOr<std::unique_ptr<UiServer>> UiServer::Start(const UiOptions& options, JobReader* reader) {
  std::unique_ptr<UiServer> ui(new UiServer(options, reader));
  http::Server::Options server;
  server.address = options.address;
  server.port = options.port;
  server.max_body_bytes = 0;
  server.max_connections = kMostConnections;
  TFLEET_ASSIGN_OR_RETURN(
      ui->server_,
      http::Server::Start(std::move(server), [raw = ui.get()](const http::ServerRequest& request,
                                                              http::ResponseWriter& to) {
        raw->Handle(request, to);
      }));
  return ui;
}

void UiServer::Handle(const http::ServerRequest& request, http::ResponseWriter& to) {
  const http::Headers headers = {
      {"Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'"},
      {"X-Content-Type-Options", "nosniff"},
      {"Referrer-Policy", "no-referrer"},
      {"Cache-Control", "no-store"},
      {"X-Frame-Options", "DENY"}};
  Answer answer;
  const bool is_loopback = options_.address == "127.0.0.1" || options_.address == "::1";
  if (request.head.method != "GET") {
    answer = {405, ErrorPage("This server only shows", "Ask with GET.")};
  } else if (is_loopback && !IsOwnName(http::FindHeader(request.head.headers, "host"))) {
    answer = {403, ErrorPage("Not by this name", "Ask for localhost.")};
  } else {
    answer = AnswerTo(request.head.target, options_.ns, reader_);
  }
  // A peer that went away needs no answer.
  to.Send(answer.code, answer.type, answer.body, headers).IgnoreError();
}

}  // namespace tensorfleet::view
