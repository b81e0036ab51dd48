#include "runtime/session/master/graph_registration.h"

#include <utility>

namespace tensorfleet {

GraphRegistration::GraphRegistration(std::shared_ptr<WorkerInterface> worker,
                                     std::string session_handle, std::string graph_handle,
                                     std::shared_ptr<const CancellationManager> session_end)
    : worker_(std::move(worker)),
      session_handle_(std::move(session_handle)),
      graph_handle_(std::move(graph_handle)),
      session_end_(std::move(session_end)) {}

GraphRegistration::~GraphRegistration() {
  if (session_end_->is_cancelled()) return;
  tensorflow::DeregisterGraphRequest request;
  request.set_session_handle(session_handle_);
  request.set_create_worker_session_called(true);
  request.set_graph_handle(graph_handle_);
  // A worker that cannot be reached, or has restarted, loses the graph with the session.
  worker_->DeregisterGraph({}, request, [](const Status&) {});
}

}  // namespace tensorfleet
