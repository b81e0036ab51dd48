// What tests of pruning, placing and partitioning share: a few ops of their own, kernels that are
// never run, and a fixture that builds graphs from one line per node.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "runtime/graph/graph.h"
#include "runtime/kernels/kernel_registry.h"
#include "runtime/place/placement/placer.h"

namespace tensorfleet::testing_place {

// Const, Placeholder, Neg, Add, Shape, VariableV2, Assign, VarHandleOp, ReadVariableOp,
// AssignVariableOp, Queue and TensorArray with Push, control flow, transfer and function ops. Type
// attributes default to float.
const OpRegistry& Ops();
// For all of them on CPU; for most on GPU. "CpuOnly" and "GpuOnly" are ops of one input for one
// type.
const KernelRegistry& Kernels();

std::vector<DeviceAttributes> Devices(const std::vector<std::string>& names);
// "/job:a/replica:0/task:1/device:CPU:0" from "a1".
std::string Cpu(const std::string& job_and_task);
std::string Gpu(const std::string& job_and_task);

class PlaceTest : public ::testing::Test {
 protected:
  // Inputs as in a NodeDef: "a", "a:1", "^a".
  Node* Add(const std::string& name, const std::string& op,
            const std::vector<std::string>& inputs = {}, const std::string& device = "");
  // Puts `node` into the colocation class of `leader`.
  void Colocate(Node* node, const std::string& leader);
  // A scalar float Const.
  Node* AddConst(const std::string& name, float value, const std::string& device = "");

  std::unique_ptr<Graph> graph_ = std::make_unique<Graph>(&Ops(), nullptr);
};

// "name = Op(in0, in1:1, ^control) @ device", sorted: what a piece of graph looks like.
std::vector<std::string> Describe(const Graph& graph);

}  // namespace tensorfleet::testing_place
