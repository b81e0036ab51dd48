#include "runtime/client/gradients/registry.h"

#include <algorithm>

#include "runtime/base/check.h"
#include "runtime/client/gradients/families.h"

namespace tensorfleet {

void GradientRegistry::AddEntry(absl::string_view op, Entry entry) {
  TFLEET_CHECK(entries_.emplace(std::string(op), std::move(entry)).second);
}

void GradientRegistry::Add(absl::string_view op, GradientFn fn) { AddEntry(op, {fn, ""}); }

void GradientRegistry::AddConstant(absl::string_view op) { AddEntry(op, {}); }

void GradientRegistry::AddMissing(absl::string_view op, absl::string_view reason) {
  AddEntry(op, {nullptr, std::string(reason)});
}

const GradientRegistry::Entry* GradientRegistry::Find(absl::string_view op) const {
  const auto it = entries_.find(op);
  return it == entries_.end() ? nullptr : &it->second;
}

std::vector<std::string> GradientRegistry::Ops() const {
  std::vector<std::string> ops;
  for (const auto& [op, entry] : entries_) ops.push_back(op);
  std::sort(ops.begin(), ops.end());
  return ops;
}

void RegisterAllGradients(GradientRegistry& registry) {
  RegisterActivationGradients(registry);
  RegisterArrayGradients(registry);
  RegisterBinaryGradients(registry);
  RegisterBranchGradients(registry);
  RegisterCallGradients(registry);
  RegisterComplexGradients(registry);
  RegisterConstantOps(registry);
  RegisterConvGradients(registry);
  RegisterDiagGradients(registry);
  RegisterGatherGradients(registry);
  RegisterJoinGradients(registry);
  RegisterLinearAlgebraGradients(registry);
  RegisterMatMulGradients(registry);
  RegisterMissingGradients(registry);
  RegisterNnGradients(registry);
  RegisterNormalizationGradients(registry);
  RegisterNormalizationGradGradients(registry);
  RegisterOptionalGradients(registry);
  RegisterReductionGradients(registry);
  RegisterSegmentGradients(registry);
  RegisterSliceGradients(registry);
  RegisterSparseGradients(registry);
  RegisterTensorArrayGradients(registry);
  RegisterTensorListGradients(registry);
  RegisterUnaryGradients(registry);
}

const GradientRegistry& BuiltinGradients() {
  static const GradientRegistry* const gradients = [] {
    auto* made = new GradientRegistry();
    RegisterAllGradients(*made);
    return made;
  }();
  return *gradients;
}

}  // namespace tensorfleet
