// Values of variables by reference, as programs of TensorFlow 1 expect them. There an Identity of a
// reference shares the variable's memory, so that whoever uses it after an update in place sees the
// update: SyncReplicasOptimizer's tokens rely on it. Here a value that was read never changes, so
// such a user gets a read of its own, after the update.
#pragma once

#include "runtime/place/rewrite.h"

namespace tensorfleet {

// For each user of an Identity of a reference that runs after an update in place (AssignAdd,
// Apply..., Scatter...) of that variable, where the Identity itself need not: lets it use an
// Identity "<name>/again", which waits for the update. Outside loops, and on the variable's device
// only: what is sent, and what goes round, is a copy in TensorFlow too.
Status RenewAliasedReads(Graph* graph, const RewriteContext& context);

}  // namespace tensorfleet
