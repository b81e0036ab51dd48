#include <cstdlib>
#include <cstring>

#include "runtime/capi/testing/c_graph.h"

namespace tensorfleet::capi {
namespace {

using ::testing::ElementsAre;

struct Returned {
  int times = 0;
  void* data = nullptr;
  size_t length = 0;
};

void Return(void* data, size_t length, void* arg) {
  auto* returned = static_cast<Returned*>(arg);
  ++returned->times;
  returned->data = data;
  returned->length = length;
}

TEST(CTensor, UsesAlignedBytesWhereTheyAre) {
  alignas(64) float values[] = {1, 2, 3, 4, 5, 6};
  const int64_t dims[] = {2, 3};
  Returned returned;
  TF_Tensor* tensor = TF_NewTensor(TF_FLOAT, dims, 2, values, sizeof(values), Return, &returned);
  ASSERT_NE(tensor, nullptr);
  EXPECT_EQ(TF_TensorData(tensor), values);
  EXPECT_EQ(TF_TensorType(tensor), TF_FLOAT);
  EXPECT_EQ(TF_NumDims(tensor), 2);
  EXPECT_EQ(TF_Dim(tensor, 1), 3);
  EXPECT_EQ(TF_Dim(tensor, 2), -1);
  EXPECT_EQ(TF_TensorByteSize(tensor), 24u);
  EXPECT_EQ(TF_TensorElementCount(tensor), 6);
  EXPECT_TRUE(TF_TensorIsAligned(tensor));
  EXPECT_EQ(returned.times, 0);
  TF_DeleteTensor(tensor);
  EXPECT_EQ(returned.times, 1);
  EXPECT_EQ(returned.data, values);
  EXPECT_EQ(returned.length, sizeof(values));
}

TEST(CTensor, CopiesBytesThatAreNotAligned) {
  alignas(64) float values[] = {0, 1, 2, 3};
  const int64_t dims[] = {3};
  Returned returned;
  const Owned<TF_Tensor> tensor(TF_NewTensor(TF_FLOAT, dims, 1, values + 1, 12, Return, &returned));
  ASSERT_NE(tensor, nullptr);
  EXPECT_EQ(returned.times, 1);
  EXPECT_NE(TF_TensorData(tensor.get()), values + 1);
  EXPECT_THAT(FloatsOf(tensor.get()), ElementsAre(1, 2, 3));
}

TEST(CTensor, RefusesBytesThatDoNotFitTheShape) {
  alignas(64) float values[2] = {};
  const int64_t dims[] = {3}, negative[] = {-1}, huge[] = {int64_t{1} << 40, int64_t{1} << 40};
  Returned returned;
  EXPECT_EQ(TF_NewTensor(TF_FLOAT, dims, 1, values, sizeof(values), Return, &returned), nullptr);
  EXPECT_EQ(TF_NewTensor(TF_FLOAT, negative, 1, values, sizeof(values), Return, &returned),
            nullptr);
  EXPECT_EQ(TF_NewTensor(TF_FLOAT, huge, 2, values, sizeof(values), Return, &returned), nullptr);
  EXPECT_EQ(TF_NewTensor(static_cast<TF_DataType>(77), nullptr, 0, values, 8, Return, &returned),
            nullptr);
  EXPECT_EQ(TF_NewTensor(TF_FLOAT, nullptr, 1, values, 8, Return, &returned), nullptr);
  EXPECT_EQ(returned.times, 5);
  EXPECT_EQ(TF_AllocateTensor(TF_FLOAT, dims, 1, 8), nullptr);
}

TEST(CTensor, MovesOnlyWhatIsItsOwn) {
  TF_Tensor* tensor = FloatVector({1, 2}).release();
  TF_Tensor* moved = TF_TensorMaybeMove(tensor);
  ASSERT_NE(moved, nullptr);
  const Owned<TF_Tensor> owner(moved);
  EXPECT_THAT(FloatsOf(moved), ElementsAre(1, 2));
  alignas(64) float values[] = {1};
  Returned returned;
  const Owned<TF_Tensor> callers(TF_NewTensor(TF_FLOAT, nullptr, 0, values, 4, Return, &returned));
  EXPECT_EQ(TF_TensorMaybeMove(callers.get()), nullptr);
}

TEST(CTensor, SharesBytesWithItsBitcast) {
  const Owned<TF_Tensor> from = FloatVector({1, 2, 3, 4}), to = FloatVector({});
  const int64_t dims[] = {2};
  Outcome outcome;
  TF_TensorBitcastFrom(from.get(), TF_DOUBLE, to.get(), dims, 1, outcome);
  ASSERT_TRUE(IsOk(outcome));
  EXPECT_EQ(TF_TensorType(to.get()), TF_DOUBLE);
  EXPECT_EQ(TF_TensorData(to.get()), TF_TensorData(from.get()));
  TF_TensorBitcastFrom(from.get(), TF_FLOAT, to.get(), dims, 1, outcome);
  EXPECT_EQ(outcome.code(), TF_INVALID_ARGUMENT);
}

TEST(CTensor, ReadsMessages) {
  // dtype: DT_INT32, shape {2}, int_val: 7.
  const char message[] = {0x08, 0x03, 0x12, 0x04, 0x12, 0x02, 0x08, 0x02, 0x3a, 0x01, 0x07};
  const Owned<TF_Buffer> buffer(TF_NewBufferFromString(message, sizeof(message)));
  const Owned<TF_Tensor> tensor = FloatVector({});
  Outcome outcome;
  TF_TensorFromProto(buffer.get(), tensor.get(), outcome);
  ASSERT_TRUE(IsOk(outcome));
  ASSERT_EQ(TF_TensorType(tensor.get()), TF_INT32);
  EXPECT_EQ(static_cast<int32_t*>(TF_TensorData(tensor.get()))[1], 7);
}

TEST(CTensor, SizesOfTypes) {
  EXPECT_EQ(TF_DataTypeSize(TF_FLOAT), 4u);
  EXPECT_EQ(TF_DataTypeSize(TF_COMPLEX128), 16u);
  EXPECT_EQ(TF_DataTypeSize(TF_STRING), 0u);
  EXPECT_EQ(TF_DataTypeSize(TF_RESOURCE), 0u);
  EXPECT_EQ(TF_DataTypeSize(static_cast<TF_DataType>(0)), 0u);
  EXPECT_EQ(TF_DataTypeSize(static_cast<TF_DataType>(101)), 0u);
}

TEST(CString, HoldsShortTextItself) {
  TF_TString string;
  TF_StringInit(&string);
  EXPECT_EQ(TF_StringGetType(&string), TF_TSTR_SMALL);
  EXPECT_EQ(TF_StringGetSize(&string), 0u);
  const std::string text(22, 'a');
  TF_StringCopy(&string, text.data(), text.size());
  EXPECT_EQ(TF_StringGetType(&string), TF_TSTR_SMALL);
  EXPECT_EQ(TF_StringGetCapacity(&string), 22u);
  EXPECT_STREQ(TF_StringGetDataPointer(&string), text.c_str());
}

TEST(CString, OwnsLongText) {
  TF_TString string;
  TF_StringInit(&string);
  const std::string text(23, 'a');
  TF_StringCopy(&string, text.data(), text.size());
  EXPECT_EQ(TF_StringGetType(&string), TF_TSTR_LARGE);
  EXPECT_EQ(TF_StringGetCapacity(&string), 31u);
  EXPECT_STREQ(TF_StringGetDataPointer(&string), text.c_str());
  // Of itself.
  TF_StringCopy(&string, TF_StringGetDataPointer(&string) + 20, 3);
  EXPECT_STREQ(TF_StringGetDataPointer(&string), "aaa");
  TF_StringCopy(&string, text.data(), text.size());
  TF_StringDealloc(&string);
  EXPECT_EQ(TF_StringGetSize(&string), 0u);
}

TEST(CString, RefersToTextOfOthers) {
  TF_TString string;
  TF_StringInit(&string);
  TF_StringAssignView(&string, "somebody else's", 8);
  EXPECT_EQ(TF_StringGetType(&string), TF_TSTR_VIEW);
  EXPECT_EQ(std::string(TF_StringGetDataPointer(&string), TF_StringGetSize(&string)), "somebody");
}

}  // namespace
}  // namespace tensorfleet::capi
