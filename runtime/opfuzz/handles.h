// What stands behind inputs that are not plain tensors: variables, queues, tables, arrays and lists
// of tensors.
#pragma once

#include <string>

#include "runtime/opfuzz/draft.h"
#include "runtime/opfuzz/random.h"

namespace tensorfleet::opfuzz {

struct Handle {
  std::string endpoint;
  std::string flow;     // of a tensor array: what its other operations come after
  std::string control;  // a node that has to run before the user, or empty
};

// A thing of the kind that `user` works on, holding elements of its types and of `shape`, filled as
// a rule; now and then of another kind, type or shape, or a handle to nothing. `type` is the
// input's: a reference, resource or variant.
Handle AddHandle(Random& random, const tensorflow::NodeDef& user, DType type, const Shape& shape,
                 Draft* draft);

}  // namespace tensorfleet::opfuzz
