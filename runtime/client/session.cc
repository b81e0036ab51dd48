#include "runtime/client/session.h"

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "runtime/client/session_backends.h"
#include "runtime/graph/graph_import.h"

namespace tensorfleet {

StatusOr<std::unique_ptr<Session>> Session::Open(absl::string_view target,
                                                 const tensorflow::ConfigProto& config) {
  absl::string_view address = target;
  std::unique_ptr<SessionBackend> backend;
  if (target.empty()) {
    TFLEET_ASSIGN_OR_RETURN(backend, MakeLocalBackend(config));
  } else if (absl::ConsumePrefix(&address, "grpc://") && !address.empty()) {
    backend = MakeGrpcBackend(std::string(address), config);
  } else {
    return InvalidArgument("session target \"", target, "\" is neither empty nor grpc://HOST:PORT");
  }
  return std::unique_ptr<Session>(new Session(std::move(backend)));
}

Session::~Session() { Close().IgnoreError(); }

Status Session::SendNewNodes(const Scope& scope) {
  TFLEET_RETURN_IF_ERROR(scope.status());
  MutexLock lock(&mu_);
  if (closed_) return FailedPrecondition("the session is closed");
  const Graph& graph = scope.graph();
  if (opened_ && nodes_sent_ == graph.num_node_ids()) return OkStatus();
  TFLEET_ASSIGN_OR_RETURN(tensorflow::GraphDef all, scope.ToGraphDef());
  tensorflow::GraphDef added;
  *added.mutable_versions() = all.versions();
  for (auto& node : *all.mutable_node()) {
    if (graph.FindNode(node.name())->id() >= nodes_sent_) added.add_node()->Swap(&node);
  }
  TFLEET_RETURN_IF_ERROR(backend_->Extend(added));
  opened_ = true;
  nodes_sent_ = graph.num_node_ids();
  return OkStatus();
}

StatusOr<std::vector<Tensor>> Session::Run(const Scope& scope, const Feeds& feeds,
                                           const std::vector<Output>& fetches,
                                           const std::vector<Operation>& targets,
                                           const tensorflow::RunOptions& options,
                                           tensorflow::RunMetadata* metadata) {
  TFLEET_RETURN_IF_ERROR(SendNewNodes(scope));
  StepRequest request;
  for (const auto& [output, value] : feeds) request.feeds.emplace_back(output.name(), value);
  for (const Output& fetch : fetches) request.fetches.push_back(fetch.name());
  for (const Operation& target : targets) request.targets.push_back(target.name());
  request.options = options;
  return backend_->Run(request, metadata);
}

StatusOr<std::vector<Tensor>> Session::Run(const StepRequest& request,
                                           tensorflow::RunMetadata* metadata) {
  return backend_->Run(request, metadata);
}

Status Session::Extend(const tensorflow::GraphDef& nodes) {
  MutexLock lock(&mu_);
  if (closed_) return FailedPrecondition("the session is closed");
  TFLEET_RETURN_IF_ERROR(backend_->Extend(nodes));
  opened_ = true;
  return OkStatus();
}

StatusOr<std::vector<tensorflow::DeviceAttributes>> Session::ListDevices() {
  return backend_->ListDevices();
}

Status Session::Close() {
  {
    MutexLock lock(&mu_);
    if (closed_) return OkStatus();
    closed_ = true;
    if (!opened_) return OkStatus();
  }
  return backend_->Close();
}

}  // namespace tensorfleet
