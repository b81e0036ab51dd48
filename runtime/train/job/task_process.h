// A training task as a process: signals, deadlines, exit codes.
#pragma once

#include <chrono>

#include "proto/meta_graph.pb.h"
#include "runtime/base/status.h"
#include "runtime/rpc/server.h"
#include "runtime/train/job/train_task.h"

namespace tensorfleet::train {

// Exit codes, as operators read them: below 128 a failure that would come again, from 128 on one
// that another attempt may not meet.
inline constexpr int kExitDone = 0;
inline constexpr int kExitFailed = 1;       // the graph, the data or the files are at fault
inline constexpr int kExitWrongUse = 2;     // flags
inline constexpr int kExitRetry = 138;      // peers were lost for too long
inline constexpr int kExitSignalled = 128;  // plus the signal's number: 143 after SIGTERM

// The exit code for the result of a task that no signal has ended.
int ExitCodeFor(const Status& status);

// Cluster, job and task from TF_CONFIG's text, with all ops and kernels of this program. Null or
// empty: a cluster of this one task, on a free port. Errors: InvalidArgument.
StatusOr<rpc::ServerOptions> ServerFromTfConfig(const char* tf_config);

// Keeps the signals that RunTaskProcess takes from every thread that is started later.
void BlockTaskSignals();

// Runs the task until it is done, SIGTERM or SIGINT comes, or the chief says that the job is over.
// After either of these it has the options' grace to save and leave; a little later the process
// ends without it. To be called once, from main; threads that were started before must not take its
// signals (BlockTaskSignals). Returns the exit code.
int RunTaskProcess(const tensorflow::MetaGraphDef* meta, const TrainOptions& options);

}  // namespace tensorfleet::train
