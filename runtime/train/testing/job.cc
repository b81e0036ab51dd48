#include "runtime/train/testing/job.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "runtime/base/check.h"
#include "runtime/base/log.h"
#include "runtime/kernels/cpu/all.h"
#include "runtime/ops/all.h"

namespace tensorfleet::train {

ClusterSpec LocalCluster(const std::map<std::string, int>& tasks_by_job) {
  std::vector<int> sockets;  // all held until the last is chosen
  std::vector<ClusterSpec::Job> jobs;
  for (const auto& [name, count] : tasks_by_job) {
    ClusterSpec::Job job;
    job.name = name;
    for (int task = 0; task < count; ++task) {
      sockets.push_back(::socket(AF_INET, SOCK_STREAM, 0));
      sockaddr_in address = {};
      address.sin_family = AF_INET;
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      socklen_t size = sizeof(address);
      auto* const any = reinterpret_cast<sockaddr*>(&address);
      TFLEET_CHECK(::bind(sockets.back(), any, size) == 0);
      TFLEET_CHECK(::getsockname(sockets.back(), any, &size) == 0);
      job.tasks[task] = absl::StrCat("localhost:", ntohs(address.sin_port));
    }
    jobs.push_back(std::move(job));
  }
  for (const int socket : sockets) ::close(socket);
  return ClusterSpec::Make(std::move(jobs)).value();
}

TaskThread::TaskThread(const ClusterSpec& cluster, const std::string& job, int task,
                       tensorflow::MetaGraphDef meta, TrainOptions options)
    : meta_(std::move(meta)), options_(std::move(options)) {
  options_.server.cluster = cluster;
  options_.server.job = job;
  options_.server.task = task;
  options_.server.ops = &BuiltinOps();
  options_.server.kernels = &CpuKernels();
  options_.server.compute_threads = 2;
  thread_ = std::thread([this] {
    result_ = RunTrainTask(&meta_, options_, &stop_);
    // What another task's failure looks like is often explained by this.
    if (!result_.ok()) {
      LogInfo("A task ended",
              {{"task", absl::StrCat(options_.server.job, ":", options_.server.task)},
               {"status", result_.ToString()}});
    }
    done_.Notify();
  });
}

TaskThread::~TaskThread() {
  stop_.StartCancel(Cancelled("the test ends"));
  thread_.join();
}

Status TaskThread::Wait() {
  if (!done_.WaitFor(std::chrono::seconds(60))) {
    return DeadlineExceeded("the task has not ended within a minute");
  }
  return result_;
}

}  // namespace tensorfleet::train
