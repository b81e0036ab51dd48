// What does it cost to compile a graph, and does that grow with its size only? Graphs of the shapes
// at which a compiler turns quadratic go through every stage between a client's GraphDef and the
// executor, at several sizes: nanoseconds per node by stage, and how much more a node costs in the
// largest graph than in the smallest (1 is linear).
//   compile_bench [NODES...]        sizes; 10,000, 100,000 and 1,000,000 unless given
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/base/thread_pool.h"
#include "runtime/device/device.h"
#include "runtime/execute/executor.h"
#include "runtime/execute/kernel_cache.h"
#include "runtime/graph/attr.h"
#include "runtime/graph/graph_import.h"
#include "runtime/place/partition.h"
#include "runtime/place/placement/placer.h"
#include "runtime/place/prune.h"
#include "runtime/place/rewrite.h"
#include "runtime/place/testing/place_fixture.h"

namespace tensorfleet {
namespace {

constexpr char kPs[] = "/job:ps/replica:0/task:0", kWorker[] = "/job:worker/replica:0/task:0";

class GraphText {
 public:
  tensorflow::NodeDef* Add(const std::string& name, const std::string& op,
                           const std::vector<std::string>& inputs) {
    tensorflow::NodeDef* node = def_.add_node();
    node->set_name(name);
    node->set_op(op);
    for (const std::string& input : inputs) node->add_input(input);
    return node;
  }
  void AddFloat(const std::string& name, const std::string& op,
                const std::vector<std::string>& inputs, const std::string& device = "") {
    tensorflow::NodeDef* node = Add(name, op, inputs);
    SetAttr(node, "T", DType::kFloat);
    node->set_device(device);
  }
  void AddPlaceholder(const std::string& name) {
    SetAttr(Add(name, "Placeholder", {}), "dtype", DType::kFloat);
  }
  void AddVariable(const std::string& name) {
    tensorflow::NodeDef* node = Add(name, "VariableV2", {});
    SetAttr(node, "dtype", DType::kFloat);
  }
  void AddConst(const std::string& name) {
    tensorflow::NodeDef* node = Add(name, "Const", {});
    SetAttr(node, "dtype", DType::kFloat);
    SetAttr(node, "value", Tensor::Scalar(1.0f));
  }
  tensorflow::GraphDef def_;
};

using Make = std::function<tensorflow::GraphDef(int nodes)>;

// Half on each of two tasks.
tensorflow::GraphDef Chain(int nodes) {
  GraphText g;
  g.AddPlaceholder("x");
  std::string last = "x";
  for (int i = 0; i < nodes; ++i) {
    const std::string name = absl::StrCat("n", i);
    g.AddFloat(name, "Neg", {last}, i < nodes / 2 ? kPs : kWorker);
    last = name;
  }
  g.Add("end", "NoOp", {absl::StrCat("^", last)});
  return std::move(g.def_);
}

tensorflow::GraphDef Identities(int nodes) {
  GraphText g;
  g.AddPlaceholder("x");
  std::string last = "x";
  for (int i = 0; i < nodes; ++i) {
    const std::string name = absl::StrCat("n", i);
    g.AddFloat(name, "Identity", {last});
    last = name;
  }
  g.Add("end", "NoOp", {absl::StrCat("^", last)});
  return std::move(g.def_);
}

// One value with many users, which one node waits for.
tensorflow::GraphDef Hub(int nodes) {
  GraphText g;
  g.AddPlaceholder("x");
  g.AddFloat("hub", "Neg", {"x"}, kPs);
  std::vector<std::string> users;
  for (int i = 0; i < nodes; ++i) {
    const std::string name = absl::StrCat("n", i);
    // With an effect, so that no pass takes it away.
    g.Add(name, "Effect", {"hub"})->set_device(i % 3 == 0 ? kPs : kWorker);
    users.push_back("^" + name);
  }
  g.Add("end", "NoOp", users);
  return std::move(g.def_);
}

// Many updates of one variable, each after the one before, by its reference.
tensorflow::GraphDef Updates(int nodes) {
  GraphText g;
  g.AddVariable("v");
  g.AddConst("one");
  std::string last = "v";
  for (int i = 0; i < nodes; ++i) {
    const std::string name = absl::StrCat("n", i);
    g.AddFloat(name, "AssignAdd", {last, "one"});
    last = name;
  }
  g.Add("end", "NoOp", {absl::StrCat("^", last)});
  return std::move(g.def_);
}

// Many reads and updates of one variable, each read after an update and before the next.
tensorflow::GraphDef ReadsAndUpdates(int nodes) {
  GraphText g;
  g.AddVariable("v");
  std::string after = "^v";
  std::vector<std::string> reads;
  g.AddConst("one");
  for (int i = 0; i < nodes / 2; ++i) {
    const std::string read = absl::StrCat("read", i), update = absl::StrCat("n", i);
    g.AddFloat(read, "Identity", {"v", after});
    g.AddFloat(update, "AssignAdd", {"v", "one", "^" + read});
    after = "^" + update;
  }
  g.Add("end", "NoOp", {after});
  return std::move(g.def_);
}

tensorflow::GraphDef Constants(int nodes) {
  GraphText g;
  g.AddPlaceholder("x");
  std::vector<std::string> users;
  for (int i = 0; i < nodes / 2; ++i) {
    const std::string constant = absl::StrCat("c", i), name = absl::StrCat("n", i);
    g.AddConst(constant);
    g.Add(name, "Twice", {constant});
    users.push_back("^" + name);
  }
  g.Add("end", "NoOp", users);
  return std::move(g.def_);
}

class Compilation {
 public:
  Compilation() : device_(MakeCpuDevice(kWorker, &pool_)), resources_("bench") {
    for (const char* task : {kPs, kWorker}) {
      DeviceAttributes device;
      device.name = absl::StrCat(task, "/device:CPU:0");
      device.type = kCpu;
      placement_.devices.push_back(device);
    }
    placement_.client_device = placement_.devices[1].name;
    placement_.first_job = "ps";
    placement_.kernels = &testing_place::Kernels();
  }

