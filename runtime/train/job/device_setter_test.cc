#include "runtime/train/job/device_setter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tensorfleet::train {
namespace {

TEST(ReplicaDeviceSetter, TakesTheTasksInTurn) {
  ReplicaDeviceSetter setter({.ps_tasks = 2});
  EXPECT_EQ(setter.Next(Shape({100}), DType::kFloat), "/job:ps/task:0");
  EXPECT_EQ(setter.Next(Shape({1}), DType::kFloat), "/job:ps/task:1");
  EXPECT_EQ(setter.Next(Shape({1}), DType::kFloat), "/job:ps/task:0");
}

TEST(ReplicaDeviceSetter, OrTheTaskWithTheFewestBytes) {
  ReplicaDeviceSetter setter(
      {.ps_tasks = 2, .ps_job = "store", .strategy = ReplicaDeviceSetter::Strategy::kByBytes});
  EXPECT_EQ(setter.Next(Shape({100}), DType::kFloat), "/job:store/task:0");
  EXPECT_EQ(setter.Next(Shape({1}), DType::kDouble), "/job:store/task:1");
  EXPECT_EQ(setter.Next(Shape({40}), DType::kFloat), "/job:store/task:1");
  EXPECT_EQ(setter.Next(Shape({1}), DType::kFloat), "/job:store/task:1");
}

TEST(ReplicaDeviceSetter, PlacesVariablesAndTheirSlotsWithThem) {
  ReplicaDeviceSetter setter({.ps_tasks = 2});
  Variables variables({.device = setter.ForVariables()});
  Scope root;
  const Scope worker = root.OnDevice("/job:worker/task:0");
  const Variable a = variables.Make(worker.Named("a"), Shape(), Zeros());
  const Variable b = variables.Make(worker.Named("b"), Shape(), Zeros());
  const Variable slot = variables.MakeSlot(worker, b, "Momentum", Shape(), DType::kFloat, Zeros());
  const Variable mine = variables.Make(worker.Named("c"), Shape(), Zeros(), {.local = true});
  EXPECT_EQ(a.handle.node()->requested_device(), "/job:ps/task:0");
  EXPECT_EQ(b.handle.node()->requested_device(), "/job:ps/task:1");
  EXPECT_EQ(b.initializer.node()->requested_device(), "/job:ps/task:1");
  EXPECT_EQ(slot.handle.node()->requested_device(), "/job:ps/task:1");
  EXPECT_EQ(mine.handle.node()->requested_device(), "/job:worker/task:0");
}

TEST(ReplicaDeviceSetter, LeavesVariablesWhereTheyAreWithoutParameterServers) {
  ReplicaDeviceSetter setter({.ps_tasks = 0});
  Variables variables({.device = setter.ForVariables()});
  Scope root;
  const Variable a =
      variables.Make(root.OnDevice("/job:worker/task:0").Named("a"), Shape(), Zeros());
  EXPECT_EQ(a.handle.node()->requested_device(), "/job:worker/task:0");
}

}  // namespace
}  // namespace tensorfleet::train
