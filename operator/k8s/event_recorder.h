// Kubernetes events, sent by a thread of their own so that nobody waits for them.
//
// At ordinary rates every event becomes an object. In a burst, when more than a few are waiting,
// those of one object and reason go out as one that names them all. Repeats raise the count of the
// event already there, and from the eleventh message of one reason within ten minutes on they share
// a combined event. While the API server is away they wait, each for about a minute.
// Thread-safe.
#pragma once

#include <functional>
#include <list>
#include <string>
#include <thread>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "operator/k8s/client.h"
#include "runtime/base/clock.h"
#include "runtime/base/mutex.h"

namespace tensorfleet::k8s {

struct ObjectReference {
  std::string api_version, kind, ns, name, uid, resource_version;
};

class EventRecorder {
 public:
  struct Options {
    std::string component;          // source.component
    double qps = 100;               // of events; they do not count against the client's own limit
    double busy_qps = 10;           // while is_busy says so
    std::function<bool()> is_busy;  // may be null
    size_t max_waiting = 100000;    // beyond this the newest are dropped, and counted
    size_t merge_above = 64;        // waiting events from which on those of one reason are merged
  };

  // `client` and `clock` must outlive the recorder.
  EventRecorder(Client* client, const Clock* clock, Options options);
  // Waits up to `Drain`'s default for what is queued.
  ~EventRecorder();

  // `type` is "Normal" or "Warning".
  void Record(const ObjectReference& about, absl::string_view type, absl::string_view reason,
              absl::string_view message);

  // Sends what is waiting without regard to rates, for at most `time`. Returns whether all went
  // out.
  bool Drain(std::chrono::nanoseconds time);

  int64_t dropped() const;

 private:
  struct Group {  // waiting messages of one object, type and reason
    ObjectReference about;
    std::string type, reason;
    std::vector<std::string> messages;
    std::string name;  // of the event to make; once chosen it stays, so that it is made once
  };
  struct Sent {  // an event object we may count up
    std::string name;
    int count = 0;
    std::chrono::steady_clock::time_point last;
  };
  struct Similar {
    std::chrono::steady_clock::time_point since;
    int messages = 0;
  };

  void Run();
  // Takes the next message or, in a burst, all of its group.
  void Take(Group* out) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Waits for something to send, as the rates allow. False: we are to end.
  bool Next(Group* out);
  // Likewise after a failure.
  bool WaitToRetry(std::chrono::nanoseconds delay);
  // `is_first`: not tried before.
  Status Send(Group& group, bool is_first);
  Status Post(Group& group, const std::string& message, const std::string& key);
  void ForgetOld();

  Client* const client_;
  const Clock* const clock_;
  const Options options_;
  mutable Mutex mu_;
  CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  bool sending_ ABSL_GUARDED_BY(mu_) = false;
  bool drain_ ABSL_GUARDED_BY(mu_) = false;
  size_t waiting_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t dropped_ ABSL_GUARDED_BY(mu_) = 0;
  std::list<Group> groups_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<std::string, std::list<Group>::iterator> by_key_ ABSL_GUARDED_BY(mu_);
  double credit_ ABSL_GUARDED_BY(mu_);  // events that may go out at once, and as of when
  std::chrono::steady_clock::time_point at_ ABSL_GUARDED_BY(mu_);
  // Of the sending thread alone.
  absl::flat_hash_map<std::string, Sent> sent_;
  absl::flat_hash_map<std::string, Similar> similar_;
  std::thread thread_;
};

// "Created pod: a" and "Created pod: b" become "Created pod: a, b"; texts without a common
// beginning are joined by "; ". Cut to what an event may hold.
std::string CombineMessages(const std::vector<std::string>& messages);

}  // namespace tensorfleet::k8s
