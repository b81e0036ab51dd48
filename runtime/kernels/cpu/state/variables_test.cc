// Variables of both kinds, through their kernels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/kernels/testing/op_test.h"
#include "runtime/tensor/resource_handle.h"

namespace tensorfleet {
namespace {

using ::testing::HasSubstr;

class RefVariableTest : public OpTest {
 protected:
  // The variable behind a VariableV2 node of this name.
  ResourceRef<Variable> Make(const std::string& name, PartialShape shape = {2}) {
    OpOutputs outputs;
    EXPECT_EQ(
        RunInto(OpNode("VariableV2").Name(name).Attr("dtype", DType::kFloat).Attr("shape", shape),
                {}, &outputs),
        OkStatus());
    return outputs[0].ref;
  }
  ResourceRef<Variable> MakeWith(const std::string& name, const Tensor& value) {
    ResourceRef<Variable> v = Make(name, PartialShape(value.shape()));
    OpOutputs outputs;
    EXPECT_EQ(RunInto("Assign", {v, value}, &outputs), OkStatus());
    return v;
  }
  Status RunRef(const OpNode& node, std::vector<OpInput> inputs) {
    OpOutputs outputs;
    return RunInto(node, std::move(inputs), &outputs);
  }
};

TEST_F(RefVariableTest, NodesOfOneNameShareTheVariable) {
  EXPECT_EQ(Make("v").get(), Make("v").get());
  EXPECT_NE(Make("v").get(), Make("w").get());
}

TEST_F(RefVariableTest, ClearingTheContainerMakesANewVariable) {
  const ResourceRef<Variable> before = MakeWith("v", Tensor::Vector<float>({1, 2}));
  resources().Clear("");
  const ResourceRef<Variable> after = Make("v");
  EXPECT_NE(before.get(), after.get());
  EXPECT_FALSE(after->is_initialized());
}

TEST_F(RefVariableTest, AKernelNoticesThatItsVariableIsGone) {
  auto node = OpTest::Make(
      OpNode("VariableV2").Attr("dtype", DType::kFloat).Attr("shape", PartialShape({2})), {});
  ASSERT_EQ(node.status(), OkStatus());
  OpOutputs first, second, third;
  ASSERT_EQ(RunInstance(**node, {}, &first), OkStatus());
  ASSERT_EQ(RunInstance(**node, {}, &second), OkStatus());
  EXPECT_EQ(first[0].ref.get(), second[0].ref.get());
  resources().Clear("");
  ASSERT_EQ(RunInstance(**node, {}, &third), OkStatus());
  EXPECT_NE(first[0].ref.get(), third[0].ref.get());
}

TEST_F(RefVariableTest, AnotherTypeUnderTheSameNameIsRefused) {
  Make("v");
  const Status status = RunRef(
      OpNode("VariableV2").Name("v").Attr("dtype", DType::kInt32).Attr("shape", PartialShape({2})),
      {});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(RefVariableTest, AssignRefusesAnotherShapeEvenBeforeTheFirstValue) {
  const ResourceRef<Variable> v = Make("v", {3, 2});
  const Tensor wrong = Tensor::Zeros(DType::kFloat, Shape({4, 4})).value();
  EXPECT_EQ(
      RunRef("Assign", {v, wrong}),
      InvalidArgument(
          "Assign requires shapes of both tensors to match. lhs shape= [3,2] rhs shape= [4,4]"));
  EXPECT_EQ(RunRef(OpNode("Assign").Attr("validate_shape", false), {v, wrong}), OkStatus());
  EXPECT_EQ(v->Read().shape(), Shape({4, 4}));
}

TEST_F(RefVariableTest, IsVariableInitializedTurnsTrueWithTheFirstAssignment) {
  const ResourceRef<Variable> v = Make("v");
  ExpectSame(RunOne("IsVariableInitialized", {v}), Tensor::Scalar<bool>(false));
  ASSERT_EQ(RunRef("Assign", {v, Tensor::Vector<float>({1, 2})}), OkStatus());
  ExpectSame(RunOne("IsVariableInitialized", {v}), Tensor::Scalar<bool>(true));
}

TEST_F(RefVariableTest, UpdatesNeverChangeAValueThatWasRead) {
  const ResourceRef<Variable> v = MakeWith("v", Tensor::Vector<float>({1, 2}));
  const Tensor before = v->Read();
  ASSERT_EQ(RunRef("AssignAdd", {v, Tensor::Vector<float>({10, 20})}), OkStatus());
  ASSERT_EQ(RunRef("AssignSub", {v, Tensor::Vector<float>({1, 1})}), OkStatus());
  ASSERT_EQ(RunRef("ScatterAdd", {v, Tensor::Vector<int32_t>({1}), Tensor::Vector<float>({100})}),
            OkStatus());
  ExpectSame(before, Tensor::Vector<float>({1, 2}));
  ExpectSame(v->Read(), Tensor::Vector<float>({10, 121}));
}

TEST_F(RefVariableTest, UpdatesWorkInPlaceWhenNobodyElseHoldsTheValue) {
  const ResourceRef<Variable> v = MakeWith("v", Tensor::Vector<float>({1, 2}));
  ASSERT_EQ(RunRef("AssignAdd", {v, Tensor::Vector<float>({1, 1})}), OkStatus());
  const void* memory = v->Read().raw();
  ASSERT_EQ(RunRef("AssignAdd", {v, Tensor::Vector<float>({1, 1})}), OkStatus());
  EXPECT_EQ(v->Read().raw(), memory);
}

TEST_F(RefVariableTest, UpdatingWhatHasNoValueIsRefused) {
  const ResourceRef<Variable> v = Make("v");
  EXPECT_EQ(RunRef("AssignAdd", {v, Tensor::Vector<float>({1, 1})}).code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(RefVariableTest, ASmallPartOfABigBufferIsCopiedWhenItIsAssigned) {
  const Tensor big = Tensor::Zeros(DType::kFloat, Shape({100000, 2})).value();
  const ResourceRef<Variable> v = MakeWith("v", big.Rows(3, 4).Reshaped(Shape({2})));
  EXPECT_FALSE(v->Read().SharesBufferWith(big));
}

TEST_F(RefVariableTest, CountUpToStopsAtItsLimit) {
  OpOutputs outputs;
  ASSERT_EQ(
      RunInto(
          OpNode("VariableV2").Attr("dtype", DType::kInt64).Attr("shape", PartialShape(Shape())),
          {}, &outputs),
      OkStatus());
  const ResourceRef<Variable> v = outputs[0].ref;
  ASSERT_EQ(RunRef("Assign", {v, Tensor::Scalar<int64_t>(0)}), OkStatus());
  ExpectSame(RunOne(OpNode("CountUpTo").Attr("limit", 1), {v}), Tensor::Scalar<int64_t>(0));
  EXPECT_EQ(Run(OpNode("CountUpTo").Attr("limit", 1), {v}).status(),
            OutOfRange("Reached limit of 1"));
}

class ResourceVariableTest : public OpTest {
 protected:
  Tensor Handle(const std::string& name) {
    return RunOne(OpNode("VarHandleOp")
                      .Name("n")
                      .Attr("dtype", DType::kFloat)
                      .Attr("shape", PartialShape({2}))
                      .Attr("shared_name", name),
                  {});
  }
  Status Do(const OpNode& node, std::vector<OpInput> inputs) {
    return Run(node, std::move(inputs)).status();
  }
  StatusOr<Tensor> Read(const Tensor& handle) {
    TFLEET_ASSIGN_OR_RETURN(std::vector<Tensor> out,
                            Run(OpNode("ReadVariableOp").Attr("dtype", DType::kFloat), {handle}));
    return out[0];
  }
};

TEST_F(ResourceVariableTest, TheHandleSpellsOutContainerAndType) {
  const Tensor tensor = Handle("v");
  const ResourceHandle& handle = tensor.scalar<ResourceHandle>();
  EXPECT_EQ(handle.container, "localhost");
  EXPECT_EQ(handle.name, "v");
  EXPECT_EQ(handle.type_name, "N10tensorflow3VarE");
  EXPECT_EQ(handle.device, step().device->name());
}

TEST_F(ResourceVariableTest, ReadingWhatWasNeverAssignedSaysWhatClientsLookFor) {
  const std::string missing =
      "status error message=Resource localhost/v/N10tensorflow3VarE does not exist.";
  const Status status = Read(Handle("v")).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("Could not find variable v. "));
  EXPECT_THAT(std::string(status.message()), HasSubstr(missing));
  ExpectSame(RunOne("VarIsInitializedOp", {Handle("v")}), Tensor::Scalar<bool>(false));
}

TEST_F(ResourceVariableTest, ReadsShareMemoryAndSurviveLaterUpdates) {
  const Tensor handle = Handle("v");
  ASSERT_EQ(Do("AssignVariableOp", {handle, Tensor::Vector<float>({1, 2})}), OkStatus());
  const Tensor first = Read(handle).value();
  EXPECT_TRUE(first.SharesBufferWith(Read(handle).value()));
  ASSERT_EQ(Do("AssignAddVariableOp", {handle, Tensor::Vector<float>({1, 1})}), OkStatus());
  ExpectSame(first, Tensor::Vector<float>({1, 2}));
  ExpectSame(Read(handle).value(), Tensor::Vector<float>({2, 3}));
  ExpectSame(RunOne("VarIsInitializedOp", {handle}), Tensor::Scalar<bool>(true));
  ExpectSame(RunOne("VariableShape", {handle}), Tensor::Vector<int32_t>({2}));
}

TEST_F(ResourceVariableTest, ACachedLookUpNoticesThatTheVariableWasDestroyed) {
  const Tensor handle = Handle("v");
  ASSERT_EQ(Do("AssignVariableOp", {handle, Tensor::Vector<float>({1, 2})}), OkStatus());
  auto read = Make(OpNode("ReadVariableOp").Attr("dtype", DType::kFloat), {handle});
  ASSERT_EQ(read.status(), OkStatus());
  OpOutputs outputs;
  ASSERT_EQ(RunInstance(**read, {handle}, &outputs), OkStatus());
  ASSERT_EQ(RunInstance(**read, {handle}, &outputs), OkStatus());
  ASSERT_EQ(Do("DestroyResourceOp", {handle}), OkStatus());
  EXPECT_EQ(RunInstance(**read, {handle}, &outputs).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Do(OpNode("DestroyResourceOp").Attr("ignore_lookup_error", false), {handle}).code(),
            absl::StatusCode::kNotFound);
  // The same kernel, another handle.
  const Tensor other = Handle("w");
  ASSERT_EQ(Do("AssignVariableOp", {other, Tensor::Vector<float>({5})}), OkStatus());
  ASSERT_EQ(RunInstance(**read, {other}, &outputs), OkStatus());
  ExpectSame(outputs[0].tensor, Tensor::Vector<float>({5}));
}

TEST_F(ResourceVariableTest, AHandleOfAnotherDeviceIsRefused) {
  ResourceHandle elsewhere;
  elsewhere.device = "/job:ps/replica:0/task:3/device:CPU:0";
  elsewhere.name = "v";
  EXPECT_EQ(Read(Tensor::Scalar(elsewhere)).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(ResourceVariableTest, UpdatesOfAnotherShapeAreRefused) {
  const Tensor handle = Handle("v");
  ASSERT_EQ(Do("AssignVariableOp", {handle, Tensor::Vector<float>({1, 2})}), OkStatus());
  EXPECT_EQ(
      Do("AssignSubVariableOp", {handle, Tensor::Vector<float>({1, 2, 3})}),
      InvalidArgument("Cannot update variable with shape [2] using a Tensor with shape [3], shapes "
                      "must be equal."));
  EXPECT_EQ(Do(OpNode("AssignVariableOp").Attr("validate_shape", true),
               {handle, Tensor::Vector<float>({1, 2, 3})})
                .code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Do("AssignVariableOp", {handle, Tensor::Vector<double>({1, 2})}).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(ResourceVariableTest, GathersRowsAndSlices) {
  const Tensor handle = Handle("v");
  ASSERT_EQ(Do("AssignVariableOp", {handle, Tensor::Of<float>(Shape({3, 2}), {1, 2, 3, 4, 5, 6})}),
            OkStatus());
  const OpNode gather = OpNode("ResourceGather").Attr("dtype", DType::kFloat);
  ExpectSame(RunOne(gather, {handle, Tensor::Vector<int64_t>({2, 0})}),
             Tensor::Of<float>(Shape({2, 2}), {5, 6, 1, 2}));
  ExpectSame(RunOne(OpNode("ResourceGather").Attr("dtype", DType::kFloat).Attr("batch_dims", 1),
                    {handle, Tensor::Of<int32_t>(Shape({3, 1}), {0, 1, 0})}),
             Tensor::Of<float>(Shape({3, 1}), {1, 4, 5}));
  ExpectSame(RunOne(OpNode("ResourceGatherNd").Attr("dtype", DType::kFloat),
                    {handle, Tensor::Of<int32_t>(Shape({2, 2}), {0, 1, 2, 0})}),
             Tensor::Vector<float>({2, 5}));
  EXPECT_EQ(Run(gather, {handle, Tensor::Of<int32_t>(Shape({1, 2}), {0, 5})}).status(),
            InvalidArgument("indices[0,1] = 5 is not in [0, 3)"));
}

TEST_F(ResourceVariableTest, ScattersIntoRows) {
  const Tensor handle = Handle("v");
  const auto reset = [&] {
    ASSERT_EQ(Do("AssignVariableOp", {handle, Tensor::Of<float>(Shape({3, 1}), {2, 4, 8})}),
              OkStatus());
  };
  const Tensor indices = Tensor::Vector<int32_t>({1, 1, 2});
  const Tensor updates = Tensor::Of<float>(Shape({3, 1}), {1, 2, 4});
  const std::vector<std::pair<const char*, std::vector<float>>> cases = {
      {"ResourceScatterAdd", {2, 7, 12}},  {"ResourceScatterSub", {2, 1, 4}},
      {"ResourceScatterMul", {2, 8, 32}},  {"ResourceScatterDiv", {2, 2, 2}},
      {"ResourceScatterMin", {2, 1, 4}},   {"ResourceScatterMax", {2, 4, 8}},
      {"ResourceScatterUpdate", {2, 2, 4}}};
  for (const auto& [op, want] : cases) {
    reset();
    ASSERT_EQ(Do(op, {handle, indices, updates}), OkStatus()) << op;
    ExpectSame(Read(handle).value(), Tensor::Vector<float>(want).Reshaped(Shape({3, 1})));
  }
  EXPECT_EQ(
      Do("ResourceScatterAdd", {handle, Tensor::Vector<int32_t>({0, 3}), Tensor::Scalar<float>(1)}),
      InvalidArgument("indices[1] = 3 is not in [0, 3)"));
  EXPECT_EQ(
      Do("ResourceScatterAdd", {handle, indices, Tensor::Vector<float>({1, 2})}),
      InvalidArgument("The shape of indices ([3]) must be a prefix of the shape of updates ([2])"));
}

TEST_F(ResourceVariableTest, ManyRowsAreScatteredInTheOrderOfTheIndices) {
  const Tensor handle = Handle("v");
  ASSERT_EQ(Do("AssignVariableOp", {handle, Tensor::Zeros(DType::kFloat, Shape({50, 64})).value()}),
            OkStatus());
  Tensor indices = Tensor::Zeros(DType::kInt32, Shape({5000})).value();
  Tensor updates = Tensor::Zeros(DType::kFloat, Shape({5000, 64})).value();
  for (int i = 0; i < 5000; ++i) {
    indices.mutable_values<int32_t>()[i] = i % 50;
    for (int j = 0; j < 64; ++j)
      updates.mutable_values<float>()[i * 64 + j] = static_cast<float>(i);
  }
  ASSERT_EQ(Do("ResourceScatterUpdate", {handle, indices, updates}), OkStatus());
  const Tensor value = Read(handle).value();
  for (int row = 0; row < 50; ++row) {
    ASSERT_EQ(value.values<float>()[row * 64 + 5], 4950 + row);
  }
}

TEST_F(ResourceVariableTest, WholeNumbersAreNotDividedByZero) {
  const Tensor handle = Handle("v");
  ASSERT_EQ(Do("AssignVariableOp", {handle, Tensor::Vector<int32_t>({INT32_MIN, 7})}), OkStatus());
  EXPECT_EQ(Do("ResourceScatterDiv",
               {handle, Tensor::Vector<int32_t>({0}), Tensor::Vector<int32_t>({0})}),
            InvalidArgument("Integer division by zero"));
  EXPECT_EQ(Do("ResourceScatterDiv",
               {handle, Tensor::Vector<int32_t>({0}), Tensor::Vector<int32_t>({-1})}),
            OkStatus());
}

TEST_F(ResourceVariableTest, AssignsToStridedSlices) {
  const Tensor handle = Handle("v");
  ASSERT_EQ(Do("AssignVariableOp", {handle, Tensor::Of<float>(Shape({3, 2}), {1, 2, 3, 4, 5, 6})}),
            OkStatus());
  const auto ints = [](std::initializer_list<int32_t> v) { return Tensor::Vector<int32_t>(v); };
  ASSERT_EQ(Do("ResourceStridedSliceAssign", {handle, ints({0, 1}), ints({3, 2}), ints({2, 1}),
                                              Tensor::Of<float>(Shape({2, 1}), {20, 60})}),
            OkStatus());
  ASSERT_EQ(Do(OpNode("ResourceStridedSliceAssign").Attr("shrink_axis_mask", 1),
               {handle, ints({1}), ints({2}), ints({1}), Tensor::Scalar<float>(9)}),
            OkStatus());
  ExpectSame(Read(handle).value(), Tensor::Of<float>(Shape({3, 2}), {1, 20, 9, 9, 5, 60}));
  EXPECT_EQ(Do("ResourceStridedSliceAssign",
               {handle, ints({0}), ints({2}), ints({1}), Tensor::Vector<float>({1, 2, 3})})
                .code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(ResourceVariableTest, ScattersIntoSlicesNamedByTuples) {
  const Tensor handle = Handle("v");
  ASSERT_EQ(Do("AssignVariableOp", {handle, Tensor::Of<float>(Shape({2, 2}), {1, 2, 3, 4})}),
            OkStatus());
  ASSERT_EQ(Do("ResourceScatterNdAdd", {handle, Tensor::Of<int32_t>(Shape({2, 2}), {0, 1, 0, 1}),
                                        Tensor::Vector<float>({10, 20})}),
            OkStatus());
  ASSERT_EQ(Do("ResourceScatterNdUpdate", {handle, Tensor::Of<int32_t>(Shape({1, 1}), {1}),
                                           Tensor::Of<float>(Shape({1, 2}), {7, 8})}),
            OkStatus());
  ExpectSame(Read(handle).value(), Tensor::Of<float>(Shape({2, 2}), {1, 32, 7, 8}));
  EXPECT_EQ(Do("ResourceScatterNdUpdate", {handle, Tensor::Of<int32_t>(Shape({2, 2}), {0, 0, 1, 7}),
                                           Tensor::Vector<float>({1, 1})}),
            InvalidArgument("indices[1] = [1, 7] does not index into shape [2,2]"));
}

TEST_F(ResourceVariableTest, ReadsAsManyVariablesAsItHasTypesFor) {
  const std::vector<DType> types = {DType::kFloat};
  EXPECT_THAT(Run(OpNode("_ReadVariablesOp").Attr("dtypes", absl::MakeConstSpan(types)),
                  {Handle("v"), Handle("w")})
                  .status()
                  .message(),
              ::testing::HasSubstr("_ReadVariablesOp has 2 resources but 1 dtypes"));
}

}  // namespace
}  // namespace tensorfleet
