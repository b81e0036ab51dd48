// The part of the worker that answers other members of collectives.

#include "runtime/session/worker/worker.h"

namespace tensorfleet {

void Worker::CompleteGroup(const CallOptions& options,
                           const tensorflow::CompleteGroupRequest& request,
                           DoneWith<tensorflow::CompleteGroupResponse> done) {
  collectives_.CompleteGroup(options, request, done);
}

void Worker::CompleteInstance(const CallOptions& options,
                              const tensorflow::CompleteInstanceRequest& request,
                              DoneWith<tensorflow::CompleteInstanceResponse> done) {
  collectives_.CompleteInstance(options, request, done);
}

void Worker::GetStepSequence(const CallOptions&, const tensorflow::GetStepSequenceRequest& request,
                             DoneWith<tensorflow::GetStepSequenceResponse> done) {
  tensorflow::GetStepSequenceResponse response;
  for (int i = 0; i < request.graph_key_size(); ++i) {
    const int64_t key = request.graph_key(i);
    tensorflow::StepSequence* sequence = response.add_step_sequence();
    sequence->set_graph_key(key);
    const bool is_again = i > 0 && request.graph_key(i - 1) == key;
    if (!is_again || i + 1 == request.graph_key_size()) {
      sequence->set_next_step_id(collectives_.sequences()->Current(key));
      continue;
    }
    const int64_t burnt = request.graph_key(++i);
    const StepSequences::Renewed renewed = collectives_.sequences()->Renew(key, burnt);
    sequence->set_next_step_id(renewed.next);
    // Who waits in that step here waits for one that cannot go on, or does not begin.
    if (renewed.is_left_out) steps_.Skip(burnt, burnt);
    if (!renewed.is_running) continue;
    if (const std::shared_ptr<WorkerStep> step = steps_.Remove(burnt)) {
      step->Abort(Unavailable("a member of a collective has given up step ", burnt));
    }
  }
  done(std::move(response));
}

void Worker::BeginSteps(const std::string& leader, int64_t graph_key, int64_t next) {
  // As far as ids of one sequence can be apart when members have lost each other.
  constexpr int64_t kFar = 4096;
  const int64_t last = collectives_.sequences()->Set(leader, graph_key, next);
  if (last != 0 && last < next && next - last < kFar) {
    steps_.Skip(last + 1, next - 1);
  } else {
    // Another sequence, or the first one.
    if (last != 0) steps_.Skip(last + 1, last + kFar);
    steps_.Skip(next - kFar, next - 1);
  }
}

void Worker::RecvBuf(const CallOptions& options, const RecvBufArgs& args, RecvTensorResult* result,
                     Done done) {
  RecvTensorArgs piece;
  piece.step_id = args.step_id;
  piece.request_id = args.request_id;
  piece.key = args.key.text;
  RecvTensor(options, piece, result, std::move(done));
}

}  // namespace tensorfleet
