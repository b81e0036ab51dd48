// Collectives among servers in this process, each with a client and a master of its own, as
// MultiWorkerMirroredStrategy has them: one step at each server, all with the same id.
#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <thread>

#include "absl/strings/str_cat.h"
#include "proto/master_service.grpc.pb.h"
#include "runtime/graph/attr.h"
#include "runtime/kernels/cpu/core.h"
#include "runtime/ops/all.h"
#include "runtime/rpc/server.h"
#include "runtime/rpc/wire/status_wire.h"
#include "runtime/session/metrics.h"
#include "runtime/tensor/tensor_proto.h"

namespace tensorfleet::rpc {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::chrono::seconds kTimeout(60);

std::string Device(int task, int id = 0) {
  return absl::StrCat("/job:worker/replica:0/task:", task, "/device:CPU:", id);
}

tensorflow::NodeDef Node(const std::string& name, const std::string& op, const std::string& device,
                         const std::vector<std::string>& inputs = {}) {
  tensorflow::NodeDef node;
  node.set_name(name);
  node.set_op(op);
  node.set_device(device);
  for (const std::string& input : inputs) node.add_input(input);
  return node;
}

void AddConstant(tensorflow::GraphDef* graph, const std::string& name, const std::string& device,
                 const Tensor& value) {
  tensorflow::NodeDef node = Node(name, "Const", device);
  SetAttr(&node, "dtype", value.dtype());
  SetAttr(&node, "value", value);
  *graph->add_node() = node;
}

void AddPlaceholder(tensorflow::GraphDef* graph, const std::string& name, const std::string& device,
                    DType dtype = DType::kFloat) {
  tensorflow::NodeDef node = Node(name, "Placeholder", device);
  SetAttr(&node, "dtype", dtype);
  *graph->add_node() = node;
}

struct Keys {
  int group_size = 2;
  int group = 1;
  int instance = 1;
};

tensorflow::NodeDef Reduce(const std::string& name, const std::string& input,
                           const std::string& device, const Keys& keys, const char* merge = "Add",
                           const char* final = "Id") {
  tensorflow::NodeDef node = Node(name, "CollectiveReduce", device, {input});
  SetAttr(&node, "T", DType::kFloat);
  SetAttr(&node, "group_size", keys.group_size);
  SetAttr(&node, "group_key", keys.group);
  SetAttr(&node, "instance_key", keys.instance);
  SetAttr(&node, "merge_op", merge);
  SetAttr(&node, "final_op", final);
  const std::vector<int64_t> offsets{0};
  SetAttr(&node, "subdiv_offsets", absl::MakeConstSpan(offsets));
  return node;
}

// An op of the second version, whose keys are constants beside it.
tensorflow::NodeDef* AddSecond(tensorflow::GraphDef* graph, const std::string& name,
                               const std::string& op, const std::string& input,
                               const std::string& device, const Keys& keys) {
  const auto key = [&](const char* what, int value) {
    AddConstant(graph, absl::StrCat(name, "_", what), device, Tensor::Scalar<int32_t>(value));
    return absl::StrCat(name, "_", what);
  };
  std::vector<std::string> inputs;
  if (!input.empty()) inputs.push_back(input);
  inputs.push_back(key("size", keys.group_size));
  inputs.push_back(key("group", keys.group));
  inputs.push_back(key("instance", keys.instance));
  tensorflow::NodeDef* node = graph->add_node();
  *node = Node(name, op, device, inputs);
  SetAttr(node, "T", DType::kFloat);
  return node;
}

Tensor Floats(int64_t n, float first) {
  Tensor tensor = *Tensor::Allocate(DType::kFloat, {n});
  auto values = tensor.mutable_values<float>();
  for (int64_t i = 0; i < n; ++i) values[i] = first + static_cast<float>(i) * 0.37f;
  return tensor;
}

class Members : public ::testing::Test {
 protected:
  void Start(int tasks, int cpu_devices = 1) {
    cpu_devices_ = cpu_devices;
    servers_.resize(tasks);
    addresses_.resize(tasks);
    for (int task = 0; task < tasks; ++task) StartOne(task, "localhost:0");
  }
  void StartOne(int task, const std::string& bind) {
    ServerOptions options = options_;
    options.cluster = ClusterSpec::Make({{"alone", {{0, "localhost:1"}}}}).value();
    options.job = "alone";
    options.bind = bind;
    options.ops = &BuiltinOps();
    options.kernels = &CoreCpuKernels();
    options.compute_threads = 1;
    options.cpu_devices = cpu_devices_;
    servers_[task] = Server::Start(std::move(options)).value();
    addresses_[task] = absl::StrCat("localhost:", servers_[task]->port());
  }

