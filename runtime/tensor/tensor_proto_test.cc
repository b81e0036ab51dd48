#include "runtime/tensor/tensor_proto.h"

#include <gtest/gtest.h>

#include "proto/tensor.pb.h"
#include "runtime/tensor/resource_handle.h"
#include "runtime/tensor/variant.h"

namespace tensorfleet {
namespace {

tensorflow::TensorProto ProtoOf(DType dtype, std::initializer_list<int64_t> dims) {
  tensorflow::TensorProto proto;
  proto.set_dtype(static_cast<tensorflow::DataType>(dtype));
  for (const int64_t d : dims) proto.mutable_tensor_shape()->add_dim()->set_size(d);
  return proto;
}

TEST(TensorProto, EveryPlainTypeRoundTripsInBothForms) {
  for (int number = 1; number <= 30; ++number) {
    if (!IsValidDType(number) || !IsPlainData(static_cast<DType>(number))) continue;
    const DType dtype = static_cast<DType>(number);
    Tensor t = *Tensor::Zeros(dtype, Shape({2, 3}));
    // Small values that are valid in every type, the last two equal so that the compact form drops
    // one.
    auto* bytes = static_cast<char*>(t.mutable_raw());
    for (int i = 0; i < 4; ++i) bytes[i * ElementSize(dtype)] = 1;
    for (auto encode : {&TensorToProto, &TensorToCompactProto}) {
      tensorflow::TensorProto proto;
      ASSERT_TRUE(encode(t, &proto).ok());
      const StatusOr<Tensor> back = TensorFromProto(proto);
      ASSERT_TRUE(back.ok()) << DTypeName(dtype) << " " << back.status();
      EXPECT_EQ(back->shape(), t.shape());
      EXPECT_EQ(std::memcmp(back->raw(), t.raw(), t.bytes()), 0) << DTypeName(dtype);
    }
  }
}

TEST(TensorProto, StringsRoundTripInBothForms) {
  const Tensor t = Tensor::Vector<std::string>({"", "a", std::string(300, 'b')});
  for (auto encode : {&TensorToProto, &TensorToCompactProto}) {
    tensorflow::TensorProto proto;
    ASSERT_TRUE(encode(t, &proto).ok());
    EXPECT_EQ(TensorFromProto(proto)->values<std::string>()[2], std::string(300, 'b'));
  }
}

TEST(TensorProto, FewerValuesRepeatTheLastOneAndNoneMeansZero) {
  tensorflow::TensorProto proto = ProtoOf(DType::kInt32, {4});
  EXPECT_EQ(TensorFromProto(proto)->ToString(), "int32 [4]: 0 0 0 0");
  proto.add_int_val(1);
  proto.add_int_val(7);
  EXPECT_EQ(TensorFromProto(proto)->ToString(), "int32 [4]: 1 7 7 7");
}

TEST(TensorProto, TheCompactFormOfAConstantIsOneValue) {
  tensorflow::TensorProto proto;
  ASSERT_TRUE(TensorToCompactProto(Tensor::Vector<float>({5, 5, 5}), &proto).ok());
  EXPECT_EQ(proto.float_val_size(), 1);
  ASSERT_TRUE(TensorToCompactProto(Tensor::Vector<float>({0, 0}), &proto).ok());
  EXPECT_EQ(proto.float_val_size(), 0);
  // Minus zero is not zero.
  ASSERT_TRUE(TensorToCompactProto(Tensor::Vector<float>({-0.0f}), &proto).ok());
  EXPECT_EQ(proto.float_val_size(), 1);
}

TEST(TensorProto, RefusesContentThatDoesNotFitItsShape) {
  tensorflow::TensorProto proto = ProtoOf(DType::kFloat, {3});
  proto.set_tensor_content("12345678");
  EXPECT_EQ(TensorFromProto(proto).status().code(), absl::StatusCode::kInvalidArgument);
  proto = ProtoOf(DType::kFloat, {1});
  proto.add_float_val(1);
  proto.add_float_val(2);
  EXPECT_EQ(TensorFromProto(proto).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(TensorProto, RefusesHostileShapesBeforeAllocating) {
  tensorflow::TensorProto proto = ProtoOf(DType::kString, {int64_t{1} << 40});
  proto.set_tensor_content("x");
  EXPECT_EQ(TensorFromProto(proto).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(TensorFromProto(ProtoOf(DType::kFloat, {-1})).ok());
  EXPECT_FALSE(TensorFromProto(ProtoOf(static_cast<DType>(77), {1})).ok());
  EXPECT_FALSE(TensorFromProto(ProtoOf(RefTo(DType::kFloat), {1})).ok());
}

TEST(TensorProto, RefusesFramingThatLies) {
  tensorflow::TensorProto proto = ProtoOf(DType::kString, {2});
  for (const char* content : {"\x05\x05"
                              "abc",
                              "\x01", "\xff\xff\xff\xff\xff\xff",
                              "\x01\x00"
                              "ab"}) {
    proto.set_tensor_content(content);
    EXPECT_EQ(TensorFromProto(proto).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST(TensorProto, AResourceHandleKeepsAllItsParts) {
  ResourceHandle handle;
  handle.device = "/job:ps/replica:0/task:0/device:CPU:0";
  handle.container = "ps";
  handle.name = "w";
  handle.hash_code = 42;
  handle.type_name = "N10tensorflow3VarE";
  handle.dtypes_and_shapes.push_back({DType::kFloat, PartialShape({2, -1})});
  tensorflow::TensorProto proto;
  ASSERT_TRUE(TensorToProto(Tensor::Scalar(handle), &proto).ok());
  const Tensor back = *TensorFromProto(proto);
  EXPECT_EQ(back.scalar<ResourceHandle>().name, "w");
  EXPECT_EQ(back.scalar<ResourceHandle>().dtypes_and_shapes[0].shape, PartialShape({2, -1}));
}

TEST(TensorProto, AnUnknownVariantIsMovedOnUnchanged) {
  const Variant variant(std::make_shared<EncodedVariant>(
      VariantData{"some::Type", "meta", {Tensor::Vector<float>({1, 2})}}));
  tensorflow::TensorProto proto;
  ASSERT_TRUE(TensorToProto(Tensor::Scalar(variant), &proto).ok());
  const Tensor back = *TensorFromProto(proto);
  EXPECT_EQ(back.scalar<Variant>().value()->TypeName(), "some::Type");
  EXPECT_EQ(back.scalar<Variant>().value()->Encode()->tensors[0].ToString(), "float [2]: 1 2");
}

}  // namespace
}  // namespace tensorfleet
