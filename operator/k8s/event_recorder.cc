#include "operator/k8s/event_recorder.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/time/time.h"
#include "operator/k8s/backoff.h"
#include "runtime/base/log.h"
#include "runtime/base/random_id.h"

namespace tensorfleet::k8s {
namespace {

constexpr auto kWindow = std::chrono::minutes(10);
constexpr int kMaxSimilar = 10;
constexpr size_t kMaxMessage = 1024;
constexpr size_t kMaxRemembered = 2048;
constexpr size_t kMaxName = 253;
constexpr double kMostAtOnce = 20;  // before rates apply

// So often an event is sent that the API server does not take; between two tries is a back-off.
constexpr int kMaxAttempts = 15;
constexpr auto kFirstBackoff = std::chrono::milliseconds(200);
constexpr auto kBackoffLimit = std::chrono::seconds(10);

// The server, or the way to it, is at fault rather than the event.
bool IsWorthAnotherTry(const Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ||
         absl::IsResourceExhausted(status);
}

std::string Stamp(const Clock* clock) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::FromUnixNanos(clock->NowUnixNanos()),
                          absl::UTCTimeZone());
}

// Messages come from elsewhere and may have been cut in the middle of a character.
std::string Dump(const nlohmann::json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Of an event about the object `about`.
std::string NewName(const std::string& about) {
  const std::string end = absl::StrCat(".", absl::Hex(RandomNonZero64(), absl::kZeroPad16));
  std::string name = about.substr(0, kMaxName - end.size());
  while (!name.empty() && !absl::ascii_isalnum(name.back())) name.pop_back();
  return name + end;
}

std::string KeyOf(const ObjectReference& about, absl::string_view type, absl::string_view reason) {
  return absl::StrCat(about.uid, "\n", type, "\n", reason);
}

}  // namespace

std::string CombineMessages(const std::vector<std::string>& messages) {
  std::string all = messages.front();
  const size_t colon = all.find(": ");
  const std::string prefix = colon == std::string::npos ? "" : all.substr(0, colon + 2);
  const bool shared =
      !prefix.empty() && std::all_of(messages.begin(), messages.end(), [&](const auto& m) {
        return m.compare(0, prefix.size(), prefix) == 0;
      });
  for (size_t i = 1; i < messages.size(); ++i) {
    const std::string more = shared ? ", " + messages[i].substr(prefix.size()) : "; " + messages[i];
    if (all.size() + more.size() > kMaxMessage - 40) {
      absl::StrAppend(&all, " and ", messages.size() - i, " more");
      break;
    }
    all += more;
  }
  if (all.size() > kMaxMessage) all.resize(kMaxMessage);
  return all;
}

EventRecorder::EventRecorder(Client* client, const Clock* clock, Options options)
    : client_(client),
      clock_(clock),
      options_(std::move(options)),
      credit_(kMostAtOnce),
      at_(std::chrono::steady_clock::now()),
      thread_([this] { Run(); }) {}

