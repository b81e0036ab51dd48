// The state behind FakeApiServer: objects with resource versions, a history to watch, labels
// selected, owners followed. What it gets wrong compared with a real API server: no schema, no
// admission, no finalizers, no field selectors, one version per resource, names not validated.
// Thread-safe.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "operator/http/stream.h"
#include "runtime/base/mutex.h"
#include "runtime/base/status.h"

namespace tensorfleet::testing {

using Json = nlohmann::json;

// An error as the API server puts it: HTTP code and Status reason.
struct Refusal {
  int code = 0;
  std::string reason;
  std::string message;
};

// "api/v1" + "pods", "apis/kubeflow.org/v1" + "tfjobs": what a path begins with.
struct Collection {
  std::string group_version;
  std::string plural;
  auto operator<=>(const Collection&) const = default;
};

// Equality and existence, the forms that controllers use.
class LabelSelector {
 public:
  explicit LabelSelector(absl::string_view text);
  bool Matches(const Json& object) const;

 private:
  std::vector<std::pair<std::string, std::optional<std::string>>> terms_;
};

class ObjectStore {
 public:
  struct Event {
    int64_t version;
    std::string type;  // ADDED, MODIFIED, DELETED
    Collection collection;
    std::string ns;
    Json object;
    Json old;  // null when new
  };
  template <typename T>
  struct Result {
    std::optional<T> value;
    Refusal refusal;  // when there is no value
  };

  explicit ObjectStore(bool collect_garbage) : collect_garbage_(collect_garbage) {}

  Result<Json> Create(const Collection& in, const std::string& ns, Json object);
  Result<Json> Get(const Collection& in, const std::string& ns, const std::string& name) const;
  // Changes the stored object by `change`. `subresource` "status": only status counts; "": all but
  // status for kinds that have the subresource. A metadata.resourceVersion or uid in the outcome
  // that is not the current one is a conflict. What changes nothing makes no event.
  Result<Json> Update(const Collection& in, const std::string& ns, const std::string& name,
                      absl::string_view subresource, const std::function<void(Json&)>& change);
  // Pods that run (status.phase Running, grace not 0) get a deletionTimestamp and stay until
  // Finalize.
  Result<Json> Delete(const Collection& in, const std::string& ns, const std::string& name,
                      const Json& options);
  // What the kubelet does at the end of a pod's grace period.
  void Finalize(const Collection& in, const std::string& ns, const std::string& name);

  struct Page {
    std::vector<Json> items;
    std::string next;  // continue token; empty on the last page
    int64_t version = 0;
  };
  Result<Page> List(const Collection& in, const std::string& ns, const LabelSelector& selector,
                    int limit, const std::string& token) const;

  // Waits until there are events after `version` in the collection or `deadline`; then returns
  // those, as watch lines for `selector`. Moves `*version` on. nullopt: the history does not reach
  // back that far.
  std::optional<std::vector<Json>> EventsAfter(const Collection& in, const std::string& ns,
                                               const LabelSelector& selector, int64_t* version,
                                               http::Deadline deadline);

  int64_t version() const;
  // Forgets the history: watches and continue tokens from before now get 410.
  void Compact();
  // Wakes everybody in EventsAfter.
  void Wake();

 private:
  struct Key {
    Collection in;
    std::string ns, name;
    auto operator<=>(const Key&) const = default;
  };

  void Append(const std::string& type, const Key& key, const Json& object, const Json& old)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Erase(const Key& key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Whether it has owners, none of which exists.
  bool IsOrphan(const Json& object) const ABSL_SHARED_LOCKS_REQUIRED(mu_);

  const bool collect_garbage_;
  mutable Mutex mu_;
  CondVar changed_;
  int64_t version_ ABSL_GUARDED_BY(mu_) = 100;
  int64_t oldest_ ABSL_GUARDED_BY(mu_) = 0;  // events up to this version are forgotten
  int64_t next_uid_ ABSL_GUARDED_BY(mu_) = 1;
  int64_t wakes_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<Key, Json> objects_ ABSL_GUARDED_BY(mu_);
  std::set<std::string> uids_ ABSL_GUARDED_BY(mu_);  // of objects_
  std::deque<Event> history_ ABSL_GUARDED_BY(mu_);
};

}  // namespace tensorfleet::testing
