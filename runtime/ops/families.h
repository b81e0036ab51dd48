// The families of ops that all.cc puts together, one line each.
// Included by all.cc alone: a new line here must not compile every family again.
#pragma once

namespace tensorfleet {

class OpRegistry;

void RegisterBinaryOps(OpRegistry& ops);
void RegisterComplexOps(OpRegistry& ops);
void RegisterControlFlowOps(OpRegistry& ops);
void RegisterFunctionalOps(OpRegistry& ops);
void RegisterMatMulOps(OpRegistry& ops);
void RegisterNnOps(OpRegistry& ops);
void RegisterReductionOps(OpRegistry& ops);
void RegisterSelectionOps(OpRegistry& ops);
void RegisterTrainingOps(OpRegistry& ops);
void RegisterTransferOps(OpRegistry& ops);
void RegisterUnaryOps(OpRegistry& ops);
void RegisterVariableOps(OpRegistry& ops);
void RegisterVariableUpdateOps(OpRegistry& ops);

}  // namespace tensorfleet
