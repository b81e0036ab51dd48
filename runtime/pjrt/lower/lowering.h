// How one op becomes instructions for XLA. A lowering sees its inputs with their shapes, which are
// known when a cluster is lowered, and says what its outputs are. What it cannot express as our
// kernel defines it, for these attributes and shapes, it refuses with Unimplemented: the cluster
// then runs on the host, node by node. It never compiles to something that differs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "runtime/graph/attr.h"
#include "runtime/graph/graph.h"
#include "runtime/kernels/kernel_registry.h"
#include "runtime/pjrt/lower/hlo_builder.h"

namespace tensorfleet::pjrt {

// What an output of a node stands for while its graph is lowered.
struct Value {
  DType dtype = DType::kInvalid;
  Shape shape;
  Hlo hlo;            // not emitted yet while invalid
  Tensor constant;    // in host memory, when the value is known already
  int argument = -1;  // the cluster's argument of this number, unchanged
};

// A variable while a cluster is lowered.
struct VariableState {
  DType dtype = DType::kInvalid;
  Shape shape;
  bool is_initialized = false;
  PartialShape declared;  // what a first value must fit where its op checks shapes
  std::string name;       // for errors
  int parameter = -1;     // of the program; -1 while nobody has read it
  Hlo initial;            // that parameter
  Hlo value;              // the present one
  bool is_written = false;
  // Whether a write would be there although the launch is refused.
  bool needs_guard = false;
};

// Its present value, which becomes a parameter of the program when it is first asked for; inside
// loops and branches it must have one. Errors: FailedPrecondition for a variable without a value.
StatusOr<Hlo> ReadVariable(VariableState* variable, HloBuilder* hlo);

// Where a launch cannot give what the kernels give, for values that are only known when it runs: an
// index outside its range above all, which XLA would clamp. The launch then changes no variable,
// its results are dropped, and the cluster runs on the host, whose kernels say what is wrong (or
// give the right result).
class Faults {
 public:
  // `gives_promises`: for the program itself, not for what is inside loops and branches.
  Faults(HloBuilder* hlo, bool gives_promises) : hlo_(*hlo), gives_promises_(gives_promises) {}
  // `is_bad` of any shape.
  void Add(const Hlo& is_bad);
  bool empty() const { return faults_.empty(); }
  bool gives_promises() const { return gives_promises_; }
  // Whether there is a fault: of all, also those that are added later; without promises of those so
  // far.
  Hlo Any();
  // Whether there was one; afterwards none may be added.
  Hlo Total();

 private:
  HloBuilder& hlo_;
  const bool gives_promises_;
  std::vector<Hlo> faults_;
  Hlo promise_;
};

class LoweringContext {
 public:
  // `parameter` gives the parameter of the program for an argument of the cluster.
  LoweringContext(const Node& node, HloBuilder* hlo, Faults* faults,
                  const std::function<Hlo(int)>* parameter, absl::Span<Value* const> inputs,
                  absl::Span<VariableState* const> variables, absl::Span<Value> outputs)
      : node_(node),
        hlo_(*hlo),
        faults_(*faults),
        parameter_(*parameter),
        inputs_(inputs),
        variables_(variables),
        outputs_(outputs) {}

  const Node& node() const { return node_; }
  HloBuilder& hlo() { return hlo_; }
  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  Faults& faults() { return faults_; }
  const Shape& shape(int i) const { return inputs_[i]->shape; }
  DType dtype(int i) const { return inputs_[i]->dtype; }
  Hlo input(int i);
  // Input `i` as a scalar is wanted. Errors: InvalidArgument for any other shape.
  StatusOr<Hlo> ScalarInput(int i);
  // The value of input `i`, where the program's shape depends on it. Errors: kNeedsValue.
  StatusOr<Tensor> Constant(int i);
  // The same as numbers, from int32 or int64.
  StatusOr<std::vector<int64_t>> ConstantInts(int i);
  template <typename T>
  StatusOr<T> Attr(absl::string_view name) const {
    return GetAttr<T>(node_.def(), name);
  }
  bool BoolAttr(absl::string_view name) const {
    const StatusOr<bool> value = GetAttr<bool>(node_.def(), name);
    return value.ok() && *value;
  }

