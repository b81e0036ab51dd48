// Discrete Fourier transforms of many lines at once: the same step of as many lines as a vector of
// the processor holds (of one where there are no more). Any length: factors of 2, 3, 4, 5 and other
// small primes step by step (Stockham's ordering), lengths with a large prime by a convolution
// (Bluestein). Written here because Debian's libraries are either slower than what TensorFlow uses
// (KISS FFT, Eigen's) or under a licence that would become ours (FFTW).
#pragma once

#include <cmath>
#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

#include <Eigen/Core>

namespace tensorfleet::cpu {

// Elements of kLanes lines.
template <typename T, int kLanes>
struct FftElement {
  using V = Eigen::Array<T, kLanes, 1>;
  V re, im;
};

// e^(-2 pi i k / n), to the last place.
template <typename T>
std::complex<T> RootOfUnity(int64_t k, int64_t n) {
  const double angle = -2 * M_PI * static_cast<double>(k % n) / static_cast<double>(n);
  return {static_cast<T>(std::cos(angle)), static_cast<T>(std::sin(angle))};
}

// What a transform of one length needs; made once and shared. Thread-safe.
template <typename T>
class FftPlan {
 public:
  // The plans of the lengths that were used last are kept. `length` is at least 1.
  static std::shared_ptr<const FftPlan> Find(int64_t length);

  int64_t length() const { return length_; }
  // How many elements of scratch memory Run needs.
  int64_t scratch() const { return bluestein_ ? 2 * bluestein_->length_ : length_; }

  // Transforms `x` in its place; `kInverse` conjugates the roots and does not divide.
  template <int kLanes>
  void Run(FftElement<T, kLanes>* x, FftElement<T, kLanes>* scratch, bool is_inverse) const {
    // The inverse is the transform with real and imaginary parts exchanged, before and after.
    if (is_inverse) Exchange(x);
    if (bluestein_) {
      RunBluestein(x, scratch);
    } else {
      RunStages(x, scratch);
    }
    if (is_inverse) Exchange(x);
  }

 private:
  struct Stage {
    int64_t radix, size;                    // size: the length that is still to be divided
    std::vector<std::complex<T>> twiddles;  // [size / radix][radix - 1]
    std::vector<std::complex<T>> roots;     // of the radix, where it has no code of its own
  };

  explicit FftPlan(int64_t length);

  template <int kLanes>
  void Exchange(FftElement<T, kLanes>* x) const {
    for (int64_t i = 0; i < length_; ++i) x[i].re.swap(x[i].im);
  }
  template <int kLanes>
  static void Step(const Stage& stage, int64_t stride, const FftElement<T, kLanes>* x,
                   FftElement<T, kLanes>* y);
  template <int kLanes>
  void RunStages(FftElement<T, kLanes>* x, FftElement<T, kLanes>* scratch) const {
    FftElement<T, kLanes>*from = x, *to = scratch;
    int64_t stride = 1;
    for (const Stage& stage : stages_) {
      Step<kLanes>(stage, stride, from, to);
      stride *= stage.radix;
      std::swap(from, to);
    }
    if (from != x) std::copy_n(from, length_, x);
  }
  template <int kLanes>
  void RunBluestein(FftElement<T, kLanes>* x, FftElement<T, kLanes>* scratch) const;

