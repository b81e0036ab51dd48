// The families of ops that all.cc puts together, one line each.
#pragma once

namespace tensorfleet {

class OpRegistry;

void RegisterUnaryOps(OpRegistry& ops);

}  // namespace tensorfleet
