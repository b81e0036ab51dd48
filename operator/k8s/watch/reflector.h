// Keeps a sink up to date with a collection: lists it in pages, watches from there, resumes after
// disconnections, lists again when the server has forgotten where we were (410).
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "operator/k8s/client.h"
#include "operator/k8s/watch/field_mask.h"
#include "runtime/base/cancellation.h"

namespace tensorfleet::k8s {

// Where objects go. Called from the reflector's thread only. `object` is JSON text cut by the mask.
class ObjectSink {
 public:
  virtual ~ObjectSink() = default;
  // A full list begins; what it does not bring is gone once it is complete. `afresh`: the server's
  // versions have gone back (etcd was restored from a backup), so what is listed counts, whatever
  // was known.
  virtual void BeginList(bool afresh) = 0;
  // `resource_version` is that of the list.
  virtual void EndList(absl::string_view resource_version) = 0;
  // The list broke off; it will be begun again.
  virtual void AbandonList() = 0;
  virtual Status Listed(absl::string_view object) = 0;
  virtual Status Changed(absl::string_view object) = 0;  // added or modified
  virtual Status Deleted(absl::string_view object) = 0;
};

struct ReflectorOptions {
  std::string collection;      // path, see CollectionPath
  std::string label_selector;  // empty: everything
  FieldMask mask;              // must keep metadata.resourceVersion
  int page_size = 500;
  // Each watch is ended by the server after between one and two times this.
  std::chrono::seconds watch_time{300};
  std::chrono::nanoseconds first_backoff = std::chrono::milliseconds(200);
  std::chrono::nanoseconds backoff_limit = std::chrono::seconds(30);
};

// How often things happened, for metrics and tests. Read at any time.
struct ReflectorStats {
  std::atomic<int64_t> lists{0};
  std::atomic<int64_t> watches{0};
  std::atomic<int64_t> events{0};
  std::atomic<int64_t> failures{0};  // of lists and watches, 410 not counted
  std::atomic<int64_t> rewinds{0};   // versions that went back
};

class Reflector {
 public:
  // `client` and `sink` must outlive the reflector.
  Reflector(Client* client, ObjectSink* sink, ReflectorOptions options);

  // Runs until `cancel` is cancelled.
  void Run(CancellationManager* cancel);

  // True from the first complete list on. Any thread.
  bool has_synced() const { return synced_.load(std::memory_order_acquire); }
  const ReflectorStats& stats() const { return stats_; }

 private:
  // Lists everything; sets version_.
  Status List(CancellationManager* cancel);
  // After a watch: whether the server's versions are before ours. A watch from a version
  // that is still to come would say nothing until then.
  StatusOr<bool> HasGoneBack(CancellationManager* cancel);
  void ListAfresh();
  // Watches from version_ until the stream ends.
  Status Watch(CancellationManager* cancel);
  Status OnEvent(absl::string_view line);
  // One object that cannot be read must not keep the others from being seen.
  Status SkipBad(const Status& status) const;

  Client* const client_;
  ObjectSink* const sink_;
  const ReflectorOptions options_;
  const FieldMask event_mask_;
  std::string version_;
  bool afresh_ = false;          // how the next list is to be taken
  bool check_version_ = false;   // a watch has ended since the last list
  int64_t events_in_watch_ = 0;  // without errors
  std::string cut_;              // reused between events
  std::atomic<bool> synced_{false};
  ReflectorStats stats_;
};

}  // namespace tensorfleet::k8s
