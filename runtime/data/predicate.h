// Functions that give one value to decide by.
#pragma once

#include "runtime/data/iterator_scope.h"

namespace tensorfleet::data {

// What a predicate says of `element`. Errors: the function's; InvalidArgument when it does not give
// one bool.
StatusOr<bool> SaysYes(const BoundFunction& predicate, const Element& element);

// The data set that a function makes of `args`, which must have elements like `type`. Errors: the
// function's; InvalidArgument.
StatusOr<DatasetRef> CallForDataset(const BoundFunction& function, Element args,
                                    const ElementType& type);

// One int64, the result of a function called `what` in errors.
StatusOr<int64_t> CallForInt(const BoundFunction& function, Element args, absl::string_view what);

}  // namespace tensorfleet::data
