// Gamma, Poisson and binomial distributions, with seeds of the node, of an input, or of a variable.
// Schemas: runtime/ops/random/distribution_ops.cc.
#include <array>
#include <cmath>
#include <limits>

#include <Eigen/Core>

#include "runtime/kernels/cpu/broadcast.h"
#include "runtime/kernels/cpu/index_input.h"
#include "runtime/kernels/cpu/random/draws.h"
#include "runtime/kernels/cpu/random/generator.h"
#include "runtime/kernels/cpu/random/generator_state.h"
#include "runtime/kernels/cpu/random/stateless_key.h"
#include "runtime/kernels/types.h"

namespace tensorfleet::cpu {
namespace {

// A gamma-distributed number (Marsaglia and Tsang, 2000).
double DrawGamma(double alpha, Draws<double> draws, LoopWatch& watch) {
  if (alpha == 1.0) return -std::log1p(-draws.Uniform());
  // Below 1 the distribution of alpha + 1 is drawn from, and the result made smaller.
  const bool is_small = alpha < 1;
  const double d = alpha + (is_small ? 2.0 / 3 : -1.0 / 3);
  const double c = 1.0 / 3 / std::sqrt(d);
  for (;;) {
    watch.Pass();
    const double x = draws.Normal();
    double v = 1 + c * x;
    if (v <= 0) continue;
    v = v * v * v;
    const double u = draws.Uniform();
    // The first test is cheap and nearly always enough. What NaN makes of the second is let pass.
    if (u < 1 - 0.0331 * (x * x) * (x * x) ||
        !(std::log(u) >= 0.5 * x * x + d * (1 - v + std::log(v)))) {
      const double result = d * v;
      return is_small ? result * std::pow(draws.Uniform(), 1 / alpha) : result;
    }
  }
}

// A Poisson-distributed number: by Knuth's product of uniform numbers, or by Hormann's transformed
// rejection (1993). `T` is what TensorFlow computes it in.
template <typename T>
T DrawPoisson(T rate, T most, Draws<T> draws, LoopWatch& watch) {
  if (std::isinf(rate) && rate > T(0)) return most;
  if (!(rate == rate)) return std::numeric_limits<T>::quiet_NaN();
  if (rate < T(10)) {
    const T least = std::exp(-rate);
    T product = 1, count = 0;
    for (;; count += 1) {
      product *= draws.Uniform();
      if (product <= least) return count;
    }
  }
  const T log_rate = std::log(rate);
  const T b = T(0.931) + T(2.53) * std::sqrt(rate);
  const T a = T(-0.059) + T(0.02483) * b;
  const T inverse_alpha = T(1.1239) + T(1.1328) / (b - T(3.4));
  for (;;) {
    watch.Pass();
    const T u = draws.Uniform() - T(0.5);
    const T v = draws.Uniform();
    const T shifted = T(0.5) - std::abs(u);
    const T k = std::floor((T(2) * a / shifted + b) * u + rate + T(0.43));
    if (shifted >= T(0.07) && v <= T(0.9277) - T(3.6224) / (b - T(2))) return k;
    if (k < 0 || (shifted < T(0.013) && v > shifted)) continue;
    int sign;
    const T s = std::log(v * inverse_alpha / (a / (shifted * shifted) + b));
    const T t = -rate + k * log_rate -
                static_cast<T>(sizeof(T) == 8 ? ::lgamma_r(static_cast<double>(k) + 1, &sign)
                                              : ::lgammaf_r(static_cast<float>(k + 1), &sign));
    if (s <= t) return k;
  }
}

// Sums of geometric numbers until they are more than `count`.
double DrawBinomialByInversion(double count, double prob, Draws<double> draws) {
  double sum = 0;
  for (int64_t picked = 0;; ++picked) {
    sum += std::ceil(std::log(draws.Uniform()) / std::log1p(-prob));
    if (sum > count) return static_cast<double>(picked);
  }
}

// What Stirling's approximation of log(k!) lacks.
double StirlingTail(double k) {
  static const std::array<double, 10> kFirst = [] {
    std::array<double, 10> tails;
    for (int i = 0; i < 10; ++i) {
      const long double n = i + 1;
      tails[i] = static_cast<double>(std::lgamma(n) -
                                     (0.5L * std::log(2 * M_PIl) + (n - 0.5L) * std::log(n) - n));
    }
    return tails;
  }();
  if (k <= 9) return kFirst[static_cast<int>(k)];
  const double square = (k + 1) * (k + 1);
  return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
}

// By Hormann's transformed rejection (1993).
double DrawBinomialByRejection(double count, double prob, Draws<double> draws, LoopWatch& watch) {
  const double stddev = std::sqrt(count * prob * (1 - prob));
  const double b = 1.15 + 2.53 * stddev;
  const double a = -0.0873 + 0.0248 * b + 0.01 * prob;
  const double c = count * prob + 0.5;
  const double v_r = 0.92 - 4.2 / b;
  const double r = prob / (1 - prob);
  const double alpha = (2.83 + 5.1 / b) * stddev;
  const double m = std::floor((count + 1) * prob);
  for (;;) {
    watch.Pass();
    const double u = draws.Uniform() - 0.5;
    double v = draws.Uniform();
    const double us = 0.5 - std::abs(u);
    const double k = std::floor((2 * a / us + b) * u + c);
    if (us >= 0.07 && v <= v_r) return k;
    if (k < 0 || k > count) continue;
    v = std::log(v * alpha / (a / (us * us) + b));
    const double bound = (m + 0.5) * std::log((m + 1) / (r * (count - m + 1))) +
                         (count + 1) * std::log((count - m + 1) / (count - k + 1)) +
                         (k + 0.5) * std::log(r * (count - k + 1) / (k + 1)) + StirlingTail(m) +
                         StirlingTail(count - m) - StirlingTail(k) - StirlingTail(count - k);
    if (v <= bound) return k;
  }
}

// `T` is the type of the parameters, in which TensorFlow decides between the two ways.
template <typename T>
double DrawBinomial(T count, T prob, const Philox& from, int64_t output, LoopWatch& watch) {
  const double n = static_cast<double>(count);
  if (!(n == n)) return n;
  if (n <= 0.0 || prob <= T(0)) return 0;
  if (prob >= T(1)) return n;
  if (!(prob == prob)) return std::numeric_limits<double>::quiet_NaN();
  const bool is_high = prob > T(0.5);
  const T rare = is_high ? T(1) - prob : prob;
  const double p = static_cast<double>(rare);
  const double drawn =
      static_cast<T>(count * rare) >= T(10)
          ? DrawBinomialByRejection(n, p, Draws<double>(from.At(256 * output)), watch)
          : DrawBinomialByInversion(n, p, Draws<double>(from.At(42 * output)));
  return is_high ? n - drawn : drawn;
}

// How many outputs there are for each parameter of a distribution, in all.
struct Samples {
  int64_t per_parameter = 0, parameters = 0;
  int64_t total() const { return per_parameter * parameters; }
};

// What an output of type Out can hold of `x`: no number is 0, what is too large the largest.
template <typename Out>
Out Held(double x) {
  if constexpr (std::is_integral_v<Out>) {
    if (!(x == x)) return 0;
    if (x >= static_cast<double>(std::numeric_limits<Out>::max())) {
      return std::numeric_limits<Out>::max();
    }
  }
  return static_cast<Out>(x);
}

// Calls draw(parameter, output) for each output and stores what it gives: outputs are counted
// parameter by parameter, and lie sample by sample.
template <typename Out, typename Draw>
void FillSamples(const KernelContext& ctx, const Samples& samples, int64_t cost, Tensor* out,
                 const Draw& draw) {
  Out* const to = out->mutable_values<Out>().data();
  ParallelFor(ctx, samples.total(), cost, [&](int64_t begin, int64_t end) {
    LoopWatch watch(ctx, 100);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t parameter = i / samples.per_parameter, sample = i % samples.per_parameter;
      to[sample * samples.parameters + parameter] =
          Held<Out>(static_cast<double>(draw(parameter, i, watch)));
    }
  });
}

enum class Start { kNode, kSeed, kKey };

// The shape of the outputs: the shape asked for and that of the parameters after it, or, of
// stateless ops, one that ends with theirs.
StatusOr<Shape> OutputShape(const Tensor& asked, const Shape& parameters, bool is_whole) {
  TFLEET_ASSIGN_OR_RETURN(const Shape shape, ShapeFromInput(asked));
  if (!is_whole) return shape.Concatenated(parameters);
  const int before = shape.rank() - parameters.rank();
  if (before < 0 || shape.SubShape(before, shape.rank()) != parameters) {
    return InvalidArgument("Shape passed in must end with broadcasted shape.");
  }
  return shape;
}

// Ops whose distribution has one parameter. Inputs: shape, then for stateless ops a seed or key,
// counter and algorithm, then the parameter.
template <Start kStart>
class OneParameter : public Kernel {
 public:
  explicit OneParameter(KernelInit& init) {
    if constexpr (kStart == Start::kNode) generator_.emplace(init);
  }
  bool IsExpensive() const override { return true; }

