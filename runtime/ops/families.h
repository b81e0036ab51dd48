// The families of ops that all.cc puts together, one line each.
#pragma once

namespace tensorfleet {

class OpRegistry;

void RegisterControlFlowOps(OpRegistry& ops);
void RegisterFunctionalOps(OpRegistry& ops);
void RegisterTransferOps(OpRegistry& ops);
void RegisterUnaryOps(OpRegistry& ops);

}  // namespace tensorfleet
