// What this library knows: its version, its ops and its kernels.
#include "absl/strings/match.h"
#include "proto/kernel_def.pb.h"
#include "runtime/capi/buffer.h"
#include "runtime/kernels/cpu/all.h"
#include "runtime/ops/all.h"

namespace tensorfleet::capi {
namespace {

// The kernels of `op`: one for each set of types.
void AddKernels(const std::string& op, tensorflow::KernelList* list) {
  for (const TypeConstraints& constraints : CpuKernels().ConstraintsOf(op, kCpu)) {
    tensorflow::KernelDef& kernel = *list->add_kernel();
    kernel.set_op(op);
    kernel.set_device_type(kCpu);
    for (const TypeConstraint& constraint : constraints) {
      auto& out = *kernel.add_constraint();
      out.set_name(constraint.attr);
      out.mutable_allowed_values()->mutable_list()->add_type(
          static_cast<tensorflow::DataType>(constraint.type));
    }
  }
}

}  // namespace
}  // namespace tensorfleet::capi

using namespace tensorfleet;        // NOLINT: the functions of C are outside of it
using namespace tensorfleet::capi;  // NOLINT

extern "C" {

const char* TF_Version() { return "2.15.0"; }

TF_Buffer* TF_GetAllOpList() {
  return EnterFor<TF_Buffer*>(nullptr, nullptr, []() -> StatusOr<TF_Buffer*> {
    tensorflow::OpList list;
    for (const std::string& name : BuiltinOps().Names()) {
      if (absl::StartsWith(name, "_")) continue;
      TFLEET_ASSIGN_OR_RETURN(const OpSchema* schema, BuiltinOps().Find(name));
      OpSchemaToProto(*schema, list.add_op());
    }
    return NewBuffer(list);
  });
}

TF_Buffer* TF_GetAllRegisteredKernels(TF_Status* status) {
  return EnterFor<TF_Buffer*>(status, nullptr, []() -> StatusOr<TF_Buffer*> {
    tensorflow::KernelList list;
    for (const std::string& op : CpuKernels().Ops(kCpu)) AddKernels(op, &list);
    return NewBuffer(list);
  });
}

TF_Buffer* TF_GetRegisteredKernelsForOp(const char* name, TF_Status* status) {
  return EnterFor<TF_Buffer*>(status, nullptr, [&]() -> StatusOr<TF_Buffer*> {
    TFLEET_NOT_NULL(name);
    tensorflow::KernelList list;
    AddKernels(name, &list);
    return NewBuffer(list);
  });
}

}  // extern "C"
