// Members in one process and one step hand their tensors over: whoever comes last computes what all
// get. Pure.
#pragma once

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "runtime/collective/group.h"
#include "runtime/kernels/collectives.h"

namespace tensorfleet::collective {

// "(Add,Div)" of what merges, else nothing.
std::string MergeText(const CollectiveArgs& args);

// What each member gets, given what each brings, by rank. Reductions merge in the order of the
// ranks, once. Errors: InvalidArgument when members differ, naming both, and when none or two
// have a broadcast's value; ResourceExhausted.
StatusOr<std::vector<Tensor>> Meet(absl::Span<const CollectiveArgs> members);

}  // namespace tensorfleet::collective