  void Set(int i, const Hlo& value) {
    outputs_[i].dtype = value.dtype;
    outputs_[i].shape = value.shape;
    outputs_[i].hlo = value;
  }
  void SetConstant(int i, const Tensor& value) {
    outputs_[i].dtype = value.dtype();
    outputs_[i].shape = value.shape();
    outputs_[i].constant = value;
  }
  // Output `i` is input `j`.
  void Forward(int i, int j) { outputs_[i] = *inputs_[j]; }

  // The variable behind input `i`, a handle or a reference. Errors: those of the lowering that has
  // to be refused: kNotInitialized.
  StatusOr<Hlo> Read(int i);
  // Sets it; of its type.
  void Write(int i, const Hlo& value);
  // Sets it to what is the old value where Faults::Any is true.
  void WriteGuarded(int i, const Hlo& value);
  const VariableState& variable(int i) const { return *variables_[i]; }

 private:
  const Node& node_;
  HloBuilder& hlo_;
  Faults& faults_;
  const std::function<Hlo(int)>& parameter_;
  const absl::Span<Value* const> inputs_;             // null for handles and references
  const absl::Span<VariableState* const> variables_;  // by input; null for values
  const absl::Span<Value> outputs_;
};

using Lowering = Status (*)(LoweringContext& ctx);

// Which ops there are lowerings for, and for which types. Filled once, then only read.
class LoweringRegistry {
 public:
  struct Entry {
    Lowering lower = nullptr;
    // Each attribute must hold one of its types.
    std::vector<std::pair<std::string, std::vector<DType>>> types;
    // Not worth a launch by itself: moves or renames what is there.
    bool is_light = false;
  };
  Entry& Add(absl::string_view op, Lowering lower,
             std::vector<std::pair<std::string, std::vector<DType>>> types = {});
  const Entry* Find(absl::string_view op) const;
  // Tells the placer and the rewriter of `kernels` (accelerator.h, kCompiled and kWorthALaunch).
  void Announce(KernelRegistry* kernels) const;
  const absl::flat_hash_map<std::string, Entry>& entries() const { return entries_; }

 private:
  absl::flat_hash_map<std::string, Entry> entries_;
};

// All of runtime/pjrt/lower, made on first use; lives for ever.
const LoweringRegistry& Lowerings();

// The families.
void AddMathLowerings(LoweringRegistry& lowerings);
void AddTrigonometryLowerings(LoweringRegistry& lowerings);
void AddIntegerLowerings(LoweringRegistry& lowerings);
void AddGradientLowerings(LoweringRegistry& lowerings);
void AddReductionLowerings(LoweringRegistry& lowerings);
void AddMatMulLowerings(LoweringRegistry& lowerings);
void AddEinsumLowerings(LoweringRegistry& lowerings);
void AddArrayLowerings(LoweringRegistry& lowerings);
void AddSliceLowerings(LoweringRegistry& lowerings);
void AddSpaceLowerings(LoweringRegistry& lowerings);
void AddRearrangeLowerings(LoweringRegistry& lowerings);
void AddResizeLowerings(LoweringRegistry& lowerings);
void AddNnLowerings(LoweringRegistry& lowerings);
void AddConvLowerings(LoweringRegistry& lowerings);
void AddPoolLowerings(LoweringRegistry& lowerings);
void AddVariableLowerings(LoweringRegistry& lowerings);
void AddOptimizerLowerings(LoweringRegistry& lowerings);
void AddBatchNormLowerings(LoweringRegistry& lowerings);
void AddDivisionLowerings(LoweringRegistry& lowerings);
void AddGatherLowerings(LoweringRegistry& lowerings);
void AddScatterLowerings(LoweringRegistry& lowerings);
void AddSegmentLowerings(LoweringRegistry& lowerings);
void AddScanLowerings(LoweringRegistry& lowerings);
void AddRandomLowerings(LoweringRegistry& lowerings);
void AddComplexLowerings(LoweringRegistry& lowerings);

// Lists of types for `Add`.
const std::vector<DType>& FloatTypes();            // half, bfloat16, float, double
const std::vector<DType>& IntegerTypes();          // of 8 to 64 bits, with and without a sign
const std::vector<DType>& RealTypes();             // both
const std::vector<DType>& FloatAndComplexTypes();  // floats, complex64, complex128
const std::vector<DType>& NumberTypes();           // all of these
const std::vector<DType>& AllTypes();              // and bool
const std::vector<DType>& IndexTypes();            // int32, int64

// Sum and mean over many small floats lose digits: they are made in float and rounded at the end.
DType AccumulatorType(DType dtype);

}  // namespace tensorfleet::pjrt
