// Trains a linear model whose weights live on a parameter server, with two workers that take turns
// on their own half of the data: between-graph replication, written in C++.
//
//   train_linear grpc://WORKER0 grpc://WORKER1
//
// The cluster needs the jobs "ps" (one task) and "worker" (two). Prints where each op of a step
// ran, then the loss.

#include <cstdio>
#include <cstdlib>
#include <random>

#include "runtime/client/ops.h"
#include "runtime/client/session.h"

namespace {

using namespace tensorfleet;

constexpr int kRows = 256, kFeatures = 8, kSteps = 200;
constexpr float kLearningRate = 0.1f;

struct Data {
  Tensor x, y;
};

// y = x w + 0.5 for the same w in both halves.
Data MakeHalf(int worker) {
  std::mt19937 random(worker);
  std::normal_distribution<float> normal;
  std::vector<float> x(kRows * kFeatures), y(kRows, 0.5f);
  for (int row = 0; row < kRows; ++row) {
    for (int i = 0; i < kFeatures; ++i) {
      x[row * kFeatures + i] = normal(random);
      y[row] += x[row * kFeatures + i] * static_cast<float>(i - 3);
    }
  }
  return {Tensor::Vector<float>(x).Reshaped(*Shape::Make({kRows, kFeatures})),
          Tensor::Vector<float>(y).Reshaped(*Shape::Make({kRows, 1}))};
}

// One worker's graph and its session with that worker's server.
struct Replica {
  Scope root;
  Output x, y, loss, initialized;
  Operation init, train;
  Data data;
  std::unique_ptr<Session> session;
};

StatusOr<std::unique_ptr<Replica>> MakeReplica(int worker, const std::string& target) {
  auto replica = std::make_unique<Replica>();
  const Scope ps = replica->root.OnDevice("/job:ps/task:0");
  const Scope here = replica->root.OnDevice(absl::StrCat("/job:worker/task:", worker));

  // The same names in both graphs: the variables are shared.
  const Output w = ops::VariableV2(ps.Named("w"), PartialShape({kFeatures, 1}), DType::kFloat);
  const Output b = ops::VariableV2(ps.Named("b"), PartialShape({1}), DType::kFloat);
  replica->init =
      Group(ps.Named("init"),
            {ops::Assign(ps.Named("w/Assign"), w,
                         Const(ps, *Tensor::Zeros(DType::kFloat, {kFeatures, 1})))
                 .op(),
             ops::Assign(ps.Named("b/Assign"), b, Const(ps, Tensor::Vector<float>({0}))).op()});

  replica->x = ops::Placeholder(here.Named("x"), DType::kFloat);
  replica->y = ops::Placeholder(here.Named("y"), DType::kFloat);
  const Output error =
      ops::Sub(here.Named("error"),
               ops::Add(here.Named("prediction"), ops::MatMul(here.Named("xw"), replica->x, w), b),
               replica->y);
  const Output axes = Const(here.Named("axes"), Tensor::Vector<int32_t>({0, 1}));
  const Output rows = Const(here.Named("rows"), Tensor::Vector<int32_t>({0}));
  replica->loss = ops::Mean(here.Named("loss"), ops::Square(here.Named("square"), error), axes);

  // The gradients of the mean squared error.
  const Output scale = Const(here.Named("scale"), 2.0f / kRows);
  ops::MatMulAttrs transposed;
  transposed.transpose_a = true;
  const Output grad_w =
      ops::Mul(here.Named("grad_w"),
               ops::MatMul(here.Named("xt_error"), replica->x, error, transposed), scale);
  const Output grad_b =
      ops::Mul(here.Named("grad_b"), ops::Sum(here.Named("sum_error"), error, rows), scale);
  const Output rate = Const(ps.Named("rate"), kLearningRate);
  replica->train = Group(here.Named("train"),
                         {ops::ApplyGradientDescent(ps.Named("update_w"), w, rate, grad_w).op(),
                          ops::ApplyGradientDescent(ps.Named("update_b"), b, rate, grad_b).op()});
  TFLEET_RETURN_IF_ERROR(replica->root.status());
  replica->data = MakeHalf(worker);
  // A cluster may name tasks that serve nothing, such as the chief that runs this program: the
  // session is not to wait for them.
  tensorflow::ConfigProto config;
  config.add_device_filters("/job:ps");
  config.add_device_filters("/job:worker");
  TFLEET_ASSIGN_OR_RETURN(replica->session, Session::Open(target, config));
  return replica;
}

StatusOr<float> TrainOnce(Replica& replica, tensorflow::RunMetadata* trace) {
  tensorflow::RunOptions options;
  if (trace != nullptr) options.set_trace_level(tensorflow::RunOptions::FULL_TRACE);
  TFLEET_ASSIGN_OR_RETURN(
      const std::vector<Tensor> values,
      replica.session->Run(replica.root, {{replica.x, replica.data.x}, {replica.y, replica.data.y}},
                           {replica.loss}, {replica.train}, options, trace));
  return values[0].scalar<float>();
}

void PrintPlacement(const tensorflow::RunMetadata& trace) {
  for (const auto& device : trace.step_stats().dev_stats()) {
    std::printf("%s\n   ", device.device().c_str());
    for (const auto& node : device.node_stats()) std::printf(" %s", node.node_name().c_str());
    std::printf("\n");
  }
}

Status Train(const std::string& first, const std::string& second) {
  TFLEET_ASSIGN_OR_RETURN(const auto a, MakeReplica(0, first));
  TFLEET_ASSIGN_OR_RETURN(const auto b, MakeReplica(1, second));
  TFLEET_RETURN_IF_ERROR(a->session->Run(a->root, {}, {}, {a->init}).status());
  tensorflow::RunMetadata trace;
  TFLEET_ASSIGN_OR_RETURN(float loss, TrainOnce(*a, &trace));
  std::printf("where each op of worker 0's step ran:\n");
  PrintPlacement(trace);
  for (int step = 1; step <= kSteps; ++step) {
    TFLEET_ASSIGN_OR_RETURN(loss, TrainOnce(step % 2 == 0 ? *a : *b, nullptr));
    if (step == 1 || step % 50 == 0) {
      std::printf("step %3d  worker %d  loss %.6f\n", step, step % 2 == 0 ? 0 : 1, loss);
    }
  }
  if (!(loss < 1e-3f)) return Internal("the model did not learn: the loss is ", loss);
  return OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: train_linear grpc://WORKER0 grpc://WORKER1\n");
    return 2;
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // a log shows each step when it is made
  const Status status = Train(argv[1], argv[2]);
  if (!status.ok()) {
    std::fprintf(stderr, "train_linear: %s\n", status.ToString().c_str());
    return 1;
  }
  std::printf("trained\n");
  return 0;
}
