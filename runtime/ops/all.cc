#include "runtime/ops/all.h"

#include "runtime/ops/families.h"

namespace tensorfleet {

void RegisterAllOps(OpRegistry& ops) {
  RegisterBinaryOps(ops);
  RegisterComplexOps(ops);
  RegisterControlFlowOps(ops);
  RegisterFunctionalOps(ops);
  RegisterMatMulOps(ops);
  RegisterNnOps(ops);
  RegisterReductionOps(ops);
  RegisterSelectionOps(ops);
  RegisterTrainingOps(ops);
  RegisterTransferOps(ops);
  RegisterUnaryOps(ops);
  RegisterVariableOps(ops);
  RegisterVariableUpdateOps(ops);
}

const OpRegistry& BuiltinOps() {
  static const OpRegistry* const ops = [] {
    auto* made = new OpRegistry();
    RegisterAllOps(*made);
    return made;
  }();
  return *ops;
}

}  // namespace tensorfleet
