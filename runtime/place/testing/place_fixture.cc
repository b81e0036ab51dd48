#include "runtime/place/testing/place_fixture.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "runtime/base/check.h"
#include "runtime/graph/attr.h"
#include "runtime/graph/shape_context.h"
#include "runtime/kernels/kernel_context.h"

namespace tensorfleet::testing_place {
namespace {

// One more than a scalar, for folding.
class PlusOne final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    ctx.SetOutput(0, Tensor::Scalar<int32_t>(ctx.input(0).scalar<int32_t>() + 1));
    return OkStatus();
  }
};

class NeverRun final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override { return Internal("not a real kernel"); }
};

// Twice a scalar, for folding.
class Twice final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    const float x = ctx.input(0).scalar<float>();
    if (x < 0) return InvalidArgument("negative");
    ctx.SetOutput(0, Tensor::Scalar(2 * x));
    return OkStatus();
  }
};

// A scalar and its negative.
class Both final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    ctx.SetOutput(0, ctx.input(0));
    ctx.SetOutput(1, Tensor::Scalar(-ctx.input(0).scalar<float>()));
    return OkStatus();
  }
};

Status ScalarShapes(ShapeContext& ctx) {
  for (int i = 0; i < ctx.num_outputs(); ++i) ctx.set_output(i, PartialShape({}));
  return OkStatus();
}
Status UnknownShapes(ShapeContext&) { return OkStatus(); }
Status HugeShape(ShapeContext& ctx) {
  ctx.set_output(0, PartialShape({int64_t{1} << 40}));
  return OkStatus();
}

void AddFoldingOps(OpRegistry& ops) {
  ops.Add(OpSchemaBuilder("Twice").Input("x: float").Output("y: float").Shape(ScalarShapes));
  ops.Add(OpSchemaBuilder("Both")
              .Input("x: float")
              .Output("y: float")
              .Output("z: float")
              .Shape(ScalarShapes));
  ops.Add(OpSchemaBuilder("Huge").Input("x: float").Output("y: float").Shape(HugeShape));
  ops.Add(OpSchemaBuilder("Random")
              .Input("x: float")
              .Output("y: float")
              .Stateful()
              .Shape(ScalarShapes));
  for (const char* name : {"Shape", "Rank"}) {
    ops.Add(OpSchemaBuilder(name)
                .Input("input: T")
                .Output("output: int32")
                .Attr("T: type = DT_FLOAT")
                .Shape(UnknownShapes));
  }
  ops.Add(OpSchemaBuilder("PlusOne").Input("x: int32").Output("y: int32").Shape(ScalarShapes));
  ops.Add(OpSchemaBuilder("UseInts").Input("a: int32").Input("b: int32").Stateful());
}

void AddRandomOps(OpRegistry& ops) {
  for (const char* name : {"RandomUniform", "RandomStandardNormal"}) {
    ops.Add(OpSchemaBuilder(name)
                .Input("shape: T")
                .Output("output: dtype")
                .Attr("seed: int = 0")
                .Attr("seed2: int = 0")
                .Attr("dtype: type")
                .Attr("T: type")
                .Stateful());
  }
  ops.Add(OpSchemaBuilder("_ReserveRandom")
              .Input("shape: T")
              .Output("key: uint64")
              .Output("counter: uint64")
              .Attr("seed: int = 0")
              .Attr("seed2: int = 0")
              .Attr("T: type")
              .Stateful());
  for (const char* name : {"StatelessRandomUniformV2", "StatelessRandomNormalV2"}) {
    ops.Add(OpSchemaBuilder(name)
                .Input("shape: Tshape")
                .Input("key: uint64")
                .Input("counter: uint64")
                .Input("alg: int32")
                .Output("output: dtype")
                .Attr("dtype: type")
                .Attr("Tshape: type"));
  }
}

