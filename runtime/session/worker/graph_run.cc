#include "runtime/session/worker/graph_run.h"

#include <atomic>
#include <utility>

#include "runtime/session/master/step_errors.h"

namespace tensorfleet {
namespace {

Executor::RunArgs ArgsFor(const RegisteredGraph::Piece& piece, const GraphRunArgs& args) {
  Executor::RunArgs run;
  run.step.step_id = args.step->id;
  run.step.device = piece.device->device;
  run.step.rendezvous = &args.step->rendezvous;
  run.step.cancellation = &args.step->cancellation;
  run.step.resources = piece.device->resources;
  run.step.step_resources = &args.step->resources;
  run.step.functions = piece.functions.get();
  run.step.frame = args.frame;
  run.stats = args.stats;
  run.memory = args.step->memory.get();
  run.caller_may_work = args.caller_may_work;
  return run;
}

// Deletes itself after the last piece.
struct Join {
  GraphRunArgs args;
  std::function<void(Status)> done;
  StepErrors errors;
  std::atomic<size_t> pending;

  void PieceDone(Status status) {
    errors.Add(std::move(status));
    if (pending.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    std::unique_ptr<Join> owned(this);
    done(errors.Merged());
  }
};

}  // namespace

void RunPieces(const GraphRunArgs& args, std::function<void(Status)> done) {
  const std::vector<RegisteredGraph::Piece>& pieces = args.graph->pieces();
  if (pieces.size() == 1) {
    pieces[0].executor->RunAsync(ArgsFor(pieces[0], args), std::move(done));
    return;
  }
  auto* join = new Join{args, std::move(done), {}, {pieces.size() + 1}};
  for (const RegisteredGraph::Piece& piece : pieces) {
    piece.executor->RunAsync(ArgsFor(piece, args),
                             [join](Status status) { join->PieceDone(std::move(status)); });
  }
  join->PieceDone(OkStatus());
}

}  // namespace tensorfleet
