// Tests of the kernels on strings.
#include <cmath>
#include <limits>

#include "runtime/kernels/cpu/string/fingerprint.h"
#include "runtime/kernels/testing/op_test.h"

namespace tensorfleet {
namespace {

using ::testing::HasSubstr;
using StringKernels = OpTest;

Tensor Ints(std::initializer_list<int32_t> values) { return Tensor::Vector<int32_t>(values); }
Tensor Floats(std::initializer_list<float> values) { return Tensor::Vector<float>(values); }
Tensor Strings(std::initializer_list<std::string> v) { return Tensor::Vector<std::string>(v); }
Tensor Int(int32_t value) { return Tensor::Scalar<int32_t>(value); }
Tensor Positions(int64_t count, std::initializer_list<int64_t> values) {
  return Tensor::Of<int64_t>(Shape({count, 2}), values);
}

TEST_F(StringKernels, JoinRepeatsScalars) {
  ExpectSame(RunOne(OpNode("StringJoin").Attr("separator", "-"),
                    {Strings({"a", "b"}), Tensor::Scalar("x"), Strings({"", "c"})}),
             Strings({"a-x-", "b-x-c"}));
  ExpectSame(RunOne("StringJoin", {Tensor::Scalar("_temp"), Tensor::Scalar("/part")}),
             Tensor::Scalar("_temp/part"));
  EXPECT_EQ(Run("StringJoin", {Strings({"a", "b"}), Strings({"a", "b", "c"})}).status().message(),
            "Input shapes do not match: [2] vs. [3]");
}

TEST_F(StringKernels, ChangesLeaveTheInputAlone) {
  const Tensor x = Strings({" aÉb "});
  ExpectSame(RunOne("StringUpper", {x}), Strings({" AÉB "}));
  ExpectSame(RunOne("StringLower", {Strings({"AbC"})}), Strings({"abc"}));
  ExpectSame(RunOne("StringStrip", {x}), Strings({"aÉb"}));
  ExpectSame(x, Strings({" aÉb "}));
  ExpectSame(RunOne(OpNode("StringLower").Attr("encoding", "utf-8"), {x}), Strings({" aéb "}));
  ExpectSame(RunOne(OpNode("StringUpper").Attr("encoding", "utf-8"), {Strings({"ß\xff"})}),
             Strings({"SS\xef\xbf\xbd"}));
  EXPECT_THAT(Run(OpNode("StringUpper").Attr("encoding", "latin1"), {x}).status().message(),
              HasSubstr("only utf-8"));
}

TEST_F(StringKernels, LengthsAndPartsCountBytesOrCharacters) {
  const Tensor x = Strings({"héé"});
  ExpectSame(RunOne("StringLength", {x}), Ints({5}));
  ExpectSame(RunOne(OpNode("StringLength").Attr("unit", "UTF8_CHAR"), {x}), Ints({3}));
  ExpectSame(RunOne(OpNode("Substr").Attr("unit", "UTF8_CHAR"),
                    {Strings({"héépo", "abcdef"}), Ints({1, 2}), Ints({2, 9})}),
             Strings({"éé", "cdef"}));
  ExpectSame(RunOne("Substr", {Strings({"abc", "abcdef"}), Int(-2), Int(1)}), Strings({"b", "e"}));
  ExpectSame(RunOne("Substr", {Strings({"abc", "abcdef"}), Int(1), Int(-1)}),
             Strings({"bc", "bcdef"}));
  ExpectSame(RunOne("Substr", {Tensor::Of<std::string>(Shape({2, 1}), {"abc", "abcdef"}),
                               Ints({0, 1}), Ints({1, 1})}),
             Tensor::Of<std::string>(Shape({2, 2}), {"a", "b", "a", "b"}));
  EXPECT_EQ(Run("Substr", {Strings({"abc"}), Ints({5}), Ints({1})}).status().message(),
            "pos 5 out of range for string b'abc' at index 0");
}

TEST_F(StringKernels, ValuesAndSplitsOfUnicodeEncodeAreVectors) {
  const OpNode node = OpNode("UnicodeEncode").Attr("output_encoding", "UTF-8");
  ExpectSame(RunOne(node, {Ints({'a', 'b'}), Tensor::Vector<int64_t>({0, 1, 2})}),
             Strings({"a", "b"}));
  EXPECT_THAT(std::string(Run(node, {Ints({'a'}), Positions(1, {0, 1})}).status().message()),
              HasSubstr("input_splits must be a vector, got shape: [1,2]"));
  EXPECT_THAT(std::string(Run(node, {Tensor::Of<int32_t>(Shape({1, 2}), {'a', 'b'}),
                                     Tensor::Vector<int64_t>({0, 2})})
                              .status()
                              .message()),
              HasSubstr("input_values must be a vector, got shape: [1,2]"));
}

TEST_F(StringKernels, FullMatchNeedsTheWholeString) {
  const Tensor x = Strings({"s3://bucket", "/tmp/s3://x"});
  ExpectSame(RunOne(OpNode("StaticRegexFullMatch").Attr("pattern", "^s3://.*"), {x}),
             Tensor::Vector<bool>({true, false}));
  ExpectSame(RunOne("RegexFullMatch", {x, Tensor::Scalar(".*x")}),
             Tensor::Vector<bool>({false, true}));
  EXPECT_THAT(Run(OpNode("StaticRegexFullMatch").Attr("pattern", "(a"), {x}).status().message(),
              HasSubstr("Invalid pattern: (a, error: missing ): (a"));
}

TEST_F(StringKernels, ReplaceGoesEverywhereOrOnce) {
  const Tensor x = Strings({"abab"});
  const OpNode node = OpNode("StaticRegexReplace").Attr("pattern", "a").Attr("rewrite", "<\\0>");
  ExpectSame(RunOne(node, {x}), Strings({"<a>b<a>b"}));
  ExpectSame(RunOne(OpNode("RegexReplace").Attr("replace_global", false),
                    {x, Tensor::Scalar("a"), Tensor::Scalar("x")}),
             Strings({"xbab"}));
  ExpectSame(RunOne("RegexReplace", {x, Tensor::Scalar("(a)"), Tensor::Scalar("\\3")}), x);
}

TEST_F(StringKernels, SplitV2IsPythonsSplit) {
  const auto split = [&](const Tensor& x, const char* separator, int64_t max) {
    return *Run(OpNode("StringSplitV2").Attr("maxsplit", max), {x, Tensor::Scalar(separator)});
  };
  auto pieces = split(Strings({"a b  c", "", " x ", "a,b"}), "", -1);
  ExpectSame(pieces[0], Positions(5, {0, 0, 0, 1, 0, 2, 2, 0, 3, 0}));
  ExpectSame(pieces[1], Strings({"a", "b", "c", "x", "a,b"}));
  ExpectSame(pieces[2], Tensor::Vector<int64_t>({4, 3}));
  ExpectSame(split(Strings({" a b  c  "}), "", 1)[1], Strings({"a", "b  c  "}));
  ExpectSame(split(Strings({" a b "}), "", 0)[1], Strings({" a b "}));
  ExpectSame(split(Strings({"a,,b", "", "x,"}), ",", -1)[1], Strings({"a", "", "b", "", "x", ""}));
  ExpectSame(split(Strings({"a,,b"}), ",", 1)[1], Strings({"a", ",b"}));
  ExpectSame(split(Strings({"a,,b"}), ",", 0)[1], Strings({"a,,b"}));
  EXPECT_EQ(Run("StringSplitV2", {Tensor::Scalar("a"), Tensor::Scalar(" ")}).status().message(),
            "input must be a vector, got shape: []");
}

TEST_F(StringKernels, SplitCutsAtAnyCharacterOfTheDelimiter) {
  const Tensor x = Strings({"a,;b", "", "x,", ","});
  const auto pieces = *Run("StringSplit", {x, Tensor::Scalar(",;")});
  ExpectSame(pieces[0], Positions(3, {0, 0, 0, 1, 2, 0}));
  ExpectSame(pieces[1], Strings({"a", "b", "x"}));
  ExpectSame((*Run(OpNode("StringSplit").Attr("skip_empty", false), {x, Tensor::Scalar(",;")}))[1],
             Strings({"a", "", "b", "x", "", "", ""}));
}

TEST_F(StringKernels, ReduceJoinFollowsTheOrderOfItsAxes) {
  const Tensor x = Tensor::Of<std::string>(Shape({2, 2}), {"a", "b", "c", "d"});
  const OpNode node = OpNode("ReduceJoin").Attr("separator", "-");
  ExpectSame(RunOne(node, {x, Ints({0, 1})}), Tensor::Scalar("a-c-b-d"));
  ExpectSame(RunOne(node, {x, Ints({1, 0})}), Tensor::Scalar("a-b-c-d"));
  ExpectSame(RunOne(node, {x, Ints({})}), x);
  ExpectSame(RunOne(OpNode("ReduceJoin").Attr("keep_dims", true), {x, Ints({-1})}),
             Tensor::Of<std::string>(Shape({2, 1}), {"ab", "cd"}));
  const Status bad = Run(node, {Strings({"a"}), Ints({1})}).status();
  EXPECT_EQ(bad.code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(bad.message(), "Invalid reduction dimension 1 for input with 1 dimension(s)");
  EXPECT_EQ(Run(node, {x, Ints({0, 0})}).status().message(), "Duplicate reduction dimension 0");
}

TEST_F(StringKernels, AsStringPrintsLikeTensorFlow) {
  const auto text = [&](const OpNode& node, const Tensor& x) { return RunOne(node, {x}); };
  const OpNode plain = OpNode("AsString");
  ExpectSame(text(plain, Floats({1.5, -2})), Strings({"1.500000", "-2.000000"}));
  ExpectSame(text(plain, Tensor::Vector<bool>({true, false})), Strings({"true", "false"}));
  ExpectSame(text(plain, Tensor::Vector<int64_t>({std::numeric_limits<int64_t>::min()})),
             Strings({"-9223372036854775808"}));
  ExpectSame(text(OpNode("AsString").Attr("scientific", true).Attr("precision", 2), Floats({1.5})),
             Strings({"1.50e+00"}));
  ExpectSame(text(OpNode("AsString").Attr("shortest", true), Floats({1.5, 1e-7f})),
             Strings({"1.5", "1e-07"}));
  ExpectSame(text(OpNode("AsString").Attr("width", 5).Attr("fill", "0"), Ints({1, -2})),
             Strings({"00001", "-0002"}));
  ExpectSame(text(OpNode("AsString").Attr("width", 9).Attr("precision", 1),
                  Tensor::Vector<std::complex<float>>({{1, 2}})),
             Strings({"(      1.0,      2.0)"}));
  ExpectSame(text(OpNode("AsString").Attr("width", 7), Strings({"a"})), Strings({"      a"}));
  EXPECT_THAT(Run(OpNode("AsString").Attr("precision", 2), {Ints({1})}).status().message(),
              HasSubstr("precision not supported for datatype int32"));
  EXPECT_THAT(Run(OpNode("AsString").Attr("fill", "x"), {Ints({1})}).status().message(),
              HasSubstr("Fill argument not supported: \"x\""));
  EXPECT_THAT(
      Run(OpNode("AsString").Attr("width", int64_t{1} << 40), {Ints({1})}).status().message(),
      HasSubstr("must be at most"));
}

TEST_F(StringKernels, StringToNumberReadsWhatTensorFlowReads) {
  const auto number = [&](const Tensor& x, DType type) {
    return Run(OpNode("StringToNumber").Attr("out_type", type), {x});
  };
  ExpectSame(
      (*number(Strings({" 1.5 ", "INF", "1e99", "0x10", "+3", ".5", "5."}), DType::kFloat))[0],
      Floats({1.5, INFINITY, INFINITY, 16, 3, 0.5, 5}));
  ExpectSame((*number(Strings({" 12 ", "-7", "007"}), DType::kInt32))[0], Ints({12, -7, 7}));
  for (const char* bad : {"", "a", "1.5f", "Infinity", "1_0"}) {
    EXPECT_EQ(number(Strings({bad}), DType::kFloat).status().message(),
              absl::StrCat("StringToNumberOp could not correctly convert string: ", bad));
  }
  for (const char* bad : {"", "1.0", "+8", "99999999999", "0x10"}) {
    EXPECT_FALSE(number(Strings({bad}), DType::kInt32).ok()) << bad;
  }
}

TEST_F(StringKernels, HashBucketsAreTensorFlows) {
  const std::string long_text = [] {
    std::string text;
    for (int i = 0; i < 1000; ++i) text += static_cast<char>(33 + i % 90);
    return text;
  }();
  const Tensor x = Strings({"", "a", "ab", "abc", "abcdefg", "abcdefgh", std::string(16, 'a'),
                            std::string(17, 'a'), "hello world this is a", std::string(32, 'x'),
                            std::string(33, 'x'), std::string(64, 'y'), std::string(65, 'y'),
                            std::string(100, 'z'), std::string(128, 'q'), long_text});
  ExpectSame(
      RunOne(
          OpNode("StringToHashBucketFast").Attr("num_buckets", std::numeric_limits<int64_t>::max()),
          {x}),
      Tensor::Vector<int64_t>(
          {1936946117179621456, 3694432073954588132, 3066228220894225695, 2640714258260161385,
           4341691227789030229, 9145071594317031690, 3481940567716887985, 8368438090366496324,
           1222090535325403809, 3678204687145032710, 3046993373088323128, 4471793200125962424,
           4023130470993650269, 9220849947163966073, 7661176699498645130, 1643650941293239551}));
}

TEST_F(StringKernels, FormatPutsTensorsIntoTheTemplate) {
  const auto text = [&](const char* pattern, int64_t summarize, std::vector<OpInput> inputs) {
    return RunOne(OpNode("StringFormat")
                      .Attr("template", pattern)
                      .Attr("placeholder", "{}")
                      .Attr("summarize", summarize),
                  std::move(inputs))
        .scalar<std::string>();
  };
  std::vector<float> count(24);
  for (int i = 0; i < 24; ++i) count[i] = i;
  const Tensor x = Tensor::Vector<float>(count);
  EXPECT_EQ(text("{} and {}!", 3, {Strings({"a", "b\"\n"}), Tensor::Scalar("x")}),
            "[\"a\" \"b\\\"\\n\"] and \"x\"!");
  EXPECT_EQ(text("{}", 3, {x.Rows(0, 10)}), "[0 1 2 ... 7 8 9]");
  EXPECT_EQ(text("{}", 3, {x.Rows(0, 6)}), "[0 1 2 3 4 5]");
  EXPECT_EQ(text("{}", -1, {x.Rows(0, 8)}), "[0 1 2 3 4 5 6 7]");
  EXPECT_EQ(text("{}", 1, {x.Reshaped(Shape({2, 3, 4}))}),
            "[[[0 ... 3]\n  ...\n  [8 ... 11]]\n\n [[12 ... 15]\n  ...\n  [20 ... 23]]]");
  EXPECT_EQ(text("{}", 3, {Floats({})}), "[]");
  EXPECT_THAT(Run(OpNode("StringFormat").Attr("template", "none"), {x}).status().message(),
              HasSubstr("num placeholders in template and num inputs must match: 0 vs. 1"));
}

TEST_F(StringKernels, DecodeRawReadsBytes) {
  const auto raw = [&](std::initializer_list<std::string> bytes, DType type, bool little) {
    return Run(OpNode("DecodeRaw").Attr("out_type", type).Attr("little_endian", little),
               {Strings(bytes)});
  };
  ExpectSame((*raw({"ab", "cd"}, DType::kInt16, true))[0],
             Tensor::Of<int16_t>(Shape({2, 1}), {0x6261, 0x6463}));
  ExpectSame((*raw({"ab", "cd"}, DType::kInt16, false))[0],
             Tensor::Of<int16_t>(Shape({2, 1}), {24930, 25444}));
  ExpectSame((*raw({"", ""}, DType::kInt16, true))[0], Tensor::Of<int16_t>(Shape({2, 0}), {}));
  EXPECT_EQ(
      raw({"abc", "a"}, DType::kUInt8, true).status().message(),
      "DecodeRaw requires input strings to all be the same size, but element 1 has size 3 != 1");
  EXPECT_EQ(raw({"abc"}, DType::kInt16, true).status().message(),
            "Input to DecodeRaw has length 3 that is not a multiple of 2, the size of int16");
}

TEST_F(StringKernels, ReduceJoinOfAHugeDimensionBesideAnEmptyOne) {
  const Tensor x = *Tensor::Zeros(DType::kString, *Shape::Make({int64_t{1} << 30, 0}));
  ExpectSame(RunOne("ReduceJoin", {x, Tensor::Vector<int32_t>({1, 0})}), Tensor::Scalar(""));
}

TEST_F(StringKernels, HashesAreTheSameForEver) {
  constexpr int64_t kMany = int64_t{1} << 62;
  const Tensor x = Strings({"a", "hello world", ""});
  ExpectSame(
      RunOne(OpNode("StringToHashBucket").Attr("num_buckets", kMany), {x}),
      Tensor::Vector<int64_t>({2996632905371535868, 936430787915428847, 105434511174508091}));
  const std::vector<int64_t> key = {1, 2};
  ExpectSame(
      RunOne(OpNode("StringToHashBucketStrong")
                 .Attr("num_buckets", kMany)
                 .Attr("key", absl::MakeConstSpan(key)),
             {x}),
      Tensor::Vector<int64_t>({546566331822570742, 1015233985318741638, 443797209252341627}));
}

TEST_F(StringKernels, UnicodeKeepsTrackOfWhereCharactersBegin) {
  const auto out = Run(OpNode("UnicodeDecodeWithOffsets").Attr("input_encoding", "UTF-8"),
                       {Strings({"hé\xff", ""})});
  ASSERT_EQ(out.status(), absl::OkStatus());
  ExpectSame((*out)[0], Tensor::Vector<int64_t>({0, 3, 3}));
  ExpectSame((*out)[1], Ints({'h', 0xe9, 0xfffd}));
  ExpectSame((*out)[2], Tensor::Vector<int64_t>({0, 1, 3}));
}

TEST_F(StringKernels, AnNGramsWidthIsBounded) {
  const std::vector<int64_t> widths = {int64_t{1} << 40};
  EXPECT_EQ(Run(OpNode("StringNGrams")
                    .Attr("separator", "")
                    .Attr("ngram_widths", absl::MakeConstSpan(widths))
                    .Attr("left_pad", "l")
                    .Attr("right_pad", "r")
                    .Attr("pad_width", -1)
                    .Attr("preserve_short_sequences", false),
                {Strings({"a"}), Tensor::Vector<int64_t>({0, 1})})
                .status()
                .code(),
            absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace tensorfleet
