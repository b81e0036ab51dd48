// One graph with a few steps: what the fuzzer runs. A case is made of the run's seed and its number
// alone.
#pragma once

#include <string>
#include <vector>

#include "runtime/opfuzz/draft.h"
#include "runtime/opfuzz/node_plan.h"

namespace tensorfleet::opfuzz {

struct Case {
  uint64_t number = 0;
  // Of an op that clients may not name: registered with the worker itself, as a master does.
  bool is_internal = false;
  std::string op;                             // the one under test; empty for a graph of many
  tensorflow::GraphDef graph;                 // the node under test is called "op"
  std::vector<std::string> first;             // targets that fill the state, run before the steps
  std::vector<std::string> fetches, targets;  // of each step
  std::vector<std::vector<Feed>> steps;       // the feeds of each
};

// The op of a case of one node: all of `ops` in turns.
inline const std::string& OpOfCase(const std::vector<std::string>& ops, uint64_t number) {
  return ops[(number - number / 16) % ops.size()];
}

class CaseMaker {
 public:
  // Cases of these ops only, in turns.
  CaseMaker(uint64_t seed, std::vector<std::string> ops, const KernelRegistry* kernels);

  // `device`: where nodes of internal ops are.
  Case MakeOp(uint64_t number, const std::string& device);
  // Many nodes that take each other's outputs, on the devices of `tasks`.
  Case MakeGraph(uint64_t number, const std::vector<std::string>& tasks);

 private:
  struct Endpoint {
    std::string name;
    DType type;
  };
  // Adds the node and what it needs, taking some inputs from `others`; appends its outputs to
  // `made`.
  void AddNode(Random& random, const OpSchema& schema, NodePlan plan, const std::string& name,
               int feeds_percent, const std::vector<Endpoint>& others, Draft* draft,
               std::vector<Endpoint>* made);
  void AddSteps(Random& random, Draft* draft, Case* made);

  const uint64_t seed_;
  const std::vector<std::string> ops_;
  NodePlanner planner_;
};

}  // namespace tensorfleet::opfuzz
