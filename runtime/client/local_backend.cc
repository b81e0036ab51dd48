// A session inside this process.

#include <algorithm>

#include "runtime/client/session_backends.h"
#include "runtime/kernels/cpu/all.h"
#include "runtime/ops/all.h"
#include "runtime/session/device_attributes.h"
#include "runtime/session/local_session.h"

namespace tensorfleet {
namespace {

class LocalBackend final : public SessionBackend {
 public:
  explicit LocalBackend(std::unique_ptr<LocalSession> session) : session_(std::move(session)) {}

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
    std::vector<tensorflow::DeviceAttributes> devices;
    for (const DeviceAttributes& device : session_->devices()) {
      DeviceAttributesToProto(device, &devices.emplace_back());
    }
    return devices;
  }

  Status Close() override { return session_->Close(); }

 private:
  const std::unique_ptr<LocalSession> session_;
};

}  // namespace

StatusOr<std::unique_ptr<SessionBackend>> MakeLocalBackend(const tensorflow::ConfigProto& config) {
  TFLEET_ASSIGN_OR_RETURN(std::unique_ptr<LocalSession> session,
                          LocalSession::Make(&BuiltinOps(), &CpuKernels(), config));
  return std::unique_ptr<SessionBackend>(std::make_unique<LocalBackend>(std::move(session)));
}

}  // namespace tensorfleet
