// Every op this project knows, in one registry. A family is a file beside this one with one
// function `void Register<Family>Ops(OpRegistry&)`; all.cc lists them.
#pragma once

#include "runtime/graph/op_schema.h"

namespace tensorfleet {

void RegisterAllOps(OpRegistry& ops);

// The process-wide registry with all of them, made on first use; lives for ever. Thread-safe.
const OpRegistry& BuiltinOps();

}  // namespace tensorfleet