  Status Compute(KernelContext& ctx) const final {
    const Tensor& parameter = ctx.input(kParameter);
    TFLEET_ASSIGN_OR_RETURN(const Shape shape,
                            OutputShape(ctx.input(0), parameter.shape(), kStart != Start::kNode));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(OutputType(ctx), shape));
    StatusOr<Philox> from = StartOf(ctx, shape.num_elements());
    TFLEET_RETURN_IF_ERROR(from.status());
    if (shape.num_elements() > 0) {
      const int64_t parameters = parameter.num_elements();
      Fill(ctx, {shape.num_elements() / parameters, parameters}, *from, parameter, &out);
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 protected:
  virtual void Fill(const KernelContext& ctx, const Samples& samples, const Philox& from,
                    const Tensor& parameter, Tensor* out) const = 0;

 private:
  static constexpr int kParameter = kStart == Start::kNode ? 1 : kStart == Start::kSeed ? 2 : 4;
  static DType OutputType(const KernelContext& ctx) { return ctx.node().output_type(0); }
  StatusOr<Philox> StartOf(const KernelContext& ctx, int64_t outputs) const {
    if constexpr (kStart == Start::kNode) {
      return generator_->Reserve(ReservedBlocks(outputs));
    } else if constexpr (kStart == Start::kSeed) {
      TFLEET_ASSIGN_OR_RETURN(const KeyAndCounter at, Scramble(ctx.input(1)));
      return at.Start();
    } else {
      return ReadGenerator(ctx, 1);
    }
  }

  std::optional<Generator> generator_;
};

template <typename T, Start kStart>
class Gamma final : public OneParameter<kStart> {
 public:
  using OneParameter<kStart>::OneParameter;

