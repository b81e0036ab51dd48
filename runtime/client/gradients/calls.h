// Function calls on the way of a gradient. A call is not differentiated as such: the body of its
// function takes its place in the graph (branches and loops as Switch, Merge, Enter and Exit), and
// gradients flow through that as through anything else.
#pragma once

#include <string>

#include "runtime/client/gradients/registry.h"
#include "runtime/client/scope.h"

namespace tensorfleet {

// Expands every call that lies between xs and ys, calls in the bodies of calls included. What the
// graph computes stays the same, names of nodes included. A function for which the library names a
// gradient function stays a call. Errors: Unimplemented, naming the node, for calls that are
// recursive, choose by something else than a bool, or grow past all bounds; InvalidArgument and
// NotFound for functions that do not fit their calls or are not there.
Status ExpandCallsBetween(const Scope& scope, absl::Span<const Output> ys,
                          absl::Span<const Output> xs, const GradientRegistry& registry);

// The function that the library gives as the gradient of what `node` calls; empty where it gives
// none or `node` is no plain call.
std::string GivenGradientOf(const Node& node, const Graph& graph);

// Calls it, with the inputs of the node and the gradients of its outputs.
void CallGivenGradient(GradientContext& ctx, const std::string& function);

}  // namespace tensorfleet
