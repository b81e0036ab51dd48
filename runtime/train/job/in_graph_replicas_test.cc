// In-graph replication over servers of this process.
#include "runtime/train/job/in_graph_replicas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/client/ops.h"
#include "runtime/client/testing/cluster.h"
#include "runtime/train/optimizer/optimizers.h"
#include "runtime/train/testing/job.h"

namespace tensorfleet::train {
namespace {

using ::testing::HasSubstr;

// Rows of a table, picked by ids and weighed by w, are fitted to targets: a dense gradient and one
// of rows.
struct Model {
  explicit Model(const std::string& state_device) {
    const Scope there = root.OnDevice(state_device);
    table = variables.Make(there.Named("table"), Shape({5, 2}), Constant(0.5));
    w = variables.Make(there.Named("w"), Shape({2}), Ones());
    ids = ops::Placeholder(root, DType::kInt32);
    targets = ops::Placeholder(root, DType::kFloat);
  }
  Output Loss(const Scope& scope, const Output& ids, const Output& targets) {
    const Output rows =
        ops::ResourceGather(AtVariable(scope, table), table.handle, ids, DType::kFloat);
    const Output off = ops::Sub(scope, ops::Mul(scope, rows, w.value), targets);
    return ops::Mean(scope, ops::Square(scope, off), Const(scope, Tensor::Vector<int32_t>({0, 1})));
  }
  // The table and w after some steps on a session of `target`.
  std::vector<std::string> Train(const std::string& target, const Operation& train) {
    const Operation init = variables.InitOp(root);
    if (!root.status().ok()) return {root.status().ToString()};
    const auto session = *Session::Open(target);
    const Session::Feeds feeds = {
        {ids, Tensor::Vector<int32_t>({0, 2, 2, 4})},
        {targets, Tensor::Of<float>(Shape({4, 2}), {1, 2, 3, 4, 5, 6, 7, 8})}};
    Status status = session->Run(root, {}, {}, {init}).status();
    for (int i = 0; i < 5 && status.ok(); ++i) {
      status = session->Run(root, feeds, {}, {train}).status();
    }
    if (!status.ok()) return {status.ToString()};
    std::vector<std::string> values;
    const std::vector<Tensor> held = *session->Run(root, {}, {table.value, w.value});
    for (const Tensor& value : held) values.push_back(value.ToString());
    return values;
  }

  Scope root;
  Variables variables;
  GradientDescent descent{0.25};
  Variable table, w;
  Output ids, targets;
};

TEST(InGraphReplicas, TrainAsOneWouldOnTheWholeBatch) {
  Model one("");
  const Operation train =
      one.descent.Minimize(one.root, one.Loss(one.root, one.ids, one.targets), one.variables);
  const std::vector<std::string> expected = one.Train("", train);
  ASSERT_EQ(expected.size(), 2) << expected[0];

  const ClusterSpec cluster = testing_client::LocalCluster({{"ps", 3}});
  TaskThread ps0(cluster, "ps", 0, {}, {}), ps1(cluster, "ps", 1, {}, {}),
      ps2(cluster, "ps", 2, {}, {});
  Model both("/job:ps/task:0");
  const auto ids = SplitBatch(both.root, both.ids, 2),
             targets = SplitBatch(both.root, both.targets, 2);
  const Replicas replicas = MinimizeInGraph(
      both.root, {"/job:ps/task:1", "/job:ps/task:2"},
      [&](const Scope& scope, int i) {
        const Output loss = both.Loss(scope, ids[i], targets[i]);
        EXPECT_EQ(loss.node()->def().device(), absl::StrCat("/job:ps/task:", i + 1));
        return loss;
      },
      both.descent, both.variables);
  // Sums of halves: the products are by powers of two, so nothing is rounded differently.
  EXPECT_EQ(both.Train(absl::StrCat("grpc://", *cluster.Address("ps", 0)), replicas.train),
            expected);
}

TEST(InGraphReplicas, ShareTheirVariables) {
  Model model("");
  MinimizeInGraph(
      model.root, {"/device:CPU:0"},
      [&](const Scope& scope, int) {
        model.variables.Make(scope.Named("own"), Shape({2}), Ones());
        return model.Loss(scope, model.ids, model.targets);
      },
      model.descent, model.variables);
  EXPECT_THAT(std::string(model.root.status().message()), HasSubstr("'tower_0/own'"));
}

TEST(InGraphReplicas, NeedADevice) {
  Model model("");
  MinimizeInGraph(model.root, {}, nullptr, model.descent, model.variables);
  EXPECT_EQ(model.root.status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tensorfleet::train