EventRecorder::~EventRecorder() {
  Drain(std::chrono::seconds(2));
  {
    MutexLock lock(&mu_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  thread_.join();
}

void EventRecorder::Record(const ObjectReference& about, absl::string_view type,
                           absl::string_view reason, absl::string_view message) {
  MutexLock lock(&mu_);
  if (stopping_) return;
  if (waiting_ >= options_.max_waiting) {
    ++dropped_;
    return;
  }
  const std::string key = KeyOf(about, type, reason);
  auto it = by_key_.find(key);
  if (it == by_key_.end()) {
    groups_.push_back({about, std::string(type), std::string(reason), {}, {}});
    it = by_key_.emplace(key, std::prev(groups_.end())).first;
  }
  it->second->messages.emplace_back(message);
  ++waiting_;
  changed_.NotifyAll();
}

void EventRecorder::Take(Group* out) {
  Group& first = groups_.front();
  if (waiting_ > options_.merge_above || first.messages.size() == 1) {
    waiting_ -= first.messages.size();
    *out = std::move(first);
    by_key_.erase(KeyOf(out->about, out->type, out->reason));
    groups_.pop_front();
    return;
  }
  *out = {first.about, first.type, first.reason, {std::move(first.messages.front())}, {}};
  first.messages.erase(first.messages.begin());
  --waiting_;
}

bool EventRecorder::Next(Group* out) {
  MutexLock lock(&mu_);
  while (true) {
    while (groups_.empty() && !stopping_) changed_.Wait(&mu_);
    if (stopping_) return false;
    const double qps = options_.is_busy && options_.is_busy() ? options_.busy_qps : options_.qps;
    const auto now = std::chrono::steady_clock::now();
    credit_ =
        std::min(kMostAtOnce, credit_ + std::chrono::duration<double>(now - at_).count() * qps);
    at_ = now;
    if (credit_ >= 1 || drain_) break;
    // Short naps: busy times end suddenly, and Drain must not wait.
    const double need = std::min((1 - credit_) / qps, 0.1);
    changed_.WaitFor(&mu_, std::chrono::nanoseconds(static_cast<int64_t>(need * 1e9)));
  }
  credit_ = std::max(0.0, credit_ - 1);
  Take(out);
  sending_ = true;
  return true;
}

bool EventRecorder::WaitToRetry(std::chrono::nanoseconds delay) {
  const auto end = std::chrono::steady_clock::now() + delay;
  MutexLock lock(&mu_);
  while (!stopping_ && !drain_ && changed_.WaitUntil(&mu_, end)) {
  }
  if (drain_ && !stopping_) changed_.WaitFor(&mu_, kFirstBackoff);
  return !stopping_;
}

void EventRecorder::Run() {
  Group group;
  while (Next(&group)) {
    Backoff backoff(kFirstBackoff, kBackoffLimit);
    for (int attempt = 1;; ++attempt) {
      const Status sent = Send(group, /*is_first=*/attempt == 1);
      if (sent.ok() || absl::IsCancelled(sent)) break;
      if (!IsWorthAnotherTry(sent) || attempt == kMaxAttempts) {
        LogWarning("event not sent",
                   {{"object", absl::StrCat(group.about.ns, "/", group.about.name)},
                    {"reason", group.reason},
                    {"error", sent.message()}});
        break;
      }
      if (!WaitToRetry(backoff.Next())) return;
    }
    MutexLock lock(&mu_);
    sending_ = false;
    changed_.NotifyAll();
  }
}

Status EventRecorder::Send(Group& group, bool is_first) {
  ForgetOld();
  std::string message = CombineMessages(group.messages);
  const std::string kind = KeyOf(group.about, group.type, group.reason);
  std::string key = absl::StrCat(kind, "\n", message);
  if (!sent_.contains(key)) {
    Similar& similar = similar_[kind];
    const auto now = clock_->NowSteady();
    if (similar.messages == 0 || now - similar.since > kWindow) similar = {now, 0};
    if (is_first) ++similar.messages;
    if (similar.messages > kMaxSimilar) {
      key = kind;
      message = absl::StrCat("(combined from similar events): ", message).substr(0, kMaxMessage);
    }
  }
  return Post(group, message, key);
}

Status EventRecorder::Post(Group& group, const std::string& message, const std::string& key) {
  const std::string stamp = Stamp(clock_);
  const std::string collection = CollectionPath("v1", group.about.ns, "events");
  const int count = static_cast<int>(group.messages.size());
  const auto it = sent_.find(key);
  if (it != sent_.end()) {
    const nlohmann::json patch = {
        {"count", it->second.count + count}, {"lastTimestamp", stamp}, {"message", message}};
    const Status patched =
        client_->MergePatch(absl::StrCat(collection, "/", it->second.name), Dump(patch)).status();
    if (patched.ok()) {
      it->second.count += count;
      it->second.last = clock_->NowSteady();
      return OkStatus();
    }
    if (!absl::IsNotFound(patched)) return patched;
    sent_.erase(it);  // expired on the server: begin a new one
  }
  if (group.name.empty()) group.name = NewName(group.about.name);
  const nlohmann::json event = {{"apiVersion", "v1"},
                                {"kind", "Event"},
                                {"metadata", {{"name", group.name}, {"namespace", group.about.ns}}},
                                {"involvedObject",
                                 {{"apiVersion", group.about.api_version},
                                  {"kind", group.about.kind},
                                  {"namespace", group.about.ns},
                                  {"name", group.about.name},
                                  {"uid", group.about.uid},
                                  {"resourceVersion", group.about.resource_version}}},
                                {"type", group.type},
                                {"reason", group.reason},
                                {"message", message},
                                {"source", {{"component", options_.component}}},
                                {"reportingComponent", options_.component},
                                {"reportingInstance", ""},
                                {"firstTimestamp", stamp},
                                {"lastTimestamp", stamp},
                                {"count", count}};
  const Status created = client_->Create(collection, Dump(event)).status();
  // A namespace that is going away takes no events, and nobody misses them.
  if (IsNamespaceTerminating(created)) return OkStatus();
  // Its name is random: one that is taken was taken by our own last try.
  if (!IsNameTaken(created)) TFLEET_RETURN_IF_ERROR(created);
  sent_[key] = {group.name, count, clock_->NowSteady()};
  return OkStatus();
}

void EventRecorder::ForgetOld() {
  if (sent_.size() < kMaxRemembered && similar_.size() < kMaxRemembered) return;
  const auto now = clock_->NowSteady();
  // Old ones go; if all are young, everything goes: at worst a repeat gets an object of its own.
  absl::erase_if(sent_, [&](const auto& e) { return now - e.second.last > kWindow; });
  absl::erase_if(similar_, [&](const auto& e) { return now - e.second.since > kWindow; });
  if (sent_.size() >= kMaxRemembered) sent_ = {};
  if (similar_.size() >= kMaxRemembered) similar_ = {};
}

bool EventRecorder::Drain(std::chrono::nanoseconds time) {
  const auto deadline = std::chrono::steady_clock::now() + time;
  MutexLock lock(&mu_);
  drain_ = true;
  changed_.NotifyAll();
  while ((!groups_.empty() || sending_) && changed_.WaitUntil(&mu_, deadline)) {
  }
  drain_ = false;
  return groups_.empty() && !sending_;
}

int64_t EventRecorder::dropped() const {
  MutexLock lock(&mu_);
  return dropped_;
}

}  // namespace tensorfleet::k8s
