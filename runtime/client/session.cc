#include "runtime/client/session.h"

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "runtime/client/session_backends.h"
#include "runtime/graph/graph_import.h"
#include "runtime/session/master/master_client.h"

namespace tensorfleet {

StatusOr<std::unique_ptr<Session>> Session::Open(absl::string_view target,
                                                 const tensorflow::ConfigProto& config) {
  absl::string_view address = target;
  std::shared_ptr<SessionBackend> backend;
  if (target.empty()) {
    TFLEET_ASSIGN_OR_RETURN(backend, MakeLocalBackend(config));
  } else if (absl::ConsumePrefix(&address, "grpc://") && !address.empty()) {
    backend = MakeGrpcBackend(std::string(address), config);
  } else {
    return InvalidArgument("session target \"", target, "\" is neither empty nor grpc://HOST:PORT");
  }
  return std::unique_ptr<Session>(new Session(std::move(backend)));
}

std::unique_ptr<Session> Session::On(std::unique_ptr<MasterClient> client) {
  return std::unique_ptr<Session>(new Session(MakeMasterBackend(std::move(client))));
}

Session::~Session() { Close().IgnoreError(); }

Status Session::Extend(const Scope& scope) {
  TFLEET_RETURN_IF_ERROR(scope.status());
  MutexLock lock(&mu_);
  if (closed_) return FailedPrecondition("the session is closed");
  const Graph& graph = scope.graph();
  if (opened_ && nodes_sent_ == graph.num_node_ids()) return OkStatus();
  for (const Node* node : absl::MakeConstSpan(scope.replaced()).subspan(replaced_seen_)) {
    if (node->id() < nodes_sent_) {
      return FailedPrecondition("the call '", node->name(), "' was replaced by its body, for its ",
                                "gradient, after this session had been given it as a call; add ",
                                "gradients before the first step, or open another session");
    }
  }
  TFLEET_ASSIGN_OR_RETURN(tensorflow::GraphDef all, scope.ToGraphDef());
  tensorflow::GraphDef added;
  *added.mutable_versions() = all.versions();
  // A library only grows.
  const int functions = all.library().function_size() + all.library().gradient_size();
  if (functions != functions_sent_) added.mutable_library()->Swap(all.mutable_library());
  for (auto& node : *all.mutable_node()) {
    if (graph.FindNode(node.name())->id() >= nodes_sent_) added.add_node()->Swap(&node);
  }
  TFLEET_RETURN_IF_ERROR(backend_->Extend(added));
  opened_ = true;
  nodes_sent_ = graph.num_node_ids();
  replaced_seen_ = scope.replaced().size();
  functions_sent_ = functions;
  return OkStatus();
}

StatusOr<std::vector<Tensor>> Session::Run(const Scope& scope, const Feeds& feeds,
                                           const std::vector<Output>& fetches,
                                           const std::vector<Operation>& targets,
                                           const tensorflow::RunOptions& options,
                                           tensorflow::RunMetadata* metadata) {
  TFLEET_RETURN_IF_ERROR(Extend(scope));
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

StatusOr<std::unique_ptr<Callable>> Session::MakeCallable(const Scope& scope,
                                                          const std::vector<Output>& feeds,
                                                          const std::vector<Output>& fetches,
                                                          const std::vector<Operation>& targets,
                                                          const tensorflow::RunOptions& options) {
  TFLEET_RETURN_IF_ERROR(Extend(scope));
  tensorflow::CallableOptions callable;
  for (const Output& feed : feeds) callable.add_feed(feed.name());
  for (const Output& fetch : fetches) callable.add_fetch(fetch.name());
  for (const Operation& target : targets) callable.add_target(target.name());
  *callable.mutable_run_options() = options;
  TFLEET_ASSIGN_OR_RETURN(const int64_t handle, backend_->MakeCallable(callable));
  return std::make_unique<Callable>(backend_, handle);
}

StatusOr<std::unique_ptr<PartialRun>> Session::StartPartialRun(
    const Scope& scope, const std::vector<Output>& feeds, const std::vector<Output>& fetches,
    const std::vector<Operation>& targets) {
  TFLEET_RETURN_IF_ERROR(Extend(scope));
  StepRequest request;
  for (const Output& feed : feeds) request.feeds.emplace_back(feed.name(), Tensor());
  for (const Output& fetch : fetches) request.fetches.push_back(fetch.name());
  for (const Operation& target : targets) request.targets.push_back(target.name());
  TFLEET_ASSIGN_OR_RETURN(std::string handle, backend_->PartialRunSetup(request));
  return std::make_unique<PartialRun>(backend_, std::move(handle));
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