  // Seconds by stage, in order.
  std::vector<std::pair<std::string, double>> Run(const tensorflow::GraphDef& def) {
    seconds_.clear();
    Graph whole(&testing_place::Ops(), nullptr);
    Stage("import", [&] { return ImportGraphDef(def, {}, &whole); });
    PlacementOptions placement = placement_;
    placement.calls_are_expanded = true;
    Stage("place", [&] { return Place(placement, &whole); });
    Signature signature;
    signature.targets = {"end"};
    if (whole.FindNode("x") != nullptr) signature.feeds = {"x:0"};
    PruneOptions prune;
    prune.client_device = placement_.client_device;
    PrunedGraph pruned;
    Stage("prune", [&]() -> Status {
      TFLEET_ASSIGN_OR_RETURN(pruned, Prune(signature, prune, whole));
      return OkStatus();
    });
    RewriteContext context;
    context.placement = &placement_;
    context.cpu = device_.get();
    context.cpu_kernels = placement_.kernels;
    for (const GraphPass& pass : GraphPasses()) {
      Stage(pass.name, [&] { return pass.run(pruned.graph.get(), context); });
    }
    Stage("check", [&] { return CheckGraph(*pruned.graph); });
    PartitionOptions partition;
    partition.by = PartitionOptions::By::kTask;
    partition.incarnation = [](const std::string&) { return uint64_t{1}; };
    Partitions pieces;
    Stage("partition", [&]() -> Status {
      TFLEET_ASSIGN_OR_RETURN(pieces, Partition(*pruned.graph, partition));
      return OkStatus();
    });
    Stage("compile", [&]() -> Status {
      for (auto& [task, piece] : pieces) {
        KernelCache kernels;
        KernelMaker maker{placement_.kernels, device_.get(), &resources_, nullptr, nullptr};
        Executor::Options options;
        options.device = device_.get();
        options.kernels = kernels.Provider(maker);
        TFLEET_RETURN_IF_ERROR(Executor::Compile(std::move(piece), options).status());
      }
      return OkStatus();
    });
    return std::move(seconds_);
  }

 private:
  void Stage(const std::string& name, const std::function<Status()>& work) {
    // Processor time of this thread, on which all of it happens: what else runs on the machine does
    // not count.
    const auto now = [] {
      timespec t;
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
      return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
    };
    const double start = now();
    const Status status = work();
    if (!status.ok()) std::fprintf(stderr, "%s: %s\n", name.c_str(), status.ToString().c_str());
    TFLEET_CHECK(status.ok());
    seconds_.push_back({name, now() - start});
  }

  ThreadPool pool_{"bench", 2};
  std::unique_ptr<Device> device_;
  ResourceManager resources_;
  PlacementOptions placement_;
  std::vector<std::pair<std::string, double>> seconds_;
};

void Measure(const char* shape, const Make& make, const std::vector<int>& sizes) {
  std::vector<std::string> stages;
  std::map<std::string, std::vector<double>> per_node;
  for (const int size : sizes) {
    const tensorflow::GraphDef def = make(size);
    for (const auto& [stage, seconds] : Compilation().Run(def)) {
      if (per_node[stage].empty()) stages.push_back(stage);
      per_node[stage].push_back(seconds * 1e9 / def.node_size());
    }
  }
  std::printf("%-24s", shape);
  for (const int size : sizes) std::printf(" %11d", size);
  std::printf("      growth\n");
  for (const std::string& stage : stages) {
    const std::vector<double>& ns = per_node[stage];
    std::printf("  %-22s", stage.c_str());
    for (const double n : ns) std::printf(" %8.0f ns", n);
    std::printf(" %10.1fx\n", ns.back() / std::max(ns.front(), 1.0));
  }
  std::fflush(stdout);
}

}  // namespace
}  // namespace tensorfleet

int main(int argc, char** argv) {
  using namespace tensorfleet;
  std::vector<int> sizes;
  for (int i = 1; i < argc; ++i) sizes.push_back(std::atoi(argv[i]));
  if (sizes.empty()) sizes = {10'000, 100'000, 1'000'000};
  Measure("chain", Chain, sizes);
  Measure("identities", Identities, sizes);
  Measure("hub", Hub, sizes);
  Measure("updates", Updates, sizes);
  Measure("reads and updates", ReadsAndUpdates, sizes);
  Measure("constants", Constants, sizes);
}
