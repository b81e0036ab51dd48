// A graph that a worker keeps for a master: registered there once, and deregistered when the last
// step that may run it is gone. Thread-safe.
#pragma once

#include <memory>
#include <string>

#include "runtime/base/cancellation.h"
#include "runtime/session/worker/worker_interface.h"

namespace tensorfleet {

class GraphRegistration {
 public:
  // `session_end` is cancelled when the session closes: the worker then forgets all the session's
  // graphs at once, and nothing is sent for this one.
  GraphRegistration(std::shared_ptr<WorkerInterface> worker, std::string session_handle,
                    std::string graph_handle,
                    std::shared_ptr<const CancellationManager> session_end);
  // Asks the worker to forget the graph, and does not wait for it.
  ~GraphRegistration();
  GraphRegistration(const GraphRegistration&) = delete;
  GraphRegistration& operator=(const GraphRegistration&) = delete;

  const std::string& handle() const { return graph_handle_; }

 private:
  const std::shared_ptr<WorkerInterface> worker_;
  const std::string session_handle_, graph_handle_;
  const std::shared_ptr<const CancellationManager> session_end_;
};

}  // namespace tensorfleet
