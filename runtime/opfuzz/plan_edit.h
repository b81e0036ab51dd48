// Changing inputs of a plan.
#pragma once

#include "absl/strings/string_view.h"
#include "runtime/opfuzz/node_plan.h"

namespace tensorfleet::opfuzz {

// The first input called `name`, or -1.
int InputNamed(const OpSchema& schema, const NodePlan& plan, absl::string_view name);
// Another shape for input `i`, with new values.
void SetShape(Random& random, NodePlan* plan, int i, const Shape& shape);
// These integers for input `i`, when it is of an integer type.
void SetIntegers(NodePlan* plan, int i, const Shape& shape, absl::Span<const int64_t> values);

}  // namespace tensorfleet::opfuzz