 protected:
  void Fill(const KernelContext& ctx, const Samples& samples, const Philox& from,
            const Tensor& parameter, Tensor* out) const override {
    const T* const alphas = parameter.values<T>().data();
    FillSamples<T>(ctx, samples, 150, out, [&](int64_t i, int64_t output, LoopWatch& watch) {
      return DrawGamma(static_cast<double>(alphas[i]), Draws<double>(from.At(256 * output)), watch);
    });
  }
};
template <typename T>
using RandomGamma = Gamma<T, Start::kNode>;
template <typename T>
using SeededGamma = Gamma<T, Start::kSeed>;
template <typename T>
using KeyedGamma = Gamma<T, Start::kKey>;

template <typename Rate, typename Out, Start kStart>
class Poisson final : public OneParameter<kStart> {
 public:
  using OneParameter<kStart>::OneParameter;

 protected:
  void Fill(const KernelContext& ctx, const Samples& samples, const Philox& from,
            const Tensor& parameter, Tensor* out) const override {
    using W = double;
    const Rate* const rates = parameter.values<Rate>().data();
    const W most = static_cast<W>(Eigen::NumTraits<Out>::highest());
    FillSamples<Out>(ctx, samples, 200, out, [&](int64_t i, int64_t output, LoopWatch& watch) {
      return DrawPoisson<W>(static_cast<W>(rates[i]), most, Draws<W>(from.At(256 * output)), watch);
    });
  }
};

// Counts and probabilities broadcast. Inputs: shape and seed, or generator, algorithm and shape.
template <typename T, typename Out, bool kStateful>
class Binomial final : public Kernel {
 public:
  explicit Binomial(KernelInit& init) : state_(init) {}
  bool IsExpensive() const override { return true; }

