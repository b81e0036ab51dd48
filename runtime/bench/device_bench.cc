// A device through PJRT beside this machine's CPU: the same steps give the same values on both, and
// how long they take on the device. Serves one task in this process and drives it as a client does.
//
//   device_bench GPU=/path/to/plugin.so[?option=value] [/device:GPU:0]
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>

#include "runtime/client/gradients.h"
#include "runtime/client/ops.h"
#include "runtime/client/session.h"
#include "runtime/ops/all.h"
#include "runtime/pjrt/device_metrics.h"
#include "runtime/pjrt/devices.h"
#include "runtime/pjrt/placements.h"
#include "runtime/rpc/server.h"
#include "runtime/session/master/master_client.h"

namespace tensorfleet {
namespace {

constexpr char kCpuDevice[] = "/device:CPU:0";

Tensor Random(const Shape& shape, float scale, int seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, scale);
  std::vector<float> values(shape.num_elements());
  for (float& value : values) value = normal(random);
  return Tensor::Vector<float>(values).Reshaped(shape);
}

double Difference(const Tensor& a, const Tensor& b) {
  double error = 0, size = 0;
  for (int64_t i = 0; i < a.num_elements(); ++i) {
    const double x = a.values<float>()[i], y = b.values<float>()[i];
    error += (x - y) * (x - y);
    size += x * x;
  }
  return std::sqrt(error / std::max(size, 1e-30));
}

// The median of single runs, in microseconds.
double MedianMicros(int runs, const std::function<Status()>& run, Status* status) {
  std::vector<double> times;
  for (int i = 0; i < runs && status->ok(); ++i) {
    const auto start = std::chrono::steady_clock::now();
    *status = run();
    times.push_back(
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
            .count());
  }
  std::sort(times.begin(), times.end());
  return times.empty() ? 0 : times[times.size() / 2];
}

struct Variable {
  Output handle;
  Operation init;
  Output Read(const Scope& scope) const { return ops::ReadVariableOp(scope, handle, dtype); }
  DType dtype = DType::kFloat;
};

Variable MakeVariable(const Scope& scope, const std::string& name, const Tensor& value,
                      DType dtype = DType::kFloat) {
  Variable variable;
  variable.dtype = dtype;
  ops::VarHandleOpAttrs attrs;
  attrs.shared_name = name;
  variable.handle = ops::VarHandleOp(scope.Named(name), dtype, PartialShape(value.shape()), attrs);
  Output first = Const(scope, value);
  if (dtype != DType::kFloat) first = ops::Cast(scope, first, dtype);
  variable.init = ops::AssignVariableOp(scope, variable.handle, first);
  return variable;
}

class Bench {
 public:
  Bench(rpc::Server* server, std::string device) : server_(*server), device_(std::move(device)) {}

  Status Run() {
    TFLEET_RETURN_IF_ERROR(CheckOps());
    TFLEET_RETURN_IF_ERROR(Mlp(/*adam=*/false));
    TFLEET_RETURN_IF_ERROR(Mlp(/*adam=*/true));
    TFLEET_RETURN_IF_ERROR(Feed());
    const char* const size = std::getenv("DEVICE_BENCH_MATMUL");
    const int64_t n = size != nullptr ? std::atoll(size) : 8192;
    TFLEET_RETURN_IF_ERROR(MatMul(n, DType::kBFloat16, "bf16"));
    return MatMul(n, DType::kFloat, "float");
  }

 private:
  std::unique_ptr<Session> Open() { return Session::On(server_.NewClient({})); }

  using Build = std::function<std::vector<Output>(const Scope&, const std::vector<Output>&)>;

  // One graph of the same inputs on both devices; the values agree.
  Status Compare(const char* what, const std::vector<Tensor>& inputs, const Build& build,
                 double limit) {
    std::vector<Tensor> values[2];
    for (const bool on_device : {false, true}) {
      Scope root;
      const Scope scope = root.OnDevice(on_device ? device_ : kCpuDevice);
      std::vector<Output> fed;
      Session::Feeds feeds;
      for (const Tensor& input : inputs) {
        fed.push_back(ops::Placeholder(scope, input.dtype()));
        feeds.emplace_back(fed.back(), input);
      }
      const std::vector<Output> fetches = build(scope, fed);
      const auto session = Open();
      TFLEET_ASSIGN_OR_RETURN(values[on_device], session->Run(root, feeds, fetches));
    }
    double worst = 0;
    for (size_t i = 0; i < values[0].size(); ++i) {
      if (values[0][i].shape() != values[1][i].shape()) return Internal(what, ": shapes differ");
      worst = std::max(worst, Difference(values[0][i], values[1][i]));
    }
    std::printf("%-28s relative difference from the CPU %.1e\n", what, worst);
    if (!(worst < limit)) return Internal(what, " differs from the CPU by ", worst);
    return OkStatus();
  }