void AddFunctionOps(OpRegistry& ops) {
  for (const char* name : {"PartitionedCall", "StatefulPartitionedCall"}) {
    OpSchemaBuilder op(name);
    op.Input("args: Tin").Output("output: Tout").Attr("Tin: list(type) >= 0");
    op.Attr("Tout: list(type) >= 0").Attr("f: func");
    if (name[0] == 'S') op.Stateful();
    ops.Add(std::move(op));
  }
  ops.Add(OpSchemaBuilder("If")
              .Input("cond: Tcond")
              .Input("input: Tin")
              .Output("output: Tout")
              .Attr("Tcond: type = DT_BOOL")
              .Attr("Tin: list(type) >= 0")
              .Attr("Tout: list(type) >= 0")
              .Attr("then_branch: func")
              .Attr("else_branch: func")
              .Stateful());
  ops.Add(OpSchemaBuilder("Case")
              .Input("branch_index: int32")
              .Input("input: Tin")
              .Output("output: Tout")
              .Attr("Tin: list(type) >= 0")
              .Attr("Tout: list(type) >= 0")
              .Attr("branches: list(func) >= 1")
              .Stateful());
  ops.Add(OpSchemaBuilder("While")
              .Input("input: T")
              .Output("output: T")
              .Attr("T: list(type) >= 0")
              .Attr("cond: func")
              .Attr("body: func")
              .Attr("parallel_iterations: int = 10")
              .Stateful());
  ops.Add(OpSchemaBuilder("Equal").Input("x: T").Input("y: T").Output("z: bool").Attr(
      "T: type = DT_FLOAT"));
  ops.Add(OpSchemaBuilder("Effect").Input("x: float").Stateful());
}

OpSchemaBuilder Unary(absl::string_view name) {
  return OpSchemaBuilder(name).Input("x: T").Output("y: T").Attr("T: type = DT_FLOAT");
}

void AddTransferOps(OpRegistry& ops) {
  for (const char* name : {"_Send", "_HostSend"}) {
    ops.Add(OpSchemaBuilder(name)
                .Input("tensor: T")
                .Attr("T: type")
                .Attr("tensor_name: string")
                .Attr("send_device: string")
                .Attr("send_device_incarnation: int")
                .Attr("recv_device: string")
                .Attr("client_terminated: bool = false")
                .Stateful());
  }
  for (const char* name : {"_Recv", "_HostRecv"}) {
    ops.Add(OpSchemaBuilder(name)
                .Output("tensor: tensor_type")
                .Attr("tensor_type: type")
                .Attr("tensor_name: string")
                .Attr("send_device: string")
                .Attr("send_device_incarnation: int")
                .Attr("recv_device: string")
                .Attr("client_terminated: bool = false")
                .Stateful());
  }
  ops.Add(OpSchemaBuilder("_Cluster")
              .Input("inputs: Tin")
              .Output("outputs: Tout")
              .Attr("Tin: list(type) >= 0")
              .Attr("Tout: list(type) >= 0")
              .Attr("body: string")
              .Stateful());
  ops.Add(
      OpSchemaBuilder("_Arg").Output("output: T").Attr("T: type").Attr("index: int").Stateful());
  ops.Add(
      OpSchemaBuilder("_Retval").Input("input: T").Attr("T: type").Attr("index: int").Stateful());
}

void AddControlFlowOps(OpRegistry& ops) {
  ops.Add(OpSchemaBuilder("Switch")
              .Input("data: T")
              .Input("pred: bool")
              .Output("output_false: T")
              .Output("output_true: T")
              .Attr("T: type = DT_FLOAT"));
  ops.Add(OpSchemaBuilder("Merge")
              .Input("inputs: N * T")
              .Output("output: T")
              .Output("value_index: int32")
              .Attr("T: type = DT_FLOAT")
              .Attr("N: int >= 1 = 2"));
  ops.Add(Unary("Enter")
              .Attr("frame_name: string = 'loop'")
              .Attr("is_constant: bool = false")
              .Attr("parallel_iterations: int = 10"));
  ops.Add(OpSchemaBuilder("RefEnter")
              .Input("data: Ref(T)")
              .Output("output: Ref(T)")
              .Attr("T: type = DT_FLOAT")
              .Attr("frame_name: string = 'loop'")
              .Attr("is_constant: bool = true")
              .Attr("parallel_iterations: int = 10"));
  ops.Add(Unary("Exit"));
  ops.Add(Unary("NextIteration"));
  ops.Add(OpSchemaBuilder("LoopCond").Input("input: bool").Output("output: bool"));
  ops.Add(OpSchemaBuilder("Less").Input("x: T").Input("y: T").Output("z: bool").Attr(
      "T: type = DT_FLOAT"));
}

