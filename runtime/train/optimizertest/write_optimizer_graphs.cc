// Writes a graph for each optimizer, as `tensorfleet train` takes them: FOLDER/NAME.meta. The model
// is that of optimizer_checkpoints.py, which builds it with TensorFlow's front-end: rows of a
// table, one of them named twice, times w, against targets; all numbers are given.
//
//   write_optimizer_graphs FOLDER [--references]

#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <memory>

#include "runtime/client/ops.h"
#include "runtime/train/job/model_description.h"
#include "runtime/train/optimizer/optimizers.h"

namespace tensorfleet::train {
namespace {

using Make = std::function<std::unique_ptr<Optimizer>()>;

std::map<std::string, Make> Optimizers() {
  return {
      {"sgd", [] { return std::make_unique<GradientDescent>(0.1); }},
      {"momentum", [] { return std::make_unique<Momentum>(0.1, 0.9); }},
      {"nesterov", [] { return std::make_unique<Momentum>(0.1, 0.9, /*nesterov=*/true); }},
      {"adagrad", [] { return std::make_unique<Adagrad>(0.1); }},
      {"rmsprop",
       [] { return std::make_unique<RmsProp>(0.01, RmsProp::Options{.momentum = 0.5}); }},
      {"centered",
       [] { return std::make_unique<RmsProp>(0.01, RmsProp::Options{.centered = true}); }},
      {"adam", [] { return std::make_unique<Adam>(0.01); }},
      {"ftrl", [] { return std::make_unique<Ftrl>(0.1, Ftrl::Options{.l1 = 0.01, .l2 = 0.02}); }},
  };
}

Tensor Ramp(const Shape& shape, float first, float step) {
  std::vector<float> values;
  for (int64_t i = 0; i < shape.num_elements(); ++i) {
    values.push_back(first + step * static_cast<float>(i));
  }
  return Tensor::Vector<float>(values).Reshaped(shape);
}

StatusOr<tensorflow::MetaGraphDef> GraphFor(Optimizer& optimizer, bool use_resource) {
  Scope root;
  Variables variables({.use_resource = use_resource});
  variables.GlobalStep(root);
  const Shape table_shape({5, 3}), w_shape({4, 3});
  const Variable table =
      variables.Make(root.Named("table"), table_shape, InitialValue(Ramp(table_shape, -0.5, 0.1)));
  const Variable w = variables.Make(root.Named("w"), w_shape, InitialValue(Ramp(w_shape, 1, -0.2)));
  const Output ids = Const(root, Tensor::Vector<int32_t>({0, 2, 2, 4}));
  const Output axis = Const(root, int32_t{0});
  const Output rows =
      use_resource ? ops::ResourceGather(AtVariable(root, table), table.handle, ids, DType::kFloat)
                   : ops::GatherV2(AtVariable(root, table), table.handle, ids, axis);
  const Output targets = Const(root, Ramp(w_shape, 0.3, 0.15));
  const Output off = ops::Sub(root, ops::Mul(root, rows, w.value), targets);
  ModelDescription model;
  model.loss = ops::Mean(root.Named("loss"), ops::Square(root, off),
                         Const(root, Tensor::Vector<int32_t>({0, 1})));
  model.train_ops = {optimizer.Minimize(root, model.loss, variables)};
  model.AddVariables(root, variables);
  return ToMetaGraph(root, model);
}

int WriteAll(const std::string& folder, bool use_resource) {
  for (const auto& [name, make] : Optimizers()) {
    const auto meta = GraphFor(*make(), use_resource);
    if (!meta.ok()) {
      std::cerr << name << ": " << meta.status() << "\n";
      return 1;
    }
    std::ofstream file(absl::StrCat(folder, "/", name, ".meta"), std::ios::binary);
    if (!meta->SerializeToOstream(&file)) {
      std::cerr << "cannot write to " << folder << "\n";
      return 1;
    }
  }
  return 0;
}

}  // namespace
}  // namespace tensorfleet::train

int main(int argc, char** argv) {
  const bool references = argc == 3 && std::string(argv[2]) == "--references";
  if (argc != 2 && !references) {
    std::cerr << "usage: write_optimizer_graphs FOLDER [--references]\n";
    return 2;
  }
  return tensorfleet::train::WriteAll(argv[1], !references);
}
