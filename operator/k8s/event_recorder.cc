#include "operator/k8s/event_recorder.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/time/time.h"
#include "runtime/base/log.h"
#include "runtime/base/random_id.h"

namespace tensorfleet::k8s {
namespace {

constexpr auto kWindow = std::chrono::minutes(10);
constexpr int kMaxSimilar = 10;
constexpr size_t kMaxMessage = 1024;
constexpr size_t kMaxRemembered = 2048;

std::string Stamp(const Clock* clock) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::FromUnixNanos(clock->NowUnixNanos()),
                          absl::UTCTimeZone());
}

// Messages come from elsewhere and may have been cut in the middle of a character.
std::string Dump(const nlohmann::json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
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
    : client_(client), clock_(clock), options_(std::move(options)), thread_([this] { Run(); }) {}

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
    groups_.push_back({about, std::string(type), std::string(reason), {}});
    it = by_key_.emplace(key, std::prev(groups_.end())).first;
  }
  it->second->messages.emplace_back(message);
  ++waiting_;
  changed_.NotifyAll();
}

bool EventRecorder::Take(Group* out) {
  if (groups_.empty()) return false;
  Group& first = groups_.front();
  if (waiting_ > options_.merge_above || first.messages.size() == 1) {
    waiting_ -= first.messages.size();
    *out = std::move(first);
    by_key_.erase(KeyOf(out->about, out->type, out->reason));
    groups_.pop_front();
    return true;
  }
  *out = {first.about, first.type, first.reason, {std::move(first.messages.front())}};
  first.messages.erase(first.messages.begin());
  --waiting_;
  return true;
}

void EventRecorder::Run() {
  double credit = 20;  // events that may go out at once
  auto at = std::chrono::steady_clock::now();
  while (true) {
    Group group;
    {
      MutexLock lock(&mu_);
      while (groups_.empty() && !stopping_) changed_.Wait(&mu_);
      if (stopping_) return;
      const double qps = options_.is_busy && options_.is_busy() ? options_.busy_qps : options_.qps;
      const auto now = std::chrono::steady_clock::now();
      credit = std::min(20.0, credit + std::chrono::duration<double>(now - at).count() * qps);
      at = now;
      if (credit < 1 && !drain_) {
        // Short naps: busy times end suddenly, and Drain must not wait.
        const double need = std::min((1 - credit) / qps, 0.1);
        changed_.WaitFor(&mu_, std::chrono::nanoseconds(static_cast<int64_t>(need * 1e9)));
        continue;
      }
      credit = std::max(0.0, credit - 1);
      Take(&group);
      sending_ = true;
    }
    Send(group);
    MutexLock lock(&mu_);
    sending_ = false;
    changed_.NotifyAll();
  }
}

void EventRecorder::Send(const Group& group) {
  ForgetOld();
  std::string message = CombineMessages(group.messages);
  const int count = static_cast<int>(group.messages.size());
  const std::string kind = KeyOf(group.about, group.type, group.reason);
  std::string key = absl::StrCat(kind, "\n", message);
  if (!sent_.contains(key)) {
    Similar& similar = similar_[kind];
    const auto now = clock_->NowSteady();
    if (similar.messages == 0 || now - similar.since > kWindow) similar = {now, 0};
    if (++similar.messages > kMaxSimilar) {
      key = kind;
      message = absl::StrCat("(combined from similar events): ", message).substr(0, kMaxMessage);
    }
  }
  const Status status = Post(group, message, count, key);
  if (!status.ok() && !absl::IsCancelled(status)) {
    LogWarning("event not sent", {{"object", absl::StrCat(group.about.ns, "/", group.about.name)},
                                  {"reason", group.reason},
                                  {"error", status.message()}});
  }
}

Status EventRecorder::Post(const Group& group, const std::string& message, int count,
                           const std::string& key) {
  const std::string stamp = Stamp(clock_);
  const std::string collection = CollectionPath("v1", group.about.ns, "events");
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
  const std::string name =
      absl::StrCat(group.about.name, ".", absl::Hex(RandomNonZero64(), absl::kZeroPad16));
  const nlohmann::json event = {{"apiVersion", "v1"},
                                {"kind", "Event"},
                                {"metadata", {{"name", name}, {"namespace", group.about.ns}}},
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
  TFLEET_RETURN_IF_ERROR(created);
  sent_[key] = {name, count, clock_->NowSteady()};
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
