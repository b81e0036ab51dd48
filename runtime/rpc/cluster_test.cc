// Servers of one cluster in this process and clients of their masters: steps that span tasks, many
// at a time. ThreadSanitizer sees the whole way of a step here (./dev tsan).
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <thread>

#include "absl/strings/str_cat.h"
#include "proto/master_service.grpc.pb.h"
#include "runtime/kernels/cpu/core.h"
#include "runtime/kernels/queue_levels.h"
#include "runtime/ops/all.h"
#include "runtime/rpc/server.h"
#include "runtime/rpc/wire/status_wire.h"
#include "runtime/tensor/tensor_proto.h"

namespace tensorfleet::rpc {
namespace {

using ::testing::AnyOf;
using ::testing::Eq;

constexpr std::chrono::seconds kTimeout(60);

// A counter on task 1, whose new value task 0 negates, and a queue there that nobody fills.
constexpr char kGraph[] = R"pb(
  node {
    name: "count"
    op: "VariableV2"
    device: "/job:pair/task:1"
    attr {
      key: "dtype"
      value { type: DT_FLOAT }
    }
    attr {
      key: "shape"
      value { shape {} }
    }
  }
  node {
    name: "zero"
    op: "Const"
    device: "/job:pair/task:1"
    attr {
      key: "dtype"
      value { type: DT_FLOAT }
    }
    attr {
      key: "value"
      value {
        tensor {
          dtype: DT_FLOAT
          tensor_shape {}
          float_val: 0
        }
      }
    }
  }
  node {
    name: "init"
    op: "Assign"
    input: "count"
    input: "zero"
    device: "/job:pair/task:1"
    attr {
      key: "T"
      value { type: DT_FLOAT }
    }
  }
  node {
    name: "x"
    op: "Placeholder"
    device: "/job:pair/task:0"
    attr {
      key: "dtype"
      value { type: DT_FLOAT }
    }
  }
  node {
    name: "minus_x"
    op: "Neg"
    input: "x"
    device: "/job:pair/task:0"
    attr {
      key: "T"
      value { type: DT_FLOAT }
    }
  }
  node {
    name: "add"
    op: "AssignSub"
    input: "count"
    input: "minus_x"
    device: "/job:pair/task:1"
    attr {
      key: "T"
      value { type: DT_FLOAT }
    }
    attr {
      key: "use_locking"
      value { b: true }
    }
  }
  node {
    name: "seen"
    op: "Neg"
    input: "add"
    device: "/job:pair/task:0"
    attr {
      key: "T"
      value { type: DT_FLOAT }
    }
  }
  node {
    name: "queue"
    op: "FIFOQueueV2"
    device: "/job:pair/task:1"
    attr {
      key: "component_types"
      value { list { type: DT_FLOAT } }
    }
    attr {
      key: "shapes"
      value { list { shape {} } }
    }
  }
  node {
    name: "take"
    op: "QueueDequeueV2"
    input: "queue"
    device: "/job:pair/task:1"
    attr {
      key: "component_types"
      value { list { type: DT_FLOAT } }
    }
  }
  node {
    name: "taken"
    op: "Neg"
    input: "take"
    device: "/job:pair/task:0"
    attr {
      key: "T"
      value { type: DT_FLOAT }
    }
  }
)pb";

// The step is then under way on both tasks.
void WaitUntilADequeueWaits() {
  const auto is_waiting = [](const QueueLevel& queue) { return queue.dequeues_waiting > 0; };
  while (true) {
    const std::vector<QueueLevel> queues = QueueLevels::All().Read();
    if (std::any_of(queues.begin(), queues.end(), is_waiting)) return;
    std::this_thread::yield();
  }
}

class Pair : public ::testing::Test {
 protected:
  // Each serves on a port that is free; that they are a cluster is the sessions' word.
  Pair() {
    tensorflow::JobDef* job = config_.mutable_cluster_def()->add_job();
    job->set_name("pair");
    for (int task = 0; task < 2; ++task) {
      ServerOptions options;
      options.cluster = ClusterSpec::Make({{"alone", {{0, "localhost:1"}}}}).value();
      options.job = "alone";
      options.bind = "localhost:0";
      options.ops = &BuiltinOps();
      options.kernels = &CoreCpuKernels();
      options.compute_threads = 2;
      servers_[task] = Server::Start(std::move(options)).value();
      addresses_[task] = absl::StrCat("localhost:", servers_[task]->port());
      (*job->mutable_tasks())[task] = addresses_[task];
    }
    config_.mutable_experimental()->set_share_session_state_in_clusterspec_propagation(true);
  }

