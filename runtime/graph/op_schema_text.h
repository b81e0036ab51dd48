// The little language of op schemas (described in op_schema.h).
#pragma once

#include "runtime/graph/op_schema.h"

namespace tensorfleet {

// "T: {float, double} = DT_FLOAT", "N: int >= 1", "padding: {'SAME', 'VALID'}". Errors:
// InvalidArgument.
StatusOr<AttrSpec> ParseAttrSpec(absl::string_view text);

// "a: T", "values: N * T", "ref: Ref(T)"; attrs that it names must be in `schema`. Errors:
// InvalidArgument.
StatusOr<ArgSpec> ParseArgSpec(absl::string_view text, const OpSchema& schema);

}  // namespace tensorfleet
