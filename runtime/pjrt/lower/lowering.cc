#include "runtime/pjrt/lower/lowering.h"

#include <numeric>

#include "runtime/kernels/accelerator.h"

namespace tensorfleet::pjrt {

Hlo LoweringContext::input(int i) {
  Value& value = *inputs_[i];
  if (!value.hlo.is_valid()) {
    value.hlo = value.constant.is_valid() ? hlo_.Constant(value.constant).value()
                                          : parameter_(value.argument);
  }
  return value.hlo;
}

StatusOr<Hlo> LoweringContext::ScalarInput(int i) {
  if (shape(i).num_elements() != 1) {
    return InvalidArgument("input ", i, " must be a scalar, not of shape ", shape(i).ToString());
  }
  return hlo_.Reshape(input(i), Shape());
}

StatusOr<Tensor> LoweringContext::Constant(int i) {
  if (inputs_[i]->constant.is_valid()) return inputs_[i]->constant;
  // The caller finds out which arguments of the cluster the value comes from (lower_cluster.cc).
  return Unimplemented("the value of input ", i, " is needed to compile the op");
}

StatusOr<std::vector<int64_t>> LoweringContext::ConstantInts(int i) {
  TFLEET_ASSIGN_OR_RETURN(const Tensor value, Constant(i));
  std::vector<int64_t> ints;
  if (value.dtype() == DType::kInt32) {
    ints.assign(value.values<int32_t>().begin(), value.values<int32_t>().end());
  } else if (value.dtype() == DType::kInt64) {
    ints.assign(value.values<int64_t>().begin(), value.values<int64_t>().end());
  } else {
    return Unimplemented("input ", i, " of type ", DTypeName(value.dtype()));
  }
  return ints;
}

StatusOr<Hlo> ReadVariable(VariableState* variable, HloBuilder* hlo) {
  if (variable->value.is_valid()) return variable->value;
  if (!variable->is_initialized) {
    return FailedPrecondition("Attempting to use uninitialized value ", variable->name);
  }
  variable->parameter = hlo->num_parameters();
  variable->initial = hlo->Parameter(variable->dtype, variable->shape);
  variable->value = variable->initial;
  return variable->value;
}

StatusOr<Hlo> LoweringContext::Read(int i) { return ReadVariable(variables_[i], &hlo_); }

void LoweringContext::Write(int i, const Hlo& value) {
  WriteGuarded(i, value);
  variables_[i]->needs_guard = true;
}

void LoweringContext::WriteGuarded(int i, const Hlo& value) {
  VariableState& variable = *variables_[i];
  variable.value = value;
  variable.shape = value.shape;
  variable.is_written = true;
  variable.needs_guard |= !faults_.gives_promises();
}

void Faults::Add(const Hlo& is_bad) {
  std::vector<int64_t> dims(is_bad.shape.rank());
  std::iota(dims.begin(), dims.end(), 0);
  faults_.push_back(hlo_.Reduce("or", is_bad, hlo_.Scalar(DType::kBool, 0), dims));
}

Hlo Faults::Any() {
  if (!gives_promises_) return Total();
  if (!promise_.is_valid()) promise_ = hlo_.Promise(DType::kBool, Shape());
  return promise_;
}

Hlo Faults::Total() {
  Hlo total = hlo_.Scalar(DType::kBool, 0);
  for (const Hlo& fault : faults_) total = hlo_.Binary("or", total, fault);
  if (promise_.is_valid()) hlo_.Keep(promise_, total);
  return total;
}

LoweringRegistry::Entry& LoweringRegistry::Add(
    absl::string_view op, Lowering lower,
    std::vector<std::pair<std::string, std::vector<DType>>> types) {
  Entry& entry = entries_[std::string(op)];
  entry.lower = lower;
  entry.types = std::move(types);
  return entry;
}

const LoweringRegistry::Entry* LoweringRegistry::Find(absl::string_view op) const {
  const auto it = entries_.find(op);
  return it == entries_.end() ? nullptr : &it->second;
}

void LoweringRegistry::Announce(KernelRegistry* kernels) const {
  for (const auto& [op, entry] : entries_) {
    // Every combination of the attributes' types.
    std::vector<TypeConstraints> all = {{}};
    for (const auto& [attr, types] : entry.types) {
      std::vector<TypeConstraints> longer;
      for (const TypeConstraints& begun : all) {
        for (const DType type : types) {
          longer.push_back(begun);
          longer.back().push_back({attr, type});
        }
      }
      all = std::move(longer);
    }
    for (const TypeConstraints& constraints : all) {
      kernels->Add<MadeByDevice>(op, kCompiled, constraints);
    }
    if (!entry.is_light) kernels->Add<MadeByDevice>(op, kWorthALaunch);
  }
}

const LoweringRegistry& Lowerings() {
  static const auto* const all = [] {
    auto* const made = new LoweringRegistry;
    AddMathLowerings(*made);
    AddTrigonometryLowerings(*made);
    AddIntegerLowerings(*made);
    AddGradientLowerings(*made);
    AddReductionLowerings(*made);
    AddMatMulLowerings(*made);
    AddEinsumLowerings(*made);
    AddArrayLowerings(*made);
    AddSliceLowerings(*made);
    AddSpaceLowerings(*made);
    AddRearrangeLowerings(*made);
    AddResizeLowerings(*made);
    AddNnLowerings(*made);
    AddConvLowerings(*made);
    AddPoolLowerings(*made);
    AddVariableLowerings(*made);
    AddOptimizerLowerings(*made);
    AddBatchNormLowerings(*made);
    AddDivisionLowerings(*made);
    AddGatherLowerings(*made);
    AddScatterLowerings(*made);
    AddSegmentLowerings(*made);
    AddScanLowerings(*made);
    AddRandomLowerings(*made);
    AddComplexLowerings(*made);
    return made;
  }();
  return *all;
}

namespace {

std::vector<DType> Joined(std::vector<DType> a, const std::vector<DType>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace

const std::vector<DType>& FloatTypes() {
  static const auto* const types =
      new std::vector<DType>{DType::kFloat, DType::kHalf, DType::kBFloat16, DType::kDouble};
  return *types;
}

const std::vector<DType>& IntegerTypes() {
  static const auto* const types =
      new std::vector<DType>{DType::kInt32, DType::kInt64,  DType::kInt8,   DType::kInt16,
                             DType::kUInt8, DType::kUInt16, DType::kUInt32, DType::kUInt64};
  return *types;
}

const std::vector<DType>& RealTypes() {
  static const auto* const types = new std::vector<DType>(Joined(FloatTypes(), IntegerTypes()));
  return *types;
}

const std::vector<DType>& FloatAndComplexTypes() {
  static const auto* const types =
      new std::vector<DType>(Joined(FloatTypes(), {DType::kComplex64, DType::kComplex128}));
  return *types;
}

const std::vector<DType>& NumberTypes() {
  static const auto* const types =
      new std::vector<DType>(Joined(FloatAndComplexTypes(), IntegerTypes()));
  return *types;
}

const std::vector<DType>& AllTypes() {
  static const auto* const types = new std::vector<DType>(Joined(NumberTypes(), {DType::kBool}));
  return *types;
}

const std::vector<DType>& IndexTypes() {
  static const auto* const types = new std::vector<DType>{DType::kInt32, DType::kInt64};
  return *types;
}

DType AccumulatorType(DType dtype) {
  return dtype == DType::kHalf || dtype == DType::kBFloat16 ? DType::kFloat : dtype;
}

}  // namespace tensorfleet::pjrt
