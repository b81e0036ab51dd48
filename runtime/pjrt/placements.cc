#include "runtime/pjrt/placements.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "runtime/kernels/accelerator.h"
#include "runtime/kernels/cpu/all.h"
#include "runtime/pjrt/lower/lowering.h"

namespace tensorfleet::pjrt {
namespace {

// Ops that TensorFlow has kernels for on GPUs although they compute nothing there: what carries
// control and state. They draw nothing to a device by themselves, except variables.
constexpr absl::string_view kCarriers[] = {"NoOp",
                                           "IdentityN",
                                           "Switch",
                                           "RefSwitch",
                                           "_SwitchN",
                                           "Merge",
                                           "RefMerge",
                                           "Enter",
                                           "RefEnter",
                                           "Exit",
                                           "RefExit",
                                           "NextIteration",
                                           "RefNextIteration",
                                           "LoopCond",
                                           "ControlTrigger",
                                           "VarHandleOp",
                                           "_VarHandlesOp",
                                           "VariableV2",
                                           "Variable",
                                           "TemporaryVariable",
                                           "DestroyTemporaryVariable",
                                           "DestroyResourceOp",
                                           "VarIsInitializedOp",
                                           "IsVariableInitialized",
                                           "VariableShape",
                                           "Placeholder",
                                           "PlaceholderV2",
                                           "PlaceholderWithDefault",
                                           "EnsureShape",
                                           "RandomUniform",
                                           "RandomStandardNormal",
                                           "TruncatedNormal",
                                           "RandomUniformInt",
                                           "_ReadVariablesOp"};

// What TensorFlow has for the CPU alone, by the beginnings of names.
constexpr absl::string_view kCpuOnly[] = {"AsString",
                                          "Barrier",
                                          "Base64",
                                          "Batch",
                                          "Copy",
                                          "CTC",
                                          "Conditional",
                                          "Count",
                                          "Decode",
                                          "Dequeue",
                                          "Encode",
                                          "Example",
                                          "FIFOQueue",
                                          "FixedLength",
                                          "Fleet",
                                          "HashTable",
                                          "Histogram",
                                          "IdentityReader",
                                          "Image",
                                          "Init",
                                          "Iterator",
                                          "Lookup",
                                          "MakeIterator",
                                          "Matching",
                                          "Merge",
                                          "Mutable",
                                          "Padding",
                                          "Parse",
                                          "Print",
                                          "Priority",
                                          "Queue",
                                          "Random_",
                                          "RandomShuffle",
                                          "Read",
                                          "Record",
                                          "Regex",
                                          "Restore",
                                          "Save",
                                          "Scalar",
                                          "Serialize",
                                          "Sharded",
                                          "SparseAccumulator",
                                          "SparseConditional",
                                          "Static",
                                          "String",
                                          "Summary",
                                          "Tensor_",
                                          "TextLine",
                                          "TFRecord",
                                          "Unicode",
                                          "Unsorted_",
                                          "Whole",
                                          "Write",
                                          "Accumulator",
                                          "ResourceAccumulator"};

bool IsCpuOnly(absl::string_view op) {
  return std::any_of(std::begin(kCpuOnly), std::end(kCpuOnly),
                     [&](absl::string_view begin) { return absl::StartsWith(op, begin); });
}

}  // namespace

void AddAccelerators(KernelRegistry* kernels) {
  Lowerings().Announce(kernels);
  const absl::flat_hash_set<absl::string_view> carriers(std::begin(kCarriers), std::end(kCarriers));
  for (const std::string& op : kernels->Ops(kCpu)) {
    const bool belongs = carriers.contains(op) || Lowerings().Find(op) != nullptr;
    if (!belongs && IsCpuOnly(op)) continue;
    kernels->Add<MadeByDevice>(op, kOnAccelerators);
    if (!belongs) kernels->Add<MadeByDevice>(op, kOnHost);
  }
}

const KernelRegistry& AllKernels() {
  static const KernelRegistry* const kernels = [] {
    auto* const made = new KernelRegistry;
    RegisterCpuKernels(*made);
    AddAccelerators(made);
    return made;
  }();
  return *kernels;
}

}  // namespace tensorfleet::pjrt