  Status CheckOps() {
    const Tensor a = Random(Shape({64, 96}), 1, 1), b = Random(Shape({96, 32}), 1, 2);
    const Tensor image = Random(Shape({4, 12, 12, 8}), 1, 3),
                 filter = Random(Shape({3, 3, 8, 16}), 1, 4);
    // TF32 keeps ten bits.
    constexpr double kProduct = 2e-3;
    TFLEET_RETURN_IF_ERROR(Compare(
        "matmul", {a, b},
        [](const Scope& s, const auto& in) {
          return std::vector<Output>{ops::MatMul(s, in[0], in[1])};
        },
        kProduct));
    TFLEET_RETURN_IF_ERROR(Compare(
        "softmax and element-wise", {a},
        [](const Scope& s, const auto& in) {
          const Output x = in[0];
          return std::vector<Output>{
              ops::Softmax(s, ops::Tanh(s, x)),
              ops::AddV2(s, ops::Mul(s, ops::Exp(s, x), ops::Sigmoid(s, x)), ops::Relu(s, x)),
              ops::Sum(s, x, Const(s, Tensor::Vector<int32_t>({0})))};
        },
        1e-5));
    return Compare(
        "convolution and pools", {image, filter},
        [](const Scope& s, const auto& in) {
          const Output y = ops::Conv2D(s, in[0], in[1], {1, 2, 2, 1}, "SAME");
          return std::vector<Output>{y, ops::MaxPool(s, y, {1, 2, 2, 1}, {1, 2, 2, 1}, "VALID"),
                                     ops::AvgPool(s, y, {1, 2, 2, 1}, {1, 1, 1, 1}, "SAME")};
        },
        kProduct);
  }

  struct Trained {
    std::vector<Tensor> weights;
    std::vector<float> losses;
  };

