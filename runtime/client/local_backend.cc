// Sessions on a master of this process: one of its own, or a server's.

#include <algorithm>

#include "runtime/client/session_backends.h"
#include "runtime/kernels/cpu/all.h"
#include "runtime/ops/all.h"
#include "runtime/session/local_session.h"

namespace tensorfleet {
namespace {

class MasterBackend final : public SessionBackend {
 public:
  // `owner` keeps the client.
  MasterBackend(MasterClient* client, std::shared_ptr<void> owner)
      : session_(client), owner_(std::move(owner)) {}

  Status Extend(const tensorflow::GraphDef& nodes) override { return session_->Extend(nodes); }

  StatusOr<std::vector<Tensor>> Run(const StepRequest& step,
                                    tensorflow::RunMetadata* metadata) override {
    RunStepArgs args;
    for (const auto& [name, value] : step.feeds) args.feeds.push_back({name, value});
    // Each name is answered once.
    for (const std::string& fetch : step.fetches) {
      if (std::find(args.fetches.begin(), args.fetches.end(), fetch) == args.fetches.end()) {
        args.fetches.push_back(fetch);
      }
    }
    args.targets = step.targets;
    args.options = step.options;
    args.partial_run_handle = step.partial_run_handle;
    RunStepResult result;
    TFLEET_RETURN_IF_ERROR(session_->Run(std::move(args), &result));
    if (metadata != nullptr) metadata->Swap(&result.metadata);
    std::vector<Tensor> values;
    for (const std::string& fetch : step.fetches) {
      const auto it = std::find_if(result.fetches.begin(), result.fetches.end(),
                                   [&](const NamedTensor& named) { return named.name == fetch; });
      values.push_back(it->tensor);
    }
    return values;
  }

  StatusOr<int64_t> MakeCallable(const tensorflow::CallableOptions& options) override {
    return session_->MakeCallable(options);
  }
  StatusOr<std::vector<Tensor>> RunCallable(int64_t handle, std::vector<Tensor> feeds,
                                            tensorflow::RunMetadata* metadata) override {
    return session_->RunCallable(handle, std::move(feeds), metadata);
  }
  Status ReleaseCallable(int64_t handle) override { return session_->ReleaseCallable(handle); }

  StatusOr<std::string> PartialRunSetup(const StepRequest& step) override {
    std::vector<std::string> feeds;
    for (const auto& [name, value] : step.feeds) feeds.push_back(name);
    return session_->PartialRunSetup(feeds, step.fetches, step.targets);
  }

  StatusOr<std::vector<tensorflow::DeviceAttributes>> ListDevices() override {
    return session_->ListDevices();
  }
  Status Close() override { return session_->Close(); }

 private:
  MasterClient* const session_;
  const std::shared_ptr<void> owner_;
};

}  // namespace

StatusOr<std::unique_ptr<SessionBackend>> MakeLocalBackend(const tensorflow::ConfigProto& config) {
  TFLEET_ASSIGN_OR_RETURN(std::shared_ptr<LocalSession> session,
                          LocalSession::Make(&BuiltinOps(), &CpuKernels(), config));
  MasterClient* const client = &session->client();
  return std::unique_ptr<SessionBackend>(
      std::make_unique<MasterBackend>(client, std::move(session)));
}

std::unique_ptr<SessionBackend> MakeMasterBackend(std::unique_ptr<MasterClient> client) {
  MasterClient* const session = client.get();
  return std::make_unique<MasterBackend>(session, std::shared_ptr<MasterClient>(std::move(client)));
}

}  // namespace tensorfleet
