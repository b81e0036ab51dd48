// The optimizers. Defaults, formulas and slots are TensorFlow's (tf.compat.v1.train).
#pragma once

#include "runtime/train/optimizer/optimizer.h"

namespace tensorfleet::train {

// w -= rate * g. Sparse: only the rows named are touched, each as often as it is named.
class GradientDescent final : public Optimizer {
 public:
  explicit GradientDescent(Hyper rate, std::string name = "GradientDescent")
      : Optimizer(std::move(name)), rate_(rate) {}

 private:
  Operation ApplyDense(const Scope&, const Variable&, const Output&) override;
  Operation ApplySparse(const Scope&, const Variable&, const IndexedSlices&) override;
  bool wants_unique_rows() const override { return false; }
  const Hyper rate_;
};

// a = momentum * a + g; w -= rate * a, or with Nesterov's look ahead w -= rate * (g + momentum *
// a).
class Momentum final : public Optimizer {
 public:
  Momentum(Hyper rate, Hyper momentum, bool nesterov = false, std::string name = "Momentum")
      : Optimizer(std::move(name)), rate_(rate), momentum_(momentum), nesterov_(nesterov) {}

 private:
  void Prepare(const Scope&, absl::Span<const GradientAndVariable>, Variables&) override;
  Operation ApplyDense(const Scope&, const Variable&, const Output&) override;
  Operation ApplySparse(const Scope&, const Variable&, const IndexedSlices&) override;
  const Hyper rate_, momentum_;
  const bool nesterov_;
};

// a += g * g; w -= rate * g / sqrt(a).
class Adagrad final : public Optimizer {
 public:
  explicit Adagrad(Hyper rate, double initial_accumulator = 0.1, std::string name = "Adagrad")
      : Optimizer(std::move(name)), rate_(rate), initial_accumulator_(initial_accumulator) {}

 private:
  void Prepare(const Scope&, absl::Span<const GradientAndVariable>, Variables&) override;
  Operation ApplyDense(const Scope&, const Variable&, const Output&) override;
  Operation ApplySparse(const Scope&, const Variable&, const IndexedSlices&) override;
  const Hyper rate_;
  const double initial_accumulator_;
};

// s = decay * s + (1 - decay) * g * g; a = momentum * a + rate * g / sqrt(s + epsilon); w -= a.
// Centered: the variance takes the place of s.
class RmsProp final : public Optimizer {
 public:
  struct Options {
    Hyper decay = 0.9;
    Hyper momentum = 0.0;
    Hyper epsilon = 1e-10;
    bool centered = false;
  };
  explicit RmsProp(Hyper rate) : RmsProp(rate, Options()) {}
  RmsProp(Hyper rate, Options options, std::string name = "RMSProp")
      : Optimizer(std::move(name)), rate_(rate), options_(options) {}

 private:
  void Prepare(const Scope&, absl::Span<const GradientAndVariable>, Variables&) override;
  Operation ApplyDense(const Scope&, const Variable&, const Output&) override;
  Operation ApplySparse(const Scope&, const Variable&, const IndexedSlices&) override;
  const Hyper rate_;
  const Options options_;
};

// Moments of first and second order, corrected for their start at 0. A sparse gradient stands for
// one that is 0 in all other rows: those decay, as in TensorFlow, so a step takes as long as the
// table is large.
class Adam final : public Optimizer {
 public:
  struct Options {
    Hyper beta1 = 0.9;
    Hyper beta2 = 0.999;
    Hyper epsilon = 1e-8;
  };
  explicit Adam(Hyper rate = 0.001) : Adam(rate, Options()) {}
  Adam(Hyper rate, Options options, std::string name = "Adam")
      : Optimizer(std::move(name)), rate_(rate), options_(options) {}

 private:
  void Prepare(const Scope&, absl::Span<const GradientAndVariable>, Variables&) override;
  Operation ApplyDense(const Scope&, const Variable&, const Output&) override;
  Operation ApplySparse(const Scope&, const Variable&, const IndexedSlices&) override;
  std::vector<Operation> Finish(const Scope& scope) override;
  const Hyper rate_;
  const Options options_;
  Variable beta1_power_, beta2_power_;
};

// Follow the regularized leader: sparse weights by the L1 term.
class Ftrl final : public Optimizer {
 public:
  struct Options {
    Hyper rate_power = -0.5;
    double initial_accumulator = 0.1;
    Hyper l1 = 0.0;
    Hyper l2 = 0.0;
  };
  explicit Ftrl(Hyper rate) : Ftrl(rate, Options()) {}
  Ftrl(Hyper rate, Options options, std::string name = "Ftrl")
      : Optimizer(std::move(name)), rate_(rate), options_(options) {}

 private:
  void Prepare(const Scope&, absl::Span<const GradientAndVariable>, Variables&) override;
  Operation ApplyDense(const Scope&, const Variable&, const Output&) override;
  Operation ApplySparse(const Scope&, const Variable&, const IndexedSlices&) override;
  const Hyper rate_;
  const Options options_;
};

}  // namespace tensorfleet::train
