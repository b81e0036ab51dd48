#include "runtime/opfuzz/case.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/opfuzz/functions.h"
#include "runtime/opfuzz/handles.h"
#include "runtime/opfuzz/values.h"
#include "runtime/ops/all.h"

namespace tensorfleet::opfuzz {
namespace {

const OpSchema& SchemaOf(const std::string& op) {
  const StatusOr<const OpSchema*> schema = BuiltinOps().Find(op);
  TFLEET_CHECK(schema.ok());
  return **schema;
}

// The node that lets a value into a loop's frame, or out of it.
std::string PassFrame(const char* op, const std::string& from, DType type, Draft* draft) {
  tensorflow::NodeDef* node = draft->Add(absl::StrCat(IsRef(type) ? "Ref" : "", op), {from});
  SetAttr(node, "T", BaseType(type));
  if (absl::string_view(op) == "Enter") SetAttr(node, "frame_name", "frame");
  return node->name();
}

}  // namespace

CaseMaker::CaseMaker(uint64_t seed, std::vector<std::string> ops, const KernelRegistry* kernels)
    : seed_(seed), ops_(std::move(ops)), planner_(kernels) {}

void CaseMaker::AddNode(Random& random, const OpSchema& schema, NodePlan plan,
                        const std::string& name, int feeds_percent,
                        const std::vector<Endpoint>& others, Draft* draft,
                        std::vector<Endpoint>* made) {
  plan.def.set_name(name);
  plan.def.set_device(draft->device);
  const bool leaves_frame = absl::EndsWith(schema.name, "Exit"),
             is_in_frame = absl::EndsWith(schema.name, "NextIteration");
  std::vector<std::string> controls;
  std::string flow;
  for (size_t i = 0; i < plan.types.size(); ++i) {
    const DType type = plan.types[i];
    std::vector<std::string> fitting;
    for (const Endpoint& other : others) {
      if (other.type == type) fitting.push_back(other.name);
    }
    std::string input;
    if (!fitting.empty() && random.Percent(60)) {
      input = random.Pick(fitting);
    } else if (IsHandle(type)) {
      Handle handle = AddHandle(random, plan.def, type, plan.shapes[i], draft);
      input = handle.endpoint;
      if (!handle.flow.empty()) flow = handle.flow;
      if (!handle.control.empty()) controls.push_back(absl::StrCat("^", handle.control));
    } else if (!flow.empty() && type == DType::kFloat && random.Percent(97) &&
               i + 1 == plan.types.size()) {
      input = flow;  // the last input of what works on a tensor array
    } else if (random.Percent(feeds_percent)) {
      input = draft->AddFed(plan.values[i], random.Percent(15));
    } else {
      input = draft->AddConst(plan.values[i]);
    }
    plan.def.add_input(leaves_frame || is_in_frame ? PassFrame("Enter", input, type, draft)
                                                   : input);
  }
  for (const std::string& control : controls) plan.def.add_input(control);
  DefineFunctions(random, plan.def, draft);
  const StatusOr<NodeTypes> types = TypesOf(schema, plan.def);
  for (size_t i = 0; types.ok() && i < types->outputs.size(); ++i) {
    std::string output = i == 0 ? name : absl::StrCat(name, ":", i);
    const DType type = types->outputs[i];
    if (is_in_frame || absl::EndsWith(schema.name, "Enter"))
      output = PassFrame("Exit", output, type, draft);
    made->push_back({output, type});
  }
  *draft->graph.add_node() = std::move(plan.def);
}

void CaseMaker::AddSteps(Random& random, Draft* draft, Case* made) {
  draft->graph.mutable_versions()->set_producer(1482);
  made->graph = std::move(draft->graph);
  made->first = std::move(draft->first);
  const int steps = draft->feeds.empty() ? random.Pick({1, 2}) : 4;
  for (int step = 0; step < steps; ++step) {
    std::vector<Feed> feeds = draft->feeds;
    for (Feed& feed : feeds) {
      const DType type = feed.value.dtype();
      if (step == 0 || type == DType::kResource || type == DType::kVariant || random.Percent(50))
        continue;
      const Manner manner = random.Percent(40) ? Manner::kHostile : Manner::kUsual;
      const Shape shape = random.Percent(20) ? RandomShape(random, manner) : feed.value.shape();
      feed.value = RandomTensor(random, type, shape, manner);
    }
    made->steps.push_back(std::move(feeds));
  }
}

Case CaseMaker::MakeOp(uint64_t number, const std::string& device) {
  Random random(seed_, number);
  Case made;
  made.number = number;
  made.op = OpOfCase(ops_, number);
  made.is_internal = absl::StartsWith(made.op, "_");
  const OpSchema& schema = SchemaOf(made.op);
  NodePlan plan = planner_.Make(random, schema, random.Percent(88) ? 60 : 1, random.Percent(60));
  if (random.Percent(35)) planner_.Disturb(random, schema, &plan);
  Draft draft;
  if (made.is_internal) draft.device = device;
  std::vector<Endpoint> outputs;
  const int fed = made.is_internal || random.Percent(12) ? 0 : random.Percent(12) ? 50 : 100;
  AddNode(random, schema, std::move(plan), "op", fed, {}, &draft, &outputs);
  for (const Endpoint& output : outputs) {
    if (output.type != DType::kResource && output.type != DType::kVariant) {
      made.fetches.push_back(output.name);
    }
  }
  if (made.fetches.empty()) made.targets = {"op"};
  if (made.is_internal) {  // one step does all
    for (const std::string& first : draft.first) {
      draft.graph.mutable_node()->rbegin()->add_input(absl::StrCat("^", first));
    }
  }
  AddSteps(random, &draft, &made);
  return made;
}

Case CaseMaker::MakeGraph(uint64_t number, const std::vector<std::string>& tasks) {
  Random random(seed_, number);
  Case made;
  made.number = number;
  Draft draft;
  std::vector<Endpoint> outputs;
  const int nodes = random.Pick({3, 6, 10, 20, 40});
  for (int i = 0; i < nodes; ++i) {
    const OpSchema& schema = SchemaOf(random.Pick(ops_));
    if (absl::StartsWith(schema.name, "_")) continue;
    NodePlan plan = planner_.Make(random, schema, 20, true);
    if (!plan.fits) continue;
    if (random.Percent(5)) planner_.Disturb(random, schema, &plan);
    draft.device = random.Percent(50) ? "" : random.Pick(tasks);
    const std::vector<Endpoint> others = outputs;
    AddNode(random, schema, std::move(plan), absl::StrCat("op", i), random.Percent(50) ? 30 : 0,
            others, &draft, &outputs);
  }
  // A few at a time, for one that fails takes the step with it.
  for (int i = random.Pick({1, 1, 2, 3}); i > 0 && !outputs.empty(); --i) {
    const Endpoint& output = random.Pick(outputs);
    if (output.type != DType::kResource && output.type != DType::kVariant)
      made.fetches.push_back(output.name);
  }
  if (made.fetches.empty() && !outputs.empty()) {
    made.targets = {std::string(
        absl::string_view(outputs.back().name).substr(0, outputs.back().name.find(':')))};
  }
  AddSteps(random, &draft, &made);
  return made;
}

}  // namespace tensorfleet::opfuzz
