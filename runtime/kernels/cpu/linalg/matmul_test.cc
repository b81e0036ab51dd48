#include <complex>

#include "runtime/kernels/testing/op_test.h"

namespace tensorfleet {
namespace {

using ::testing::HasSubstr;
using MatMulTest = OpTest;

template <typename T>
Tensor Matrix(const Shape& shape, int salt) {
  std::vector<T> values(shape.num_elements());
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<T>(static_cast<int>((i * 5 + salt) % 7) - 3);
  return Tensor::Vector<T>(values).Reshaped(shape);
}

template <typename T>
Tensor NaiveProduct(const Tensor& a, const Tensor& b, bool ta, bool tb) {
  const int64_t m = a.dim(ta ? 1 : 0), k = a.dim(ta ? 0 : 1), n = b.dim(tb ? 0 : 1);
  std::vector<T> out(m * n, T(0));
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t l = 0; l < k; ++l) {
        out[i * n + j] +=
            a.values<T>()[ta ? l * m + i : i * k + l] * b.values<T>()[tb ? j * k + l : l * n + j];
      }
    }
  }
  return Tensor::Vector<T>(out).Reshaped(Shape({m, n}));
}

template <typename T>
void ExpectProducts(const std::function<Tensor(OpNode, std::vector<OpInput>)>& run) {
  struct Size {
    int64_t m, k, n;
  };
  for (const Size& s : {Size{1, 1, 1}, Size{3, 4, 5}, Size{1, 40, 7}, Size{33, 1, 2},
                        Size{50, 60, 70}, Size{2, 0, 3}, Size{0, 2, 3}}) {
    for (const bool ta : {false, true}) {
      for (const bool tb : {false, true}) {
        SCOPED_TRACE(
            absl::StrCat(DTypeName(kDTypeOf<T>), " ", s.m, "x", s.k, "x", s.n, " ", ta, tb));
        const Tensor a = Matrix<T>(ta ? Shape({s.k, s.m}) : Shape({s.m, s.k}), 1);
        const Tensor b = Matrix<T>(tb ? Shape({s.n, s.k}) : Shape({s.k, s.n}), 2);
        ExpectClose(run(OpNode("MatMul").Attr("transpose_a", ta).Attr("transpose_b", tb), {a, b}),
                    NaiveProduct<T>(a, b, ta, tb));
      }
    }
  }
}

TEST_F(MatMulTest, MultipliesEveryTypeAndTransposition) {
  const auto run = [&](OpNode node, std::vector<OpInput> inputs) {
    return RunOne(node, std::move(inputs));
  };
  ExpectProducts<float>(run);
  ExpectProducts<double>(run);
  ExpectProducts<int32_t>(run);
  ExpectProducts<int64_t>(run);
  ExpectProducts<std::complex<float>>(run);
}

TEST_F(MatMulTest, CutsBigProductsIntoPiecesForThreads) {
  for (const Shape& shape : {Shape({400, 300}), Shape({16, 3000}), Shape({3000, 16})}) {
    const Tensor a = Matrix<float>(shape, 1), b = Matrix<float>({shape.dim(1), 333}, 3);
    ExpectSame(RunOne("MatMul", {a, b}), NaiveProduct<float>(a, b, false, false));
  }
}

TEST_F(MatMulTest, MultipliesHalfInFloat) {
  const Tensor a = Matrix<float>({20, 30}, 1), b = Matrix<float>({30, 10}, 2);
  const auto half = [&](const Tensor& t) {
    return RunOne(OpNode("Cast").Attr("DstT", DType::kHalf), {t});
  };
  ExpectSame(RunOne("MatMul", {half(a), half(b)}), half(NaiveProduct<float>(a, b, false, false)));
}

TEST_F(MatMulTest, RefusesMatricesThatDoNotFit) {
  const Tensor a = Matrix<float>({2, 3}, 1);
  EXPECT_EQ(Run("MatMul", {a, a}).status(),
            InvalidArgument("Matrix size-incompatible: In[0]: [2,3], In[1]: [2,3]"));
  EXPECT_THAT(Run("MatMul", {Matrix<float>({3}, 1), a}).status().message(),
              HasSubstr("is not a matrix"));
}

