// Values of variables by reference, as programs of TensorFlow 1 expect them. In TensorFlow an
// Identity of a reference shares the variable's memory, and every update, Assign included, writes
// into that memory: whoever uses the Identity's value after an update sees the update.
// SyncReplicasOptimizer's tokens rely on it, and so does every loop that assigns to a variable that
// it reads. Here a value that was read never changes, so such a user has to read later.
#pragma once

#include "runtime/place/rewrite.h"

namespace tensorfleet {

// For each read of a reference variable that some user uses after an update (AssignAdd, Assign,
// Apply..., Scatter..., a later iteration of a loop): marks the nodes between the variable and that
// user (Identity, Enter, Switch, ...) as passing the reference on (graph/passed_reference.h), so
// that the user itself reads. Users before all updates keep the Identity, later ones get an
// Identity "<name>/again" beside it. Only on the variable's device: what is sent is a copy in
// TensorFlow too. Slices stay copies: TensorFlow's share memory only where it happens to be
// aligned.
//
// Errors: Unimplemented, naming the nodes, where the value that TensorFlow would show cannot be
// had:
//   - an Assign with validate_shape=false among the updates (whether it writes into the old memory
//     depends on the new shape);
//   - a Reshape or its like whose value is used inside a loop that it is not in;
//   - a queue, tensor array, list, stack or staging area that keeps a value which is updated later.
Status RenewAliasedReads(Graph* graph, const RewriteContext& context);

}  // namespace tensorfleet
