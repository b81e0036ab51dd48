#include "runtime/capi/testing/c_graph.h"

namespace tensorfleet::capi {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// "x" -> "neg", as a message.
class CImport : public ::testing::Test {
 protected:
  CImport() {
    const Owned<TF_Graph> source(TF_NewGraph());
    Unary(source.get(), "Neg", "neg", Out(Placeholder(source.get(), "x")));
    TF_GraphToGraphDef(source.get(), def_.get(), outcome_);
    EXPECT_TRUE(IsOk(outcome_));
  }

  std::string NameOfInput(const char* operation) {
    TF_Operation* found = TF_GraphOperationByName(graph_.get(), operation);
    return found == nullptr ? "" : TF_OperationName(TF_OperationInput({found, 0}).oper);
  }

  const Owned<TF_Buffer> def_{TF_NewBuffer()};
  const Owned<TF_Graph> graph_{TF_NewGraph()};
  const Owned<TF_ImportGraphDefOptions> options_{TF_NewImportGraphDefOptions()};
  Outcome outcome_;
};

TEST_F(CImport, PutsThePrefixBeforeNames) {
  TF_ImportGraphDefOptionsSetPrefix(options_.get(), "in");
  TF_GraphImportGraphDef(graph_.get(), def_.get(), options_.get(), outcome_);
  ASSERT_TRUE(IsOk(outcome_));
  EXPECT_EQ(NameOfInput("in/neg"), "in/x");
}

TEST_F(CImport, RefusesNamesThatAreTaken) {
  TF_GraphImportGraphDef(graph_.get(), def_.get(), nullptr, outcome_);
  ASSERT_TRUE(IsOk(outcome_));
  TF_GraphImportGraphDef(graph_.get(), def_.get(), options_.get(), outcome_);
  EXPECT_EQ(outcome_.code(), TF_INVALID_ARGUMENT);
  EXPECT_THAT(outcome_.message(), HasSubstr("already exists"));
}

TEST_F(CImport, MakesNamesUniqueWhereAsked) {
  TF_GraphImportGraphDef(graph_.get(), def_.get(), nullptr, outcome_);
  TF_ImportGraphDefOptionsSetUniquifyNames(options_.get(), 1);
  TF_GraphImportGraphDef(graph_.get(), def_.get(), options_.get(), outcome_);
  ASSERT_TRUE(IsOk(outcome_));
  EXPECT_EQ(NameOfInput("neg_1"), "x_1");
}

TEST_F(CImport, MakesThePrefixUniqueWhereAsked) {
  TF_ImportGraphDefOptionsSetPrefix(options_.get(), "in");
  TF_ImportGraphDefOptionsSetUniquifyPrefix(options_.get(), 1);
  for (int i = 0; i < 2; ++i) {
    TF_GraphImportGraphDef(graph_.get(), def_.get(), options_.get(), outcome_);
    ASSERT_TRUE(IsOk(outcome_));
  }
  EXPECT_EQ(NameOfInput("in_1/neg"), "in_1/x");
}

TEST_F(CImport, TakesInputsFromTheGraph) {
  TF_Operation* mine = Placeholder(graph_.get(), "mine");
  TF_ImportGraphDefOptionsSetPrefix(options_.get(), "in");
  TF_ImportGraphDefOptionsAddInputMapping(options_.get(), "x", 0, Out(mine));
  TF_ImportGraphDefOptionsAddInputMapping(options_.get(), "nowhere", 2, Out(mine));
  TF_ImportGraphDefOptionsAddReturnOutput(options_.get(), "neg", 0);
  TF_ImportGraphDefOptionsAddReturnOutput(options_.get(), "x:0", 0);
  TF_ImportGraphDefOptionsAddReturnOperation(options_.get(), "x");
  EXPECT_EQ(TF_ImportGraphDefOptionsNumReturnOutputs(options_.get()), 2);
  EXPECT_EQ(TF_ImportGraphDefOptionsNumReturnOperations(options_.get()), 1);
  const Owned<TF_ImportGraphDefResults> results(
      TF_GraphImportGraphDefWithResults(graph_.get(), def_.get(), options_.get(), outcome_));
  ASSERT_TRUE(IsOk(outcome_));
  EXPECT_EQ(NameOfInput("in/neg"), "mine");
  int count = 0;
  TF_Output* outputs = nullptr;
  TF_ImportGraphDefResultsReturnOutputs(results.get(), &count, &outputs);
  ASSERT_EQ(count, 2);
  EXPECT_STREQ(TF_OperationName(outputs[0].oper), "in/neg");
  EXPECT_EQ(outputs[1].oper, mine);
  TF_Operation** operations = nullptr;
  TF_ImportGraphDefResultsReturnOperations(results.get(), &count, &operations);
  ASSERT_EQ(count, 1);
  EXPECT_STREQ(TF_OperationName(operations[0]), "in/x");
  const char** names = nullptr;
  int* indices = nullptr;
  TF_ImportGraphDefResultsMissingUnusedInputMappings(results.get(), &count, &names, &indices);
  ASSERT_EQ(count, 1);
  EXPECT_STREQ(names[0], "nowhere");
  EXPECT_EQ(indices[0], 2);
}

TEST_F(CImport, RunsAfterWhatItIsToldTo) {
  TF_Operation* first = Placeholder(graph_.get(), "first");
  TF_ImportGraphDefOptionsAddControlDependency(options_.get(), first);
  TF_ImportGraphDefOptionsSetDefaultDevice(options_.get(), "/device:CPU:0");
  TF_GraphImportGraphDef(graph_.get(), def_.get(), options_.get(), outcome_);
  ASSERT_TRUE(IsOk(outcome_));
  TF_Operation* x = TF_GraphOperationByName(graph_.get(), "x");
  EXPECT_EQ(TF_OperationNumControlInputs(x), 1);
  EXPECT_STREQ(TF_OperationDevice(x), "/device:CPU:0");
  // It waits through its input.
  EXPECT_EQ(TF_OperationNumControlInputs(TF_GraphOperationByName(graph_.get(), "neg")), 0);
}

TEST_F(CImport, LeavesTheGraphAsItWasAfterAnError) {
  TF_ImportGraphDefOptionsAddReturnOutput(options_.get(), "neg", 5);
  TF_Output output;
  TF_GraphImportGraphDefWithReturnOutputs(graph_.get(), def_.get(), options_.get(), &output, 1,
                                          outcome_);
  EXPECT_EQ(outcome_.code(), TF_INVALID_ARGUMENT);
  EXPECT_EQ(TF_GraphOperationByName(graph_.get(), "neg"), nullptr);
  const Owned<TF_Buffer> nonsense(TF_NewBufferFromString("\xff\xff\xff", 3));
  TF_GraphImportGraphDef(graph_.get(), nonsense.get(), nullptr, outcome_);
  EXPECT_EQ(outcome_.code(), TF_INVALID_ARGUMENT);
  TF_GraphImportGraphDef(graph_.get(), nullptr, nullptr, outcome_);
  EXPECT_EQ(outcome_.code(), TF_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace tensorfleet::capi
