// A fixture that runs one node twice: by its kernel for the CPU, and as a cluster of its own that a
// plug-in has compiled. Variables of the node are given by their values.
#pragma once

#include <string>
#include <vector>

#include "runtime/kernels/testing/op_test.h"
#include "runtime/pjrt/client.h"
#include "runtime/pjrt/testing/test_plugin.h"

namespace tensorfleet::pjrt {

// A node, the values of the variables that are its first inputs, and its other inputs.
struct NodeCase {
  NodeCase(OpNode n, std::vector<Tensor> in, double close = 2e-5)
      : node(std::move(n)), inputs(std::move(in)), tolerance(close) {}
  NodeCase(OpNode n, std::vector<Tensor> state, std::vector<Tensor> in, double close)
      : node(std::move(n)), variables(std::move(state)), inputs(std::move(in)), tolerance(close) {}
  OpNode node;
  std::vector<Tensor> variables, inputs;
  double tolerance;
};

// What a run gave: results (none for references), and the variables' values afterwards.
struct NodeRun {
  std::vector<Tensor> results, variables;
  bool is_refused = false;  // of a compiled one: its values are for the host's kernels
};

// The parameter counts the plug-ins of TestPlugins().
class CompiledTest : public OpTest, public ::testing::WithParamInterface<int> {
 protected:
  // Skips the test where there is no plug-in.
  void SetUp() override;
  const Client& client() const { return *client_; }

  // Errors: those of making and of running the kernel.
  StatusOr<NodeRun> ByKernel(const NodeCase& c);
  // Errors: those of lowering and compiling.
  StatusOr<NodeRun> Compiled(const NodeCase& c);
  // The body of a cluster, compiled and run: `variables` and `inputs` are its arguments in order.
  // Errors: those of lowering and compiling.
  StatusOr<NodeRun> CompiledCluster(const tensorflow::GraphDef& body,
                                    const std::vector<DType>& argument_types,
                                    const std::vector<DType>& result_types,
                                    const std::vector<Tensor>& variables,
                                    const std::vector<Tensor>& inputs);
  // Both give the same.
  void ExpectSameAsKernel(const NodeCase& c);

 private:
  StatusOr<std::vector<OpInput>> InputsOf(const NodeCase& c,
                                          std::vector<ResourceRef<Variable>>* variables);
  const Client* client_ = nullptr;
  int next_variable_ = 0;
};

}  // namespace tensorfleet::pjrt
