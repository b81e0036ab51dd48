#include "runtime/client/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "runtime/client/ops.h"

namespace tensorfleet {
namespace {

using ::testing::HasSubstr;

// A scalar variable with an initializer.
struct VariableGraph {
  Scope root;
  Output variable = ops::VariableV2(root.Named("variable"), PartialShape({}), DType::kFloat);
  Output init = ops::Assign(root.Named("init"), variable, Const(root, 0.0f));
  Output increment = ops::AssignAdd(root.Named("increment"), variable, Const(root, 1.0f));
};

float Fetch(Session& session, const Scope& scope, const Output& fetch) {
  const auto values = session.Run(scope, {}, {fetch});
  EXPECT_TRUE(values.ok()) << values.status();
  return values.ok() ? (*values)[0].scalar<float>() : NAN;
}

TEST(Session, FeedsFetchesAndRunsTargets) {
  Scope root;
  const Output x = ops::Placeholder(root.Named("x"), DType::kFloat);
  const Output y = ops::Mul(root, x, Const(root, 2.0f));
  const auto session = *Session::Open("");
  const auto values = session->Run(root, {{x, Tensor::Vector<float>({1, 2})}}, {y, y});
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_EQ((*values)[1].ToString(), "float [2]: 2 4");
}

TEST(Session, NodesAddedLaterAreSentBeforeTheNextStep) {
  Scope root;
  const Output a = Const(root.Named("a"), 3.0f);
  const auto session = *Session::Open("");
  EXPECT_EQ(Fetch(*session, root, a), 3.0f);
  EXPECT_EQ(Fetch(*session, root, ops::Neg(root, a)), -3.0f);
}

TEST(Session, AnUninitializedReadNamesTheVariable) {
  VariableGraph graph;
  const auto session = *Session::Open("");
  const Status status = session->Run(graph.root, {}, {graph.variable}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("variable"));
}

TEST(Session, ATraceListsWhatRanWhere) {
  VariableGraph graph;
  const auto session = *Session::Open("");
  tensorflow::RunOptions options;
  options.set_trace_level(tensorflow::RunOptions::FULL_TRACE);
  tensorflow::RunMetadata trace;
  ASSERT_TRUE(session->Run(graph.root, {}, {graph.init}, {}, options, &trace).ok());
  ASSERT_EQ(trace.step_stats().dev_stats_size(), 1);
  const auto& device = trace.step_stats().dev_stats(0);
  EXPECT_EQ(device.device(), "/job:localhost/replica:0/task:0/device:CPU:0");
  std::vector<std::string> names;
  for (const auto& node : device.node_stats()) names.push_back(node.node_name());
  EXPECT_THAT(names, testing::IsSupersetOf({"_SOURCE", "variable", "init"}));
}

TEST(Session, ListsTheDeviceOfTheProcess) {
  Scope root;
  const auto session = *Session::Open("");
  Fetch(*session, root, Const(root, 1.0f));
  EXPECT_EQ((*session->ListDevices())[0].name(), "/job:localhost/replica:0/task:0/device:CPU:0");
}

TEST(Session, AClosedSessionRefusesSteps) {
  Scope root;
  const Output a = Const(root, 1.0f);
  const auto session = *Session::Open("");
  Fetch(*session, root, a);
  ASSERT_TRUE(session->Close().ok());
  EXPECT_EQ(session->Run(root, {}, {a}).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(Session, RefusesTargetsThatItCannotRead) {
  for (const char* target : {"http://x", "localhost:2222", "grpc://"}) {
    EXPECT_THAT(std::string(Session::Open(target).status().message()), HasSubstr(target));
  }
}

}  // namespace
}  // namespace tensorfleet
