// A session on a server, through MasterService.

#include <grpcpp/grpcpp.h>

#include <limits>

#include "proto/master_service.grpc.pb.h"
#include "runtime/client/session_backends.h"
#include "runtime/tensor/tensor_proto.h"

namespace tensorfleet {
namespace {

Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return OkStatus();
  return Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

class GrpcBackend final : public SessionBackend {
 public:
  GrpcBackend(const std::string& address, const tensorflow::ConfigProto& config)
      : target_("grpc://" + address), config_(config) {
    grpc::ChannelArguments args;
    args.SetMaxReceiveMessageSize(std::numeric_limits<int>::max());
    args.SetMaxSendMessageSize(std::numeric_limits<int>::max());
    stub_ = tensorflow::MasterService::NewStub(
        grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), args));
  }

  Status Extend(const tensorflow::GraphDef& nodes) override {
    MutexLock lock(&mu_);
    grpc::ClientContext context;
    Prepare(context, config_.operation_timeout_in_ms());
    if (handle_.empty()) {
      tensorflow::CreateSessionRequest request;
      *request.mutable_graph_def() = nodes;
      *request.mutable_config() = config_;
      request.set_target(target_);
      tensorflow::CreateSessionResponse response;
      TFLEET_RETURN_IF_ERROR(FromGrpc(stub_->CreateSession(&context, request, &response)));
      handle_ = response.session_handle();
      version_ = response.graph_version();
      return OkStatus();
    }
    tensorflow::ExtendSessionRequest request;
    request.set_session_handle(handle_);
    *request.mutable_graph_def() = nodes;
    request.set_current_graph_version(version_);
    tensorflow::ExtendSessionResponse response;
    TFLEET_RETURN_IF_ERROR(FromGrpc(stub_->ExtendSession(&context, request, &response)));
    version_ = response.new_graph_version();
    return OkStatus();
  }

  StatusOr<std::vector<Tensor>> Run(const StepRequest& step,
                                    tensorflow::RunMetadata* metadata) override {
    tensorflow::RunStepRequest request;
    TFLEET_ASSIGN_OR_RETURN(*request.mutable_session_handle(), Handle());
    for (const auto& [name, value] : step.feeds) {
      tensorflow::NamedTensorProto* feed = request.add_feed();
      feed->set_name(name);
      TFLEET_RETURN_IF_ERROR(TensorToProto(value, feed->mutable_tensor()));
    }
    for (const std::string& fetch : step.fetches) request.add_fetch(fetch);
    for (const std::string& target : step.targets) request.add_target(target);
    *request.mutable_options() = step.options;
    request.set_partial_run_handle(step.partial_run_handle);
    request.set_store_errors_in_response_body(true);
    grpc::ClientContext context;
    Prepare(context, step.options.timeout_in_ms() > 0 ? step.options.timeout_in_ms()
                                                      : config_.operation_timeout_in_ms());
    tensorflow::RunStepResponse response;
    TFLEET_RETURN_IF_ERROR(FromGrpc(stub_->RunStep(&context, request, &response)));
    if (response.status_code() != tensorflow::error::OK) {
      return Status(static_cast<absl::StatusCode>(response.status_code()),
                    response.status_error_message());
    }
    if (metadata != nullptr) metadata->Swap(response.mutable_metadata());
    return InOrder(step, response);
  }

  StatusOr<int64_t> MakeCallable(const tensorflow::CallableOptions& options) override {
    tensorflow::MakeCallableRequest request;
    TFLEET_ASSIGN_OR_RETURN(*request.mutable_session_handle(), Handle());
    *request.mutable_options() = options;
    grpc::ClientContext context;
    Prepare(context, config_.operation_timeout_in_ms());
    tensorflow::MakeCallableResponse response;
    TFLEET_RETURN_IF_ERROR(FromGrpc(stub_->MakeCallable(&context, request, &response)));
    return response.handle();
  }

  StatusOr<std::vector<Tensor>> RunCallable(int64_t handle, std::vector<Tensor> feeds,
                                            tensorflow::RunMetadata* metadata) override {
    tensorflow::RunCallableRequest request;
    TFLEET_ASSIGN_OR_RETURN(*request.mutable_session_handle(), Handle());
    request.set_handle(handle);
    for (const Tensor& feed : feeds) {
      TFLEET_RETURN_IF_ERROR(TensorToProto(feed, request.add_feed()));
    }
    grpc::ClientContext context;
    Prepare(context, config_.operation_timeout_in_ms());
    tensorflow::RunCallableResponse response;
    TFLEET_RETURN_IF_ERROR(FromGrpc(stub_->RunCallable(&context, request, &response)));
    if (metadata != nullptr) metadata->Swap(response.mutable_metadata());
    std::vector<Tensor> values;
    for (const tensorflow::TensorProto& fetch : response.fetch()) {
      TFLEET_ASSIGN_OR_RETURN(values.emplace_back(), TensorFromProto(fetch));
    }
    return values;
  }