  Status Compute(KernelContext& ctx) const override {
    constexpr int kCounts = kStateful ? 3 : 2;
    const Tensor &counts = ctx.input(kCounts), &probs = ctx.input(kCounts + 1);
    const StatusOr<Shape> both = BroadcastShapes(counts.shape(), probs.shape());
    if (!both.ok()) {
      return InvalidArgument("counts and probs must have compatible batch dimensions: ",
                             counts.shape().ToString(), " vs. ", probs.shape().ToString());
    }
    TFLEET_ASSIGN_OR_RETURN(const Shape shape,
                            OutputShape(ctx.input(kStateful ? 2 : 0), *both, true));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(kDTypeOf<Out>, shape));
    StatusOr<Philox> from = StartOf(ctx, both->num_elements(), shape.num_elements());
    TFLEET_RETURN_IF_ERROR(from.status());
    if (shape.num_elements() > 0) {
      const int64_t parameters = both->num_elements();
      const BroadcastPlan<2> plan = PlanBroadcast<2>(*both, {&counts.shape(), &probs.shape()});
      std::vector<std::pair<T, T>> pairs(parameters);
      plan.ForRuns(0, plan.outer(), [&](int64_t first, const std::array<int64_t, 2>& at) {
        for (int64_t i = 0; i < plan.inner(); ++i) {
          pairs[first + i] = {counts.values<T>()[at[0] + i * plan.strides[0].back()],
                              probs.values<T>()[at[1] + i * plan.strides[1].back()]};
        }
      });
      FillSamples<Out>(ctx, {shape.num_elements() / parameters, parameters}, 300, &out,
                       [&](int64_t i, int64_t output, LoopWatch& watch) {
                         return DrawBinomial<T>(pairs[i].first, pairs[i].second, *from, output,
                                                watch);
                       });
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  StatusOr<Philox> StartOf(KernelContext& ctx, int64_t parameters, int64_t outputs) const {
    if constexpr (kStateful) {
      const int64_t each = parameters == 0 ? 0 : outputs / parameters;
      return state_.Take(ctx, ReservedBlocks(parameters * 2 * 100 * (each + 3) / 4));
    } else {
      TFLEET_ASSIGN_OR_RETURN(const KeyAndCounter at, Scramble(ctx.input(1)));
      return at.Start();
    }
  }
  struct NoState {
    explicit NoState(KernelInit&) {}
  };
  const std::conditional_t<kStateful, GeneratorState, NoState> state_;
};

using Parameters = Types<Eigen::half, float, double>;
using Outputs = Types<Eigen::half, float, double, int32_t, int64_t>;

}  // namespace

void RegisterDistributionKernels(KernelRegistry& r) {
  AddForTypes<RandomGamma>(r, "RandomGamma", Parameters());
  AddForTypes<SeededGamma>(r, "StatelessRandomGammaV2", Parameters(), "dtype");
  AddForTypes<KeyedGamma>(r, "StatelessRandomGammaV3", Parameters(), "dtype");
  ForEachType(Outputs(), [&](auto out_tag) {
    using Out = typename decltype(out_tag)::type;
    const TypeConstraint out{"dtype", kDTypeOf<Out>};
    ForEachType(Outputs(), [&](auto tag) {
      using Rate = typename decltype(tag)::type;
      r.Add<Poisson<Rate, Out, Start::kNode>>("RandomPoissonV2", kCpu,
                                              {{"R", kDTypeOf<Rate>}, out});
      r.Add<Poisson<Rate, Out, Start::kSeed>>("StatelessRandomPoisson", kCpu,
                                              {{"Rtype", kDTypeOf<Rate>}, out});
    });
    ForEachType(Parameters(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      r.Add<Binomial<T, Out, false>>("StatelessRandomBinomial", kCpu, {{"T", kDTypeOf<T>}, out});
      r.Add<Binomial<T, Out, true>>("StatefulRandomBinomial", kCpu, {{"T", kDTypeOf<T>}, out});
    });
  });
  ForEachType(Parameters(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    r.Add<Poisson<T, T, Start::kNode>>("RandomPoisson", kCpu, {{"dtype", kDTypeOf<T>}});
  });
}

}  // namespace tensorfleet::cpu
