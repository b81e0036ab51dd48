#include "runtime/kernels/cpu/linalg/fft_lines.h"

#include <list>

#include "runtime/base/mutex.h"

namespace tensorfleet::cpu {
namespace {

// Up to here a transform of a prime length is made as it is defined.
constexpr int64_t kLargestPrime = 31;

// The plans that were used last; big ones leave soon, for what they hold together is limited.
template <typename T>
class Plans {
 public:
  using Ref = std::shared_ptr<const FftPlan<T>>;
  Ref Find(int64_t length) {
    MutexLock lock(&mu_);
    for (auto at = plans_.begin(); at != plans_.end(); ++at) {
      if ((*at)->length() != length) continue;
      plans_.splice(plans_.begin(), plans_, at);
      return plans_.front();
    }
    return nullptr;
  }
  void Add(const Ref& plan) {
    MutexLock lock(&mu_);
    plans_.push_front(plan);
    int64_t elements = 0;
    size_t kept = 0;
    for (const Ref& each : plans_) {
      elements += each->scratch();
      if (kept > 0 && (elements > kMostElements || kept == kMostPlans)) break;
      ++kept;
    }
    plans_.resize(kept);
  }

 private:
  static constexpr int64_t kMostElements = 1 << 20;
  static constexpr size_t kMostPlans = 64;
  Mutex mu_;
  std::list<Ref> plans_ ABSL_GUARDED_BY(mu_);  // the last used first
};

template <typename T>
Plans<T>& PlansOf() {
  static auto* const plans = new Plans<T>;
  return *plans;
}

std::vector<int64_t> Factors(int64_t n) {
  std::vector<int64_t> factors;
  for (const int64_t factor : {4, 2, 3, 5}) {
    for (; n % factor == 0; n /= factor) factors.push_back(factor);
  }
  for (int64_t factor = 7; factor * factor <= n; factor += 2) {
    for (; n % factor == 0; n /= factor) factors.push_back(factor);
  }
  if (n > 1) factors.push_back(n);
  return factors;
}

}  // namespace

template <typename T>
std::shared_ptr<const FftPlan<T>> FftPlan<T>::Find(int64_t length) {
  std::shared_ptr<const FftPlan> plan = PlansOf<T>().Find(length);
  if (plan == nullptr) {
    plan.reset(new FftPlan(length));
    PlansOf<T>().Add(plan);
  }
  return plan;
}

template <typename T>
FftPlan<T>::FftPlan(int64_t length) : length_(length) {
  const std::vector<int64_t> factors = Factors(length);
  if (!factors.empty() && factors.back() > kLargestPrime) {
    int64_t longer = 1;
    while (longer < 2 * length - 1) longer *= 2;
    bluestein_ = Find(longer);
    using Wide = std::complex<double>;
    // The square of i modulo 2n: the angle's own precision is not lost in large numbers.
    for (int64_t i = 0; i < length; ++i) {
      const auto square = static_cast<int64_t>(static_cast<__int128>(i) * i % (2 * length));
      chirp_.push_back(RootOfUnity<T>(square, 2 * length));
    }
    std::vector<FftElement<double, 1>> filter(longer), scratch(longer);
    for (FftElement<double, 1>& element : filter)
      element = {FftElement<double, 1>::V(0), FftElement<double, 1>::V(0)};
    for (int64_t i = 0; i < length; ++i) {
      const auto square = static_cast<int64_t>(static_cast<__int128>(i) * i % (2 * length));
      const Wide root = std::conj(RootOfUnity<double>(square, 2 * length));
      for (const int64_t at : {i, (longer - i) % longer}) {
        filter[at].re = root.real();
        filter[at].im = root.imag();
      }
    }
    FftPlan<double>::Find(longer)->template Run<1>(filter.data(), scratch.data(), false);
    for (const FftElement<double, 1>& element : filter) {
      filter_.emplace_back(static_cast<T>(element.re[0] / static_cast<double>(longer)),
                           static_cast<T>(element.im[0] / static_cast<double>(longer)));
    }
    return;
  }
  int64_t size = length;
  for (const int64_t radix : factors) {
    Stage stage{radix, size, {}, {}};
    for (int64_t p = 0; p < size / radix; ++p) {
      for (int64_t k = 1; k < radix; ++k) {
        stage.twiddles.push_back(RootOfUnity<T>(p * k, size));
      }
    }
    if (radix > 5) {
      for (int64_t k = 0; k < radix; ++k) stage.roots.push_back(RootOfUnity<T>(k, radix));
    }
    stages_.push_back(std::move(stage));
    size /= radix;
  }
}

template class FftPlan<float>;
template class FftPlan<double>;

}  // namespace tensorfleet::cpu