  // 784-512-10, a batch of 128, the same data in every step.
  StatusOr<Trained> Train(const std::string& device, bool adam, bool measure) {
    Scope root;
    const Scope s = root.OnDevice(device);
    const std::string prefix =
        absl::StrCat(adam ? "adam" : "sgd", device == kCpuDevice ? "_c_" : "_d_");
    const auto zeros = [](Shape shape) { return *Tensor::Zeros(DType::kFloat, shape); };
    std::vector<Variable> weights = {
        MakeVariable(s, prefix + "w1", Random(Shape({784, 512}), 0.05f, 5)),
        MakeVariable(s, prefix + "b1", zeros(Shape({512}))),
        MakeVariable(s, prefix + "w2", Random(Shape({512, 10}), 0.05f, 6)),
        MakeVariable(s, prefix + "b2", zeros(Shape({10})))};
    std::vector<Operation> inits;
    const Tensor images = Random(Shape({128, 784}), 0.5f, 7);
    std::vector<int32_t> classes(128);
    for (int i = 0; i < 128; ++i) classes[i] = i % 10;
    const Tensor labels = Tensor::Vector<int32_t>(classes);
    const Output x = ops::Placeholder(s.Named("x"), DType::kFloat);
    const Output y = ops::Placeholder(s.Named("y"), DType::kInt32);
    // The same batch kept on the device, to see what feeding costs.
    const Variable kept_x = MakeVariable(s, prefix + "x", images);
    inits.push_back(kept_x.init);
    std::vector<Operation> trains;
    Output loss;
    for (const bool fed : {true, false}) {
      const Output in = fed ? x : kept_x.Read(s);
      const Output out = fed ? y : Const(s, labels);
      std::vector<Output> w;
      for (const Variable& variable : weights) w.push_back(variable.Read(s));
      const Output h = ops::Relu(s, ops::AddV2(s, ops::MatMul(s, in, w[0]), w[1]));
      const Output logits = ops::AddV2(s, ops::MatMul(s, h, w[2]), w[3]);
      const auto entropy = ops::SparseSoftmaxCrossEntropyWithLogits(s, logits, out);
      const Output mean = ops::Mean(s, entropy.loss, Const(s, Tensor::Vector<int32_t>({0})));
      if (fed) loss = mean;
      const std::vector<Gradient> gradients = AddSymbolicGradients(s, {mean}, w);
      std::vector<Operation> updates;
      for (size_t i = 0; i < w.size(); ++i) {
        const Output g = ToDense(s, gradients[i]);
        const auto scalar = [&](float v) { return Const(s, v); };
        if (!adam) {
          updates.push_back(
              ops::ResourceApplyGradientDescent(s, weights[i].handle, scalar(0.1f), g));
          continue;
        }
        const Shape shape = i == 0   ? Shape({784, 512})
                            : i == 1 ? Shape({512})
                            : i == 2 ? Shape({512, 10})
                                     : Shape({10});
        const std::string slot = absl::StrCat(prefix, fed ? "f" : "k", i);
        const Variable m = MakeVariable(s, slot + "m", zeros(shape));
        const Variable v = MakeVariable(s, slot + "v", zeros(shape));
        inits.push_back(m.init);
        inits.push_back(v.init);
        updates.push_back(ops::ResourceApplyAdam(s, weights[i].handle, m.handle, v.handle,
                                                 scalar(0.9f), scalar(0.999f), scalar(0.01f),
                                                 scalar(0.9f), scalar(0.999f), scalar(1e-8f), g));
      }
      trains.push_back(Group(s, updates));
    }
    for (const Variable& variable : weights) inits.push_back(variable.init);
    std::vector<Output> reads;
    for (const Variable& variable : weights) reads.push_back(variable.Read(s));
    const auto session = Open();
    TFLEET_RETURN_IF_ERROR(session->Run(root, {}, {}, inits).status());
    Trained trained;
    for (int i = 0; i < 10; ++i) {
      TFLEET_ASSIGN_OR_RETURN(const std::vector<Tensor> values,
                              session->Run(root, {{x, images}, {y, labels}}, {loss}, {trains[0]}));
      trained.losses.push_back(values[0].scalar<float>());
    }
    TFLEET_ASSIGN_OR_RETURN(trained.weights, session->Run(root, {}, reads));
    if (!measure) return trained;
    Status status;
    TFLEET_ASSIGN_OR_RETURN(const auto fed, session->MakeCallable(root, {x, y}, {}, {trains[0]}));
    TFLEET_ASSIGN_OR_RETURN(const auto kept, session->MakeCallable(root, {}, {}, {trains[1]}));
    const auto run_fed = [&] { return fed->Run({images, labels}).status(); };
    const auto run_kept = [&] { return kept->Run({}).status(); };
    MedianMicros(20, run_fed, &status);
    MedianMicros(20, run_kept, &status);
    const int64_t launches = pjrt::Counts().launches;
    const double with_feeds = MedianMicros(300, run_fed, &status);
    const double per_step = static_cast<double>(pjrt::Counts().launches - launches) / 300;
    const int64_t copies = pjrt::Counts().copies_to_device, donated = pjrt::Counts().donated,
                  doubled = pjrt::Counts().doubled;
    const double without = MedianMicros(300, run_kept, &status);
    TFLEET_RETURN_IF_ERROR(status);
    std::printf(
        "MLP step, %s: %.1f us with feeds, %.1f us without; %.2f launches a step; of the "
        "steps without feeds: %.2f copies, %.2f variables in place, %.2f doubled\n",
        adam ? "Adam" : "SGD", with_feeds, without, per_step,
        (pjrt::Counts().copies_to_device - copies) / 300.0,
        (pjrt::Counts().donated - donated) / 300.0, (pjrt::Counts().doubled - doubled) / 300.0);
    return trained;
  }

  Status Mlp(bool adam) {
    TFLEET_ASSIGN_OR_RETURN(const Trained cpu, Train(kCpuDevice, adam, false));
    TFLEET_ASSIGN_OR_RETURN(const Trained device, Train(device_, adam, true));
    double worst = 0;
    for (size_t i = 0; i < cpu.weights.size(); ++i) {
      worst = std::max(worst, Difference(cpu.weights[i], device.weights[i]));
    }
    std::printf("MLP, %s: loss %.5f to %.5f (CPU %.5f), weights differ by %.1e\n",
                adam ? "Adam" : "SGD", device.losses.front(), device.losses.back(),
                cpu.losses.back(), worst);
    if (!(worst < 0.05)) return Internal("trained weights differ by ", worst);
    return OkStatus();
  }

