// Whether a model is ready to train, and making it so: what the chief does with each new session,
// and what the others wait for.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/cancellation.h"
#include "runtime/base/status.h"
#include "runtime/client/session.h"
#include "runtime/train/job/train_graph.h"

namespace tensorfleet::train {

// Names of the variables that hold no value. Errors: what the step says, except that a check that
// fails because it reads an uninitialised variable gives that error's text as the only "name".
StatusOr<std::vector<std::string>> MissingVariables(const ReadyCheck& check, Session& session);

// The nodes below the restore op that assign these variables; variables that it does not restore
// are left out. Nothing when the restore op is not built of assignments alone.
std::optional<std::vector<std::string>> RestoreOnly(const tensorflow::GraphDef& graph,
                                                    const std::string& restore_op,
                                                    const std::vector<std::string>& variables);

// The chief's part, in a session that has the graph. What the servers still hold is kept: with
// nothing missing, nothing is restored; with some variables missing, these are restored from
// `checkpoint` and those that it does not hold are initialised; without a checkpoint the init op
// runs. Then the local init op. Errors: what the steps say; FailedPrecondition, naming the
// variables, when the model is not ready after all that.
Status PrepareAsChief(const TrainGraph& graph, const std::optional<std::string>& checkpoint,
                      Session& session);

// Everybody else's part: waits until the chief has done its own, logging for what. Errors: what
// the steps say; Cancelled when `stop` is cancelled.
Status WaitForChief(const TrainGraph& graph, CancellationManager* stop, Session& session);

}  // namespace tensorfleet::train
