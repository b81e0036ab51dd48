// A step that comes in instalments: which feeds came, which fetches were given, and the
// calls to workers that carry them.
#pragma once

#include <memory>
#include <vector>

#include "runtime/base/cancellation.h"
#include "runtime/base/mutex.h"
#include "runtime/session/master/master_types.h"
#include "runtime/session/master/prepared_graph.h"

namespace tensorfleet {

struct PartialStep {
  std::shared_ptr<PreparedGraph> graph;
  std::string handle;
  int64_t step_id = 0;
  CancellationManager cancellation;
  CancellationManager::Token session_token = -1;

  Mutex mu;
  std::vector<bool> fed ABSL_GUARDED_BY(mu);
  std::vector<bool> fetched ABSL_GUARDED_BY(mu);
  // The step is cleaned up when it is over and no call needs its values any more.
  int calls_under_way ABSL_GUARDED_BY(mu) = 0;
  bool is_over ABSL_GUARDED_BY(mu) = false;
  bool is_cleaned_up ABSL_GUARDED_BY(mu) = false;

  // Marks what a call brings and asks for. Errors: InvalidArgument, texts of tf-protocol.md, B.3,
  // and nothing is marked. Sets `*is_last` when everything has then been fed and fetched.
  Status Take(const RunStepArgs& args, bool* is_last) ABSL_LOCKS_EXCLUDED(mu);
};

}  // namespace tensorfleet
