#include "runtime/kernels/testing/op_test.h"
#include "runtime/tensor/variant.h"

namespace tensorfleet {
namespace {

using ::testing::HasSubstr;

Tensor Any() { return Tensor::Scalar<int32_t>(-1); }
Tensor Int(int32_t value) { return Tensor::Scalar(value); }
Tensor Pair(float a, float b) { return Tensor::Vector<float>({a, b}); }

class TensorListTest : public OpTest {
 protected:
  static OpNode Op(const char* name) { return OpNode(name).Attr("element_dtype", DType::kFloat); }
  Tensor Empty(const Tensor& shape = Any(), int32_t most = -1) {
    return RunOne(Op("EmptyTensorList"), {shape, Int(most)});
  }
  Tensor Reserved(int32_t size, const Tensor& shape = Any()) {
    return RunOne(Op("TensorListReserve"), {shape, Int(size)});
  }
  Tensor Push(const Tensor& list, const Tensor& value) {
    return RunOne("TensorListPushBack", {list, value});
  }
  Tensor Stack(const Tensor& list, const Tensor& shape = Any()) {
    return RunOne(Op("TensorListStack"), {list, shape});
  }
  std::string Message(const OpNode& node, std::vector<OpInput> inputs) {
    return std::string(Run(node, std::move(inputs)).status().message());
  }
};

TEST_F(TensorListTest, PushedElementsStackAndPop) {
  const Tensor one = Push(Empty(), Pair(1, 2)), two = Push(one, Pair(3, 4));
  ExpectSame(Stack(two), Tensor::Of<float>({2, 2}, {1, 2, 3, 4}));
  const std::vector<Tensor> popped = *Run(Op("TensorListPopBack"), {two, Any()});
  ExpectSame(popped[1], Pair(3, 4));
  ExpectSame(Stack(popped[0]), Tensor::Of<float>({1, 2}, {1, 2}));
  ExpectSame(RunOne("TensorListLength", {two}), Int(2));
}

TEST_F(TensorListTest, ListsAreNestedOnlySoDeep) {
  const auto op = [](const char* name) {
    return OpNode(name).Attr("element_dtype", DType::kVariant);
  };
  const Tensor empty = RunOne(op("EmptyTensorList"), {Any(), Int(-1)});
  Tensor list = empty;
  for (int depth = 2; depth <= 100; ++depth) list = Push(empty, list);
  EXPECT_THAT(Message("TensorListPushBack", {empty, list}), HasSubstr("more than 100 deep"));
  EXPECT_THAT(Message("OptionalFromValue", {list}), HasSubstr("more than 100 deep"));
}

// A value never changes under somebody who holds it.
TEST_F(TensorListTest, AListThatIsHeldElsewhereIsNotChanged) {
  const Tensor one = Push(Empty(), Pair(1, 2));
  Push(one, Pair(3, 4));
  Run(Op("TensorListPopBack"), {one, Any()}).IgnoreError();
  ExpectSame(RunOne("TensorListLength", {one}), Int(1));
}

TEST_F(TensorListTest, AListThatNobodyElseHoldsIsChangedInPlace) {
  Tensor list = Push(Empty(), Pair(1, 2));
  const VariantValue* before = list.scalar<Variant>().value();
  std::vector<OpInput> inputs;
  inputs.emplace_back(std::move(list));
  inputs.emplace_back(Pair(3, 4));
  // Make may look at the inputs before the run takes them.
  StatusOr<std::unique_ptr<Instance>> node = Make("TensorListPushBack", inputs);
  ASSERT_TRUE(node.ok());
  OpOutputs outputs;
  ASSERT_TRUE(RunInstance(**node, std::move(inputs), &outputs).ok());
  EXPECT_EQ(outputs[0].tensor.scalar<Variant>().value(), before);
}

TEST_F(TensorListTest, ElementsThatAreNotSetReadAsZeros) {
  const Tensor list =
      RunOne("TensorListSetItem", {Reserved(3, Tensor::Vector<int32_t>({-1})), Int(1), Pair(5, 6)});
  ExpectSame(Stack(list), Tensor::Of<float>({3, 2}, {0, 0, 5, 6, 0, 0}));
  ExpectSame(RunOne(Op("TensorListGetItem"), {list, Int(0), Any()}), Pair(0, 0));
  EXPECT_THAT(Message(Op("TensorListGetItem"), {Reserved(1), Int(0), Any()}),
              HasSubstr("uninitialized tensor but element_shape is not fully defined"));
}

TEST_F(TensorListTest, NamesWhatDoesNotFit) {
  const Tensor list = Reserved(2, Tensor::Vector<int32_t>({3}));
  EXPECT_EQ(Message(Op("TensorListGetItem"), {list, Int(5), Any()}),
            "Trying to access element 5 in a list with 2 elements.");
  EXPECT_EQ(Message("TensorListSetItem", {list, Int(2), Tensor::Vector<float>({1, 2, 3})}),
            "Trying to modify element 2 in a list with 2 elements.");
  EXPECT_THAT(Message("TensorListSetItem", {list, Int(0), Pair(1, 2)}),
              HasSubstr("Op element shape: [2] list shape: [3]"));
  EXPECT_EQ(Message("TensorListSetItem", {list, Int(0), Tensor::Scalar<int32_t>(1)}),
            "Invalid data types; op elements int32 but list elements float");
  EXPECT_EQ(Message(Op("TensorListPopBack"), {Empty(), Any()}),
            "Trying to pop from an empty list.");
  EXPECT_THAT(Message("TensorListPushBack", {Push(Empty(Any(), 1), Pair(1, 2)), Pair(1, 2)}),
              HasSubstr("full list list size: 1 max_num_elements: 1"));
  EXPECT_THAT(Message(Op("TensorListReserve"), {Any(), Int(-1)}), HasSubstr("but got -1"));
  EXPECT_EQ(Run(Op("TensorListReserve"), {Any(), Int(2147483647)}).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(Message(Op("TensorListStack").Attr("num_elements", 3), {list, Any()}),
              HasSubstr("expected a list with 3 elements but got a list with 2"));
  EXPECT_THAT(Message(Op("TensorListStack"), {Empty(), Any()}),
              HasSubstr("elements of an empty list with non-fully-defined element_shape"));
  EXPECT_THAT(Message("TensorListLength", {Tensor::Scalar(Variant())}),
              HasSubstr("expected a tensor list, found an empty variant"));
}

TEST_F(TensorListTest, TensorsBecomeListsAndListsTensors) {
  const Tensor rows = Tensor::Of<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  const Tensor list = RunOne("TensorListFromTensor", {rows, Any()});
  ExpectSame(Stack(list), rows);
  ExpectSame(RunOne(Op("TensorListGather"), {list, Tensor::Vector<int32_t>({2, 0}), Any()}),
             Tensor::Of<float>({2, 2}, {5, 6, 1, 2}));
  const Tensor scattered =
      RunOne("TensorListScatterV2", {rows, Tensor::Vector<int32_t>({2, 0, 1}), Any(), Int(4)});
  ExpectSame(Stack(scattered), Tensor::Of<float>({4, 2}, {3, 4, 5, 6, 1, 2, 0, 0}));
  const Tensor again = RunOne("TensorListScatterIntoExistingList",
                              {list, rows.Rows(2, 3), Tensor::Vector<int32_t>({3})});
  ExpectSame(Stack(again), Tensor::Of<float>({4, 2}, {1, 2, 3, 4, 5, 6, 5, 6}));
}

TEST_F(TensorListTest, SplitAndConcatAreInverse) {
  const Tensor rows = Tensor::Of<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  const Tensor lengths = Tensor::Vector<int64_t>({2, 0, 1});
  const Tensor list = RunOne("TensorListSplit", {rows, Any(), lengths});
  const std::vector<Tensor> joined =
      *Run(Op("TensorListConcatV2"), {list, Any(), Tensor::Vector<int64_t>({})});
  ExpectSame(joined[0], rows);
  ExpectSame(joined[1], lengths);
  EXPECT_THAT(Message("TensorListSplit", {rows, Any(), Tensor::Vector<int64_t>({2})}),
              HasSubstr("Unused values in tensor. Length of tensor: 3 Values used: 2"));
}

TEST_F(TensorListTest, ElementShapeSaysWhatIsKnown) {
  const OpNode node = OpNode("TensorListElementShape").Attr("shape_type", DType::kInt64);
  ExpectSame(RunOne(node, {Empty()}), Tensor::Scalar<int64_t>(-1));
  ExpectSame(RunOne(node, {Empty(Tensor::Vector<int32_t>({2, -1}))}),
             Tensor::Vector<int64_t>({2, -1}));
}

TEST_F(TensorListTest, ListsAddUpElementByElement) {
  const Tensor a = Push(Empty(), Pair(1, 2)), b = Push(Empty(), Pair(10, 20));
  ExpectSame(Stack(RunOne("AddN", {a, b})), Tensor::Of<float>({1, 2}, {11, 22}));
  ExpectSame(Stack(RunOne("AddN", {a, a, a})), Tensor::Of<float>({1, 2}, {3, 6}));
  ExpectSame(Stack(a), Tensor::Of<float>({1, 2}, {1, 2}));  // somebody else holds it still
  ExpectSame(Stack(RunOne("ZerosLike", {a})), Tensor::Of<float>({1, 2}, {0, 0}));
  EXPECT_THAT(Message("AddN", {a, Push(b, Pair(1, 1))}), HasSubstr("dtypes or lengths"));
}

TEST_F(TensorListTest, TravelsAsTensorFlowEncodesIt) {
  const Tensor list =
      RunOne("TensorListSetItem", {Reserved(3, Tensor::Vector<int32_t>({2})), Int(1), Pair(5, 6)});
  const StatusOr<VariantData> data = list.scalar<Variant>().value()->Encode();
  ASSERT_TRUE(data.ok());
  EXPECT_EQ(data->type_name, "tensorflow::TensorList");
  ASSERT_EQ(data->tensors.size(), 1);
  const Tensor received = Tensor::Scalar(Variant(std::make_shared<EncodedVariant>(*data)));
  ExpectSame(Stack(received), Tensor::Of<float>({3, 2}, {0, 0, 5, 6, 0, 0}));
  VariantData bad = *data;
  bad.metadata = "\x7f";
  EXPECT_THAT(
      Message("TensorListLength", {Tensor::Scalar(Variant(std::make_shared<EncodedVariant>(bad)))}),
      HasSubstr("encoded badly"));
}

class OptionalTest : public OpTest {
 protected:
  OpNode GetValue(std::vector<PartialShape> shapes) {
    return OpNode("OptionalGetValue")
        .Attr("output_types", absl::Span<const DType>({DType::kFloat, DType::kString}))
        .Attr("output_shapes", absl::MakeConstSpan(shapes));
  }
};

TEST_F(OptionalTest, GivesBackItsValue) {
  const Tensor optional = RunOne("OptionalFromValue", {Pair(1, 2), Tensor::Scalar("x")});
  ExpectSame(RunOne("OptionalHasValue", {optional}), Tensor::Scalar(true));
  const std::vector<Tensor> out =
      *Run(GetValue({PartialShape({2}), PartialShape::Unknown()}), {optional});
  ExpectSame(out[0], Pair(1, 2));
  ExpectSame(out[1], Tensor::Scalar("x"));
  EXPECT_THAT(
      Run(GetValue({PartialShape({3}), PartialShape::Unknown()}), {optional}).status().message(),
      HasSubstr("expected shape for component 0. Expected: [3]. Actual: [2]"));
}

TEST_F(OptionalTest, NoneHasNoValue) {
  const Tensor none = RunOne("OptionalNone", {});
  ExpectSame(RunOne("OptionalHasValue", {none}), Tensor::Scalar(false));
  EXPECT_EQ(Run(GetValue({PartialShape({2}), PartialShape::Unknown()}), {none}).status(),
            InvalidArgument("The given optional does not have a value."));
  const StatusOr<VariantData> data = none.scalar<Variant>().value()->Encode();
  const Tensor received = Tensor::Scalar(Variant(std::make_shared<EncodedVariant>(*data)));
  ExpectSame(RunOne("OptionalHasValue", {received}), Tensor::Scalar(false));
}

TEST_F(TensorListTest, TheLengthOfAScatteredListIsAScalar) {
  EXPECT_THAT(Message(Op("TensorListScatterV2"),
                      {Tensor::Of<float>({1, 2}, {1, 2}), Tensor::Vector<int32_t>({0}), Any(),
                       Tensor::Vector<int32_t>({})}),
              HasSubstr("num_elements must be a scalar, but got: [0]"));
}

}  // namespace
}  // namespace tensorfleet