  // 100 MB to the device: the step is done when a sum over it is.
  Status Feed() {
    Scope root;
    const Scope s = root.OnDevice(device_);
    const Output x = ops::Placeholder(s, DType::kFloat);
    const Output sum = ops::Sum(s, x, Const(s, Tensor::Vector<int32_t>({0})));
    const Tensor data = Random(Shape({25 << 20}), 1, 8);
    const auto session = Open();
    TFLEET_ASSIGN_OR_RETURN(const auto callable, session->MakeCallable(root, {x}, {sum}));
    Status status;
    const auto run = [&] { return callable->Run({data}).status(); };
    MedianMicros(3, run, &status);
    const double micros = MedianMicros(15, run, &status);
    TFLEET_RETURN_IF_ERROR(status);
    std::printf("feeding %.0f MB: %.2f ms, %.1f GB/s\n", data.bytes() / 1e6, micros / 1e3,
                data.bytes() / micros / 1e3);
    return OkStatus();
  }

  // Ten products one after the other, c <- c b, so that what a step costs besides does not show.
  Status MatMul(int64_t n, DType dtype, const char* name) {
    constexpr int kProducts = 10;
    Scope root;
    const Scope s = root.OnDevice(device_);
    const Tensor values = Random(Shape({n, n}), 1.0f / std::sqrt(static_cast<float>(n)), 9);
    const Output x = ops::Placeholder(s, DType::kFloat);
    ops::VarHandleOpAttrs attrs;
    Output handles[2];
    std::vector<Operation> inits;
    for (int i = 0; i < 2; ++i) {
      attrs.shared_name = absl::StrCat("matmul_", name, i);
      handles[i] = ops::VarHandleOp(s, dtype, PartialShape(values.shape()), attrs);
      // On the device it is made and cast there.
      inits.push_back(ops::AssignVariableOp(s, handles[i],
                                            ops::Cast(s, ops::Mul(s, x, Const(s, 1.0f)), dtype)));
    }
    const Output b = ops::ReadVariableOp(s, handles[1], dtype);
    Output c = ops::ReadVariableOp(s, handles[0], dtype);
    for (int i = 0; i < kProducts; ++i) c = ops::MatMul(s, c, b);
    const Operation step = ops::AssignVariableOp(s, handles[0], c);
    const auto session = Open();
    TFLEET_RETURN_IF_ERROR(session->Run(root, {{x, values}}, {}, inits).status());
    TFLEET_ASSIGN_OR_RETURN(const auto callable, session->MakeCallable(root, {}, {}, {step}));
    Status status;
    const auto run = [&] { return callable->Run({}).status(); };
    MedianMicros(3, run, &status);
    const double micros = MedianMicros(10, run, &status) / kProducts;
    TFLEET_RETURN_IF_ERROR(status);
    std::printf("matmul %lld^3 %s: %.1f us, %.1f TFLOP/s\n", static_cast<long long>(n), name,
                micros, 2.0 * n * n * n / micros / 1e6);
    return OkStatus();
  }

  rpc::Server& server_;
  const std::string device_;
};

const char* NoVariable(const char*) { return nullptr; }

Status Main(const std::string& plugins, const std::string& device) {
  TFLEET_ASSIGN_OR_RETURN(const auto devices, pjrt::Devices::Open(plugins, &NoVariable, "", ""));
  rpc::ServerOptions options;
  options.ops = &BuiltinOps();
  options.kernels = &pjrt::AllKernels();
  options.job = "local";
  TFLEET_ASSIGN_OR_RETURN(options.cluster, ClusterSpec::Make({{"local", {{0, "localhost:7899"}}}}));
  options.bind = "localhost:0";
  options.more_devices = [&](const std::string& task, ThreadPool* pool) {
    return devices->ForTask(task, pool, options.ops, options.kernels);
  };
  TFLEET_ASSIGN_OR_RETURN(const auto server, rpc::Server::Start(options));
  return Bench(server.get(), device).Run();
}

}  // namespace
}  // namespace tensorfleet

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: device_bench TYPE=PLUGIN [DEVICE]\n");
    return 2;
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const tensorfleet::Status status =
      tensorfleet::Main(argv[1], argc > 2 ? argv[2] : "/device:GPU:0");
  if (!status.ok()) std::fprintf(stderr, "device_bench: %s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
