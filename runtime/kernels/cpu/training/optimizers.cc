// The optimizers' kernels. Schemas: runtime/ops/training/training_ops.cc; formulas: apply_steps.h;
// everything around them: apply_kernel.h.
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/kernels/cpu/elementwise.h"
#include "runtime/kernels/cpu/small_float.h"
#include "runtime/kernels/cpu/training/apply_kernel.h"
#include "runtime/kernels/cpu/training/apply_steps.h"
#include "runtime/kernels/row_loop.h"
#include "runtime/kernels/types.h"

namespace tensorfleet::cpu {
namespace {

template <typename T, typename Step, size_t... K>
void RunStep(const Step& step, const void* const* old, void* const* out, const T* grad, int64_t n,
             std::index_sequence<K...>) {
  const T* in[] = {static_cast<const T*>(old[K])...};
  T* to[] = {static_cast<T*>(out[K])...};
  TFLEET_VECTORIZE_ROW
  for (int64_t i = 0; i < n; ++i) {
    T v[] = {in[K][i]...};
    step(v, grad[i]);
    ((to[K][i] = v[K]), ...);
  }
}

// The same on half and bfloat16: computed in float, block by block, and rounded once.
template <typename T, typename Step>
void RunStepInBlocks(const Step& step, const void* const* old, void* const* out, const T* grad,
                     int64_t n) {
  constexpr int kVariables = Step::kVariables;
  float values[kVariables][kSmallFloatBlock];
  float grads[kSmallFloatBlock];
  void* blocks[kVariables];
  for (int k = 0; k < kVariables; ++k) blocks[k] = values[k];
  for (int64_t begin = 0; begin < n; begin += kSmallFloatBlock) {
    const int64_t size = std::min(kSmallFloatBlock, n - begin);
    for (int k = 0; k < kVariables; ++k) {
      ToFloat(static_cast<const T*>(old[k]) + begin, values[k], size);
    }
    ToFloat(grad + begin, grads, size);
    RunStep<float>(step, blocks, blocks, grads, size, std::make_index_sequence<kVariables>());
    for (int k = 0; k < kVariables; ++k) {
      FromFloat(values[k], static_cast<T*>(out[k]) + begin, size);
    }
  }
}

template <typename T, template <typename, bool> class Step, bool kFlag>
void Loop(const ApplyScalar* scalars, const void* const* old, void* const* out, const void* grad,
          int64_t n) {
  const auto run = [&](const auto& step) {
    using StepOf = std::decay_t<decltype(step)>;
    if constexpr (kIsSmallFloat<T>) {
      RunStepInBlocks(step, old, out, static_cast<const T*>(grad), n);
    } else {
      RunStep(step, old, out, static_cast<const T*>(grad), n,
              std::make_index_sequence<StepOf::kVariables>());
    }
  };
  const Step<Widened<T>, kFlag> step(scalars);
  if constexpr (requires { step.Usual(); }) {
    if (step.IsUsual()) return run(step.Usual());
  }
  run(step);
}

template <typename T, template <typename, bool> class Step>
class ApplyKernelOf final : public ApplyKernel {
 public:
  explicit ApplyKernelOf(KernelInit& init)
      : ApplyKernel(init, Step<float, false>::kVariables, ChooseLoop(init), kDTypeOf<T>,
                    /*ns_per_kilo=*/100 + 100 * Step<float, false>::kVariables) {}

 private:
  static ApplyLoop ChooseLoop(KernelInit& init) {
    if constexpr (Step<float, false>::kFlagAttr != nullptr) {
      bool flag = false;
      init.Get(Step<float, false>::kFlagAttr, &flag);
      if (flag) return &Loop<T, Step, true>;
    }
    return &Loop<T, Step, false>;
  }
};

constexpr bool kDenseOnly = false;
constexpr bool kDenseAndSparse = true;

template <template <typename, bool> class Step, typename List>
void Add(KernelRegistry& kernels, absl::string_view name, List types, bool forms,
         bool by_handle_only = false) {
  ForEachType(types, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (const char* form : {"Apply", "SparseApply"}) {
      if (form[0] == 'S' && forms == kDenseOnly) continue;
      const TypeConstraint type{"T", kDTypeOf<T>};
      kernels.Add<ApplyKernelOf<T, Step>>(absl::StrCat("Resource", form, name), kCpu, {type});
      if (!by_handle_only)
        kernels.Add<ApplyKernelOf<T, Step>>(absl::StrCat(form, name), kCpu, {type});
    }
  });
}

}  // namespace

void RegisterOptimizerKernels(KernelRegistry& kernels) {
  Add<GradientDescentStep>(kernels, "GradientDescent", FloatsAndComplexes(), kDenseOnly);
  Add<MomentumStep>(kernels, "Momentum", FloatsAndComplexes(), kDenseAndSparse);
  Add<KerasMomentumStep>(kernels, "KerasMomentum", FloatsAndComplexes(), kDenseAndSparse,
                         /*by_handle_only=*/true);
  Add<AdamStep>(kernels, "Adam", FloatsAndComplexes(), kDenseOnly);
  Add<AdaMaxStep>(kernels, "AdaMax", Concat<Types<Eigen::half>, FullFloats>(), kDenseOnly);
  Add<AmsgradStep>(kernels, "AdamWithAmsgrad", Floats(), kDenseOnly, /*by_handle_only=*/true);
  Add<AddSignStep>(kernels, "AddSign", Floats(), kDenseOnly);
  Add<PowerSignStep>(kernels, "PowerSign", Floats(), kDenseOnly);
  Add<AdagradStep>(kernels, "Adagrad", FloatsAndComplexes(), kDenseAndSparse);
  Add<AdagradV2Step>(kernels, "AdagradV2", FloatsAndComplexes(), kDenseAndSparse);
  Add<AdagradDAStep>(kernels, "AdagradDA", Floats(), kDenseAndSparse);
  Add<RMSPropStep>(kernels, "RMSProp", FloatsAndComplexes(), kDenseAndSparse);
  Add<CenteredRMSPropStep>(kernels, "CenteredRMSProp", FloatsAndComplexes(), kDenseAndSparse);
  Add<FtrlStep>(kernels, "Ftrl", Floats(), kDenseAndSparse);
  Add<FtrlV2Step>(kernels, "FtrlV2", Floats(), kDenseAndSparse);
  Add<AdadeltaStep>(kernels, "Adadelta", FloatsAndComplexes(), kDenseAndSparse);
  Add<ProximalGradientDescentStep>(kernels, "ProximalGradientDescent", Floats(), kDenseAndSparse);
  Add<ProximalAdagradStep>(kernels, "ProximalAdagrad", Floats(), kDenseAndSparse);
}

}  // namespace tensorfleet::cpu
