// Leader election by a coordination.k8s.io/v1 Lease, compatible with client-go's: a holder renews,
// others wait until it has not renewed for the lease's duration, as seen by their own clocks.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "operator/k8s/client.h"
#include "runtime/base/cancellation.h"
#include "runtime/base/clock.h"

namespace tensorfleet::k8s {

// What a Lease of ours says to other releases: that its holder reconciles TFJobs (label), and of
// which namespace (annotation; empty: all).
inline constexpr char kLeaseLabel[] = "tensorfleet.dev/reconciles";
inline constexpr char kLeaseLabelValue[] = "tfjobs";
inline constexpr char kLeaseScope[] = "tensorfleet.dev/namespace";

struct LeaderLeaseOptions {
  std::string ns;
  std::string name;
  std::string identity;  // unique among the candidates
  std::string scope;     // value of kLeaseScope
  std::chrono::milliseconds lease_duration{15'000};
  std::chrono::milliseconds renew_deadline{10'000};
  std::chrono::milliseconds retry_period{1'000};
};

class LeaderLease {
 public:
  // `client` must not be limited in rate: a renewal that waits is a leadership lost. `client` and
  // `clock` must outlive the lease.
  LeaderLease(Client* client, const Clock* clock, LeaderLeaseOptions options);

  // Waits until the lease is ours. The error is that of `cancel`.
  Status Acquire(CancellationManager* cancel);
  // Renews until `cancel` is cancelled (OK: we are still the leader) or the lease is lost: not
  // renewed within renew_deadline, or taken by another. Returns at the deadline also when the API
  // server does not answer: the next leader begins lease_duration after the last renewal.
  Status Hold(CancellationManager* cancel);
  // Gives the lease up, so that the next candidate need not wait for it to run out. Call after
  // Hold.
  // `through` may name another client, for when the lease's own has been cancelled.
  Status Release(Client* through = nullptr);

 private:
  struct Seen {  // what the lease said when it last changed, and when we saw that
    std::string record;
    std::chrono::steady_clock::time_point at;
  };

  // Tries once to take or to renew. True: ours.
  StatusOr<bool> TryTake(Client& client);
  // `base` is the Lease as it was read, whose other fields and labels are kept; "" for a new one.
  std::string RecordJson(const std::string& base, absl::string_view holder,
                         std::chrono::milliseconds duration, const std::string& acquired,
                         int transitions) const;

  Client* const client_;
  const Clock* const clock_;
  const LeaderLeaseOptions options_;
  const std::string collection_;
  const std::string path_;
  std::optional<Seen> seen_;
  // When the last renewal was asked for: it counts from before others can have seen it.
  std::chrono::steady_clock::time_point renewed_;
  std::string acquired_;
  int transitions_ = 0;
};

}  // namespace tensorfleet::k8s
