// Which tasks a cluster has and where they listen: jobs in the order in which they were given, each
// with its tasks by index. Reads and writes the forms that users have: ClusterDef (binary and
// text), JSON as in TF_CONFIG (dense lists or sparse objects), and
// "ps|host:2222,worker|host:2223;host:2224".
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "proto/cluster.pb.h"
#include "runtime/base/status.h"

namespace tensorfleet {

class ClusterSpec {
 public:
  struct Job {
    std::string name;
    std::map<int, std::string> tasks;  // "host:port" by index
    friend bool operator==(const Job& a, const Job& b) {
      return a.name == b.name && a.tasks == b.tasks;
    }
  };

  ClusterSpec() = default;
  // All of these check names, indices and addresses. Errors: InvalidArgument naming the job, the
  // index or the address at fault.
  static StatusOr<ClusterSpec> Make(std::vector<Job> jobs);
  static StatusOr<ClusterSpec> FromProto(const tensorflow::ClusterDef& def);
  static StatusOr<ClusterSpec> FromBinary(absl::string_view bytes);
  static StatusOr<ClusterSpec> FromText(absl::string_view text);
  static StatusOr<ClusterSpec> FromJson(absl::string_view json);
  // JSON, the "job|address;address,job|..." form or "@FILE" holding JSON or a ClusterDef as text.
  static StatusOr<ClusterSpec> FromFlag(absl::string_view flag);

  void ToProto(tensorflow::ClusterDef* def) const;
  std::string ToText() const;
  // A dense job as a list, a sparse one as an object.
  std::string ToJson() const;

  const std::vector<Job>& jobs() const { return jobs_; }
  bool empty() const { return jobs_.empty(); }
  const Job* FindJob(absl::string_view name) const;  // null when unknown
  // Errors: NotFound, saying what there is.
  StatusOr<std::string> Address(absl::string_view job, int task) const;
  // Tasks' names ("/job:ps/replica:0/task:0") and addresses, job by job.
  std::vector<std::pair<std::string, std::string>> Tasks() const;
  // "{0 -> host:2222, 1 -> host:2223}": how logs show a job.
  static std::string Describe(const Job& job);

  friend bool operator==(const ClusterSpec& a, const ClusterSpec& b) { return a.jobs_ == b.jobs_; }

 private:
  std::vector<Job> jobs_;
};

// Errors: InvalidArgument unless `address` is "host:port" with a port of 1 to 65535; "[::1]:2222"
// is fine.
Status CheckAddress(absl::string_view address);

}  // namespace tensorfleet