TEST_F(MatMulTest, BatchesBroadcast) {
  const Tensor x = Matrix<float>({3, 1, 4, 5}, 1), y = Matrix<float>({2, 5, 6}, 2);
  const Tensor out = RunOne("BatchMatMulV2", {x, y});
  ASSERT_EQ(out.shape(), Shape({3, 2, 4, 6}));
  const Tensor products = out.Reshaped({6, 24});
  for (int64_t i = 0; i < 6; ++i) {
    const Tensor a = x.Reshaped({3, 20}).Rows(i / 2, i / 2 + 1).Reshaped({4, 5});
    const Tensor b = y.Reshaped({2, 30}).Rows(i % 2, i % 2 + 1).Reshaped({5, 6});
    ExpectSame(products.Rows(i, i + 1).Reshaped({4, 6}), NaiveProduct<float>(a, b, false, false));
  }
}

TEST_F(MatMulTest, BatchMatMulConjugatesWhatItTransposes) {
  using C = std::complex<double>;
  const Tensor x = Tensor::Of<C>({1, 1, 2}, {{1, 2}, {0, 1}});
  ExpectClose(RunOne(OpNode("BatchMatMulV2").Attr("adj_y", true), {x, x}),
              Tensor::Of<C>({1, 1, 1}, {{6, 0}}));
}

TEST_F(MatMulTest, FusesBiasAndActivation) {
  const Tensor a = Matrix<float>({40, 50}, 1), b = Matrix<float>({50, 30}, 2),
               bias = Matrix<float>({30}, 3);
  const std::vector<std::string> fused = {"BiasAdd", "Relu"};
  const Tensor want = RunOne("Relu", {RunOne("BiasAdd", {RunOne("MatMul", {a, b}), bias})});
  ExpectSame(
      RunOne(OpNode("_FusedMatMul").Attr("fused_ops", absl::MakeConstSpan(fused)), {a, b, bias}),
      want);
  for (const bool is_exact : {true, false}) {
    const std::vector<std::string> gelu = {"BiasAdd", is_exact ? "GeluExact" : "GeluApproximate"};
    const Tensor x = Tensor::Of<float>({3, 1}, {-2, 0, 1.5}), one = Tensor::Of<float>({1, 1}, {1}),
                 zero = Tensor::Of<float>({1}, {0});
    ExpectClose(
        RunOne(OpNode("_FusedMatMul").Attr("fused_ops", absl::MakeConstSpan(gelu)), {x, one, zero}),
        is_exact ? Tensor::Of<float>({3, 1}, {-0.045500264, 0, 1.39978918})
                 : Tensor::Of<float>({3, 1}, {-0.04540231, 0, 1.3995715}));
  }
  const std::vector<std::string> unknown = {"BiasAdd", "Swirl"};
  EXPECT_THAT(
      Run(OpNode("_FusedMatMul").Attr("fused_ops", absl::MakeConstSpan(unknown)), {a, b, bias})
          .status()
          .message(),
      HasSubstr("_FusedMatMul with activation Swirl"));
}

TEST_F(MatMulTest, QrGivesOrthogonalColumnsAndAnUpperTriangle) {
  for (const Shape& shape : {Shape({4, 3}), Shape({3, 4}), Shape({2, 3, 3})}) {
    for (const bool full : {false, true}) {
      const Tensor in = Matrix<double>(shape, 4);
      const std::vector<Tensor> out = *Run(OpNode("Qr").Attr("full_matrices", full), {in});
      ExpectClose(RunOne("BatchMatMulV2", {out[0], out[1]}), in, 1e-12);
      const Tensor gram = RunOne(OpNode("BatchMatMulV2").Attr("adj_x", true), {out[0], out[0]});
      const int64_t p = gram.dim(-1);
      for (int64_t i = 0; i < gram.num_elements(); ++i) {
        EXPECT_NEAR(gram.values<double>()[i], i % (p * p) / p == i % p, 1e-12);
      }
    }
  }
}

}  // namespace
}  // namespace tensorfleet
