// Tests of the random kernels: the expected values are what TensorFlow 2.15.1 gives on a CPU for
// the same seeds.
#include <cmath>
#include <cstring>

#include <Eigen/Core>

#include "runtime/kernels/testing/op_test.h"

namespace tensorfleet {
namespace {

using ::testing::ElementsAre;
using RandomKernels = OpTest;
using StatelessRandomKernels = OpTest;

Tensor Ints(std::initializer_list<int32_t> values) { return Tensor::Vector<int32_t>(values); }
Tensor Int(int32_t value) { return Tensor::Scalar<int32_t>(value); }

// The bits of a tensor of 2-, 4- or 8-byte elements.
std::vector<uint64_t> Bits(const Tensor& t) {
  std::vector<uint64_t> bits;
  const size_t size = ElementSize(t.dtype());
  for (int64_t i = 0; i < t.num_elements(); ++i) {
    uint64_t value = 0;
    std::memcpy(&value, static_cast<const char*>(t.raw()) + i * size, size);
    bits.push_back(value);
  }
  return bits;
}

OpNode Seeded(const char* op, int64_t seed, int64_t seed2) {
  return OpNode(op).Attr("seed", seed).Attr("seed2", seed2);
}

struct TwoRuns {
  const char* op;
  DType dtype;
  std::vector<uint64_t> first;
  std::vector<uint64_t> second;
};

TEST_F(RandomKernels, FloatsAreTensorFlowsBitForBitRunAfterRun) {
  const TwoRuns cases[] = {
      {"RandomUniform",
       DType::kHalf,
       {0x2c90, 0x3940, 0x3a70, 0x34e8, 0x1f00, 0x350c, 0x390c},
       {0x3378, 0x37c0, 0x3a0c, 0x38ec, 0x3b06, 0x39d8, 0x3478}},
      {"RandomStandardNormal",
       DType::kHalf,
       {0xb7d9, 0x3ea0, 0x1612, 0xb82f, 0xb991, 0xbfb2, 0x3111},
       {0xbd1d, 0x3a75, 0x38a4, 0x3a2c, 0x3e9b, 0x3497, 0xbc5f}},
      {"TruncatedNormal",
       DType::kHalf,
       {0xb7d9, 0x3ea0, 0x1612, 0xb82f, 0x3a14, 0x8d20, 0x310a},
       {0xbd1d, 0x3a75, 0x38a4, 0x3a2c, 0xbc07, 0xb26f, 0xb95f}},
      {"RandomUniform",
       DType::kBFloat16,
       {0x3f12, 0x3e80, 0x3ee0, 0x3ee8, 0x3d60, 0x3f06, 0x3d40},
       {0x3f5e, 0x3f60, 0x3d40, 0x3f6c, 0x3cc0, 0x3f58, 0x3e70}},
      {"RandomStandardNormal",
       DType::kBFloat16,
       {0xbefb, 0x3fd4, 0x3ac2, 0xbf06, 0xbf32, 0xbff6, 0x3e22},
       {0xbfa4, 0x3f4f, 0x3f14, 0x3f45, 0x3fd3, 0x3e93, 0xbf8c}},
      {"TruncatedNormal",
       DType::kBFloat16,
       {0xbefb, 0x3fd4, 0x3ac2, 0xbf06, 0x3f42, 0xb9a4, 0x3e21},
       {0xbfa4, 0x3f4f, 0x3f14, 0x3f45, 0xbf81, 0xbe4e, 0xbf2c}},
      {"RandomUniform",
       DType::kFloat,
       {0x3e664248, 0x3f744540, 0x3f5f4670, 0x3effc4e8, 0x3dfc8070, 0x3f0e2286, 0x3f76150c},
       {0x3ea363bc, 0x3f56f3e0, 0x3f20b60c, 0x3dd22760, 0x3e7b5c18, 0x3e63f760, 0x3f01ca3c}},
      {"RandomStandardNormal",
       DType::kFloat,
       {0xbefb233a, 0x3fd407b0, 0x3ac23227, 0xbf05e434, 0xbf32179b, 0xbff64b4c, 0x3e22170b},
       {0xbfa39104, 0x3f4e9f51, 0x3f147669, 0x3f45703c, 0x3fd35e97, 0x3e92e264, 0xbf8bd5a7}},
      {"TruncatedNormal",
       DType::kFloat,
       {0xbefb233a, 0x3fd407b0, 0x3ac23227, 0xbf05e434, 0x3f427060, 0xb9a40720, 0x3e214b46},
       {0xbfa39104, 0x3f4e9f51, 0x3f147669, 0x3f45703c, 0xbf80e6f7, 0xbe4dd634, 0xbf2bd671}},
      {"RandomUniform",
       DType::kDouble,
       {0x3fe9909228f44540, 0x3fef4671557fe274, 0x3fef900f9f8e2286, 0x3fe6150c4e185ea0,
        0x3fed883e8f9608e6, 0x3fd511d87ab41c64, 0x3fef1723eb3295ee},
       {0x3fe1b1dfdcd6f3e0, 0x3f96c19363489d80, 0x3feed7060638fdd8, 0x3faca3db8ce819e0,
        0x3fe28045836fc210, 0x3fe4b405f42a3264, 0x3fe5b43394a8889c}},
      {"RandomStandardNormal",
       DType::kDouble,
       {0xbfb8551a14644262, 0x3fe53a056dad9272, 0xbfc3bed34dfcc9d2, 0xbfaf3b32f3813407,
        0x3fd687a2ba6291e8, 0xbfc87b9a90253e07, 0xbfbbb6939238ae47},
       {0x3fc3645a01ad64e7, 0x3ff13f4820713353, 0x3fb7f373a7c493a5, 0x3fd05441181cc4a6,
        0xbfeab8ad9dd9d2bb, 0xbfe43377749fffc6, 0x3fd534dec04aec3c}},
      {"TruncatedNormal",
       DType::kDouble,
       {0xbfb8551a14644262, 0x3fe53a056dad9272, 0x3fd888cc12304c32, 0x3fdb2ff087545642,
        0xbfb87313724b24da, 0x3f470150b4099368, 0x3fe9044651ef37b2},
       {0x3fc3645a01ad64e7, 0x3ff13f4820713353, 0x3fd78208e4103295, 0xbff3456c37e5ba47,
        0xbfc2604721bab168, 0xbfea4aa19749c3d4, 0xbfe85fa54ad7e931}},
  };
  for (const TwoRuns& c : cases) {
    SCOPED_TRACE(absl::StrCat(c.op, " ", DTypeName(c.dtype)));
    const OpNode node = Seeded(c.op, 1234567890123, -42).Attr("dtype", c.dtype);
    auto instance = Make(node, {Ints({7})});
    ASSERT_TRUE(instance.ok()) << instance.status();
    for (const auto& want : {c.first, c.second}) {
      OpOutputs outputs;
      ASSERT_TRUE(RunInstance(**instance, {Ints({7})}, &outputs).ok());
      EXPECT_EQ(Bits(outputs[0].tensor), want);
    }
  }
}

TEST_F(RandomKernels, OnlyAnOpSeedMeansTheDefaultGraphSeed) {
  const OpNode node = Seeded("RandomUniform", 87654321, 7).Attr("dtype", DType::kFloat);
  EXPECT_THAT(Bits(RunOne(node, {Ints({3})})), ElementsAre(0x3ef7c71c, 0x3f019686, 0x3e82a234));
}

TEST_F(RandomKernels, NoSeedsMeanDifferentNumbersEveryTime) {
  const OpNode node = Seeded("RandomUniform", 0, 0).Attr("dtype", DType::kDouble);
  EXPECT_NE(Bits(RunOne(node, {Ints({4})})), Bits(RunOne(node, {Ints({4})})));
}

TEST_F(RandomKernels, ManyElementsSharedAmongThreadsAreTheSame) {
  const OpNode node = Seeded("RandomStandardNormal", 1, 2).Attr("dtype", DType::kFloat);
  const std::vector<uint64_t> bits = Bits(RunOne(node, {Ints({100003})}));
  EXPECT_THAT(std::vector<uint64_t>(bits.end() - 3, bits.end()),
              ElementsAre(0xc0061f56, 0xbe3ec97c, 0x4022dfea));
  // A shorter run is the beginning of a longer one, however the work was cut up.
  const std::vector<uint64_t> few = Bits(RunOne(node, {Ints({1025})}));
  EXPECT_TRUE(std::equal(few.begin(), few.end(), bits.begin()));
}

TEST_F(RandomKernels, IntegersAreTensorFlows) {
  ExpectSame(RunOne(Seeded("RandomUniformInt", 3, 4), {Ints({7}), Int(-5), Int(1000000)}),
             Ints({838981, 71570, 502476, 241944, 398324, 581285, 676388}));
  ExpectSame(RunOne(Seeded("RandomUniformInt", 3, 4), {Ints({3}), Tensor::Scalar<int64_t>(-5),
                                                       Tensor::Scalar<int64_t>(1000000000000)}),
             Tensor::Vector<int64_t>({722507325641, 417123746540, 593204934234}));
  EXPECT_EQ(Run(Seeded("RandomUniformInt", 3, 4), {Ints({3}), Int(3), Int(3)}).status().message(),
            "Need minval < maxval, got 3 >= 3");
}

TEST_F(RandomKernels, ShuffleMovesRows) {
  auto instance = Make(Seeded("RandomShuffle", 5, 6), {Ints({0})});
  ASSERT_TRUE(instance.ok()) << instance.status();
  const Tensor x = Ints({0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  for (const Tensor& want :
       {Ints({3, 5, 7, 2, 1, 8, 0, 4, 9, 6}), Ints({9, 4, 2, 0, 5, 7, 3, 8, 1, 6})}) {
    OpOutputs outputs;
    ASSERT_TRUE(RunInstance(**instance, {x}, &outputs).ok());
    ExpectSame(outputs[0].tensor, want);
  }
  ExpectSame(RunOne(Seeded("RandomShuffle", 5, 6),
                    {Tensor::Of<int32_t>(Shape({10, 2}), {0,  1,  2,  3,  4,  5,  6,  7,  8, 9, 10,
                                                          11, 12, 13, 14, 15, 16, 17, 18, 19})}),
             Tensor::Of<int32_t>(Shape({10, 2}), {6,  7,  10, 11, 14, 15, 4,  5,  2,  3,
                                                  16, 17, 0,  1,  8,  9,  18, 19, 12, 13}));
}

// Nine rows need eight words, two whole blocks: the second step goes on with the third.
TEST_F(RandomKernels, ShuffleTakesNoWordForItsLastRow) {
  const Tensor x = Ints({0, 1, 2, 3, 4, 5, 6, 7, 8});
  auto instance = Make(Seeded("RandomShuffle", 5, 6), {x});
  ASSERT_TRUE(instance.ok()) << instance.status();
  for (const Tensor& want :
       {Ints({0, 4, 2, 8, 5, 3, 1, 7, 6}), Ints({3, 1, 8, 4, 2, 5, 0, 7, 6})}) {
    OpOutputs outputs;
    ASSERT_TRUE(RunInstance(**instance, {x}, &outputs).ok());
    ExpectSame(outputs[0].tensor, want);
  }
}

TEST_F(RandomKernels, MultinomialLeavesOutInfiniteLogits) {
  const Tensor logits = Tensor::Of<float>(Shape({2, 3}), {0, 1, 2, 3, 0, -1e30f});
  ExpectSame(RunOne(Seeded("Multinomial", 7, 8), {logits, Int(5)}),
             Tensor::Of<int64_t>(Shape({2, 5}), {1, 2, 2, 2, 2, 0, 0, 0, 0, 0}));
  const Tensor infinite = Tensor::Of<double>(Shape({2, 3}), {0, 1, 2, 3, 0, INFINITY});
  ExpectSame(
      RunOne(Seeded("Multinomial", 7, 8).Attr("output_dtype", DType::kInt32), {infinite, Int(6)}),
      Tensor::Of<int32_t>(Shape({2, 6}), {1, 2, 2, 2, 2, 2, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(Run("Multinomial", {logits, Int(-2)}).status().message(),
            "num_samples should be nonnegative, got -2");
}

TEST_F(RandomKernels, RefuseImpossibleShapes) {
  const OpNode node = Seeded("RandomUniform", 1, 1).Attr("dtype", DType::kFloat);
  EXPECT_EQ(Run(node, {Ints({-1})}).status().message(), "Dimension -1 must be >= 0");
  EXPECT_EQ(Run(node, {Int(3)}).status().message(),
            "shape must be a vector of {int32,int64}, got shape []");
}

class Stateless : public OpTest {
 protected:
  // Where seeds (12, -34) begin.
  const Tensor key_ = Tensor::Vector<uint64_t>({18361868651667567579u});
  const Tensor counter_ = Tensor::Vector<uint64_t>({0, 17748023626664699917u});
  std::vector<uint64_t> Draw(const char* op, DType dtype) {
    return Bits(RunOne(OpNode(op).Attr("dtype", dtype), {Ints({5}), key_, counter_, Int(1)}));
  }
};

TEST_F(Stateless, SeedsAreSpreadOverKeyAndCounter) {
  const auto start = Run("StatelessRandomGetKeyCounter", {Ints({12, -34})});
  ASSERT_TRUE(start.ok()) << start.status();
  ExpectSame((*start)[0], key_);
  ExpectSame((*start)[1], counter_);
  ExpectSame(RunOne("StatelessRandomGetAlg", {}), Int(1));
  EXPECT_EQ(Run("StatelessRandomGetKeyCounter", {Ints({1})}).status().message(),
            "seed must have shape [2], not [1]");
}

TEST_F(Stateless, DistributionsAreTensorFlows) {
  EXPECT_THAT(Draw("StatelessRandomUniformV2", DType::kHalf),
              ElementsAre(0x36d8, 0x31c0, 0x3a4e, 0x39f2, 0x2640));
  EXPECT_THAT(Draw("StatelessRandomUniformV2", DType::kBFloat16),
              ElementsAre(0x3ed8, 0x3ee0, 0x3e9c, 0x3f72, 0x3e48));
  EXPECT_THAT(Draw("StatelessRandomUniformV2", DType::kFloat),
              ElementsAre(0x3e434db0, 0x3eeed2e0, 0x3f587e4e, 0x3ddc6f90, 0x3f60e032));
  EXPECT_THAT(Draw("StatelessRandomUniformV2", DType::kDouble),
              ElementsAre(0x3fe0d36db9776970, 0x3fe87e4ffe1b8df2, 0x3f9c0659f6abca40,
                          0x3fd6d2aa391d8978, 0x3fe3b1dd9bbd330a));
  EXPECT_THAT(Draw("StatelessRandomNormalV2", DType::kFloat),
              ElementsAre(0x3ec3022b, 0xbfe3da6d, 0x3eb98bc4, 0x3ee732b3, 0xbefbdf53));
  EXPECT_THAT(Draw("StatelessRandomNormalV2", DType::kDouble),
              ElementsAre(0xbff20e810c982bd0, 0x3fbc13c953459ac0, 0x4000d2f7e9d44e1f,
                          0xbffaa626a3a866d4, 0xbfeeeb3868756905));
  EXPECT_THAT(Draw("StatelessTruncatedNormalV2", DType::kFloat),
              ElementsAre(0x3ec3022b, 0xbfe3da6d, 0x3eb98bc4, 0x3ee732b3, 0x3f818738));
  EXPECT_THAT(Draw("StatelessTruncatedNormalV2", DType::kDouble),
              ElementsAre(0xbff20e810c982bd0, 0x3fbc13c953459ac0, 0xbfc28535954ba47d,
                          0x3fe2486f01d1e26e, 0xbfd256dfd5224bca));
  EXPECT_THAT(Draw("StatelessRandomUniformFullIntV2", DType::kUInt32),
              ElementsAre(2098751926, 3703289016, 2733391655, 4279092985, 4134563865));
  EXPECT_THAT(Draw("StatelessRandomUniformFullIntV2", DType::kUInt64),
              ElementsAre(15905505213454772662u, 18378564429851410215u, 7483486325592584217u,
                          10252271236211389610u, 14834463020364191982u));
}

TEST_F(Stateless, IntegersLieBetweenTheirBounds) {
  ExpectSame(
      RunOne("StatelessRandomUniformIntV2", {Ints({5}), key_, counter_, Int(3), Int(-7), Int(100)}),
      Ints({98, 70, 36, 17, 77}));
  ExpectSame(RunOne("StatelessRandomUniformIntV2",
                    {Ints({5}), key_, counter_, Int(3), Tensor::Scalar<int64_t>(-7),
                     Tensor::Scalar<int64_t>(100)}),
             Tensor::Vector<int64_t>({84, 90, 60, -6, 29}));
}

TEST_F(Stateless, FormsWithASeedScrambleItThemselves) {
  EXPECT_THAT(Bits(RunOne("StatelessRandomUniform", {Ints({3}), Ints({12, -34})})),
              ElementsAre(0x3e434db0, 0x3eeed2e0, 0x3f587e4e));
  ExpectSame(RunOne("StatelessMultinomial",
                    {Tensor::Of<float>(Shape({1, 3}), {0, 1, 2}), Int(6), Ints({1, 2})}),
             Tensor::Of<int64_t>(Shape({1, 6}), {2, 2, 1, 2, 2, 2}));
}

TEST_F(Stateless, RefuseOtherAlgorithmsAndShapesOfKeys) {
  const OpNode node = OpNode("StatelessRandomUniformV2");
  EXPECT_EQ(Run(node, {Ints({2}), key_, counter_, Int(2)}).status().message(),
            "Unsupported algorithm id: 2");
  EXPECT_EQ(Run(node, {Ints({2}), counter_, counter_, Int(1)}).status().message(),
            "key must have shape [1], not [2]. (Note that batched keys are not supported yet.)");
  EXPECT_EQ(Run(node, {Ints({2}), key_, key_, Int(1)}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tensorfleet
