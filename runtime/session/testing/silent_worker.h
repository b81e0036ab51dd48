// A worker that answers GetStatus when the test says so, and nothing else but what a test
// overrides. For tests only.
#pragma once

#include <vector>

#include "runtime/base/check.h"
#include "runtime/base/mutex.h"
#include "runtime/session/worker_interface.h"

namespace tensorfleet {

class SilentWorker : public WorkerInterface {
 public:
  int calls() const {
    MutexLock lock(&mu_);
    return calls_;
  }
  std::chrono::milliseconds last_timeout() const {
    MutexLock lock(&mu_);
    return timeout_;
  }
  // Returns once GetStatus was called that often in all.
  void WaitForCalls(int n) {
    MutexLock lock(&mu_);
    while (calls_ < n) changed_.Wait(&mu_);
  }
  void AnswerAll(const Status& status) {
    std::vector<DoneWith<std::vector<DeviceAttributes>>> waiting;
    {
      MutexLock lock(&mu_);
      waiting.swap(waiting_);
    }
    for (const auto& done : waiting) {
      if (status.ok()) {
        done(std::vector<DeviceAttributes>());
      } else {
        done(status);
      }
    }
  }

  void GetStatus(const CallOptions& options,
                 DoneWith<std::vector<DeviceAttributes>> done) override {
    MutexLock lock(&mu_);
    ++calls_;
    timeout_ = options.timeout;
    waiting_.push_back(std::move(done));
    changed_.NotifyAll();
  }
  void CreateWorkerSession(const CallOptions&, const tensorflow::CreateWorkerSessionRequest&,
                           Done) override {
    Unexpected();
  }
  void DeleteWorkerSession(const CallOptions&, const std::string&, Done) override { Unexpected(); }
  void RegisterGraph(const CallOptions&, RegisterGraphArgs, DoneWith<std::string>) override {
    Unexpected();
  }
  void DeregisterGraph(const CallOptions&, const tensorflow::DeregisterGraphRequest&,
                       Done) override {
    Unexpected();
  }
  void RunGraph(const CallOptions&, RunGraphArgs*, RunGraphResult*, Done) override { Unexpected(); }
  void CleanupGraph(const CallOptions&, int64_t, Done) override { Unexpected(); }
  void CleanupAll(const CallOptions&, const std::vector<std::string>&, Done) override {
    Unexpected();
  }
  void RecvTensor(const CallOptions&, const RecvTensorArgs&, RecvTensorResult*, Done) override {
    Unexpected();
  }
  void Logging(const CallOptions&, const tensorflow::LoggingRequest&,
               DoneWith<tensorflow::LoggingResponse>) override {
    Unexpected();
  }

 private:
  static void Unexpected() { TFLEET_CHECK(false); }

  mutable Mutex mu_;
  CondVar changed_;
  int calls_ ABSL_GUARDED_BY(mu_) = 0;
  std::chrono::milliseconds timeout_ ABSL_GUARDED_BY(mu_){0};
  std::vector<DoneWith<std::vector<DeviceAttributes>>> waiting_ ABSL_GUARDED_BY(mu_);
};

}  // namespace tensorfleet