void AddStateOps(OpRegistry& ops) {
  ops.Add(OpSchemaBuilder("VariableV2")
              .Output("ref: Ref(dtype)")
              .Attr("dtype: type = DT_FLOAT")
              .Stateful());
  ops.Add(OpSchemaBuilder("Assign")
              .Input("ref: Ref(T)")
              .Input("value: T")
              .Output("output_ref: Ref(T)")
              .Attr("T: type = DT_FLOAT")
              .AllowsUninitializedInput());
  ops.Add(OpSchemaBuilder("AssignAdd")
              .Input("ref: Ref(T)")
              .Input("value: T")
              .Output("output_ref: Ref(T)")
              .Attr("T: type = DT_FLOAT"));
  ops.Add(OpSchemaBuilder("VarHandleOp").Output("resource: resource").Stateful());
  ops.Add(OpSchemaBuilder("ReadVariableOp")
              .Input("resource: resource")
              .Output("value: dtype")
              .Attr("dtype: type = DT_FLOAT")
              .Stateful());
  ops.Add(OpSchemaBuilder("AssignVariableOp")
              .Input("resource: resource")
              .Input("value: dtype")
              .Attr("dtype: type = DT_FLOAT")
              .Stateful());
  ops.Add(OpSchemaBuilder("UpdateTwo")
              .Input("a: Ref(T)")
              .Input("b: Ref(T)")
              .Output("output_ref: Ref(T)")
              .Attr("T: type = DT_FLOAT"));
  ops.Add(OpSchemaBuilder("QueueEnqueueV2").Input("x: T").Attr("T: type = DT_FLOAT").Stateful());
  ops.Add(OpSchemaBuilder("Reshape")
              .Input("tensor: T")
              .Input("shape: T")
              .Output("output: T")
              .Attr("T: type = DT_FLOAT"));
  ops.Add(OpSchemaBuilder("Queue")
              .Output("handle: resource")
              .Attr("shared_name: string = ''")
              .Stateful());
  ops.Add(OpSchemaBuilder("TensorArray").Output("handle: resource").Stateful());
  ops.Add(OpSchemaBuilder("Push").Input("handle: resource").Input("value: float").Stateful());
  // Takes two resources, as a call would.
  ops.Add(OpSchemaBuilder("UseTwo").Input("a: resource").Input("b: resource").Stateful());
}

OpRegistry* MakeOps() {
  auto* ops = new OpRegistry;
  ops->Add(OpSchemaBuilder("NoOp"));
  ops->Add(OpSchemaBuilder("Const")
               .Output("output: dtype")
               .Attr("value: tensor")
               .Attr("dtype: type = DT_FLOAT"));
  ops->Add(OpSchemaBuilder("Placeholder").Output("output: dtype").Attr("dtype: type = DT_FLOAT"));
  ops->Add(OpSchemaBuilder("Text").Output("output: string"));
  ops->Add(OpSchemaBuilder("Print").Input("x: string").Stateful());
  ops->Add(OpSchemaBuilder("SaveV2").Input("x: float").Stateful());
  for (const char* name : {"Identity", "Neg", "CpuOnly", "GpuOnly"}) ops->Add(Unary(name));
  ops->Add(
      OpSchemaBuilder("Add").Input("x: T").Input("y: T").Output("z: T").Attr("T: type = DT_FLOAT"));
  AddStateOps(*ops);
  AddControlFlowOps(*ops);
  AddTransferOps(*ops);
  AddFoldingOps(*ops);
  AddFunctionOps(*ops);
  AddRandomOps(*ops);
  return ops;
}

KernelRegistry* MakeKernels() {
  auto* kernels = new KernelRegistry;
  kernels->Add<Twice>("Twice", kCpu);
  kernels->Add<Both>("Both", kCpu);
  kernels->Add<PlusOne>("PlusOne", kCpu);
  for (const std::string& op : Ops().Names()) {
    if (op == "Twice" || op == "Both" || op == "PlusOne") continue;
    if (op != "GpuOnly") kernels->Add<NeverRun>(op, kCpu);
    if (op != "CpuOnly") kernels->Add<NeverRun>(op, "GPU");
  }
  return kernels;
}

