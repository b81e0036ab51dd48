#include "runtime/train/testing/job.h"

#include "absl/strings/str_cat.h"
#include "runtime/base/log.h"
#include "runtime/kernels/cpu/all.h"
#include "runtime/ops/all.h"

namespace tensorfleet::train {

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
