#include "runtime/kernels/testing/op_test.h"

#include <chrono>
#include <cmath>
#include <complex>
#include <cstring>
#include <functional>
#include <utility>

#include <Eigen/Core>

#include "runtime/base/contain.h"
#include "runtime/base/thread_pool.h"
#include "runtime/graph/shape_context.h"
#include "runtime/kernels/cpu/all.h"
#include "runtime/kernels/testing/waiting.h"
#include "runtime/ops/all.h"

namespace tensorfleet {
namespace {

// See waiting.h.
std::function<void()> when_it_waits;

constexpr char kTask[] = "/job:localhost/replica:0/task:0";

DType TypeOf(const OpInput& input) { return input.ref ? input.ref->dtype() : input.tensor.dtype(); }

// Sets the attributes of `def` that follow from the inputs: types, lists of types, lengths.
void InferAttrs(const OpSchema& schema, const std::vector<OpInput>& inputs,
                tensorflow::NodeDef* def) {
  const auto is_list = [](const ArgSpec& arg) {
    return !arg.number_attr.empty() || !arg.type_list_attr.empty();
  };
  const size_t fixed = std::count_if(schema.inputs.begin(), schema.inputs.end(),
                                     [&](const ArgSpec& a) { return !is_list(a); });
  const size_t in_list = inputs.size() > fixed ? inputs.size() - fixed : 0;
  size_t next = 0;
  const auto set_if_absent = [&](const std::string& name, const auto& value) {
    if (FindAttr(*def, name) == nullptr) SetAttr(def, name, value);
  };
  for (const ArgSpec& arg : schema.inputs) {
    const size_t count = is_list(arg) ? in_list : 1;
    if (next + count > inputs.size()) return;
    if (!arg.number_attr.empty()) set_if_absent(arg.number_attr, static_cast<int64_t>(count));
    if (!arg.type_list_attr.empty()) {
      std::vector<DType> types;
      for (size_t i = 0; i < count; ++i) types.push_back(TypeOf(inputs[next + i]));
      set_if_absent(arg.type_list_attr, absl::MakeConstSpan(types));
    } else if (!arg.type_attr.empty() && count > 0) {
      set_if_absent(arg.type_attr, TypeOf(inputs[next]));
    }
    next += count;
  }
}

// What shape inference says of the node must fit what the kernel makes.
Status InferOutputShapes(const Node& node, const std::vector<OpInput>& inputs,
                         std::vector<PartialShape>* shapes) {
  std::vector<PartialShape> input_shapes;
  std::vector<const Tensor*> constants;
  for (const OpInput& input : inputs) {
    const bool has_value = !input.ref && input.tensor.is_valid();
    input_shapes.push_back(has_value ? PartialShape(input.tensor.shape()) : PartialShape());
    constants.push_back(has_value ? &input.tensor : nullptr);
  }
  ShapeContext ctx(node, std::move(input_shapes), std::move(constants));
  if (node.schema().shape_fn == nullptr) return Internal("op ", node.op(), " has no shape rule");
  TFLEET_RETURN_IF_ERROR(node.schema().shape_fn(ctx));
  *shapes = ctx.outputs();
  return OkStatus();
}

template <typename T>
double Distance(T got, T want) {
  const double a = static_cast<double>(got), b = static_cast<double>(want);
  if (std::isnan(a) && std::isnan(b)) return 0;
  if (a == b) return 0;
  return std::abs(a - b) / std::max(1.0, std::abs(b));
}
template <typename T>
double Distance(std::complex<T> got, std::complex<T> want) {
  return std::max(Distance(got.real(), want.real()), Distance(got.imag(), want.imag()));
}

template <typename T>
void ExpectElementsClose(const Tensor& got, const Tensor& want, double tolerance) {
  for (int64_t i = 0; i < want.num_elements(); ++i) {
    const T a = got.values<T>()[i], b = want.values<T>()[i];
    const double distance = Distance(a, b);
    if (!(distance <= tolerance)) {
      ADD_FAILURE() << "element " << i << " differs by " << distance
                    << "\n got:  " << got.ToString(20) << "\n want: " << want.ToString(20);
      return;
    }
  }
}

bool SameTypeAndShape(const Tensor& got, const Tensor& want) {
  EXPECT_EQ(DTypeName(got.dtype()), DTypeName(want.dtype()));
  EXPECT_EQ(got.shape(), want.shape());
  return got.dtype() == want.dtype() && got.shape() == want.shape();
}

}  // namespace

void WhenTheNextKernelWaits(std::function<void()> then) { when_it_waits = std::move(then); }

struct OpTest::Environment {
  ThreadPool pool{"test", 2};
  std::unique_ptr<Device> device = MakeCpuDevice(kTask, &pool);
  ResourceManager resources{"localhost"};
  ResourceManager step_resources{"localhost"};
  CancellationManager cancellation;
  StepContext step;
};

OpTest::OpTest() : env_(std::make_unique<Environment>()) {
  env_->step.step_id = 1;
  env_->step.device = env_->device.get();
  env_->step.cancellation = &env_->cancellation;
  env_->step.resources = &env_->resources;
  env_->step.step_resources = &env_->step_resources;
}
OpTest::~OpTest() = default;
OpTest::Instance::Instance() = default;
OpTest::Instance::~Instance() = default;

ResourceManager& OpTest::resources() { return env_->resources; }
CancellationManager& OpTest::cancellation() { return env_->cancellation; }
const StepContext& OpTest::step() const { return env_->step; }

StatusOr<std::unique_ptr<OpTest::Instance>> OpTest::Make(const OpNode& node,
                                                         const std::vector<OpInput>& inputs) {
  tensorflow::NodeDef def = node.def();
  TFLEET_ASSIGN_OR_RETURN(const OpSchema* schema, BuiltinOps().Find(def.op()));
  InferAttrs(*schema, inputs, &def);
  std::unique_ptr<Instance> made(new Instance());
  made->graph_ = std::make_unique<Graph>(&BuiltinOps(), nullptr);
  TFLEET_ASSIGN_OR_RETURN(made->node_, made->graph_->AddNode(std::move(def)));
  if (made->node_->num_inputs() != static_cast<int>(inputs.size())) {
    return InvalidArgument("op ", schema->name, " takes ", made->node_->num_inputs(),
                           " inputs, not ", inputs.size());
  }
  KernelInit init(*made->node_, env_->device.get(), &env_->resources, nullptr);
  TFLEET_ASSIGN_OR_RETURN(made->kernel_, CpuKernels().Make(init, kCpu));
  return made;
}

Status OpTest::RunInstance(Instance& instance, std::vector<OpInput> inputs, OpOutputs* outputs) {
  std::vector<PartialShape> inferred;
  const Status inference = InferOutputShapes(instance.node(), inputs, &inferred);
  std::vector<EdgeValue> values(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    values[i].tensor = std::move(inputs[i].tensor);
    values[i].ref = std::move(inputs[i].ref);
    const bool takes_ref = IsRef(instance.node().input_type(static_cast<int>(i)));
    if (values[i].ref && !takes_ref) values[i].tensor = values[i].ref->Read();
  }
  inputs.clear();
  outputs->assign(instance.node().num_outputs(), EdgeValue());
  KernelContext ctx(&instance.node(), &env_->step, absl::MakeSpan(values),
                    absl::MakeSpan(*outputs));
  Status status;
  if (const AsyncKernel* async = instance.kernel().AsAsync()) {
    Notification done;
    async->ComputeAsync(ctx, [&](Status s) {
      status = std::move(s);
      done.Notify();
    });
    if (auto then = std::exchange(when_it_waits, nullptr)) {
      if (done.HasBeenNotified()) return Internal("the kernel was to wait, but has answered");
      then();
    }
    TFLEET_CHECK(done.WaitFor(std::chrono::minutes(1)));
  } else {
    status = Contained([&] { return instance.kernel().Compute(ctx); });
  }
  TFLEET_RETURN_IF_ERROR(status);
  // Inference may know less than the kernel, never something else.
  if (!inference.ok()) {
    return Prefixed("the kernel ran where shape inference said: ", inference);
  }
  for (size_t i = 0; i < outputs->size(); ++i) {
    const Tensor& output = (*outputs)[i].tensor;
    if ((*outputs)[i].ref || (*outputs)[i].is_dead) continue;
    if (!output.is_valid()) return Internal("output ", i, " was not set");
    if (output.dtype() != BaseType(instance.node().output_type(static_cast<int>(i)))) {
      return Internal("output ", i, " is ", DTypeName(output.dtype()),
                      ", not what the schema says");
    }
    if (!inferred[i].IsCompatibleWith(PartialShape(output.shape()))) {
      return Internal("output ", i, " is ", output.shape().ToString(), " but was inferred as ",
                      inferred[i].ToString());
    }
  }
  return OkStatus();
}

Status OpTest::RunInto(const OpNode& node, std::vector<OpInput> inputs, OpOutputs* outputs) {
  TFLEET_ASSIGN_OR_RETURN(const std::unique_ptr<Instance> instance, Make(node, inputs));
  return RunInstance(*instance, std::move(inputs), outputs);
}

StatusOr<std::vector<Tensor>> OpTest::Run(const OpNode& node, std::vector<OpInput> inputs) {
  OpOutputs outputs;
  TFLEET_RETURN_IF_ERROR(RunInto(node, std::move(inputs), &outputs));
  std::vector<Tensor> tensors;
  for (EdgeValue& output : outputs) tensors.push_back(std::move(output.tensor));
  return tensors;
}

Tensor OpTest::RunOne(const OpNode& node, std::vector<OpInput> inputs) {
  StatusOr<std::vector<Tensor>> outputs = Run(node, std::move(inputs));
  if (!outputs.ok()) {
    ADD_FAILURE() << node.def().op() << ": " << outputs.status().ToString();
    return Tensor();
  }
  return (*outputs)[0];
}

void ExpectSame(const Tensor& got, const Tensor& want) {
  if (!SameTypeAndShape(got, want)) return;
  if (got.dtype() == DType::kString) {
    EXPECT_THAT(got.values<std::string>(), ::testing::ElementsAreArray(want.values<std::string>()));
    return;
  }
  if (IsFloating(got.dtype()) || IsComplex(got.dtype())) return ExpectClose(got, want, 0);
  if (want.num_elements() > 0 && std::memcmp(got.raw(), want.raw(), want.bytes()) != 0) {
    ADD_FAILURE() << "elements differ\n got:  " << got.ToString(20)
                  << "\n want: " << want.ToString(20);
  }
}

void ExpectClose(const Tensor& got, const Tensor& want, double tolerance) {
  if (!SameTypeAndShape(got, want)) return;
  switch (want.dtype()) {
    case DType::kFloat:
      return ExpectElementsClose<float>(got, want, tolerance);
    case DType::kDouble:
      return ExpectElementsClose<double>(got, want, tolerance);
    case DType::kHalf:
      return ExpectElementsClose<Eigen::half>(got, want, tolerance);
    case DType::kBFloat16:
      return ExpectElementsClose<Eigen::bfloat16>(got, want, tolerance);
    case DType::kComplex64:
      return ExpectElementsClose<std::complex<float>>(got, want, tolerance);
    case DType::kComplex128:
      return ExpectElementsClose<std::complex<double>>(got, want, tolerance);
    default:
      return ExpectSame(got, want);
  }
}

}  // namespace tensorfleet
