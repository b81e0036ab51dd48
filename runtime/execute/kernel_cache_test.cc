#include "runtime/execute/kernel_cache.h"

#include "runtime/execute/testing/step_fixture.h"

namespace tensorfleet {
namespace {

class KernelCacheTest : public StepFixture {
 protected:
  KernelCacheTest() {
    AddFunction(R"(
      signature { name: "Same" input_arg { name: "x" type: DT_INT64 } output_arg { name: "y" type: DT_INT64 } }
      node_def { name: "id" op: "Identity" input: "x" attr { key: "T" value { type: DT_INT64 } } }
      ret { key: "y" value: "id:y:0" })");
    library_ = FunctionLibrary::FromProto(functions_).value();
  }
  // As a session's graphs get it: each has function calls of its own.
  StatusOr<std::shared_ptr<const Kernel>> Get(const std::string& name, const std::string& op,
                                              int64_t like = 0) {
    auto graph = std::make_unique<Graph>(&TestOps(), library_);
    tensorflow::NodeDef def;
    def.set_name(name);
    def.set_op(op);
    if (op == "Var") SetAttr(&def, "like", like);
    if (op == "StatefulPartitionedCall") {
      tensorflow::NameAttrList same;
      same.set_name("Same");
      SetAttr(&def, "f", same);
      const DType types[] = {DType::kInt64};
      SetAttr(&def, "Tin", absl::MakeConstSpan(types));
      SetAttr(&def, "Tout", absl::MakeConstSpan(types));
    }
    TFLEET_ASSIGN_OR_RETURN(const Node* node, graph->AddNode(std::move(def)));
    FunctionRuntime::Options options;
    options.ops = &TestOps();
    options.library = library_;
    options.kernels = &TestKernels();
    options.device = device_.get();
    options.resources = resources_.get();
    runtimes_.push_back(std::make_unique<FunctionRuntime>(std::move(options)));
    KernelMaker maker{&TestKernels(), device_.get(), resources_.get(), runtimes_.back().get(),
                      library_};
    graphs_.push_back(std::move(graph));
    return cache_.Provider(std::move(maker))(*node);
  }

  KernelCache cache_;
  std::vector<std::unique_ptr<Graph>> graphs_;
  std::vector<std::unique_ptr<FunctionRuntime>> runtimes_;
};

TEST_F(KernelCacheTest, AStatefulNodeKeepsItsKernelFromGraphToGraph) {
  const auto first = Get("v", "Var");
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(*Get("v", "Var"), *first);
  EXPECT_NE(*Get("w", "Var"), *first);
}

// Masters that create no session share one: their nodes may have one name and mean something else.
TEST_F(KernelCacheTest, ANodeWithOtherAttributesHasAKernelOfItsOwn) {
  const auto first = Get("v", "Var", 1);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_NE(*Get("v", "Var", 2), *first);
  EXPECT_EQ(*Get("v", "Var", 2), *Get("v", "Var", 2));
}

TEST_F(KernelCacheTest, ACallBelongsToItsGraph) {
  const auto first = Get("call", "StatefulPartitionedCall");
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_NE(*Get("call", "StatefulPartitionedCall"), *first);
  const auto by_name = Get("by_name", "Same");
  ASSERT_TRUE(by_name.ok()) << by_name.status();
  EXPECT_NE(*Get("by_name", "Same"), *by_name);
}

}  // namespace
}  // namespace tensorfleet
