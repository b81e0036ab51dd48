#include "runtime/train/examples/digits_model.h"

#include <cmath>

#include "runtime/client/ops.h"
#include "runtime/train/examples/digits_data.h"
#include "runtime/train/model_description.h"

namespace tensorfleet::train {
namespace {

// Deviation of the noise that training adds to pixels of 0 to 1, so that the few digits that there
// are teach more than themselves.
constexpr float kNoise = 0.2f;
constexpr int kHidden = 128, kClasses = 10;

// Makes the model's variables and remembers them.
class Variables {
 public:
  explicit Variables(const Scope& scope) : scope_(scope) {}

  Output Make(const std::string& name, const Shape& shape, const Output& initial) {
    const Output variable =
        ops::VariableV2(scope_.Named(name), PartialShape(shape), initial.dtype());
    const Scope beside = scope_.ColocatedWith(variable.op());
    const Output assign = ops::Assign(beside.Named(name + "/Assign"), variable, initial);
    const Output read = ops::Identity(beside.Named(name + "/read"), variable);
    made_.push_back(DescribeVariable(variable, assign.op(), read));
    return variable;
  }
  // Uniform within the bounds of Glorot and Bengio.
  Output Weights(const std::string& name, int rows, int columns, int seed) {
    ops::RandomUniformAttrs attrs;
    attrs.seed = seed;
    const float limit = std::sqrt(6.0f / static_cast<float>(rows + columns));
    const Output uniform = ops::RandomUniform(
        scope_, Const(scope_, Tensor::Vector<int32_t>({rows, columns})), DType::kFloat, attrs);
    const Output centred = ops::Sub(scope_, uniform, Const(scope_, 0.5f));
    return Make(name, Shape({rows, columns}), ops::Mul(scope_, centred, Const(scope_, 2 * limit)));
  }
  Output Zeros(const std::string& name, const Shape& shape, DType dtype = DType::kFloat) {
    return Make(name, shape, Const(scope_, Tensor::Zeros(dtype, shape).value()));
  }
  const std::vector<tensorflow::VariableDef>& made() const { return made_; }

 private:
  const Scope scope_;
  std::vector<tensorflow::VariableDef> made_;
};

Output MatMulTransposed(const Scope& scope, const Output& a, const Output& b, bool a_is,
                        bool b_is) {
  ops::MatMulAttrs attrs;
  attrs.transpose_a = a_is;
  attrs.transpose_b = b_is;
  return ops::MatMul(scope, a, b, attrs);
}

}  // namespace

StatusOr<tensorflow::MetaGraphDef> DigitsModel(float learning_rate) {
  Scope root;
  Variables variables(root);
  const Output step = variables.Zeros("global_step", Shape(), DType::kInt64);
  const tensorflow::VariableDef step_def = variables.made()[0];
  const Output w1 = variables.Weights("hidden/kernel", kDigitPixels, kHidden, 1);
  const Output b1 = variables.Zeros("hidden/bias", Shape({kHidden}));
  const Output w2 = variables.Weights("logits/kernel", kHidden, kClasses, 2);
  const Output b2 = variables.Zeros("logits/bias", Shape({kClasses}));

  const Output images = ops::Placeholder(root.Named("images"), DType::kUInt8);
  const Output labels = ops::Placeholder(root.Named("labels"), DType::kInt64);
  const Output clean =
      ops::Mul(root, ops::Cast(root, images, DType::kFloat), Const(root, 1.0f / 16));
  const Output level =
      ops::PlaceholderWithDefault(root.Named("noise"), Const(root, kNoise), PartialShape(Shape()));
  const Output noise = ops::RandomStandardNormal(root, ops::Shape(root, images), DType::kFloat);
  const Output x = ops::Add(root, clean, ops::Mul(root, noise, level));
  const Output hidden = ops::Relu(root, ops::BiasAdd(root, ops::MatMul(root, x, w1), b1));
  const Output logits = ops::BiasAdd(root, ops::MatMul(root, hidden, w2), b2);
  const auto entropy = ops::SparseSoftmaxCrossEntropyWithLogits(root, logits, labels);
  const Output rows = Const(root, Tensor::Vector<int32_t>({0}));
  const Output loss = ops::Mean(root.Named("loss"), entropy.loss, rows);
  const Output hit = ops::Equal(root, ops::ArgMax(root, logits, Const(root, int32_t{1})), labels);
  const Output accuracy =
      ops::Mean(root.Named("accuracy"), ops::Cast(root, hit, DType::kFloat), rows);

  // The gradients of the mean cross entropy, layer by layer.
  const Output count = ops::Cast(root, ops::Size(root, labels), DType::kFloat);
  const Output to_logits = ops::Div(root, entropy.backprop, count);
  const Output to_hidden =
      ops::ReluGrad(root, MatMulTransposed(root, to_logits, w2, false, true), hidden);
  const std::vector<std::pair<Output, Output>> gradients = {
      {w1, MatMulTransposed(root, x, to_hidden, true, false)},
      {b1, ops::Sum(root, to_hidden, rows)},
      {w2, MatMulTransposed(root, hidden, to_logits, true, false)},
      {b2, ops::Sum(root, to_logits, rows)}};

  const Output rate = Const(root, learning_rate), momentum = Const(root, 0.9f);
  std::vector<Operation> updates;
  for (const auto& [variable, gradient] : gradients) {
    const Shape shape = root.ShapeOf(variable).ToShape().value();
    const Output slot = variables.Zeros(variable.op().name() + "/Momentum", shape);
    updates.push_back(ops::ApplyMomentum(root, variable, slot, rate, gradient, momentum).op());
  }
  const Output counted =
      ops::AssignAdd(root.After(updates).Named("count_step"), step, Const(root, int64_t{1}));

  ModelDescription model;
  model.variables = variables.made();
  model.global_step = step_def;
  model.loss = loss;
  model.train_ops = {Group(root.Named("train"), {counted.op()})};
  model.summaries = {
      ops::ScalarSummary(root.Named("loss_summary"), Const(root, "loss"), loss),
      ops::ScalarSummary(root.Named("accuracy_summary"), Const(root, "batch_accuracy"), accuracy)};
  return ToMetaGraph(root, model);
}

}  // namespace tensorfleet::train
