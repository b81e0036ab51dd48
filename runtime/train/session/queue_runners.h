// The threads that fill a graph's input queues, as its queue runners say: each runs one enqueue op
// in a loop until the input ends, then the queue is closed. One object for one session.
#pragma once

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "proto/collections.pb.h"
#include "runtime/base/mutex.h"
#include "runtime/base/status.h"
#include "runtime/client/session.h"

namespace tensorfleet::train {

class QueueRunners {
 public:
  // Starts the threads. The session must outlive them. `on_error` is called on one of them when
  // status() is no longer OK.
  QueueRunners(const std::vector<tensorflow::QueueRunnerDef>& runners, Session* session,
               std::function<void()> on_error = nullptr);
  // Waits for the threads: stop them first, by Stop or by closing the session.
  ~QueueRunners();
  QueueRunners(const QueueRunners&) = delete;
  QueueRunners& operator=(const QueueRunners&) = delete;

  // Lets the threads end after what they are doing; closing the session cancels that.
  void Stop();
  // The first error that was not the end of the input. After one, all queues are closed, so that
  // no step waits for what nobody fills.
  Status status() const;

 private:
  struct Runner {
    tensorflow::QueueRunnerDef def;
    int running = 0;
  };
  void Fill(Runner* runner, const std::string& enqueue_op);
  bool IsEndOfInput(const Runner& runner, const Status& status) const;
  void Fail(const Status& status);
  void Run(const std::string& target);

  Session* const session_;
  const std::function<void()> on_error_;
  std::vector<std::unique_ptr<Runner>> runners_;
  mutable Mutex mu_;
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
  Status status_ ABSL_GUARDED_BY(mu_);
  std::vector<std::thread> threads_;
};

}  // namespace tensorfleet::train
