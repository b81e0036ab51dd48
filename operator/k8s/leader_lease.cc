#include "operator/k8s/leader_lease.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/time/time.h"
#include "operator/k8s/backoff.h"
#include "runtime/base/log.h"

namespace tensorfleet::k8s {
namespace {

std::string MicroStamp(const Clock* clock) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", absl::FromUnixNanos(clock->NowUnixNanos()),
                          absl::UTCTimeZone());
}

struct LeaseRecord {
  std::string holder, acquired, renewed, version;
  int64_t duration_seconds = 0;
  int transitions = 0;
};

std::optional<LeaseRecord> ParseLease(const std::string& text) {
  const auto lease = nlohmann::json::parse(text, nullptr, false);
  if (!lease.is_object()) return std::nullopt;
  const auto string_of = [](const nlohmann::json& object, const char* key) -> std::string {
    const auto it = object.find(key);
    return it != object.end() && it->is_string() ? it->get<std::string>() : "";
  };
  const auto int_of = [](const nlohmann::json& object, const char* key) -> int64_t {
    const auto it = object.find(key);
    return it != object.end() && it->is_number_integer() ? it->get<int64_t>() : 0;
  };
  LeaseRecord record;
  if (const auto meta = lease.find("metadata"); meta != lease.end() && meta->is_object()) {
    record.version = string_of(*meta, "resourceVersion");
  }
  if (const auto spec = lease.find("spec"); spec != lease.end() && spec->is_object()) {
    record.holder = string_of(*spec, "holderIdentity");
    record.acquired = string_of(*spec, "acquireTime");
    record.renewed = string_of(*spec, "renewTime");
    record.duration_seconds = int_of(*spec, "leaseDurationSeconds");
    record.transitions =
        static_cast<int>(std::clamp<int64_t>(int_of(*spec, "leaseTransitions"), 0, 1 << 30));
  }
  return record;
}

}  // namespace

LeaderLease::LeaderLease(Client* client, const Clock* clock, LeaderLeaseOptions options)
    : client_(client),
      clock_(clock),
      options_(std::move(options)),
      collection_(CollectionPath("coordination.k8s.io/v1", options_.ns, "leases")),
      path_(absl::StrCat(collection_, "/", options_.name)) {}

std::string LeaderLease::RecordJson(const std::string& base, absl::string_view holder,
                                    std::chrono::milliseconds duration, const std::string& acquired,
                                    int transitions) const {
  // Labels, annotations and owners that others put on the Lease stay. The version that was read
  // makes the write conditional.
  nlohmann::json lease =
      base.empty() ? nlohmann::json::object() : nlohmann::json::parse(base, nullptr, false);
  if (!lease.is_object()) lease = nlohmann::json::object();
  const auto object = [](nlohmann::json& in, const char* key) -> nlohmann::json& {
    nlohmann::json& value = in[key];
    if (!value.is_object()) value = nlohmann::json::object();
    return value;
  };
  lease["apiVersion"] = "coordination.k8s.io/v1";
  lease["kind"] = "Lease";
  nlohmann::json& meta = object(lease, "metadata");
  meta.erase("managedFields");
  meta["name"] = options_.name;
  meta["namespace"] = options_.ns;
  object(meta, "labels")[kLeaseLabel] = kLeaseLabelValue;
  object(meta, "annotations")[kLeaseScope] = options_.scope;
  nlohmann::json& spec = object(lease, "spec");
  spec["holderIdentity"] = std::string(holder);
  spec["leaseDurationSeconds"] = std::max<int64_t>(1, duration.count() / 1000);
  spec["acquireTime"] = acquired;
  spec["renewTime"] = MicroStamp(clock_);
  spec["leaseTransitions"] = transitions;
  return lease.dump();
}

