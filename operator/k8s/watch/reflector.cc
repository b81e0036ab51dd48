#include "operator/k8s/watch/reflector.h"

#include <nlohmann/json.hpp>

#include "operator/k8s/backoff.h"
#include "operator/k8s/watch/splitter.h"
#include "operator/k8s/watch/versions.h"
#include "operator/k8s/watch/watch_event.h"
#include "runtime/base/log.h"

namespace tensorfleet::k8s {
namespace {

std::string StringAt(const nlohmann::json& object, const char* outer, const char* inner) {
  const auto meta = object.find(outer);
  if (meta == object.end() || !meta->is_object()) return "";
  const auto value = meta->find(inner);
  return value != meta->end() && value->is_string() ? value->get<std::string>() : "";
}

}  // namespace

Reflector::Reflector(Client* client, ObjectSink* sink, ReflectorOptions options)
    : client_(client),
      sink_(sink),
      options_(std::move(options)),
      event_mask_({{"metadata", "resourceVersion"}}) {}

Status Reflector::List(CancellationManager* cancel) {
  stats_.lists++;
  sink_->BeginList(afresh_);
  std::string token, version;
  do {
    std::string path = absl::StrCat(options_.collection, "?limit=", options_.page_size);
    if (!options_.label_selector.empty()) {
      absl::StrAppend(&path, "&labelSelector=", QueryEscape(options_.label_selector));
    }
    if (!token.empty()) absl::StrAppend(&path, "&continue=", QueryEscape(token));
    ListSplitter splitter;
    Status parsed;
    const Status read = client_->Read(
        path, std::chrono::seconds(60),
        [&](absl::string_view data) {
          parsed = splitter.Feed(data, [&](absl::string_view item) -> Status {
            cut_.clear();
            Status taken = options_.mask.Cut(item, &cut_);
            if (taken.ok()) taken = sink_->Listed(cut_);
            return SkipBad(taken);
          });
          return parsed.ok();
        },
        cancel);
    TFLEET_RETURN_IF_ERROR(read);
    TFLEET_RETURN_IF_ERROR(parsed);
    TFLEET_ASSIGN_OR_RETURN(const std::string envelope, splitter.Envelope());
    const auto json = nlohmann::json::parse(envelope, nullptr, false);
    if (!json.is_object()) return DataLoss("malformed list of ", options_.collection);
    // Every page of one list has the version of the first.
    version = StringAt(json, "metadata", "resourceVersion");
    token = StringAt(json, "metadata", "continue");
    if (version.empty())
      return DataLoss("list of ", options_.collection, " has no resourceVersion");
  } while (!token.empty());
  version_ = version;
  afresh_ = false;
  check_version_ = false;
  sink_->EndList(version_);
  synced_.store(true, std::memory_order_release);
  return OkStatus();
}

Status Reflector::SkipBad(const Status& status) const {
  if (!absl::IsInvalidArgument(status)) return status;
  LogError("object cannot be read and is left out",
           {{"collection", options_.collection}, {"error", status.message()}});
  return OkStatus();
}

Status Reflector::OnEvent(absl::string_view line) {
  TFLEET_ASSIGN_OR_RETURN(const WatchEvent event, SplitWatchEvent(line));
  stats_.events++;
  if (event.type == WatchEventType::kError) return ErrorFromStatusObject("watch", event.object);
  ++events_in_watch_;
  cut_.clear();
  TFLEET_RETURN_IF_ERROR(event_mask_.Cut(event.object, &cut_));
  const auto meta = nlohmann::json::parse(cut_, nullptr, false);
  const std::string version = meta.is_object() ? StringAt(meta, "metadata", "resourceVersion") : "";
  if (version.empty()) return DataLoss("watch event without a resourceVersion");
  if (IsOlder(version, version_)) {
    // Versions of one watch only grow.
    ListAfresh();
    return DataLoss("version ", version, " comes after ", version_);
  }
  if (event.type != WatchEventType::kBookmark) {
    cut_.clear();
    Status taken = options_.mask.Cut(event.object, &cut_);
    if (taken.ok()) {
      taken = event.type == WatchEventType::kDeleted ? sink_->Deleted(cut_) : sink_->Changed(cut_);
    }
    TFLEET_RETURN_IF_ERROR(SkipBad(taken));
  }
  version_ = version;
  return OkStatus();
}

void Reflector::ListAfresh() {
  stats_.rewinds++;
  afresh_ = true;
}

StatusOr<bool> Reflector::HasGoneBack(CancellationManager* cancel) {
  // Without a version of ours in the request this is how things are now, by etcd's own word.
  std::string path = absl::StrCat(options_.collection, "?limit=1");
  if (!options_.label_selector.empty()) {
    absl::StrAppend(&path, "&labelSelector=", QueryEscape(options_.label_selector));
  }
  std::string text;
  TFLEET_RETURN_IF_ERROR(client_->Read(
      path, std::chrono::seconds(30),
      [&](absl::string_view data) {
        absl::StrAppend(&text, data);
        return true;
      },
      cancel));
  const auto list = nlohmann::json::parse(text, nullptr, false);
  if (!list.is_object()) return DataLoss("malformed list of ", options_.collection);
  return IsOlder(StringAt(list, "metadata", "resourceVersion"), version_);
}

Status Reflector::Watch(CancellationManager* cancel) {
  stats_.watches++;
  events_in_watch_ = 0;
  const int64_t base = options_.watch_time.count();
  const int64_t seconds =
      base + static_cast<int64_t>(RandomNonZero64() % static_cast<uint64_t>(base + 1));
  std::string path = absl::StrCat(options_.collection,
                                  "?watch=true&allowWatchBookmarks=true&timeoutSeconds=", seconds,
                                  "&resourceVersion=", QueryEscape(version_));
  if (!options_.label_selector.empty()) {
    absl::StrAppend(&path, "&labelSelector=", QueryEscape(options_.label_selector));
  }
  LineSplitter splitter;
  Status handled;
  const Status read = client_->Read(
      path, std::chrono::seconds(seconds + 30),
      [&](absl::string_view data) {
        handled = splitter.Feed(data, [&](absl::string_view line) { return OnEvent(line); });
        return handled.ok();
      },
      cancel);
  // What the server said in the stream explains more than how the stream ended.
  TFLEET_RETURN_IF_ERROR(handled);
  return read;
}

void Reflector::Run(CancellationManager* cancel) {
  Backoff backoff(options_.first_backoff, options_.backoff_limit);
  while (!cancel->is_cancelled()) {
    if (version_.empty()) {
      const Status listed = List(cancel);
      if (!listed.ok()) {
        sink_->AbandonList();
        version_.clear();
        if (cancel->is_cancelled()) return;
        // A continue token that has expired: begin anew at once, the first time.
        if (!IsExpired(listed)) stats_.failures++;
        LogWarning("list failed",
                   {{"collection", options_.collection}, {"error", listed.message()}});
        (void)SleepFor(backoff.Next(), cancel);
        continue;
      }
    }
    if (check_version_) {
      const StatusOr<bool> back = HasGoneBack(cancel);
      if (cancel->is_cancelled()) return;
      if (!back.ok()) {
        stats_.failures++;
        LogInfo("cannot resume the watch yet",
                {{"collection", options_.collection}, {"error", back.status().message()}});
        (void)SleepFor(backoff.Next(), cancel);
        continue;
      }
      check_version_ = false;
      if (*back) {
        LogWarning("the API server's versions have gone back: listing everything anew",
                   {{"collection", options_.collection}, {"was", version_}});
        ListAfresh();
        version_.clear();
        continue;
      }
    }
    const auto begin = std::chrono::steady_clock::now();
    const Status watched = Watch(cancel);
    // Whoever answers next may be a server with another past, however this one took its leave.
    check_version_ = true;
    if (cancel->is_cancelled()) return;
    const bool lived =
        events_in_watch_ > 0 || std::chrono::steady_clock::now() - begin > std::chrono::seconds(5);
    if (lived) backoff.Reset();
    if (IsExpired(watched)) {
      LogInfo("watch has expired, listing again", {{"collection", options_.collection}});
      version_.clear();
      if (!lived) (void)SleepFor(backoff.Next(), cancel);
      continue;
    }
    if (!watched.ok()) {
      stats_.failures++;
      LogInfo("watch ended, resuming",
              {{"collection", options_.collection}, {"error", watched.message()}});
      // What cannot be understood may have carried a change: only a list makes up for it.
      if (absl::IsInvalidArgument(watched) || absl::IsDataLoss(watched) ||
          absl::IsResourceExhausted(watched)) {
        if (!ApiErrorOf(watched).has_value()) version_.clear();
      }
    }
    if (!watched.ok() || !lived) (void)SleepFor(backoff.Next(), cancel);
  }
}

}  // namespace tensorfleet::k8s
