#include "runtime/opfuzz/observed_kernels.h"

#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/graph/shape_context.h"
#include "runtime/kernels/cpu/all.h"

namespace tensorfleet::opfuzz {
namespace {

// Whether the client says what the output's shape is: it may be wrong, and only it would notice. A
// tensor array's flow is handed on, whatever it is.
bool IsDeclared(const Node& node) {
  return node.schema().FindAttr("output_shapes") != nullptr ||
         node.op() == "PlaceholderWithDefault" || node.op() == "AccumulateNV2" ||
         (node.num_outputs() == 1 && node.schema().outputs[0].name == "flow_out");
}

// What is known of a run's outputs before it, and whether they are so after it.
class Expectation {
 public:
  explicit Expectation(const KernelContext& ctx) {
    std::vector<PartialShape> shapes;
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      shapes.push_back(ctx.has_input(i) ? PartialShape(ctx.input(i).shape()) : PartialShape());
    }
    const Node& node = ctx.node();
    if (node.schema().shape_fn == nullptr || IsDeclared(node)) return;
    ShapeContext inference(node, std::move(shapes),
                           std::vector<const Tensor*>(ctx.num_inputs(), nullptr));
    inference_ = node.schema().shape_fn(inference);
    shapes_ = inference.outputs();
  }

  void Check(const KernelContext& ctx, const Status& status) const {
    if (!status.ok() || ctx.is_input_dead()) return;
    const Node& node = ctx.node();
    if (!inference_.ok()) {
      Observed().Complain(absl::StrCat(
          node.op(), ": the kernel ran where shape inference said: ", inference_.message()));
    }
    for (int i = 0; inference_.ok() && i < ctx.num_outputs(); ++i) {
      const Tensor& output = ctx.output(i);
      if (!output.is_valid()) continue;  // a reference, or dead
      if (output.dtype() != BaseType(node.output_type(i))) {
        Observed().Complain(absl::StrCat(node.op(), ": output ", i, " is ",
                                         DTypeName(output.dtype()), ", not what the schema says"));
      }
      if (i < static_cast<int>(shapes_.size()) &&
          !shapes_[i].IsCompatibleWith(PartialShape(output.shape()))) {
        Observed().Complain(absl::StrCat(node.op(), ": output ", i, " is ",
                                         output.shape().ToString(), " but was inferred as ",
                                         shapes_[i].ToString()));
      }
    }
  }

 private:
  Status inference_;
  std::vector<PartialShape> shapes_;
};

// The node under test, or what it became when calls were put in place of it.
bool IsUnderTest(const Node& node) {
  const absl::string_view name = node.name();
  return name == "op" || absl::StartsWith(name, "op/") || absl::StartsWith(name, "op_");
}

class ObservedAsync final : public AsyncKernel {
 public:
  explicit ObservedAsync(const Kernel* inner) : inner_(inner->AsAsync()) {}
  void ComputeAsync(KernelContext& ctx, Done done) const override {
    if (IsUnderTest(ctx.node())) Observed().Reached();
    auto expectation = std::make_shared<const Expectation>(ctx);
    inner_->ComputeAsync(ctx, [&ctx, expectation, done = std::move(done)](Status status) {
      expectation->Check(ctx, status);
      done(std::move(status));
    });
  }
  bool IsExpensive() const override { return inner_->IsExpensive(); }

 private:
  const AsyncKernel* const inner_;
};

class ObservedKernel final : public Kernel {
 public:
  explicit ObservedKernel(KernelInit& init) {
    StatusOr<std::unique_ptr<Kernel>> made = CpuKernels().Make(init, kCpu);
    if (!made.ok()) {
      init.Fail(made.status());
      return;
    }
    inner_ = *std::move(made);
    if (inner_->AsAsync() != nullptr) async_.emplace(inner_.get());
  }
  Status Compute(KernelContext& ctx) const override {
    if (IsUnderTest(ctx.node())) Observed().Reached();
    const Expectation expectation(ctx);
    Status status = inner_->Compute(ctx);
    expectation.Check(ctx, status);
    return status;
  }
  bool IsExpensive() const override { return inner_->IsExpensive(); }
  const AsyncKernel* AsAsync() const override { return async_ ? &*async_ : nullptr; }

 private:
  std::unique_ptr<Kernel> inner_;
  std::optional<ObservedAsync> async_;
};

}  // namespace

void Observations::Reset() {
  reached_ = false;
  MutexLock lock(&mu_);
  complaint_.clear();
}

void Observations::Complain(const std::string& what) {
  MutexLock lock(&mu_);
  if (complaint_.empty()) complaint_ = what;
}

std::string Observations::complaint() const {
  MutexLock lock(&mu_);
  return complaint_;
}

Observations& Observed() {
  static auto* observed = new Observations;
  return *observed;
}

const KernelRegistry& ObservedKernels() {
  static const KernelRegistry* kernels = [] {
    auto* made = new KernelRegistry;
    for (const std::string& op : CpuKernels().Ops(kCpu)) {
      for (TypeConstraints& constraints : CpuKernels().ConstraintsOf(op, kCpu)) {
        made->Add<ObservedKernel>(op, kCpu, std::move(constraints));
      }
    }
    return made;
  }();
  return *kernels;
}

}  // namespace tensorfleet::opfuzz
