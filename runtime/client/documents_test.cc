// What TensorFlow's own documents show of distributed programs, as C++ programs: a client's graphs
// on servers of a cluster. (e2e/cases/tf_client_cases.py has the same in Python; cluster
// specifications are read and written in runtime/session/cluster/cluster_spec_test.cc.)

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <thread>

#include "runtime/client/gradients.h"
#include "runtime/client/ops.h"
#include "runtime/client/session.h"
#include "runtime/client/testing/cluster.h"

namespace tensorfleet {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;
using testing_client::TestCluster;

std::vector<Tensor> RunStep(Session& session, const Scope& scope,
                            const std::vector<Output>& fetches,
                            const std::vector<Operation>& targets = {}) {
  auto values = session.Run(scope, {}, fetches, targets);
  EXPECT_TRUE(values.ok()) << values.status();
  return values.ok() ? *std::move(values) : std::vector<Tensor>();
}
float Fetch(Session& session, const Scope& scope, const Output& fetch) {
  const std::vector<Tensor> values = RunStep(session, scope, {fetch});
  return values.empty() ? NAN : values[0].scalar<float>();
}

// Names of what ran, by device.
std::map<std::string, std::vector<std::string>> Trace(Session& session, const Scope& scope,
                                                      const std::vector<Output>& fetches,
                                                      const std::vector<Operation>& targets = {}) {
  tensorflow::RunOptions options;
  options.set_trace_level(tensorflow::RunOptions::FULL_TRACE);
  tensorflow::RunMetadata metadata;
  const Status status = session.Run(scope, {}, fetches, targets, options, &metadata).status();
  EXPECT_TRUE(status.ok()) << status;
  std::map<std::string, std::vector<std::string>> names;
  for (const auto& device : metadata.step_stats().dev_stats()) {
    for (const auto& node : device.node_stats()) names[device.device()].push_back(node.node_name());
  }
  return names;
}
std::string Cpu(const std::string& job, int task) {
  return absl::StrCat("/job:", job, "/replica:0/task:", task, "/device:CPU:0");
}

// The documents' `var`: a scalar that begins at 0.
struct Counter {
  explicit Counter(const Scope& scope, const std::string& name = "var")
      : initial(Const(scope.Named(name + "/initial_value"), 0.0f)),
        var(ops::VariableV2(scope.Named(name), PartialShape({}), DType::kFloat)),
        init(ops::Assign(scope.Named(name + "/Assign"), var, initial)),
        read(ops::Identity(scope.Named(name + "/read"), var)),
        increment(ops::AssignAdd(scope.Named(name + "/add"), var, Const(scope, 1.0f))) {}
  Output initial, var, init, read, increment;
};

// --- document 000 ---

TEST(Documents, RandomMatricesCrossFromOneTaskToAnother) {
  TestCluster cluster({{"local", 2}});
  Scope root;
  const Scope first = root.OnDevice("/job:local/task:0"),
              second = root.OnDevice("/job:local/task:1");
  const Output shape = Const(first, Tensor::Vector<int32_t>({25, 25}));
  std::vector<Output> sums;
  for (int i = 0; i < 2; ++i) {
    const Output matrix = ops::RandomStandardNormal(first, shape, DType::kFloat);
    sums.push_back(ops::Sum(second, matrix, Const(second, Tensor::Vector<int32_t>({0, 1}))));
  }
  const Output total = ops::AddN(second.Named("total"), sums);
  const auto session = cluster.Open("local", 1);
  constexpr int kSteps = 300;
  double mean = 0, square = 0;
  for (int i = 0; i < kSteps; ++i) {
    const double value = Fetch(*session, root, total);
    mean += value / kSteps;
    square += value * value / kSteps;
  }
  const double deviation = std::sqrt(1250.0);  // of 1,250 numbers whose own is 1
  EXPECT_NEAR(mean, 0, 5 * deviation / std::sqrt(kSteps));
  EXPECT_NEAR(std::sqrt(square - mean * mean), deviation, 0.2 * deviation);
  const auto ran = Trace(*session, root, {total});
  EXPECT_THAT(ran.at(Cpu("local", 0)), Contains("RandomStandardNormal"));
  EXPECT_THAT(ran.at(Cpu("local", 1)), Contains("total"));
}

// --- document 001 ---

TEST(Documents, TwoWorkersMultiplyConstantsOfTheParameterServer) {
  TestCluster cluster({{"ps", 1}, {"worker", 2}});
  for (const auto& [worker, own, product] :
       {std::tuple(0, 0.0f, 12.0f), std::tuple(1, 10.0f, 40.0f)}) {
    Scope root;
    const Scope ps = root.OnDevice("/job:ps/task:0");
    const Output a = worker == 0 ? Const(ps, 3.0f) : Const(root, own), b = Const(ps, 4.0f);
    const auto session = cluster.Open("worker", worker);
    RunStep(*session, root, {}, {Group(root.Named("init"), {})});
    EXPECT_EQ(Fetch(*session, root, ops::Mul(root, a, b)), product);
  }
}

// --- document 002 ---

TEST(Documents, AModelOnAParameterServerIsTrainedByAWorker) {
  TestCluster cluster({{"ps", 2}, {"worker", 2}});
  Scope root;
  const Scope ps = root.OnDevice("/job:ps/task:1"), worker = root.OnDevice("/job:worker/task:1");
  std::vector<float> xs, ys;
  for (int i = 0; i < 64; ++i) {
    const float x = static_cast<float>(i) / 64, y = static_cast<float>(i % 8) / 8;
    xs.insert(xs.end(), {x, y});
    ys.push_back(0.5f * x + 0.25f * y + 0.1f);
  }
  const Output x = Const(worker, Tensor::Vector<float>(xs).Reshaped(Shape({64, 2})));
  const Output y = Const(worker, Tensor::Vector<float>(ys).Reshaped(Shape({64, 1})));
  const Output w = ops::VariableV2(ps.Named("w"), PartialShape({2, 1}), DType::kFloat);
  const Output b = ops::VariableV2(ps.Named("b"), PartialShape({1}), DType::kFloat);
  const Output start = Const(ps, Tensor::Vector<float>({0.3f, 0.3f}).Reshaped(Shape({2, 1})));
  const Operation init =
      Group(ps.Named("init"), {ops::Assign(ps, w, start).op(),
                               ops::Assign(ps, b, Const(ps, Tensor::Vector<float>({0.3f}))).op()});
  const Output layer = ops::Relu(worker.Named("layer"),
                                 ops::Add(worker, ops::MatMul(worker.Named("product"), x, w), b));
  const Output loss =
      ops::Mean(worker.Named("loss"), ops::Square(worker, ops::Sub(worker, layer, y)),
                Const(worker, Tensor::Vector<int32_t>({0, 1})));
  const auto gradients = AddSymbolicGradients(worker, {loss}, {w, b});
  const Output rate = Const(ps, 0.2f);
  const Operation train =
      Group(worker.Named("train"),
            {ops::ApplyGradientDescent(ps.Named("w/step"), w, rate, gradients[0].dense()).op(),
             ops::ApplyGradientDescent(ps.Named("b/step"), b, rate, gradients[1].dense()).op()});
  const auto session = cluster.Open("worker", 1);
  RunStep(*session, root, {}, {init});
  const float before = Fetch(*session, root, loss);
  for (int step = 0; step < 100; ++step) RunStep(*session, root, {}, {train});
  EXPECT_LT(Fetch(*session, root, loss), before / 5);
  const auto ran = Trace(*session, root, {}, {train});
  EXPECT_THAT(ran.at(Cpu("ps", 1)), AllOf(Contains("w"), Contains("w/step"), Contains("b/step")));
  EXPECT_THAT(ran.at(Cpu("worker", 1)), AllOf(Contains("product"), Not(Contains("w/step"))));
  EXPECT_FALSE(ran.contains(Cpu("ps", 0)));
  EXPECT_FALSE(ran.contains(Cpu("worker", 0)));
}

// --- document 003 ---

TEST(Documents, TheFirstServerWaitsForTheSecond) {
  TestCluster cluster({{"local", 2}}, /*start=*/false);
  cluster.Start("local", 0);
  Scope root;
  const Operation nothing = ops::NoOp(root);
  const auto session = cluster.Open("local", 0);
  std::atomic<bool> second_is_up{false}, ran_before{false};
  std::thread client([&] {
    RunStep(*session, root, {}, {nothing});
    ran_before = !second_is_up;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  second_is_up = true;
  cluster.Start("local", 1);
  client.join();
  EXPECT_FALSE(ran_before);
}

TEST(Documents, PlainSessionsHaveVariablesOfTheirOwn) {
  Scope root;
  const Counter counter(root);
  const auto first = *Session::Open(""), second = *Session::Open("");
  Fetch(*first, root, counter.init);
  Fetch(*second, root, counter.init);
  Fetch(*first, root, counter.increment);
  EXPECT_EQ(Fetch(*first, root, counter.var), 1.0f);
  EXPECT_EQ(Fetch(*second, root, counter.var), 0.0f);
}

TEST(Documents, ServersOfOneClusterShareVariables) {
  TestCluster cluster({{"local", 2}});
  Scope root;
  const Counter counter(root);
  const auto first = cluster.Open("local", 0), second = cluster.Open("local", 1);
  Fetch(*first, root, counter.init);
  Fetch(*second, root, counter.init);
  Fetch(*first, root, counter.increment);
  EXPECT_EQ(Fetch(*first, root, counter.var), 1.0f);
  EXPECT_EQ(Fetch(*second, root, counter.var), 1.0f);
}

// --- document 004 ---

TEST(Documents, ALocalServerGreets) {
  TestCluster cluster({{"local", 1}});
  Scope root;
  const Output hello = Const(root, "Hello, Distributed TensorFlow!");
  const auto session = cluster.Open("local");
  EXPECT_EQ(RunStep(*session, root, {hello}).at(0).scalar<std::string>(),
            "Hello, Distributed TensorFlow!");
}

TEST(Documents, ATraceShowsWhereVariablesAre) {
  TestCluster cluster({{"local", 2}});
  Scope root;
  const Counter unplaced(root, "var"), on_first(root.OnDevice("/job:local/task:0"), "var1"),
      on_second(root.OnDevice("/job:local/task:1"), "var2");
  const auto sessions = {cluster.Open("local", 0), cluster.Open("local", 1)};
  RunStep(**sessions.begin(), root, {},
          {unplaced.init.op(), on_first.init.op(), on_second.init.op()});
  for (const auto& session : sessions) {
    const auto ran = Trace(*session, root, {unplaced.var, on_first.var, on_second.var});
    EXPECT_THAT(ran.at(Cpu("local", 0)), AllOf(Contains("_SOURCE"), Contains("var"),
                                               Contains("var1"), Not(Contains("var2"))));
    EXPECT_THAT(ran.at(Cpu("local", 1)),
                AllOf(Contains("_SOURCE"), Contains("var2"), Not(Contains("var"))));
  }
}

TEST(Documents, AGraphListsItsOperations) {
  Scope root;
  EXPECT_TRUE(root.graph().nodes().empty());
  const Output initial = Const(root.Named("var/initial_value"), 0.0f);
  const Output var = ops::VariableV2(root.Named("var"), PartialShape({}), DType::kFloat);
  ops::Assign(root.Named("var/Assign"), var, initial);
  ops::Identity(root.Named("var/read"), var);
  std::vector<std::string> operations;
  for (const Node* node : root.graph().nodes())
    operations.push_back(absl::StrCat(node->name(), " ", node->op()));
  EXPECT_THAT(operations, ElementsAre("var/initial_value Const", "var VariableV2",
                                      "var/Assign Assign", "var/read Identity"));
}

TEST(Documents, GraphsOfTwoClientsShareAVariableByItsName) {
  TestCluster cluster({{"local", 2}});
  Scope first_graph, second_graph;
  const Counter first(first_graph);
  const Output one = ops::Assign(first_graph, first.var, Const(first_graph, 1.0f));
  const auto first_session = cluster.Open("local", 0), second_session = cluster.Open("local", 1);
  Fetch(*first_session, first_graph, one);
  EXPECT_EQ(Fetch(*second_session, second_graph, Counter(second_graph).var), 1.0f);
}

// Until another client has run the initializer.
void WaitUntilInitialized(Session& session, const Scope& scope, const Output& is_initialized) {
  for (int i = 0; i < 2000; ++i) {
    const auto values = RunStep(session, scope, {is_initialized});
    if (values.empty() || values[0].scalar<bool>()) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  ADD_FAILURE() << "nobody initialized the variable";
}

TEST(Documents, AClientWaitsUntilAnotherInitializes) {
  TestCluster cluster({{"local", 2}});
  Scope waiting, other;
  const Counter mine(waiting), theirs(other);
  const Output is_initialized = ops::IsVariableInitialized(waiting, mine.var);
  const auto session = cluster.Open("local", 0);
  EXPECT_FALSE(RunStep(*session, waiting, {is_initialized}).at(0).scalar<bool>());
  std::thread initializer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    Fetch(*cluster.Open("local", 1), other, theirs.init);
  });
  WaitUntilInitialized(*session, waiting, is_initialized);
  EXPECT_EQ(Fetch(*session, waiting, mine.var), 0.0f);
  initializer.join();
}

TEST(Documents, TwoWorkersCountOnAParameterServer) {
  TestCluster cluster({{"ps", 1}, {"worker", 2}});
  const auto worker = [&](int task) {
    Scope root;
    const Counter counter(root.OnDevice("/job:ps/task:0"));
    const Output is_initialized = ops::IsVariableInitialized(root, counter.var);
    const auto session = cluster.Open("worker", task);
    WaitUntilInitialized(*session, root, is_initialized);
    for (int i = 0; i < 5; ++i) Fetch(*session, root, counter.increment);
  };
  std::thread first(worker, 0), second(worker, 1);
  Scope root;
  const Counter counter(root.OnDevice("/job:ps/task:0"));
  const auto session = cluster.Open("ps");
  Fetch(*session, root, counter.init);
  float seen = 0;
  for (int i = 0; i < 50; ++i) {
    const float now = Fetch(*session, root, counter.var);
    EXPECT_GE(now, seen);
    seen = now;
  }
  first.join();
  second.join();
  EXPECT_EQ(Fetch(*session, root, counter.var), 10.0f);
}

// y = 2 x on eight points; one half for each of two workers.
struct Replica {
  Replica(const Scope& root, const Output& w, int worker) {
    const Scope here = root.OnDevice(absl::StrCat("/job:worker/task:", worker));
    std::vector<float> xs, ys;
    for (int i = 0; i < 4; ++i) {
      xs.push_back(static_cast<float>(4 * worker + i) / 8);
      ys.push_back(2 * xs.back());
    }
    const Output error = ops::Sub(here, ops::Mul(here, Const(here, Tensor::Vector<float>(xs)), w),
                                  Const(here, Tensor::Vector<float>(ys)));
    loss = ops::Mean(here, ops::Square(here, error), Const(here, Tensor::Vector<int32_t>({0})));
    gradient = AddSymbolicGradients(here, {loss}, {w})[0].dense();
  }
  Output loss, gradient;
};

TEST(Documents, ReplicationInOneGraphAndBetweenGraphsAgree) {
  constexpr int kSteps = 300;
  TestCluster cluster({{"ps", 1}, {"worker", 2}});
  Scope in_graph;  // one client, a replica on each worker
  const Scope ps = in_graph.OnDevice("/job:ps/task:0");
  const Counter w(ps, "w");
  const Replica left(in_graph, w.var, 0), right(in_graph, w.var, 1);
  const Output mean = ops::Mul(ps, ops::Add(ps, left.gradient, right.gradient), Const(ps, 0.5f));
  const Output step = ops::ApplyGradientDescent(ps, w.var, Const(ps, 0.2f), mean);
  const auto session = cluster.Open("worker", 0);
  Fetch(*session, in_graph, w.init);
  for (int i = 0; i < kSteps; ++i) Fetch(*session, in_graph, step);
  const float together = Fetch(*session, in_graph, ops::Add(ps, left.loss, right.loss));

  struct Client {  // each with a graph of its own
    Scope graph;
    Output step, init;
    std::unique_ptr<Session> session;
  };
  std::vector<Client> clients(2);
  for (int i = 0; i < 2; ++i) {
    Client& client = clients[i];
    const Scope there = client.graph.OnDevice("/job:ps/task:0");
    const Counter shared(there, "between");
    const Replica replica(client.graph, shared.var, i);
    client.init = shared.init;
    client.step =
        ops::ApplyGradientDescent(there, shared.var, Const(there, 0.1f), replica.gradient);
    client.session = cluster.Open("worker", i);
  }
  Fetch(*clients[0].session, clients[0].graph, clients[0].init);
  for (int i = 0; i < kSteps; ++i) {
    for (Client& client : clients) Fetch(*client.session, client.graph, client.step);
  }
  Scope check;
  const Counter trained(check.OnDevice("/job:ps/task:0"), "between");
  const Replica first(check, trained.var, 0), second(check, trained.var, 1);
  const float between = Fetch(*clients[0].session, clients[0].graph,
                              clients[0].step);  // one step more changes nothing
  EXPECT_NEAR(between, 2.0f, 1e-3f);
  const auto checker = cluster.Open("worker", 1);
  EXPECT_NEAR(Fetch(*checker, check, ops::Add(check, first.loss, second.loss)), together, 1e-4f);
}

}  // namespace
}  // namespace tensorfleet
