#include "runtime/session/master/master_client.h"

#include <utility>

namespace tensorfleet {
namespace {

// Runs an asynchronous call and waits for it.
class Waiter {
 public:
  WorkerInterface::Done done() {
    return [this](Status status) {
      status_ = std::move(status);
      over_.Notify();
    };
  }
  Status Wait() {
    over_.Wait();
    return std::move(status_);
  }

 private:
  Status status_;
  Notification over_;
};

}  // namespace

MasterClient::MasterClient(Master* master, CancellationManager* stop,
                           tensorflow::ConfigProto config)
    : master_(*master), stop_(stop), config_(std::move(config)) {}

MasterClient::~MasterClient() { Close().IgnoreError(); }

StatusOr<std::string> MasterClient::Handle() const {
  MutexLock lock(&mu_);
  if (!handle_.empty()) return handle_;
  return FailedPrecondition("the session has no graph yet; call Extend first");
}

CallOptions MasterClient::Call() const {
  CallOptions call;
  call.cancellation = stop_;
  call.timeout = std::chrono::milliseconds(config_.operation_timeout_in_ms());
  call.caller_waits = true;
  return call;
}

Status MasterClient::Extend(const tensorflow::GraphDef& nodes) {
  MutexLock lock(&extend_mu_);
  Waiter waiter;
  if (const StatusOr<std::string> handle = Handle(); handle.ok()) {
    auto request = std::make_shared<tensorflow::ExtendSessionRequest>();
    request->set_session_handle(*handle);
    *request->mutable_graph_def() = nodes;
    request->set_current_graph_version(version_);
    StatusOr<int64_t> version = 0;
    master_.ExtendSession(std::move(request), [&](StatusOr<int64_t> extended) {
      version = std::move(extended);
      waiter.done()(version.status());
    });
    TFLEET_RETURN_IF_ERROR(waiter.Wait());
    version_ = *version;
    return OkStatus();
  }
  auto request = std::make_shared<tensorflow::CreateSessionRequest>();
  *request->mutable_graph_def() = nodes;
  *request->mutable_config() = config_;
  StatusOr<tensorflow::CreateSessionResponse> response;
  master_.CreateSession(Call(), std::move(request),
                        [&](StatusOr<tensorflow::CreateSessionResponse> created) {
                          response = std::move(created);
                          waiter.done()(response.status());
                        });
  TFLEET_RETURN_IF_ERROR(waiter.Wait());
  version_ = response->graph_version();
  MutexLock handle_lock(&mu_);
  handle_ = response->session_handle();
  return OkStatus();
}

Status MasterClient::Run(RunStepArgs args, RunStepResult* result) {
  TFLEET_ASSIGN_OR_RETURN(args.session_handle, Handle());
  Waiter waiter;
  master_.RunStep(Call(), &args, result, waiter.done());
  return waiter.Wait();
}

StatusOr<std::string> MasterClient::PartialRunSetup(const std::vector<std::string>& feeds,
                                                    const std::vector<std::string>& fetches,
                                                    const std::vector<std::string>& targets) {
  tensorflow::PartialRunSetupRequest request;
  TFLEET_ASSIGN_OR_RETURN(*request.mutable_session_handle(), Handle());
  for (const std::string& name : feeds) request.add_feed(name);
  for (const std::string& name : fetches) request.add_fetch(name);
  for (const std::string& name : targets) request.add_target(name);
  StatusOr<std::string> handle;
  Waiter waiter;
  master_.PartialRunSetup(Call(), request, [&](StatusOr<std::string> made) {
    handle = std::move(made);
    waiter.done()(handle.status());
  });
  TFLEET_RETURN_IF_ERROR(waiter.Wait());
  return handle;
}

StatusOr<int64_t> MasterClient::MakeCallable(const tensorflow::CallableOptions& options) {
  tensorflow::MakeCallableRequest request;
  TFLEET_ASSIGN_OR_RETURN(*request.mutable_session_handle(), Handle());
  *request.mutable_options() = options;
  StatusOr<int64_t> handle;
  Waiter waiter;
  master_.MakeCallable(Call(), request, [&](StatusOr<int64_t> made) {
    handle = made;
    waiter.done()(handle.status());
  });
  TFLEET_RETURN_IF_ERROR(waiter.Wait());
  return handle;
}

StatusOr<std::vector<Tensor>> MasterClient::RunCallable(int64_t handle, std::vector<Tensor> feeds,
                                                        tensorflow::RunMetadata* metadata) {
  RunCallableArgs args;
  TFLEET_ASSIGN_OR_RETURN(args.session_handle, Handle());
  args.handle = handle;
  args.feeds = std::move(feeds);
  RunStepResult result;
  Waiter waiter;
  master_.RunCallable(Call(), &args, &result, waiter.done());
  TFLEET_RETURN_IF_ERROR(waiter.Wait());
  if (metadata != nullptr) metadata->Swap(&result.metadata);
  std::vector<Tensor> values;
  for (NamedTensor& fetch : result.fetches) values.push_back(std::move(fetch.tensor));
  return values;
}

Status MasterClient::ReleaseCallable(int64_t handle) {
  tensorflow::ReleaseCallableRequest request;
  TFLEET_ASSIGN_OR_RETURN(*request.mutable_session_handle(), Handle());
  request.set_handle(handle);
  return master_.ReleaseCallable(request);
}

StatusOr<std::vector<tensorflow::DeviceAttributes>> MasterClient::ListDevices() {
  TFLEET_ASSIGN_OR_RETURN(const std::string handle, Handle());
  StatusOr<tensorflow::ListDevicesResponse> response;
  Waiter waiter;
  master_.ListDevices(Call(), handle, [&](StatusOr<tensorflow::ListDevicesResponse> listed) {
    response = std::move(listed);
    waiter.done()(response.status());
  });
  TFLEET_RETURN_IF_ERROR(waiter.Wait());
  std::vector<tensorflow::DeviceAttributes> devices(response->local_device().begin(),
                                                    response->local_device().end());
  devices.insert(devices.end(), response->remote_device().begin(), response->remote_device().end());
  return devices;
}

Status MasterClient::Close() {
  const StatusOr<std::string> handle = Handle();
  if (!handle.ok()) return OkStatus();
  Waiter waiter;
  master_.CloseSession(*handle, waiter.done());
  return waiter.Wait();
}

}  // namespace tensorfleet
