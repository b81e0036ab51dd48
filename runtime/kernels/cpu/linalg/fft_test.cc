#include <complex>

#include "runtime/kernels/testing/op_test.h"

namespace tensorfleet {
namespace {

using Complex = std::complex<double>;
using FftTest = OpTest;

// As it is defined.
std::vector<Complex> Transformed(const std::vector<Complex>& x, double sign) {
  const size_t n = x.size();
  std::vector<Complex> y(n);
  for (size_t k = 0; k < n; ++k) {
    for (size_t j = 0; j < n; ++j) {
      y[k] += x[j] * std::polar(1.0, sign * 2 * M_PI * static_cast<double>(j * k % n) / n);
    }
  }
  return y;
}

std::vector<Complex> Numbers(int64_t n) {
  std::vector<Complex> x(n);
  for (int64_t i = 0; i < n; ++i) x[i] = {std::sin(3.0 * i) + 0.1 * (i % 7), std::cos(5.0 * i * i)};
  return x;
}

TEST_F(FftTest, TransformsLinesOfAnyLength) {
  // Powers of two, small factors, primes small and large, and products with them.
  for (const int64_t n : {1, 2, 3, 4, 5, 6, 7, 8, 15, 16, 31, 37, 49, 60, 74, 128, 211, 1000}) {
    const std::vector<Complex> x = Numbers(n);
    ExpectClose(RunOne("FFT", {Tensor::Vector<Complex>(x)}),
                Tensor::Vector<Complex>(Transformed(x, -1)), 1e-11 * n);
  }
}

TEST_F(FftTest, InverseUndoesIt) {
  for (const int64_t n : {1, 6, 37, 64}) {
    const Tensor x = Tensor::Vector<Complex>(Numbers(5 * n)).Reshaped(Shape({5, n}));
    ExpectClose(RunOne("IFFT", {RunOne("FFT", {x})}), x, 1e-12);
  }
  const Tensor volume = Tensor::Vector<Complex>(Numbers(3 * 4 * 5)).Reshaped(Shape({3, 4, 5}));
  ExpectClose(RunOne("IFFT3D", {RunOne("FFT3D", {volume})}), volume, 1e-12);
}

TEST_F(FftTest, RealLinesHaveHalfOfTheSpectrum) {
  for (const int32_t n : {1, 2, 3, 8, 9, 30, 37}) {
    std::vector<Complex> x = Numbers(n);
    std::vector<double> real;
    for (Complex& number : x) {
      number = number.real();
      real.push_back(number.real());
    }
    std::vector<Complex> half = Transformed(x, -1);
    half.resize(n / 2 + 1);
    const Tensor length = Tensor::Vector<int32_t>({n});
    const Tensor got = RunOne(OpNode("RFFT").Attr("Tcomplex", DType::kComplex128),
                              {Tensor::Vector<double>(real), length});
    ExpectClose(got, Tensor::Vector<Complex>(half), 1e-11);
    ExpectClose(RunOne(OpNode("IRFFT").Attr("Treal", DType::kDouble), {got, length}),
                Tensor::Vector<double>(real), 1e-12);
  }
}

TEST_F(FftTest, RefusesLengthsThatTheInputHasNot) {
  const OpNode node = OpNode("RFFT").Attr("Tcomplex", DType::kComplex64);
  const Tensor x = Tensor::Vector<float>({1, 2, 3});
  EXPECT_THAT(Run(node, {x, Tensor::Vector<int32_t>({4})}).status().message(),
              ::testing::HasSubstr("must have length of at least 4 but got: 3"));
  EXPECT_EQ(Run(node, {x, Tensor::Vector<int32_t>({-1})}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tensorfleet
