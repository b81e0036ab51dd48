// Reads jobs from an API server, and what their servers count through the API server's proxy to
// pods: nothing is reached but what the caller's credentials reach. Thread-safe.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "operator/k8s/client.h"
#include "operator/view/job_facts.h"
#include "runtime/base/mutex.h"

namespace tensorfleet::view {

// Of a job with more, the rest have no numbers.
inline constexpr size_t kMostTasksAsked = 64;
// Lines of a log that are read.
inline constexpr int kLogLines = 500, kLogBytes = 1 << 20;

struct JobPage {
  std::vector<JobRow> jobs;
  std::string next;  // what continues the list; "" at its end
};

class JobReader {
 public:
  // `client` must outlive this.
  explicit JobReader(k8s::Client* client) : client_(client) {}

  // At most `limit` jobs of a namespace ("": all of them), from where another page ended.
  StatusOr<JobPage> List(const std::string& ns, int limit, const std::string& from);
  // The job with its tasks and their numbers. Rates are known from the second time on. Errors:
  // NotFound, PermissionDenied, Unavailable. A pod that does not answer has no numbers.
  StatusOr<JobFacts> Read(const std::string& ns, const std::string& name);
  // The last lines of a pod's log.
  StatusOr<std::string> Log(const std::string& ns, const std::string& pod);

 private:
  struct Before {
    std::chrono::steady_clock::time_point when;
    double steps = 0, sent = 0;
  };

  void AddNumbers(JobFacts* facts);
  void AddRates(const std::string& uid, Task* task);

  k8s::Client* const client_;
  Mutex mu_;
  // By the job's UID and the pod's name; what was not asked about for long goes.
  std::map<std::pair<std::string, std::string>, Before> before_ ABSL_GUARDED_BY(mu_);
};

}  // namespace tensorfleet::view
