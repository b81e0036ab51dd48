// References that are read on another device than their variable's, by a node that waits for
// others. A cut edge carries a value, and a value is sent as soon as it is there: the sender has to
// wait for what the reader waits for, or the reader sees the variable as it was before.
#pragma once

#include <functional>
#include <string>

#include "runtime/base/status.h"
#include "runtime/graph/graph.h"

namespace tensorfleet {

// Whether an edge carries a reference to a node that takes its value and has control inputs. A
// Merge does not count: it takes what comes first.
bool IsLateRead(const Edge& edge);

// Puts an Identity ("<variable>/read_S<k>", names from `new_name`) on the variable's device before
// each such edge that `crosses`, with the reader's control inputs. Readers that wait for the same
// nodes share one.
Status AddLateReads(const std::function<bool(const Edge&)>& crosses,
                    const std::function<std::string(absl::string_view prefix)>& new_name,
                    Graph* graph);

}  // namespace tensorfleet
