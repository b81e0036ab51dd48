// Who a server is and whom it serves with: put together from flags, a ServerDef, or TF_CONFIG.
#pragma once

#include <string>

#include "runtime/base/status.h"
#include "runtime/rpc/server.h"

namespace tensorfleet::cli {

// What the command line says; -1 and "" mean not given.
struct ClusterFlags {
  std::string cluster_spec;
  std::string job_name;
  int task_index = -1;
  std::string server_def;  // a file
  std::string bind;
};

// Flags win over a ServerDef (--server_def, else the variable TF_SERVER_DEF_FILE), which wins over
// TF_CONFIG; with none of them the server is task 0 of a job "local" of its own. `env` reads a
// variable and gives null when it is not set. Errors: InvalidArgument and NotFound, saying where
// the fault is. An evaluator that TF_CONFIG's cluster does not list is an error only where
// `needs_entry`.
StatusOr<rpc::ServerOptions> ServerConfigFrom(const ClusterFlags& flags,
                                              const char* (*env)(const char* name),
                                              bool needs_entry = true);

}  // namespace tensorfleet::cli
