// One optimizer step on one element, per optimizer: v[k] are the element's values in the variables
// (the variable itself first, its slots in the order of the inputs), g its gradient. Constructed
// from the node's scalar inputs in the order of the schema, runtime/ops/training/training_ops.cc.
// The order of operations is TensorFlow's, so that results agree to the last bit wherever that is
// possible; the file is compiled without contraction to fused multiply-adds for the same reason.
#pragma once

#include <cmath>
#include <complex>
#include <type_traits>

#include "runtime/kernels/cpu/math/vector_math.h"

namespace tensorfleet::cpu {

// A scalar input of a node. Every type of T passes through unchanged.
struct ApplyScalar {
  std::complex<double> value;
  template <typename T>
  T As() const {
    if constexpr (std::is_same_v<T, std::complex<float>> ||
                  std::is_same_v<T, std::complex<double>>) {
      return static_cast<T>(value);
    } else {
      return static_cast<T>(value.real());
    }
  }
};

// `T` is float or double, or a complex of them in the optimizers that neither compare nor take
// signs. `kFlag` is the value of attribute kFlagAttr, where there is one.
template <typename T, bool kFlag>
struct GradientDescentStep {
  static constexpr int kVariables = 1;
  static constexpr const char* kFlagAttr = nullptr;
  explicit GradientDescentStep(const ApplyScalar* s) : alpha(s[0].template As<T>()) {}
  void operator()(T* v, T g) const { v[0] -= g * alpha; }
  T alpha;
};

template <typename T, bool kNesterov>
struct MomentumStep {
  static constexpr int kVariables = 2;
  static constexpr const char* kFlagAttr = "use_nesterov";
  explicit MomentumStep(const ApplyScalar* s)
      : lr(s[0].template As<T>()), momentum(s[1].template As<T>()) {}
  void operator()(T* v, T g) const {
    v[1] = v[1] * momentum + g;
    v[0] -= kNesterov ? g * lr + v[1] * momentum * lr : v[1] * lr;
  }
  T lr, momentum;
};

template <typename T, bool kNesterov>
struct KerasMomentumStep {
  static constexpr int kVariables = 2;
  static constexpr const char* kFlagAttr = "use_nesterov";
  explicit KerasMomentumStep(const ApplyScalar* s)
      : lr(s[0].template As<T>()), momentum(s[1].template As<T>()) {}
  void operator()(T* v, T g) const {
    v[1] = v[1] * momentum - g * lr;
    v[0] += kNesterov ? v[1] * momentum - g * lr : v[1];
  }
  T lr, momentum;
};

template <typename T, bool kNesterov>
struct AdamStep {
  static constexpr int kVariables = 3;
  static constexpr const char* kFlagAttr = "use_nesterov";
  explicit AdamStep(const ApplyScalar* s)
      : beta1(s[3].template As<T>()),
        rest1(T(1) - s[3].template As<T>()),
        rest2(T(1) - s[4].template As<T>()),
        epsilon(s[5].template As<T>()),
        alpha(s[2].template As<T>() * SquareRoot(T(1) - s[1].template As<T>()) /
              (T(1) - s[0].template As<T>())) {}
  void operator()(T* v, T g) const {
    v[1] += (g - v[1]) * rest1;
    v[2] += (g * g - v[2]) * rest2;
    const T m = kNesterov ? g * rest1 + beta1 * v[1] : v[1];
    v[0] -= (m * alpha) / (SquareRoot(v[2]) + epsilon);
  }
  T beta1, rest1, rest2, epsilon, alpha;
};

// v is the largest gradient so far, which fades.
template <typename T, bool kFlag>
struct AdaMaxStep {
  static constexpr int kVariables = 3;
  static constexpr const char* kFlagAttr = nullptr;
  explicit AdaMaxStep(const ApplyScalar* s)
      : rest1(T(1) - s[2].template As<T>()),
        beta2(s[3].template As<T>()),
        epsilon(s[4].template As<T>()),
        rate(s[1].template As<T>() / (T(1) - s[0].template As<T>())) {}
  void operator()(T* v, T g) const {
    v[1] += (g - v[1]) * rest1;
    const T faded = beta2 * v[2], size = std::abs(g);
    v[2] = faded < size ? size : faded;
    v[0] -= rate * (v[1] / (v[2] + epsilon));
  }
  T rest1, beta2, epsilon, rate;
};

// Variables: var, m, v, vhat (the largest v so far).
template <typename T, bool kFlag>
struct AmsgradStep {
  static constexpr int kVariables = 4;
  static constexpr const char* kFlagAttr = nullptr;
  explicit AmsgradStep(const ApplyScalar* s)
      : rest1(T(1) - s[3].template As<T>()),
        rest2(T(1) - s[4].template As<T>()),
        epsilon(s[5].template As<T>()),
        alpha(s[2].template As<T>() * SquareRoot(T(1) - s[1].template As<T>()) /
              (T(1) - s[0].template As<T>())) {}
  void operator()(T* v, T g) const {
    v[1] += (g - v[1]) * rest1;
    v[2] += (g * g - v[2]) * rest2;
    v[3] = v[3] < v[2] ? v[2] : v[3];
    v[0] -= (v[1] * alpha) / (SquareRoot(v[3]) + epsilon);
  }
  T rest1, rest2, epsilon, alpha;
};

template <typename T>
inline T SignOf(T x) {
  return static_cast<T>((x > T(0)) - (x < T(0)));
}

// What AddSign and PowerSign share: a mean of gradients, and whether the gradient agrees with it.
template <typename T>
struct SignMean {
  T beta, rest, decay;
  T Agreement(T* v, T g) const {
    v[1] = v[1] * beta + g * rest;
    return decay * (SignOf(g) * SignOf(v[1]));
  }
};

template <typename T, bool kFlag>
struct AddSignStep {
  static constexpr int kVariables = 2;
  static constexpr const char* kFlagAttr = nullptr;
  explicit AddSignStep(const ApplyScalar* s)
      : lr(s[0].template As<T>()),
        alpha(s[1].template As<T>()),
        mean{s[3].template As<T>(), T(1) - s[3].template As<T>(), s[2].template As<T>()} {}
  void operator()(T* v, T g) const { v[0] -= lr * (alpha + mean.Agreement(v, g)) * g; }
  T lr, alpha;
  SignMean<T> mean;
};

template <typename T, bool kFlag>
struct PowerSignStep {
  static constexpr int kVariables = 2;
  static constexpr const char* kFlagAttr = nullptr;
  explicit PowerSignStep(const ApplyScalar* s)
      : lr(s[0].template As<T>()),
        mean{s[3].template As<T>(), T(1) - s[3].template As<T>(),
             s[1].template As<T>() * s[2].template As<T>()},
        // There are three exponents only: no exponential for each element.
        agree(std::exp(mean.decay)),
        differ(std::exp(-mean.decay)) {}
  void operator()(T* v, T g) const {
    const T agreement = mean.Agreement(v, g);
    const T factor = agreement == T(0) ? T(1) : agreement == mean.decay ? agree : differ;
    v[0] -= lr * factor * g;
  }
  T lr;
  SignMean<T> mean;
  T agree, differ;
};

template <typename T, bool kUpdateSlots>
struct AdagradStep {
  static constexpr int kVariables = 2;
  static constexpr const char* kFlagAttr = "update_slots";
  explicit AdagradStep(const ApplyScalar* s) : lr(s[0].template As<T>()) {}
  void operator()(T* v, T g) const {
    if (kUpdateSlots) v[1] += g * g;
    v[0] -= g * lr * (T(1) / SquareRoot(v[1]));
  }
  T lr;
};

template <typename T, bool kUpdateSlots>
struct AdagradV2Step {
  static constexpr int kVariables = 2;
  static constexpr const char* kFlagAttr = "update_slots";
  explicit AdagradV2Step(const ApplyScalar* s)
      : lr(s[0].template As<T>()), epsilon(s[1].template As<T>()) {}
  void operator()(T* v, T g) const {
    if (kUpdateSlots) v[1] += g * g;
    v[0] -= g * lr / (SquareRoot(v[1]) + epsilon);
  }
  T lr, epsilon;
};

// What is left of x when it is drawn towards 0 by `by`.
template <typename T>
inline T Shrink(T x, T by) {
  const T rest = std::abs(x) - by;
  return rest > T(0) ? std::copysign(rest, x) : T(0);
}

template <typename T, bool kFlag>
struct AdagradDAStep {
  static constexpr int kVariables = 3;
  static constexpr const char* kFlagAttr = nullptr;
  explicit AdagradDAStep(const ApplyScalar* s)
      : lr(s[0].template As<T>()),
        l1_steps(s[1].template As<T>() * s[3].template As<T>()),
        l2_steps_lr(s[2].template As<T>() * s[3].template As<T>() * s[0].template As<T>()) {}
  void operator()(T* v, T g) const {
    v[1] += g;
    v[2] += g * g;
    const T sum = l1_steps > T(0) ? Shrink(v[1], l1_steps) : v[1];
    v[0] = (-lr * sum) / (l2_steps_lr + SquareRoot(v[2]));
  }
  T lr, l1_steps, l2_steps_lr;
};

template <typename T, bool kFlag>
struct RMSPropStep {
  static constexpr int kVariables = 3;
  static constexpr const char* kFlagAttr = nullptr;
  explicit RMSPropStep(const ApplyScalar* s)
      : lr(s[0].template As<T>()),
        rest(T(1) - s[1].template As<T>()),
        momentum(s[2].template As<T>()),
        epsilon(s[3].template As<T>()) {}
  void operator()(T* v, T g) const {
    v[1] += (g * g - v[1]) * rest;
    v[2] = v[2] * momentum + (g * lr) / SquareRoot(v[1] + epsilon);
    v[0] -= v[2];
  }
  T lr, rest, momentum, epsilon;
};

// Variables: var, mg (mean of gradients), ms (of squares), mom.
template <typename T, bool kFlag>
struct CenteredRMSPropStep {
  static constexpr int kVariables = 4;
  static constexpr const char* kFlagAttr = nullptr;
  explicit CenteredRMSPropStep(const ApplyScalar* s)
      : lr(s[0].template As<T>()),
        rest(T(1) - s[1].template As<T>()),
        momentum(s[2].template As<T>()),
        epsilon(s[3].template As<T>()) {}
  void operator()(T* v, T g) const {
    v[2] += (g * g - v[2]) * rest;
    v[1] += (g - v[1]) * rest;
    v[3] = v[3] * momentum + (g * lr) / SquareRoot((v[2] - v[1] * v[1]) + epsilon);
    v[0] -= v[3];
  }
  T lr, rest, momentum, epsilon;
};

template <typename T, bool kFlag>
struct AdadeltaStep {
  static constexpr int kVariables = 3;
  static constexpr const char* kFlagAttr = nullptr;
  explicit AdadeltaStep(const ApplyScalar* s)
      : lr(s[0].template As<T>()),
        rho(s[1].template As<T>()),
        rest(T(1) - s[1].template As<T>()),
        epsilon(s[2].template As<T>()) {}
  void operator()(T* v, T g) const {
    v[1] = v[1] * rho + g * g * rest;
    const T update = SquareRoot(v[2] + epsilon) * (T(1) / SquareRoot(v[1] + epsilon)) * g;
    v[0] -= update * lr;
    v[2] = v[2] * rho + update * update * rest;
  }
  T lr, rho, rest, epsilon;
};

template <typename T, bool kFlag>
struct ProximalGradientDescentStep {
  static constexpr int kVariables = 1;
  static constexpr const char* kFlagAttr = nullptr;
  explicit ProximalGradientDescentStep(const ApplyScalar* s)
      : alpha(s[0].template As<T>()), l1(s[1].template As<T>()), l2(s[2].template As<T>()) {}
  void operator()(T* v, T g) const {
    const T next = v[0] - g * alpha;
    v[0] = (l1 > T(0) ? Shrink(next, alpha * l1) : next) / (T(1) + l2 * alpha);
  }
  T alpha, l1, l2;
};

template <typename T, bool kFlag>
struct ProximalAdagradStep {
  static constexpr int kVariables = 2;
  static constexpr const char* kFlagAttr = nullptr;
  explicit ProximalAdagradStep(const ApplyScalar* s)
      : lr(s[0].template As<T>()), l1(s[1].template As<T>()), l2(s[2].template As<T>()) {}
  void operator()(T* v, T g) const {
    v[1] += g * g;
    const T rate = lr * (T(1) / SquareRoot(v[1]));
    const T next = v[0] - g * rate;
    v[0] = (l1 > T(0) ? Shrink(next, rate * l1) : next) / (T(1) + rate * l2);
  }
  T lr, l1, l2;
};

// Variables: var, accum, linear. `kTimesLr`: the linear slot is kept multiplied by the learning
// rate. `kHalf`: the power is -0.5, as it nearly always is.
template <typename T, bool kTimesLr, bool kHalf>
struct FtrlFormula {
  static constexpr int kVariables = 3;
  T lr, l1, l2, l2_shrinkage, power;
  // x^-power.
  T Root(T x) const { return kHalf ? SquareRoot(x) : std::pow(x, -power); }
  void operator()(T* v, T g) const {
    const T shrunk = g + T(2) * l2_shrinkage * v[0];
    const T accum = v[1] + g * g;
    const T root = Root(accum);
    if (kTimesLr) {
      v[2] += shrunk * lr - (root - Root(v[1])) * v[0];
    } else {
      v[2] += shrunk - (root - Root(v[1])) / lr * v[0];
    }
    const T limit = kTimesLr ? l1 * lr : l1;
    const T rate = kTimesLr ? root + T(2) * l2 * lr : root / lr + T(2) * l2;
    // Times the sign: for a limit below 0 as well, which TensorFlow takes.
    v[0] = std::abs(v[2]) > limit ? (std::copysign(T(1), v[2]) * limit - v[2]) / rate : T(0);
    v[1] = accum;
  }
  bool IsUsual() const { return power == T(-0.5); }
  // The same without a power in it, so that the loop around it can be one over vectors.
  FtrlFormula<T, kTimesLr, true> Usual() const { return {lr, l1, l2, l2_shrinkage, power}; }
};

template <typename T, bool kTimesLr>
struct FtrlStep : FtrlFormula<T, kTimesLr, false> {
  static constexpr const char* kFlagAttr = "multiply_linear_by_lr";
  explicit FtrlStep(const ApplyScalar* s)
      : FtrlFormula<T, kTimesLr, false>{s[0].template As<T>(), s[1].template As<T>(),
                                        s[2].template As<T>(), T(0), s[3].template As<T>()} {}
};

template <typename T, bool kTimesLr>
struct FtrlV2Step : FtrlFormula<T, kTimesLr, false> {
  static constexpr const char* kFlagAttr = "multiply_linear_by_lr";
  explicit FtrlV2Step(const ApplyScalar* s)
      : FtrlFormula<T, kTimesLr, false>{s[0].template As<T>(), s[1].template As<T>(),
                                        s[2].template As<T>(), s[3].template As<T>(),
                                        s[4].template As<T>()} {}
};

}  // namespace tensorfleet::cpu
