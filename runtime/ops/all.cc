#include "runtime/ops/all.h"

#include "runtime/ops/families.h"

namespace tensorfleet {

void RegisterAllOps(OpRegistry& ops) {
  RegisterControlFlowOps(ops);
  RegisterFunctionalOps(ops);
  RegisterTransferOps(ops);
  RegisterBinaryOps(ops);
  RegisterComplexOps(ops);
  RegisterMatMulOps(ops);
  RegisterNnOps(ops);
  RegisterReductionOps(ops);
  RegisterSelectionOps(ops);
  RegisterUnaryOps(ops);
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
