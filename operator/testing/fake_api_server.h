// An API server for tests: real HTTP on loopback, state in memory (see ObjectStore for what it gets
// wrong), and faults on demand. Thread-safe.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "operator/http/server.h"
#include "operator/testing/object_store.h"

namespace tensorfleet::testing {

inline const Collection kPods{"api/v1", "pods"};
inline const Collection kServices{"api/v1", "services"};
inline const Collection kEvents{"api/v1", "events"};
inline const Collection kTFJobs{"apis/kubeflow.org/v1", "tfjobs"};
inline const Collection kLeases{"apis/coordination.k8s.io/v1", "leases"};

// Something that goes wrong. It strikes the next `times` requests that match.
struct Fault {
  enum class Kind {
    kStatus,      // answers `code` without doing what was asked
    kHangUp,      // closes the connection without an answer, nothing done
    kLoseAnswer,  // does what was asked, then closes the connection
    kHalfAnswer,  // does what was asked, sends a part of the answer, closes
    kDelay,       // waits `delay`, then goes on as usual
    kGarbage,     // answers 200 with what is no JSON
  };
  Kind kind = Kind::kStatus;
  std::string method;         // empty: any
  std::string path_contains;  // of path and query
  int times = 1;
  int code = 500;
  std::string reason;
  std::string retry_after;  // value of the header; empty for none
  std::chrono::milliseconds delay{0};
};

class FakeApiServer {
 public:
  struct Options {
    bool collect_garbage = true;
    std::string token;                               // required of each request when not empty
    std::shared_ptr<SSL_CTX> tls;                    // null: plain HTTP
    std::chrono::milliseconds bookmark_interval{0};  // 0: none
    int port = 0;
  };
  struct RequestRecord {
    std::string method, target, body, content_type, authorization;
  };

  FakeApiServer() : FakeApiServer(Options()) {}
  explicit FakeApiServer(Options options);
  ~FakeApiServer();

  std::string url() const;
  int port() const { return server_->port(); }
  ObjectStore& store() { return store_; }

  void Inject(Fault fault);
  // Cuts all connections: watches end without a farewell.
  void DropConnections() { server_->DropConnections(); }
  // From now on every watch is told at once that its version has expired.
  void ExpireWatches() { expire_watches_ = true; }
  // From now on everything that is created is taken with this warning.
  void WarnOfCreations(const std::string& text);
  // Ends all watches the orderly way.
  void EndWatches();
  // Sends `line` (with its newline added) to every open watch of `plural`, and waits for one where
  // there is none yet; the text is not checked.
  void SendToWatches(const std::string& plural, const std::string& line);
  // Watches send their bytes in pieces of this size, a chunk each; 0 for whole lines.
  void SetWatchPieceSize(size_t bytes);
  // From now on this token is required (as when a service account's token is rotated).
  void SetToken(const std::string& token);

  std::vector<RequestRecord> requests() const;
  // How many requests had this method and a target containing `part`.
  int CountRequests(absl::string_view method, absl::string_view part) const;
  void ClearRequests();

 private:
  struct Target;

  void Handle(const http::ServerRequest& request, http::ResponseWriter& writer);
  // The answer to anything but a watch.
  std::pair<int, Json> Answer(const http::ServerRequest& request, const Target& target);
  void ServeWatch(const Target& target, http::ResponseWriter& writer);
  Status WriteLine(http::ResponseWriter& writer, const std::string& line);
  std::optional<Fault> NextFault(const http::ServerRequest& request);

  const Options options_;
  ObjectStore store_;
  mutable Mutex mu_;
  std::string token_ ABSL_GUARDED_BY(mu_);
  std::string warning_ ABSL_GUARDED_BY(mu_);
  std::vector<Fault> faults_ ABSL_GUARDED_BY(mu_);
  std::vector<RequestRecord> requests_ ABSL_GUARDED_BY(mu_);
  int64_t watch_epoch_ ABSL_GUARDED_BY(mu_) = 0;
  size_t piece_size_ ABSL_GUARDED_BY(mu_) = 0;
  // Lines for open watches: sequence number, plural, text.
  struct Injected {
    int64_t number;
    std::string plural, line;
  };
  std::deque<Injected> injected_ ABSL_GUARDED_BY(mu_);
  int64_t next_injected_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<std::string, int> open_watches_ ABSL_GUARDED_BY(mu_);  // by plural
  std::atomic<bool> stopping_{false};
  std::atomic<bool> expire_watches_{false};
  std::unique_ptr<http::Server> server_;
};

}  // namespace tensorfleet::testing
