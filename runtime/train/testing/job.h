// The tasks of a training job inside a test: each runs on a thread of its own.
#pragma once

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/cancellation.h"
#include "runtime/base/mutex.h"
#include "runtime/session/cluster/cluster_spec.h"
#include "runtime/train/job/train_task.h"

namespace tensorfleet::train {

class TaskThread {
 public:
  // Starts it. Everything is copied.
  TaskThread(const ClusterSpec& cluster, const std::string& job, int task,
             tensorflow::MetaGraphDef meta, TrainOptions options);
  // Stops it when it still runs.
  ~TaskThread();
  TaskThread(const TaskThread&) = delete;
  TaskThread& operator=(const TaskThread&) = delete;

  void Stop(const Status& why) { stop_.StartCancel(why); }
  // Its result; DeadlineExceeded when it has not ended within a minute.
  Status Wait();

 private:
  const tensorflow::MetaGraphDef meta_;
  TrainOptions options_;
  CancellationManager stop_;
  Status result_;
  Notification done_;
  std::thread thread_;
};

}  // namespace tensorfleet::train
