// A worker that does nothing but what a test overrides. For tests only.
#pragma once

#include <vector>

#include "runtime/base/check.h"
#include "runtime/session/worker/worker_interface.h"

namespace tensorfleet {

class StubWorker : public WorkerInterface {
 public:
  void GetStatus(const CallOptions&, DoneWith<std::vector<DeviceAttributes>>) override {
    Unexpected();
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
  void CompleteGroup(const CallOptions&, const tensorflow::CompleteGroupRequest&,
                     DoneWith<tensorflow::CompleteGroupResponse>) override {
    Unexpected();
  }
  void CompleteInstance(const CallOptions&, const tensorflow::CompleteInstanceRequest&,
                        DoneWith<tensorflow::CompleteInstanceResponse>) override {
    Unexpected();
  }
  void GetStepSequence(const CallOptions&, const tensorflow::GetStepSequenceRequest&,
                       DoneWith<tensorflow::GetStepSequenceResponse>) override {
    Unexpected();
  }
  void RecvBuf(const CallOptions&, const RecvBufArgs&, RecvTensorResult*, Done) override {
    Unexpected();
  }

 private:
  static void Unexpected() { TFLEET_CHECK(false); }
};

}  // namespace tensorfleet