  class Client {
   public:
    // With a session that uses `task` alone; with all tasks if `sees_all`.
    Client(const Members& members, int task, const tensorflow::GraphDef& graph,
           bool sees_all = false)
        : stub_(tensorflow::MasterService::NewStub(
              grpc::CreateChannel(members.addresses_[task], grpc::InsecureChannelCredentials()))) {
      tensorflow::CreateSessionRequest request;
      *request.mutable_graph_def() = graph;
      tensorflow::ConfigProto* config = request.mutable_config();
      tensorflow::JobDef* job = config->mutable_cluster_def()->add_job();
      job->set_name("worker");
      for (size_t i = 0; i < members.addresses_.size(); ++i) {
        (*job->mutable_tasks())[static_cast<int>(i)] = members.addresses_[i];
      }
      config->mutable_experimental()->set_share_session_state_in_clusterspec_propagation(true);
      if (!sees_all) config->add_device_filters(absl::StrCat("/job:worker/task:", task));
      request.set_target(absl::StrCat("grpc://", members.addresses_[task]));
      tensorflow::CreateSessionResponse response;
      EXPECT_EQ(Call(&tensorflow::MasterService::Stub::CreateSession, request, &response),
                OkStatus());
      handle_ = response.session_handle();
    }

    StatusOr<std::vector<Tensor>> Run(const std::vector<std::string>& fetches,
                                      const std::vector<std::pair<std::string, Tensor>>& feeds = {},
                                      int timeout_ms = 0) const {
      tensorflow::RunStepRequest request;
      request.set_session_handle(handle_);
      for (const std::string& fetch : fetches) request.add_fetch(fetch);
      for (const auto& [name, value] : feeds) {
        tensorflow::NamedTensorProto* feed = request.add_feed();
        feed->set_name(name);
        TFLEET_RETURN_IF_ERROR(TensorToProto(value, feed->mutable_tensor()));
      }
      request.mutable_options()->set_timeout_in_ms(timeout_ms);
      tensorflow::RunStepResponse response;
      TFLEET_RETURN_IF_ERROR(Call(&tensorflow::MasterService::Stub::RunStep, request, &response));
      std::vector<Tensor> values;
      for (const auto& tensor : response.tensor()) {
        TFLEET_ASSIGN_OR_RETURN(Tensor value, TensorFromProto(tensor.tensor()));
        values.push_back(std::move(value));
      }
      return values;
    }
    std::future<StatusOr<std::vector<Tensor>>> Begin(
        const std::vector<std::string>& fetches,
        const std::vector<std::pair<std::string, Tensor>>& feeds = {}, int timeout_ms = 0) const {
      return std::async(std::launch::async, [=, this] { return Run(fetches, feeds, timeout_ms); });
    }

   private:
    template <typename Method, typename Request, typename Response>
    Status Call(Method method, const Request& request, Response* response) const {
      grpc::ClientContext context;
      context.set_deadline(std::chrono::system_clock::now() + kTimeout);
      return FromGrpcStatus((stub_.get()->*method)(&context, request, response));
    }

