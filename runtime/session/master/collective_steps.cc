// Ids of steps with collectives, which all masters that take part must give to the same step.

#include "runtime/session/master/master_session.h"
#include "runtime/session/worker/collective/step_sequences.h"

namespace tensorfleet {

void MasterSession::NextCollectiveStep(int64_t graph_key, const CallOptions& call,
                                       DoneWith<int64_t> done) {
  StepSequences* const sequences = options_.worker->step_sequences();
  const std::string& leader = options_.collective_leader;
  if (const auto id = sequences->Next(leader, graph_key); id.has_value()) return done(*id);
  const std::shared_ptr<WorkerInterface> peer =
      options_.find_collective_leader ? options_.find_collective_leader() : nullptr;
  if (peer == nullptr) {
    return done(
        InvalidArgument("the leader of collectives, ", leader, ", is not a task of this cluster"));
  }
  CallOptions options = call;
  const WorkerCollectives::Options& limits = options_.worker->collectives().options();
  const bool is_known = options_.worker->collectives().HasHeardFrom(leader);
  // At first it may not have started yet.
  options.wait_for_ready = !is_known;
  options.timeout = is_known ? limits.member_silence : limits.group_patience;
  tensorflow::GetStepSequenceRequest request;
  request.add_graph_key(graph_key);
  if (const int64_t burnt = sequences->Burnt(leader, graph_key); burnt != 0) {
    request.add_graph_key(graph_key);
    request.add_graph_key(burnt);
  }
  peer->GetStepSequence(
      options, request,
      [self = shared_from_this(), peer, graph_key, leader, has_burnt = request.graph_key_size() > 1,
       done = std::move(done)](const StatusOr<tensorflow::GetStepSequenceResponse>& response) {
        if (!response.ok()) {
          const bool is_gone = absl::IsDeadlineExceeded(response.status());
          const std::string text = absl::StrCat(
              "asking ", leader,
              ", the leader of collectives, for a step: ", response.status().message());
          return done(is_gone ? Unavailable(text) : Status(response.status().code(), text));
        }
        const int at = has_burnt ? 1 : 0;
        if (response->step_sequence_size() <= at) {
          return done(Internal(leader, ", the leader of collectives, gives no step"));
        }
        const int64_t next = response->step_sequence(at).next_step_id();
        Worker* const worker = self->options_.worker;
        worker->collectives().HeardFrom(leader);
        // Others may hold what this task has sent in it.
        if (worker->HasEnded(next)) {
          return done(Aborted("the step ", next, ", which ", leader,
                              ", the leader of collectives, gives, was used here before"));
        }
        worker->BeginSteps(leader, graph_key, next);
        const auto id = worker->step_sequences()->Next(leader, graph_key);
        if (!id.has_value()) return done(Aborted("another step of the graph has failed"));
        done(*id);
      });
}

}  // namespace tensorfleet
