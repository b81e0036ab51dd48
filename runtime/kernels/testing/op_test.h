// A fixture for tests of kernels: a node's definition, its inputs, a run on a real CPU device with
// the real registries, and what came out.
//
//   using MatMulTest = OpTest;
//   TEST_F(MatMulTest, RefusesInnerDimensionsThatDiffer) {
//     EXPECT_THAT(Run("MatMul", {a, b}).status().message(), HasSubstr("Matrix size-incompatible"));
//   }
//   TEST_F(MatMulTest, TransposesItsInputs) {
//     ExpectClose(RunOne(OpNode("MatMul").Attr("transpose_a", true), {a, b}), expected);
//   }
//
// Attributes that give types and lengths are read off the inputs; every other one without a default
// must be set. State (variables, queues, containers) lives as long as the fixture.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/graph/attr.h"
#include "runtime/graph/graph.h"
#include "runtime/kernels/kernel.h"
#include "runtime/kernels/resource_manager.h"
#include "runtime/tensor/tensor.h"

namespace tensorfleet {

// The definition of the node under test.
class OpNode {
 public:
  OpNode(const char* op) : OpNode(std::string(op)) {}
  OpNode(std::string op) {
    def_.set_name("node");
    def_.set_op(std::move(op));
  }
  OpNode& Name(const std::string& name) {
    def_.set_name(name);
    return *this;
  }
  template <typename T>
  OpNode& Attr(absl::string_view name, const T& value) {
    SetAttr(&def_, name, value);
    return *this;
  }
  OpNode& Attr(absl::string_view name, const std::vector<float>& values) {
    auto* list = (*def_.mutable_attr())[std::string(name)].mutable_list();
    for (const float value : values) list->add_f(value);
    return *this;
  }
  const tensorflow::NodeDef& def() const { return def_; }

 private:
  tensorflow::NodeDef def_;
};

// An input: a value, or a variable by reference.
struct OpInput {
  OpInput(Tensor t) : tensor(std::move(t)) {}
  OpInput(ResourceRef<Variable> variable) : ref(std::move(variable)) {}
  Tensor tensor;
  ResourceRef<Variable> ref;
};

// What a run left in each output: a tensor, or for reference outputs the variable.
using OpOutputs = std::vector<EdgeValue>;

class OpTest : public ::testing::Test {
 protected:
  OpTest();
  ~OpTest() override;

  // A node with its kernel, to be run several times (stateful kernels keep their state).
  class Instance;
  // Errors: those of the schema, of shape inference, of choosing and of making the kernel.
  StatusOr<std::unique_ptr<Instance>> Make(const OpNode& node, const std::vector<OpInput>& inputs);
  // Asynchronous kernels are waited for, at most a minute.
  Status RunInstance(Instance& instance, std::vector<OpInput> inputs, OpOutputs* outputs);

  // Makes and runs once.
  StatusOr<std::vector<Tensor>> Run(const OpNode& node, std::vector<OpInput> inputs);
  // The first output; an error fails the test and gives an invalid tensor.
  Tensor RunOne(const OpNode& node, std::vector<OpInput> inputs);
  // The full form, for reference outputs.
  Status RunInto(const OpNode& node, std::vector<OpInput> inputs, OpOutputs* outputs);

  ResourceManager& resources();
  CancellationManager& cancellation();
  const StepContext& step() const;

 private:
  struct Environment;
  std::unique_ptr<Environment> env_;
};

class OpTest::Instance {
 public:
  ~Instance();
  const Kernel& kernel() const { return *kernel_; }
  const Node& node() const { return *node_; }

 private:
  friend class OpTest;
  Instance();
  std::unique_ptr<Graph> graph_;
  const Node* node_ = nullptr;
  std::unique_ptr<Kernel> kernel_;
};

// Same type, shape and elements, bit for bit; NaN equals NaN.
void ExpectSame(const Tensor& got, const Tensor& want);
// Same type and shape; floating and complex elements within `tolerance`, relative to values above 1
// and absolute below; other types exactly.
void ExpectClose(const Tensor& got, const Tensor& want, double tolerance = 1e-5);

}  // namespace tensorfleet