    const std::unique_ptr<tensorflow::MasterService::Stub> stub_;
    std::string handle_;
  };

  // A graph for one task: `sum` is the reduction of what is fed to `x`.
  static tensorflow::GraphDef ReduceGraph(int task, const Keys& keys, const char* merge = "Add",
                                          const char* final = "Id") {
    tensorflow::GraphDef graph;
    AddPlaceholder(&graph, "x", Device(task));
    *graph.add_node() = Reduce("sum", "x", Device(task), keys, merge, final);
    return graph;
  }

  // Whether the two come to one step, each of them as soon as its last one has failed.
  static bool MeetAgain(const Client& first, const Client& second) {
    const auto run = [](const Client& client) {
      for (int attempt = 0; attempt < 100; ++attempt) {
        const Status status = client.Run({"sum:0"}, {{"x:0", Floats(100, 0)}}).status();
        if (status.ok()) return true;
        EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
      }
      return false;
    };
    auto other = std::async(std::launch::async, [&] { return run(first); });
    const bool mine = run(second);
    return other.get() && mine;
  }

  ServerOptions options_;
  int cpu_devices_ = 1;
  std::vector<std::string> addresses_;
  std::vector<std::unique_ptr<Server>> servers_;
};

std::string BytesOf(const Tensor& tensor) {
  return std::string(static_cast<const char*>(tensor.raw()), tensor.bytes());
}

TEST_F(Members, AddUpTheSameBitsAtEachOfThree) {
  Start(3);
  std::vector<std::unique_ptr<Client>> clients;
  for (int task = 0; task < 3; ++task) {
    clients.push_back(std::make_unique<Client>(*this, task, ReduceGraph(task, {3})));
  }
  for (const int64_t n : {1, 7, 1000, 300'000}) {
    std::vector<std::future<StatusOr<std::vector<Tensor>>>> steps;
    for (int task = 0; task < 3; ++task) {
      steps.push_back(
          clients[task]->Begin({"sum:0"}, {{"x:0", Floats(n, 0.1f * static_cast<float>(task))}}));
    }
    std::vector<std::string> bytes;
    for (auto& step : steps) {
      const StatusOr<std::vector<Tensor>> result = step.get();
      ASSERT_EQ(result.status(), OkStatus()) << n;
      EXPECT_NEAR((*result)[0].values<float>()[n - 1], 0.3 + 3 * 0.37 * (n - 1), 1e-6 * n + 1e-5);
      bytes.push_back(BytesOf((*result)[0]));
    }
    EXPECT_TRUE(bytes[0] == bytes[1] && bytes[1] == bytes[2]) << n;
  }
}

TEST_F(Members, SendEachLinkTheLeastThatThereCanBe) {
  Start(2);
  const Client first(*this, 0, ReduceGraph(0, {2})), second(*this, 1, ReduceGraph(1, {2}));
  const auto bytes_to = [](int task) {
    const std::string text = RenderMetrics();
    const std::string line = absl::StrCat("{src=\"/job:worker/replica:0/task:", 1 - task,
                                          "\",dst=\"/job:worker/replica:0/task:", task, "\"} ");
    const size_t at = text.find(line);
    return at == std::string::npos ? 0.0 : std::stod(text.substr(at + line.size()));
  };
  const double before = bytes_to(0);
  constexpr int64_t kElements = 250'000;
  auto step = first.Begin({"sum:0"}, {{"x:0", Floats(kElements, 0)}});
  ASSERT_EQ(second.Run({"sum:0"}, {{"x:0", Floats(kElements, 1)}}).status(), OkStatus());
  ASSERT_EQ(step.get().status(), OkStatus());
  // 2 (n-1)/n of the tensor, and a cache line.
  EXPECT_NEAR(bytes_to(0) - before, kElements * sizeof(float), 0.05 * kElements * sizeof(float));
}

TEST_F(Members, MergeAndFinishAsTheyAreTold) {
  Start(2);
  const struct {
    const char* merge;
    const char* final;
    float expected;
  } kCases[] = {{"Add", "Div", 2.5f}, {"Mul", "Id", 6}, {"Min", "Id", 2}, {"Max", "Id", 3}};
  for (const auto& c : kCases) {
    const Client first(*this, 0, ReduceGraph(0, {2}, c.merge, c.final));
    const Client second(*this, 1, ReduceGraph(1, {2}, c.merge, c.final));
    auto step = first.Begin({"sum:0"}, {{"x:0", Tensor::Vector<float>({2, 2, 2})}});
    const auto other = second.Run({"sum:0"}, {{"x:0", Tensor::Vector<float>({3, 3, 3})}});
    ASSERT_EQ(other.status(), OkStatus()) << c.merge;
    EXPECT_EQ((*other)[0].values<float>()[2], c.expected);
    EXPECT_EQ(step.get().status(), OkStatus());
  }
}

// Each server has one thread for kernels.
TEST_F(Members, RunManyInstancesOfSeveralGroupsInAnyOrder) {
  Start(2);
  constexpr int kInstances = 24;
  std::vector<tensorflow::GraphDef> graphs(2);
  std::vector<std::string> fetches;
  for (int task = 0; task < 2; ++task) {
    for (int i = 0; i < kInstances; ++i) {
      // The nodes come in the opposite order at the other task.
      const int instance = task == 0 ? i : kInstances - 1 - i;
      const std::string name = absl::StrCat("r", instance);
      AddConstant(&graphs[task], absl::StrCat("c", instance), Device(task),
                  Floats(1000 + instance, static_cast<float>(task)));
      *graphs[task].add_node() =
          Reduce(name, absl::StrCat("c", instance), Device(task), {2, 1 + instance % 3, instance});
      if (task == 0) fetches.push_back(name + ":0");
    }
  }
  const Client first(*this, 0, graphs[0]), second(*this, 1, graphs[1]);
  for (int step = 0; step < 5; ++step) {
    auto other = first.Begin(fetches);
    const auto mine = second.Run(fetches);
    ASSERT_EQ(mine.status(), OkStatus());
    const auto theirs = other.get();
    ASSERT_EQ(theirs.status(), OkStatus());
    for (int i = 0; i < kInstances; ++i) {
      EXPECT_EQ((*mine)[i].values<float>()[0], 1.0f);
      EXPECT_EQ(BytesOf((*mine)[i]), BytesOf((*theirs)[i]));
    }
  }
}

// Two tasks of two devices each.
TEST_F(Members, GatherBroadcastAndExchangeOverDevicesOfSeveralTasks) {
  Start(2, /*cpu_devices=*/2);
  std::vector<tensorflow::GraphDef> graphs(2);
  std::vector<std::string> fetches;
  for (int task = 0; task < 2; ++task) {
    tensorflow::GraphDef* graph = &graphs[task];
    for (int id = 0; id < 2; ++id) {
      const int rank = 2 * task + id;
      const std::string device = Device(task, id);
      const std::string x = absl::StrCat("x", id);
      AddConstant(graph, x, device,
                  Tensor::Vector<float>(
                      {10.0f * rank, 10.0f * rank + 1, 10.0f * rank + 2, 10.0f * rank + 3}));
      AddSecond(graph, absl::StrCat("gather", id), "CollectiveGatherV2", x, device, {4, 7, 1});
      AddSecond(graph, absl::StrCat("swap", id), "CollectiveAllToAllV2", x, device, {4, 7, 2});
      tensorflow::NodeDef* share = AddSecond(graph, absl::StrCat("share", id),
                                             "CollectiveReduceScatterV2", x, device, {4, 7, 3});
      SetAttr(share, "merge_op", "Add");
      SetAttr(share, "final_op", "Id");
      if (rank == 2) {
        AddSecond(graph, absl::StrCat("value", id), "CollectiveBcastSendV2", x, device, {4, 7, 4});
      } else {
        AddConstant(graph, absl::StrCat("shape", id), device, Tensor::Vector<int32_t>({4}));
        tensorflow::NodeDef* receive = AddSecond(graph, absl::StrCat("value", id),
                                                 "CollectiveBcastRecvV2", "", device, {4, 7, 4});
        receive->add_input(absl::StrCat("shape", id));
        SetAttr(receive, "Tshape", DType::kInt32);
      }
      if (task > 0) continue;
      for (const char* what : {"gather", "swap", "share", "value"}) {
        fetches.push_back(absl::StrCat(what, id, ":0"));
      }
    }
  }
  const Client first(*this, 0, graphs[0]), second(*this, 1, graphs[1]);
  for (int step = 0; step < 3; ++step) {
    auto other = first.Begin(fetches);
    const std::vector<StatusOr<std::vector<Tensor>>> results = {second.Run(fetches), other.get()};
    for (int task = 0; task < 2; ++task) {
      const auto& result = results[1 - task];
      ASSERT_EQ(result.status(), OkStatus()) << task;
      for (int id = 0; id < 2; ++id) {
        const int rank = 2 * task + id;
        const auto at = [&](int what, int i) {
          return (*result)[4 * id + what].template values<float>()[i];
        };
        for (int i = 0; i < 16; ++i) EXPECT_EQ(at(0, i), 10.0f * (i / 4) + i % 4);
        for (int i = 0; i < 4; ++i) EXPECT_EQ(at(1, i), 10.0f * i + rank);
        EXPECT_EQ(at(2, 0), 60.0f + 4 * rank);
        for (int i = 0; i < 4; ++i) EXPECT_EQ(at(3, i), 20.0f + i);
      }
    }
  }
}

TEST_F(Members, OfOneProcessMeetWithoutANetwork) {
  Start(1, /*cpu_devices=*/3);
  tensorflow::GraphDef graph;
  std::vector<std::string> fetches;
  for (int id = 0; id < 3; ++id) {
    AddConstant(&graph, absl::StrCat("x", id), Device(0, id),
                Tensor::Vector<float>({1.0f + id, 10.0f}));
    *graph.add_node() = Reduce(absl::StrCat("sum", id), absl::StrCat("x", id), Device(0, id), {3});
    fetches.push_back(absl::StrCat("sum", id, ":0"));
  }
  const Client client(*this, 0, graph);
  for (int step = 0; step < 3; ++step) {
    const auto sums = client.Run(fetches);
    ASSERT_EQ(sums.status(), OkStatus());
    for (const Tensor& sum : *sums) EXPECT_EQ(sum.values<float>()[0], 6.0f);
  }
}

TEST_F(Members, OneMasterRunsAStepOverBoth) {
  Start(2);
  tensorflow::GraphDef graph = ReduceGraph(0, {2});
  AddPlaceholder(&graph, "y", Device(1));
  *graph.add_node() = Reduce("other", "y", Device(1), {2});
  const Client client(*this, 0, graph, /*sees_all=*/true);
  const auto sums = client.Run({"sum:0", "other:0"}, {{"x:0", Tensor::Vector<float>({1, 2})},
                                                      {"y:0", Tensor::Vector<float>({3, 4})}});
  ASSERT_EQ(sums.status(), OkStatus());
  EXPECT_EQ((*sums)[0].values<float>()[1], 6.0f);
  EXPECT_EQ((*sums)[1].values<float>()[1], 6.0f);
}

TEST_F(Members, ThatDisagreeAreToldWithWhom) {
  Start(2);
  const Client first(*this, 0, ReduceGraph(0, {2})), second(*this, 1, ReduceGraph(1, {2}));
  auto step = first.Begin({"sum:0"}, {{"x:0", Floats(3, 0)}});
  const Status mine = second.Run({"sum:0"}, {{"x:0", Floats(4, 0)}}).status();
  const Status theirs = step.get().status();
  for (const Status& status : {mine, theirs}) {
    EXPECT_THAT(status.ToString(), HasSubstr("sum"));
    EXPECT_FALSE(status.ok());
  }
  EXPECT_THAT(absl::StrCat(mine.ToString(), theirs.ToString()),
              AllOf(HasSubstr("mismatch"), HasSubstr(Device(0)), HasSubstr(Device(1))));
  EXPECT_TRUE(MeetAgain(first, second));
}

TEST_F(Members, ThatDieFailTheOthersStepsByName) {
  Start(3);
  std::vector<std::unique_ptr<Client>> clients;
  for (int task = 0; task < 3; ++task) {
    clients.push_back(std::make_unique<Client>(*this, task, ReduceGraph(task, {3})));
  }
  const auto run_all = [&](int tasks) {
    std::vector<std::future<StatusOr<std::vector<Tensor>>>> steps;
    for (int task = 0; task < tasks; ++task) {
      steps.push_back(clients[task]->Begin({"sum:0"}, {{"x:0", Floats(100, 0)}}));
    }
    std::vector<Status> statuses;
    for (auto& step : steps) statuses.push_back(step.get().status());
    return statuses;
  };
  for (const Status& status : run_all(3)) ASSERT_EQ(status, OkStatus());
  auto steps = std::async(std::launch::async, [&] { return run_all(2); });
  servers_[2].reset();
  for (const Status& status : steps.get()) {
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    EXPECT_THAT(status.ToString(), HasSubstr("task:2"));
  }
  // It comes back as another, and its place in the group is there. Each client tries until it
  // works.
  StartOne(2, addresses_[2]);
  clients[2] = std::make_unique<Client>(*this, 2, ReduceGraph(2, {3}));
  std::vector<std::thread> threads;
  for (int task = 0; task < 3; ++task) {
    threads.emplace_back([&, task] {
      Status status;
      for (int attempt = 0; attempt < 1000; ++attempt) {
        status = clients[task]->Run({"sum:0"}, {{"x:0", Floats(100, 0)}}).status();
        if (!absl::IsUnavailable(status)) break;
      }
      EXPECT_EQ(status, OkStatus());
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Status& status : run_all(3)) EXPECT_EQ(status, OkStatus());
}

TEST_F(Members, ThatNeverComeEndTheWaitingAtItsDeadline) {
  options_.group_patience = std::chrono::milliseconds(200);
  Start(2);
  const Client first(*this, 0, ReduceGraph(0, {2}));
  const Status status = first.Run({"sum:0"}, {{"x:0", Floats(3, 0)}}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded) << status;
  EXPECT_THAT(status.ToString(), AllOf(HasSubstr("1 of 2 have joined"), HasSubstr(Device(0))));
}

TEST_F(Members, LeaveNothingOfACancelledStep) {
  Start(2);
  const Client first(*this, 0, ReduceGraph(0, {2})), second(*this, 1, ReduceGraph(1, {2}));
  ASSERT_TRUE(MeetAgain(first, second));
  // The other member does not come to this step.
  const Status cancelled =
      second.Run({"sum:0"}, {{"x:0", Floats(100, 1)}}, /*timeout_ms=*/100).status();
  EXPECT_EQ(cancelled.code(), absl::StatusCode::kDeadlineExceeded) << cancelled;
  // What was left of it would be found in the next steps, and its id must not be used twice.
  EXPECT_TRUE(MeetAgain(first, second));
  const auto deadline = std::chrono::steady_clock::now() + kTimeout;
  while (ServerMetrics().worker_steps > 0 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
  EXPECT_EQ(ServerMetrics().worker_steps, 0);
}

}  // namespace
}  // namespace tensorfleet::rpc
