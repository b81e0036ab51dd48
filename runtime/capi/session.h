// TF_Session: a session of the C++ client on a graph of this interface.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "proto/config.pb.h"
#include "runtime/capi/graph.h"
#include "runtime/client/session.h"

struct TF_SessionOptions {
  std::string target;
  tensorflow::ConfigProto config;
};

struct TF_Session {
  TF_Session(TF_Graph* of, std::unique_ptr<tensorfleet::Session> with)
      : graph(of), session(std::move(with)) {
    graph->Ref();
  }
  ~TF_Session() {
    session.reset();
    graph->Unref();
  }

  TF_Graph* const graph;
  std::unique_ptr<tensorfleet::Session> session;

  // What it has been sent, for telling that something was changed afterwards.
  int node_ids_sent ABSL_GUARDED_BY(graph->mu) = 0;
  size_t changes_seen ABSL_GUARDED_BY(graph->mu) = 0;
  tensorfleet::Status changed ABSL_GUARDED_BY(graph->mu);

  // Steps in instalments, and the tensors that each still gives and takes.
  struct Partial {
    std::shared_ptr<tensorfleet::PartialRun> run;
    size_t left;
  };
  tensorfleet::Mutex mu;
  std::map<std::string, Partial> partial_runs ABSL_GUARDED_BY(mu);
  int64_t next_partial_run ABSL_GUARDED_BY(mu) = 0;
};

namespace tensorfleet::capi {

// Options may be NULL: a local session with the default config.
StatusOr<std::unique_ptr<Session>> OpenSession(const TF_SessionOptions* options);

// Sends what was added to the graph. Errors: FailedPrecondition when something that was sent has
// been changed since; the session's own.
Status SendNew(TF_Session& session) ABSL_EXCLUSIVE_LOCKS_REQUIRED(session.graph->mu);

}  // namespace tensorfleet::capi
