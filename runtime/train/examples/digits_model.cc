#include "runtime/train/examples/digits_model.h"

#include "runtime/client/ops.h"
#include "runtime/train/examples/digits_data.h"
#include "runtime/train/job/model_description.h"
#include "runtime/train/model/layers.h"
#include "runtime/train/model/losses.h"
#include "runtime/train/model/metrics.h"
#include "runtime/train/optimizer/optimizers.h"
#include "runtime/train/optimizer/schedules.h"

namespace tensorfleet::train {
namespace {

// Deviation of the noise that training adds to pixels of 0 to 1, so that the few digits that there
// are teach more than themselves.
constexpr float kNoise = 0.2f;
constexpr double kDecaySteps = 2000;  // over which the learning rate falls to a tenth
constexpr int kHidden = 128, kClasses = 10;

}  // namespace

StatusOr<tensorflow::MetaGraphDef> DigitsModel(float learning_rate) {
  Scope root;
  Variables variables;
  ops::PlaceholderAttrs rows_of_pixels;
  rows_of_pixels.shape = PartialShape({-1, kDigitPixels});
  const Output images = ops::Placeholder(root.Named("images"), DType::kUInt8, rows_of_pixels);
  ops::PlaceholderAttrs rows;
  rows.shape = PartialShape({-1});
  const Output labels = ops::Placeholder(root.Named("labels"), DType::kInt64, rows);
  const Output clean =
      ops::Mul(root, ops::Cast(root, images, DType::kFloat), Const(root, 1.0f / 16));
  const Output level =
      ops::PlaceholderWithDefault(root.Named("noise"), Const(root, kNoise), PartialShape(Shape()));
  const Output noise = ops::RandomStandardNormal(root, ops::Shape(root, images), DType::kFloat);
  const Output x = ops::Add(root, clean, ops::Mul(root, noise, level));

  const auto relu = [](const Scope& scope, const Output& in) { return ops::Relu(scope, in); };
  const Output hidden = Dense(root, variables, x, kHidden, {.activation = relu, .name = "hidden"});
  const Output logits = Dense(root, variables, hidden, kClasses, {.name = "logits"});

  ModelDescription model;
  model.loss = ops::Identity(root.Named("loss"), SparseSoftmaxCrossEntropy(root, labels, logits));
  const Output accuracy =
      ops::Identity(root.Named("batch_accuracy"), Accuracy(root, labels, logits));
  const Output step = variables.GlobalStep(root).value;
  const Output rate = PolynomialDecay(root, step, learning_rate, kDecaySteps, learning_rate / 10);
  Momentum optimizer(rate, 0.9);
  model.train_ops = {optimizer.Minimize(root, model.loss, variables)};
  model.summaries = {
      ops::ScalarSummary(root.Named("loss_summary"), Const(root, "loss"), model.loss),
      ops::ScalarSummary(root.Named("accuracy_summary"), Const(root, "batch_accuracy"), accuracy)};
  model.AddVariables(root, variables);
  return ToMetaGraph(root, model);
}

}  // namespace tensorfleet::train