std::string DeviceOf(const std::string& job_and_task, const char* type) {
  const size_t digit = job_and_task.find_first_of("0123456789");
  return absl::StrCat("/job:", job_and_task.substr(0, digit),
                      "/replica:0/task:", job_and_task.substr(digit), "/device:", type, ":0");
}

}  // namespace

const OpRegistry& Ops() {
  static const OpRegistry* ops = MakeOps();
  return *ops;
}

const KernelRegistry& Kernels() {
  static const KernelRegistry* kernels = MakeKernels();
  return *kernels;
}

std::string Cpu(const std::string& job_and_task) { return DeviceOf(job_and_task, "CPU"); }
std::string Gpu(const std::string& job_and_task) { return DeviceOf(job_and_task, "GPU"); }

std::vector<DeviceAttributes> Devices(const std::vector<std::string>& names) {
  std::vector<DeviceAttributes> devices;
  for (const std::string& name : names) {
    DeviceAttributes device;
    device.name = name;
    device.parsed = *DeviceName::Parse(name);
    device.type = *device.parsed.type;
    device.incarnation = 100 + devices.size();
    devices.push_back(std::move(device));
  }
  return devices;
}

Node* PlaceTest::Add(const std::string& name, const std::string& op,
                     const std::vector<std::string>& inputs, const std::string& device) {
  tensorflow::NodeDef def;
  def.set_name(name);
  def.set_op(op);
  def.set_device(device);
  if (op == "Const") SetAttr(&def, "value", Tensor::Scalar(0.0f));
  StatusOr<Node*> node = graph_->AddNode(std::move(def));
  TFLEET_CHECK(node.ok());
  int slot = 0;
  for (const std::string& input : inputs) {
    const TensorName from = *ParseTensorName(input);
    Node* src = graph_->FindNode(from.node);
    if (from.index == kControlSlot) {
      graph_->AddControlEdge(src, *node);
    } else {
      TFLEET_CHECK(graph_->AddEdge(src, from.index, *node, slot++).ok());
    }
  }
  return *node;
}

void PlaceTest::Colocate(Node* node, const std::string& leader) {
  const std::vector<std::string> classes = {"loc:@" + leader};
  SetAttr(&node->mutable_def(), "_class", absl::MakeConstSpan(classes));
}

Node* PlaceTest::AddConst(const std::string& name, float value, const std::string& device) {
  Node* node = Add(name, "Const", {}, device);
  SetAttr(&node->mutable_def(), "value", Tensor::Scalar(value));
  return node;
}

std::vector<std::string> Describe(const Graph& graph) {
  std::vector<std::string> lines;
  for (const Node* node : graph.nodes()) {
    std::vector<std::string> inputs;
    for (int i = 0; i < node->num_inputs(); ++i) {
      const Edge* edge = node->in_edge(i);
      if (edge == nullptr) {
        inputs.push_back("?");
      } else {
        inputs.push_back(edge->src_output == 0
                             ? edge->src->name()
                             : absl::StrCat(edge->src->name(), ":", edge->src_output));
      }
    }
    std::vector<std::string> controls;
    for (const Edge* edge : node->in_edges()) {
      if (edge->is_control()) controls.push_back("^" + edge->src->name());
    }
    std::sort(controls.begin(), controls.end());
    inputs.insert(inputs.end(), controls.begin(), controls.end());
    std::string device = node->assigned_device();
    if (absl::StrContains(device, "/replica:0")) {
      const DeviceName name = *DeviceName::Parse(device);
      device = absl::StrCat(*name.job, *name.task, *name.type == kCpu ? "" : " " + *name.type);
    }
    lines.push_back(absl::StrCat(node->name(), " = ", node->op(), "(", absl::StrJoin(inputs, ", "),
                                 ")", device.empty() ? "" : " @ " + device));
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

}  // namespace tensorfleet::testing_place