  // A client of a server's master, with a session there.
  class Client {
   public:
    Client(const Pair& pair, int task)
        : stub_(tensorflow::MasterService::NewStub(
              grpc::CreateChannel(pair.addresses_[task], grpc::InsecureChannelCredentials()))) {
      tensorflow::CreateSessionRequest request;
      EXPECT_TRUE(
          google::protobuf::TextFormat::ParseFromString(kGraph, request.mutable_graph_def()));
      *request.mutable_config() = pair.config_;
      request.set_target(absl::StrCat("grpc://", pair.addresses_[task]));
      tensorflow::CreateSessionResponse response;
      EXPECT_EQ(Call(&tensorflow::MasterService::Stub::CreateSession, request, &response),
                OkStatus());
      handle_ = response.session_handle();
    }

    StatusOr<float> Fetch(const std::string& tensor, bool is_traced = false) const {
      tensorflow::RunStepRequest request;
      request.set_session_handle(handle_);
      request.add_fetch(tensor);
      tensorflow::NamedTensorProto* one = request.add_feed();
      one->set_name("x:0");
      TFLEET_RETURN_IF_ERROR(TensorToProto(Tensor::Scalar(1.0f), one->mutable_tensor()));
      if (is_traced) request.mutable_options()->set_trace_level(tensorflow::RunOptions::FULL_TRACE);
      tensorflow::RunStepResponse response;
      TFLEET_RETURN_IF_ERROR(Call(&tensorflow::MasterService::Stub::RunStep, request, &response));
      EXPECT_EQ(is_traced, response.metadata().step_stats().dev_stats_size() > 0);
      TFLEET_ASSIGN_OR_RETURN(const Tensor value, TensorFromProto(response.tensor(0).tensor()));
      return value.scalar<float>();
    }

    Status Close() const {
      tensorflow::CloseSessionRequest request;
      request.set_session_handle(handle_);
      tensorflow::CloseSessionResponse response;
      return Call(&tensorflow::MasterService::Stub::CloseSession, request, &response);
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

  tensorflow::ConfigProto config_;
  std::string addresses_[2];
  std::unique_ptr<Server> servers_[2];
};

TEST_F(Pair, TakesStepsOfManyClientsOfBothMastersAtOnce) {
  constexpr int kThreadsPerClient = 2, kSteps = 15;
  const Client first(*this, 0), second(*this, 1);
  ASSERT_EQ(first.Fetch("init:0").status(), OkStatus());
  std::vector<std::thread> threads;
  for (const Client* client : {&first, &second}) {
    for (int t = 0; t < kThreadsPerClient; ++t) {
      threads.emplace_back([client, is_traced = t == 0] {
        float before = 0;
        for (int i = 0; i < kSteps; ++i) {
          const StatusOr<float> seen = client->Fetch("seen:0", is_traced);
          ASSERT_EQ(seen.status(), OkStatus());
          EXPECT_LT(*seen, before);
          before = *seen;
        }
      });
    }
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(first.Fetch("count:0").value(), 2.0f * kThreadsPerClient * kSteps);
  EXPECT_EQ(first.Close(), OkStatus());
  EXPECT_EQ(second.Close(), OkStatus());
}

TEST_F(Pair, OpensAndClosesSessionsWhileOthersRunSteps) {
  const Client steady(*this, 0);
  ASSERT_EQ(steady.Fetch("init:0").status(), OkStatus());
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([this, t] {
      for (int i = 0; i < 3; ++i) {
        const Client passing(*this, t);
        EXPECT_EQ(passing.Fetch("seen:0").status(), OkStatus());
        EXPECT_EQ(passing.Close(), OkStatus());
      }
    });
  }
  for (int i = 0; i < 20; ++i) EXPECT_EQ(steady.Fetch("seen:0").status(), OkStatus());
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(steady.Fetch("count:0").value(), 26.0f);
}

TEST_F(Pair, ClosingASessionCancelsItsStepsOnBothTasks) {
  const Client client(*this, 0);
  auto step = std::async(std::launch::async, [&] { return client.Fetch("taken:0").status(); });
  WaitUntilADequeueWaits();
  EXPECT_EQ(client.Close(), OkStatus());
  EXPECT_EQ(step.get().code(), absl::StatusCode::kCancelled);
}

TEST_F(Pair, AServerThatEndsFailsTheStepsThatNeedIt) {
  const Client client(*this, 0);
  auto step = std::async(std::launch::async, [&] { return client.Fetch("taken:0").status(); });
  WaitUntilADequeueWaits();
  servers_[1].reset();
  EXPECT_THAT(step.get().code(),
              AnyOf(Eq(absl::StatusCode::kUnavailable), Eq(absl::StatusCode::kAborted)));
  // The client is free to open another session at once.
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(client.Close(), OkStatus());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

}  // namespace
}  // namespace tensorfleet::rpc
