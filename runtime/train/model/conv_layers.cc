#include "runtime/train/model/conv_layers.h"

#include "runtime/client/gradients/shape_math.h"
#include "runtime/client/ops.h"

namespace tensorfleet::train {
namespace {

// The known number of channels; 0 after an error.
int64_t ChannelsOf(const Scope& scope, const std::string& layer, const Output& x, int rank) {
  const PartialShape shape = scope.ShapeOf(x);
  if (shape.has_rank() && shape.rank() >= 1 && shape.has_dim(-1) &&
      (rank == 0 || shape.rank() == rank)) {
    return shape.dim(-1);
  }
  scope.Fail(InvalidArgument("layer '", layer, "' needs an input ",
                             rank == 0 ? "" : absl::StrCat("of rank ", rank, " "),
                             "with a known last dimension; it was given ", shape.ToString()));
  return 0;
}

}  // namespace

Output Conv2D(const Scope& scope, Variables& variables, const Output& x, int64_t filters,
              int64_t kernel, const ConvOptions& options) {
  const int64_t channels = ChannelsOf(scope, options.name, x, 4);
  if (channels == 0) return Output();
  const Scope at = scope.SubScope(options.name);
  const VariableOptions typed = {.dtype = x.dtype()};
  const Variable filter =
      variables.Make(at.Named("kernel"), Shape::Make({kernel, kernel, channels, filters}),
                     options.kernel_initializer, typed);
  if (!filter.is_valid()) return Output();
  Output y =
      ops::Conv2D(at, x, filter.value, {1, options.stride, options.stride, 1}, options.padding);
  if (options.use_bias) {
    const Variable bias = variables.Make(at.Named("bias"), Shape::Make({filters}), Zeros(), typed);
    y = ops::BiasAdd(at, y, bias.value);
  }
  return options.activation ? options.activation(at, y) : y;
}

Output MaxPool2D(const Scope& scope, const Output& x, int64_t size, int64_t stride,
                 const std::string& padding) {
  return ops::MaxPool(scope.SubScope("max_pooling2d"), x, {1, size, size, 1},
                      {1, stride, stride, 1}, padding);
}

Output AveragePool2D(const Scope& scope, const Output& x, int64_t size, int64_t stride,
                     const std::string& padding) {
  return ops::AvgPool(scope.SubScope("average_pooling2d"), x, {1, size, size, 1},
                      {1, stride, stride, 1}, padding);
}

Normalized BatchNorm(const Scope& scope, Variables& variables, const Output& x,
                     const Output& training, const BatchNormOptions& options) {
  const int64_t channels = ChannelsOf(scope, options.name, x, 0);
  if (channels == 0) return {};
  const Scope at = scope.SubScope(options.name);
  const auto make = [&](const char* name, const Initializer& initializer, bool trainable) {
    return variables.Make(at.Named(name), Shape::Make({channels}), initializer,
                          {.dtype = x.dtype(), .trainable = trainable});
  };
  const Variable gamma = make("gamma", Ones(), true), beta = make("beta", Zeros(), true);
  const Variable average = make("moving_mean", Zeros(), false);
  const Variable spread = make("moving_variance", Ones(), false);
  if (!spread.is_valid()) return {};

  std::vector<int64_t> axes(scope.ShapeOf(x).rank() - 1);
  for (size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<int64_t>(i);
  const Output over = Ints(at, axes);
  const Term mean(at, ops::Mean(at, x, over));
  const Term variance(at, ops::Mean(at, ops::SquaredDifference(at, x, mean), over));
  const auto choose = [&](const Term& batch, const Variable& moving) {
    return Term(at, ops::SelectV2(at, training, batch, moving.value));
  };
  const Term m = choose(mean, average), v = choose(variance, spread);
  const Term scale = Of(ops::Rsqrt, v + options.epsilon) * Term(at, gamma.value);
  const auto follow = [&](const Variable& moving, const Term& batch) {
    const Output target = ops::SelectV2(at, training, batch, moving.value);
    const Term distance = Term(at, moving.value) - Term(at, target);
    return AssignSub(at, moving, distance * (1 - options.momentum));
  };
  return {(Term(at, x) - m) * scale + Term(at, beta.value),
          Group(at.Named("update"), {follow(average, mean), follow(spread, variance)})};
}

}  // namespace tensorfleet::train