  int64_t length_;
  std::vector<Stage> stages_;
  // For Bluestein: the longer transform, the chirp, and the transformed filter.
  std::shared_ptr<const FftPlan> bluestein_;
  std::vector<std::complex<T>> chirp_, filter_;
};

template <typename T, int kLanes>
inline FftElement<T, kLanes> operator+(const FftElement<T, kLanes>& a,
                                       const FftElement<T, kLanes>& b) {
  return {a.re + b.re, a.im + b.im};
}
template <typename T, int kLanes>
inline FftElement<T, kLanes> operator-(const FftElement<T, kLanes>& a,
                                       const FftElement<T, kLanes>& b) {
  return {a.re - b.re, a.im - b.im};
}
template <typename T, int kLanes>
inline FftElement<T, kLanes> operator*(const FftElement<T, kLanes>& a, const std::complex<T>& w) {
  return {a.re * w.real() - a.im * w.imag(), a.re * w.imag() + a.im * w.real()};
}
template <typename T, int kLanes>
inline FftElement<T, kLanes> Scaled(const FftElement<T, kLanes>& a, T by) {
  return {a.re * by, a.im * by};
}
// -i a.
template <typename T, int kLanes>
inline FftElement<T, kLanes> Turned(const FftElement<T, kLanes>& a) {
  return {a.im, -a.re};
}

// One stage: transforms of `radix` elements that lie size / radix apart, times the twiddles.
template <typename T>
template <int kLanes>
void FftPlan<T>::Step(const Stage& stage, int64_t stride, const FftElement<T, kLanes>* x,
                      FftElement<T, kLanes>* y) {
  using E = FftElement<T, kLanes>;
  const int64_t radix = stage.radix, m = stage.size / radix;
  for (int64_t p = 0; p < m; ++p) {
    const std::complex<T>* const w = stage.twiddles.data() + p * (radix - 1);
    const E* const in = x + stride * p;
    E* const out = y + stride * radix * p;
    const int64_t hop = stride * m;
    switch (radix) {
      case 2:
        for (int64_t q = 0; q < stride; ++q) {
          const E a = in[q], b = in[q + hop];
          out[q] = a + b;
          out[q + stride] = (a - b) * w[0];
        }
        break;
      case 3:
        for (int64_t q = 0; q < stride; ++q) {
          const E a = in[q], b = in[q + hop], c = in[q + 2 * hop];
          const E sum = b + c, turned = Scaled(Turned(b - c), T(0.86602540378443864676));
          const E middle = a - Scaled(sum, T(0.5));
          out[q] = a + sum;
          out[q + stride] = (middle + turned) * w[0];
          out[q + 2 * stride] = (middle - turned) * w[1];
        }
        break;
      case 4:
        for (int64_t q = 0; q < stride; ++q) {
          const E a = in[q], b = in[q + hop], c = in[q + 2 * hop], d = in[q + 3 * hop];
          const E ac = a + c, bd = b + d, a_c = a - c, b_d = Turned(b - d);
          out[q] = ac + bd;
          out[q + stride] = (a_c + b_d) * w[0];
          out[q + 2 * stride] = (ac - bd) * w[1];
          out[q + 3 * stride] = (a_c - b_d) * w[2];
        }
        break;
      case 5: {
        constexpr T c1 = T(0.30901699437494742410), c2 = T(-0.80901699437494742410);
        constexpr T s1 = T(0.95105651629515357212), s2 = T(0.58778525229247312917);
        for (int64_t q = 0; q < stride; ++q) {
          const E a = in[q], b = in[q + hop], c = in[q + 2 * hop], d = in[q + 3 * hop],
                  e = in[q + 4 * hop];
          const E be = b + e, cd = c + d, b_e = Turned(b - e), c_d = Turned(c - d);
          const E m1 = a + Scaled(be, c1) + Scaled(cd, c2),
                  m2 = a + Scaled(be, c2) + Scaled(cd, c1);
          const E t1 = Scaled(b_e, s1) + Scaled(c_d, s2), t2 = Scaled(b_e, s2) - Scaled(c_d, s1);
          out[q] = a + be + cd;
          out[q + stride] = (m1 + t1) * w[0];
          out[q + 2 * stride] = (m2 + t2) * w[1];
          out[q + 3 * stride] = (m2 - t2) * w[2];
          out[q + 4 * stride] = (m1 - t1) * w[3];
        }
        break;
      }
      default:
        for (int64_t q = 0; q < stride; ++q) {
          for (int64_t k = 0; k < radix; ++k) {
            E sum = in[q];
            for (int64_t j = 1; j < radix; ++j) {
              sum = sum + in[q + j * hop] * stage.roots[j * k % radix];
            }
            out[q + k * stride] = k == 0 ? sum : sum * w[k - 1];
          }
        }
    }
  }
}

template <typename T>
template <int kLanes>
void FftPlan<T>::RunBluestein(FftElement<T, kLanes>* x, FftElement<T, kLanes>* scratch) const {
  using E = FftElement<T, kLanes>;
  const int64_t size = bluestein_->length_;
  E* const longer = scratch;
  for (int64_t i = 0; i < length_; ++i) longer[i] = x[i] * chirp_[i];
  for (int64_t i = length_; i < size; ++i) {
    longer[i].re.setZero();
    longer[i].im.setZero();
  }
  bluestein_->template Run<kLanes>(longer, scratch + size, false);
  for (int64_t i = 0; i < size; ++i) longer[i] = longer[i] * filter_[i];
  bluestein_->template Run<kLanes>(longer, scratch + size, true);
  for (int64_t i = 0; i < length_; ++i) x[i] = longer[i] * chirp_[i];
}

}  // namespace tensorfleet::cpu