  Status ReleaseCallable(int64_t handle) override {
    tensorflow::ReleaseCallableRequest request;
    TFLEET_ASSIGN_OR_RETURN(*request.mutable_session_handle(), Handle());
    request.set_handle(handle);
    grpc::ClientContext context;
    PrepareLast(context);
    tensorflow::ReleaseCallableResponse response;
    return FromGrpc(stub_->ReleaseCallable(&context, request, &response));
  }

  StatusOr<std::string> PartialRunSetup(const StepRequest& step) override {
    tensorflow::PartialRunSetupRequest request;
    TFLEET_ASSIGN_OR_RETURN(*request.mutable_session_handle(), Handle());
    for (const auto& [name, value] : step.feeds) request.add_feed(name);
    for (const std::string& fetch : step.fetches) request.add_fetch(fetch);
    for (const std::string& target : step.targets) request.add_target(target);
    grpc::ClientContext context;
    Prepare(context, config_.operation_timeout_in_ms());
    tensorflow::PartialRunSetupResponse response;
    TFLEET_RETURN_IF_ERROR(FromGrpc(stub_->PartialRunSetup(&context, request, &response)));
    return response.partial_run_handle();
  }

  StatusOr<std::vector<tensorflow::DeviceAttributes>> ListDevices() override {
    tensorflow::ListDevicesRequest request;
    TFLEET_ASSIGN_OR_RETURN(*request.mutable_session_handle(), Handle());
    grpc::ClientContext context;
    Prepare(context, config_.operation_timeout_in_ms());
    tensorflow::ListDevicesResponse response;
    TFLEET_RETURN_IF_ERROR(FromGrpc(stub_->ListDevices(&context, request, &response)));
    std::vector<tensorflow::DeviceAttributes> devices(response.local_device().begin(),
                                                      response.local_device().end());
    devices.insert(devices.end(), response.remote_device().begin(), response.remote_device().end());
    return devices;
  }

  Status Close() override {
    tensorflow::CloseSessionRequest request;
    TFLEET_ASSIGN_OR_RETURN(*request.mutable_session_handle(), Handle());
    grpc::ClientContext context;
    PrepareLast(context);
    tensorflow::CloseSessionResponse response;
    return FromGrpc(stub_->CloseSession(&context, request, &response));
  }

 private:
  // For giving something back. A server that is gone has no session: do not wait for another one at
  // its address.
  static void PrepareLast(grpc::ClientContext& context) {
    context.set_wait_for_ready(false);
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
  }

  static void Prepare(grpc::ClientContext& context, int64_t timeout_ms) {
    context.set_wait_for_ready(true);
    if (timeout_ms > 0) {
      context.set_deadline(std::chrono::system_clock::now() +
                           std::chrono::milliseconds(timeout_ms));
    }
  }

  StatusOr<std::string> Handle() {
    MutexLock lock(&mu_);
    if (handle_.empty())
      return FailedPrecondition("the session has no graph yet; call Extend first");
    return handle_;
  }

  static StatusOr<std::vector<Tensor>> InOrder(const StepRequest& step,
                                               const tensorflow::RunStepResponse& response) {
    std::vector<Tensor> values;
    for (const std::string& fetch : step.fetches) {
      const auto it = std::find_if(response.tensor().begin(), response.tensor().end(),
                                   [&](const auto& named) { return named.name() == fetch; });
      if (it == response.tensor().end()) {
        return Internal("the server's reply has no value for '", fetch, "'");
      }
      TFLEET_ASSIGN_OR_RETURN(Tensor value, TensorFromProto(it->tensor()));
      values.push_back(std::move(value));
    }
    return values;
  }

  const std::string target_;
  const tensorflow::ConfigProto config_;
  std::unique_ptr<tensorflow::MasterService::Stub> stub_;
  Mutex mu_;
  std::string handle_ ABSL_GUARDED_BY(mu_);
  int64_t version_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace

std::unique_ptr<SessionBackend> MakeGrpcBackend(const std::string& address,
                                                const tensorflow::ConfigProto& config) {
  return std::make_unique<GrpcBackend>(address, config);
}

}  // namespace tensorfleet
