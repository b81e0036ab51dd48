// A graph that a master registered with a worker: one executor for each device that it uses.
// Immutable once made; any number of steps may run at once.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/execute/executor.h"
#include "runtime/graph/graph.h"
#include "runtime/kernels/function_runner.h"
#include "runtime/session/idle_clock.h"
#include "runtime/session/worker/worker_session.h"

namespace tensorfleet {

class RegisteredGraph {
 public:
  struct Piece {
    const LocalDevice* device = nullptr;
    std::unique_ptr<FunctionRunner> functions;  // null without a library
    std::unique_ptr<Executor> executor;
  };

  // `graph` may name devices in its nodes' requests only (it came as a message); each must be one
  // of this worker. Errors: InvalidArgument `Node 'q' is missing a device specification`, `<dev>
  // unknown device.`; NotFound for an op without kernel; what compiling says.
  static StatusOr<std::shared_ptr<RegisteredGraph>> Make(WorkerSession* session,
                                                         std::unique_ptr<Graph> graph);

  RegisteredGraph();
  ~RegisteredGraph();
  const std::vector<Piece>& pieces() const { return pieces_; }
  IdleClock& runs() { return runs_; }
  // Whether a step meets others in a rendezvous: it then needs a place in the table of steps.
  bool has_transfers() const { return has_transfers_; }
  // The task that leads the graph's collectives.
  const std::string& collective_leader() const { return collective_leader_; }
  void set_collective_leader(std::string task) { collective_leader_ = std::move(task); }

 private:
  Status AddPiece(WorkerSession* session, const LocalDevice* device, std::unique_ptr<Graph> graph);

  IdleClock runs_;
  std::vector<Piece> pieces_;
  bool has_transfers_ = false;
  std::string collective_leader_;
};

}  // namespace tensorfleet
