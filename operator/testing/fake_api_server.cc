#include "operator/testing/fake_api_server.h"

#include <thread>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "runtime/base/check.h"

namespace tensorfleet::testing {
namespace {

std::string Unescape(absl::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      out += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

Json StatusObject(const Refusal& refusal) {
  return {{"kind", "Status"},    {"apiVersion", "v1"},         {"metadata", Json::object()},
          {"status", "Failure"}, {"message", refusal.message}, {"reason", refusal.reason},
          {"code", refusal.code}};
}

}  // namespace

// A request's target, taken apart.
struct FakeApiServer::Target {
  Collection collection;
  std::string ns, name, subresource;
  std::map<std::string, std::string> query;
  bool valid = false;

  explicit Target(const std::string& text) {
    const size_t mark = text.find('?');
    if (mark != std::string::npos) {
      for (const std::string& pair : std::vector<std::string>(
               absl::StrSplit(text.substr(mark + 1), '&', absl::SkipEmpty()))) {
        const size_t equals = pair.find('=');
        query[pair.substr(0, equals)] =
            equals == std::string::npos ? "" : Unescape(absl::string_view(pair).substr(equals + 1));
      }
    }
    std::vector<std::string> parts = absl::StrSplit(text.substr(1, mark - 1), '/');
    size_t at = parts[0] == "api" ? 2 : 3;
    if (parts.size() <= at) return;
    collection.group_version = parts[0] + "/" + parts[1] + (at == 3 ? "/" + parts[2] : "");
    if (parts[at] == "namespaces" && parts.size() > at + 2) {
      ns = parts[at + 1];
      at += 2;
    }
    collection.plural = parts[at];
    if (parts.size() > at + 1) name = parts[at + 1];
    if (parts.size() > at + 2) subresource = parts[at + 2];
    valid = true;
  }
  std::string Query(const char* key) const {
    const auto it = query.find(key);
    return it == query.end() ? "" : it->second;
  }
};

FakeApiServer::FakeApiServer(Options options) : options_(options), store_(options.collect_garbage) {
  token_ = options.token;
  http::Server::Options serve;
  serve.port = options.port;
  if (options.tls != nullptr) serve.tls = [tls = options.tls] { return tls; };
  auto started = http::Server::Start(
      serve, [this](const auto& request, auto& writer) { Handle(request, writer); });
  TFLEET_CHECK(started.ok());
  server_ = std::move(*started);
}

FakeApiServer::~FakeApiServer() {
  stopping_ = true;
  store_.Wake();
  server_->Stop();
}

std::string FakeApiServer::url() const {
  return absl::StrCat(options_.tls != nullptr ? "https" : "http", "://127.0.0.1:", server_->port());
}

void FakeApiServer::Inject(Fault fault) {
  MutexLock lock(&mu_);
  faults_.push_back(std::move(fault));
}

void FakeApiServer::EndWatches() {
  MutexLock lock(&mu_);
  ++watch_epoch_;
  store_.Wake();
}

void FakeApiServer::SendToWatches(const std::string& plural, const std::string& line) {
  const auto is_watched = [&] {
    MutexLock lock(&mu_);
    return open_watches_[plural] > 0;
  };
  // Who has listed may not have begun to watch yet.
  const http::Deadline end = http::After(std::chrono::seconds(40));
  while (!is_watched() && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  MutexLock lock(&mu_);
  injected_.push_back({next_injected_++, plural, line});
  store_.Wake();
}

void FakeApiServer::SetWatchPieceSize(size_t bytes) {
  MutexLock lock(&mu_);
  piece_size_ = bytes;
}

void FakeApiServer::WarnOfCreations(const std::string& text) {
  MutexLock lock(&mu_);
  warning_ = text;
}

void FakeApiServer::SetToken(const std::string& token) {
  MutexLock lock(&mu_);
  token_ = token;
}

std::vector<FakeApiServer::RequestRecord> FakeApiServer::requests() const {
  MutexLock lock(&mu_);
  return requests_;
}

int FakeApiServer::CountRequests(absl::string_view method, absl::string_view part) const {
  MutexLock lock(&mu_);
  int count = 0;
  for (const RequestRecord& r : requests_)
    count += r.method == method && absl::StrContains(r.target, part);
  return count;
}

void FakeApiServer::ClearRequests() {
  MutexLock lock(&mu_);
  requests_.clear();
}

std::optional<Fault> FakeApiServer::NextFault(const http::ServerRequest& request) {
  MutexLock lock(&mu_);
  for (auto it = faults_.begin(); it != faults_.end(); ++it) {
    if ((!it->method.empty() && it->method != request.head.method) ||
        !absl::StrContains(request.head.target, it->path_contains)) {
      continue;
    }
    const Fault fault = *it;
    if (--it->times <= 0) faults_.erase(it);
    return fault;
  }
  return std::nullopt;
}

void FakeApiServer::Handle(const http::ServerRequest& request, http::ResponseWriter& writer) {
  const std::string authorization(http::FindHeader(request.head.headers, "authorization"));
  bool admitted;
  {
    MutexLock lock(&mu_);
    requests_.push_back({request.head.method, request.head.target, request.body,
                         std::string(http::FindHeader(request.head.headers, "content-type")),
                         authorization});
    admitted = token_.empty() || authorization == "Bearer " + token_;
  }
  const auto send = [&](int code, const Json& body, const http::Headers& extra = {}) {
    (void)writer.Send(code, "application/json", body.dump(), extra);
  };
  if (!admitted) return send(401, StatusObject({401, "Unauthorized", "Unauthorized"}));
  const std::optional<Fault> fault = NextFault(request);
  if (fault && fault->kind == Fault::Kind::kDelay) std::this_thread::sleep_for(fault->delay);
  if (fault && fault->kind == Fault::Kind::kHangUp) return;
  if (fault && fault->kind == Fault::Kind::kGarbage) {
    (void)writer.Send(200, "application/json", "}} this is not JSON {{");
    return;
  }
  if (fault && fault->kind == Fault::Kind::kStatus) {
    http::Headers extra;
    if (!fault->retry_after.empty()) extra.emplace_back("retry-after", fault->retry_after);
    return send(fault->code, StatusObject({fault->code, fault->reason, "injected"}), extra);
  }
  const Target target(request.head.target);
  if (!target.valid)
    return send(404, StatusObject({404, "NotFound", "the server could not find it"}));
  if (request.head.method == "GET" && target.Query("watch") == "true")
    return ServeWatch(target, writer);
  const auto [code, body] = Answer(request, target);
  if (fault && fault->kind == Fault::Kind::kLoseAnswer) return;
  if (fault && fault->kind == Fault::Kind::kHalfAnswer) {
    const std::string text = body.dump();
    (void)writer.WriteRaw(absl::StrCat("HTTP/1.1 200 OK\r\ncontent-length: ", text.size(),
                                       "\r\n\r\n", text.substr(0, text.size() / 2)));
    return;
  }
  http::Headers extra;
  if (MutexLock lock(&mu_); code == 201 && !warning_.empty()) {
    extra.emplace_back("warning", absl::StrCat("299 - \"", warning_, "\""));
  }
  send(code, body, extra);
}

std::pair<int, Json> FakeApiServer::Answer(const http::ServerRequest& request,
                                           const Target& target) {
  const auto reply = [](const ObjectStore::Result<Json>& result, int code) -> std::pair<int, Json> {
    if (result.value) return {code, *result.value};
    return {result.refusal.code, StatusObject(result.refusal)};
  };
  const std::string& method = request.head.method;
  Json body;
  if (!request.body.empty()) {
    body = Json::parse(request.body, nullptr, false);
    if (body.is_discarded())
      return {400, StatusObject({400, "BadRequest", "the body is not JSON"})};
  }
  if (method == "GET" && !target.name.empty()) {
    return reply(store_.Get(target.collection, target.ns, target.name), 200);
  }
  if (method == "GET") {
    int limit = 0;
    (void)absl::SimpleAtoi(target.Query("limit"), &limit);
    const auto page =
        store_.List(target.collection, target.ns, LabelSelector(target.Query("labelSelector")),
                    limit, target.Query("continue"));
    if (!page.value) return {page.refusal.code, StatusObject(page.refusal)};
    Json meta = {{"resourceVersion", absl::StrCat(page.value->version)}};
    if (!page.value->next.empty()) meta["continue"] = page.value->next;
    return {
        200,
        {{"kind", "List"}, {"apiVersion", "v1"}, {"metadata", meta}, {"items", page.value->items}}};
  }
  if (method == "POST") return reply(store_.Create(target.collection, target.ns, body), 201);
  if (method == "DELETE")
    return reply(store_.Delete(target.collection, target.ns, target.name, body), 200);
  if (method == "PUT") {
    return reply(store_.Update(target.collection, target.ns, target.name, target.subresource,
                               [&](Json& object) { object = body; }),
                 200);
  }
  if (method == "PATCH") {
    const std::string type(http::FindHeader(request.head.headers, "content-type"));
    const bool apply = type == "application/apply-patch+yaml";
    if (!apply && type != "application/merge-patch+json") {
      return {415, StatusObject({415, "UnsupportedMediaType", "patch type " + type})};
    }
    const auto result = store_.Update(target.collection, target.ns, target.name, target.subresource,
                                      [&](Json& object) { object.merge_patch(body); });
    if (apply && result.refusal.code == 404) {
      return reply(store_.Create(target.collection, target.ns, body), 201);
    }
    return reply(result, 200);
  }
  return {405, StatusObject({405, "MethodNotAllowed", method})};
}

Status FakeApiServer::WriteLine(http::ResponseWriter& writer, const std::string& line) {
  size_t piece;
  {
    MutexLock lock(&mu_);
    piece = piece_size_ == 0 ? line.size() + 1 : piece_size_;
  }
  const std::string text = line + "\n";
  for (size_t at = 0; at < text.size(); at += piece) {
    TFLEET_RETURN_IF_ERROR(writer.WriteChunk(absl::string_view(text).substr(at, piece)));
  }
  return OkStatus();
}

void FakeApiServer::ServeWatch(const Target& target, http::ResponseWriter& writer) {
  int64_t version = store_.version();
  (void)absl::SimpleAtoi(target.Query("resourceVersion"), &version);
  int64_t seconds = 3600;
  (void)absl::SimpleAtoi(target.Query("timeoutSeconds"), &seconds);
  const LabelSelector selector(target.Query("labelSelector"));
  const bool bookmarks =
      target.Query("allowWatchBookmarks") == "true" && options_.bookmark_interval.count() > 0;
  int64_t epoch, next_injected;
  {
    MutexLock lock(&mu_);
    epoch = watch_epoch_;
    next_injected = next_injected_;
    ++open_watches_[target.collection.plural];
  }
  const absl::Cleanup leave = [&] {
    MutexLock lock(&mu_);
    --open_watches_[target.collection.plural];
  };
  const http::Deadline end = http::After(std::chrono::seconds(seconds));
  auto next_bookmark = http::After(options_.bookmark_interval);
  if (!writer.BeginChunks(200, "application/json").ok()) return;
  while (!stopping_) {
    const auto nap = std::min(end, http::After(std::chrono::milliseconds(50)));
    const auto lines = store_.EventsAfter(target.collection, target.ns, selector, &version, nap);
    if (!lines || expire_watches_) {
      const Json gone = {{"type", "ERROR"},
                         {"object", StatusObject({410, "Expired", "too old resource version"})}};
      (void)WriteLine(writer, gone.dump());
      break;
    }
    for (const Json& line : *lines) {
      if (!WriteLine(writer, line.dump()).ok()) return;
    }
    std::vector<std::string> extra;
    bool ended;
    {
      MutexLock lock(&mu_);
      for (const Injected& item : injected_) {
        if (item.number >= next_injected && item.plural == target.collection.plural)
          extra.push_back(item.line);
      }
      next_injected = next_injected_;
      ended = epoch != watch_epoch_;
    }
    for (const std::string& line : extra) {
      if (!WriteLine(writer, line).ok()) return;
    }
    if (bookmarks && std::chrono::steady_clock::now() >= next_bookmark) {
      next_bookmark = http::After(options_.bookmark_interval);
      const Json mark = {{"type", "BOOKMARK"},
                         {"object", {{"metadata", {{"resourceVersion", absl::StrCat(version)}}}}}};
      if (!WriteLine(writer, mark.dump()).ok()) return;
    }
    if (ended || std::chrono::steady_clock::now() >= end || writer.IsPeerGone()) break;
  }
  (void)writer.EndChunks();
}

}  // namespace tensorfleet::testing