StatusOr<bool> LeaderLease::TryTake(Client& client) {
  const auto begin = clock_->NowSteady();
  const StatusOr<std::string> text = client.Get(path_);
  if (absl::IsNotFound(text.status())) {
    acquired_ = MicroStamp(clock_);
    transitions_ = 0;
    const std::string record =
        RecordJson("", options_.identity, options_.lease_duration, acquired_, 0);
    const Status created = client.Create(collection_, record).status();
    if (IsNameTaken(created)) return false;
    TFLEET_RETURN_IF_ERROR(created);
    renewed_ = begin;
    return true;
  }
  TFLEET_RETURN_IF_ERROR(text.status());
  const std::optional<LeaseRecord> lease = ParseLease(*text);
  if (!lease) return DataLoss("lease ", options_.name, " cannot be read");
  const bool ours = lease->holder == options_.identity;
  if (!ours && !lease->holder.empty()) {
    // Another's clock is not ours: what counts is how long we have seen no change.
    const std::string record =
        absl::StrCat(lease->holder, "|", lease->renewed, "|", lease->version);
    const auto now = clock_->NowSteady();
    if (!seen_ || seen_->record != record) seen_ = Seen{record, now};
    const auto duration =
        lease->duration_seconds > 0
            ? std::chrono::milliseconds(std::min<int64_t>(lease->duration_seconds, 3600) * 1000)
            : options_.lease_duration;
    if (now - seen_->at < duration) return false;
  }
  if (ours) {
    acquired_ = lease->acquired.empty() ? MicroStamp(clock_) : lease->acquired;
    transitions_ = lease->transitions;
  } else {
    acquired_ = MicroStamp(clock_);
    transitions_ = lease->transitions + 1;
  }
  const std::string record =
      RecordJson(*text, options_.identity, options_.lease_duration, acquired_, transitions_);
  const Status replaced = client.Replace(path_, record).status();
  if (IsConflict(replaced)) return false;
  TFLEET_RETURN_IF_ERROR(replaced);
  renewed_ = begin;
  return true;
}

Status LeaderLease::Acquire(CancellationManager* cancel) {
  bool told = false;
  while (!cancel->is_cancelled()) {
    const StatusOr<bool> taken = TryTake(*client_);
    if (taken.ok() && *taken) {
      LogInfo("became leader", {{"lease", absl::StrCat(options_.ns, "/", options_.name)},
                                {"identity", options_.identity}});
      return OkStatus();
    }
    if (!taken.ok()) {
      LogWarning("cannot take the leader lease", {{"error", taken.status().message()}});
    } else if (!told) {
      LogInfo("waiting to become leader",
              {{"lease", absl::StrCat(options_.ns, "/", options_.name)}});
      told = true;
    }
    Backoff jitter(options_.retry_period, options_.retry_period);
    TFLEET_RETURN_IF_ERROR(SleepFor(jitter.Next(), cancel));
  }
  return cancel->status();
}

Status LeaderLease::Hold(CancellationManager* cancel) {
  while (true) {
    const auto left = options_.renew_deadline - (clock_->NowSteady() - renewed_);
    if (left.count() <= 0) {
      return DeadlineExceeded("the leader lease could not be renewed for ",
                              options_.renew_deadline.count() / 1000, " s");
    }
    const auto end = http::After(left);
    // Often enough for several tries before the deadline, seldom enough not to hurry at its end.
    const std::chrono::nanoseconds pause = std::clamp<std::chrono::nanoseconds>(
        left / 2, options_.retry_period / 2, options_.retry_period * 2);
    if (!SleepFor(pause, cancel).ok()) return OkStatus();
    Client client = client_->Until(end);
    const StatusOr<bool> held = TryTake(client);
    if (held.ok() && *held) continue;
    if (cancel->is_cancelled()) return OkStatus();
    if (!held.ok()) {
      LogWarning("cannot renew the leader lease", {{"error", held.status().message()}});
      continue;
    }
    // A conflict may be our own earlier write whose answer got lost; only another holder is a loss.
    const StatusOr<std::string> text = client.Get(path_);
    const auto lease = text.ok() ? ParseLease(*text) : std::nullopt;
    if (lease && !lease->holder.empty() && lease->holder != options_.identity) {
      return FailedPrecondition("leadership was taken by ", lease->holder);
    }
  }
}

Status LeaderLease::Release(Client* through) {
  Client* const client = through == nullptr ? client_ : through;
  TFLEET_ASSIGN_OR_RETURN(const std::string text, client->Get(path_));
  const auto lease = ParseLease(text);
  if (!lease || lease->holder != options_.identity) return OkStatus();
  return client
      ->Replace(path_, RecordJson(text, "", std::chrono::seconds(1), acquired_, lease->transitions))
      .status();
}

}  // namespace tensorfleet::k8s
