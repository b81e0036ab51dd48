#include "runtime/kernels/cpu/random/candidate_pickers.h"

#include <cmath>

namespace tensorfleet::cpu {
namespace {

template <typename U, typename Draw>
U Below(U n, const Draw& draw) {
  if ((n & (n - 1)) == 0) return draw() & (n - 1);
  const U skewed = static_cast<U>(~U(0)) % n + 1;
  for (;;) {
    const U drawn = draw();
    if (drawn >= skewed) return drawn % n;
  }
}

}  // namespace

uint32_t UniformBelow(uint32_t n, PhiloxWords& words) {
  return Below<uint32_t>(n, [&] { return words.Next(); });
}

uint64_t UniformBelow64(uint64_t n, PhiloxWords& words) {
  return Below<uint64_t>(n, [&] {
    const uint64_t low = words.Next();
    return low | (uint64_t{words.Next()} << 32);
  });
}

int64_t UniformPicker::Pick(PhiloxWords& words) const {
  return static_cast<int64_t>(UniformBelow64(static_cast<uint64_t>(range_), words));
}

LogUniformPicker::LogUniformPicker(int64_t range)
    : range_(range), log_range_(std::log1p(static_cast<double>(range))) {}

int64_t LogUniformPicker::Pick(PhiloxWords& words) const {
  const uint32_t high = words.Next();
  const uint32_t low = words.Next();
  const auto number = static_cast<int64_t>(std::exp(UnitDouble(high, low) * log_range_)) - 1;
  return number % range_;  // rounding may reach the range
}

float LogUniformPicker::Probability(int64_t number) const {
  const auto k = static_cast<double>(number);
  return static_cast<float>(std::log((k + 2.0) / (k + 1.0)) / log_range_);
}

LearnedPicker::LearnedPicker(int64_t range) : weights_(range, 1), sums_(range + 1), total_(range) {
  for (int64_t i = 1; i <= range; ++i) sums_[i] = i & -i;
}

int64_t LearnedPicker::Pick(PhiloxWords& words) const {
  int64_t rest = UniformBelow(static_cast<uint32_t>(total_), words);
  int64_t step = 1;
  while (2 * step < static_cast<int64_t>(sums_.size())) step *= 2;
  int64_t at = 0;
  for (; step > 0; step /= 2) {
    if (at + step < static_cast<int64_t>(sums_.size()) && sums_[at + step] <= rest) {
      at += step;
      rest -= sums_[at];
    }
  }
  return at;
}

float LearnedPicker::Probability(int64_t number) const {
  if (number < 0 || number >= static_cast<int64_t>(weights_.size())) return 0;
  return static_cast<float>(weights_[number]) / static_cast<float>(total_);
}

void LearnedPicker::Learn(absl::Span<const int64_t> numbers) {
  for (const int64_t number : numbers) {
    if (number < 0 || number >= static_cast<int64_t>(weights_.size())) continue;
    if (total_ == INT32_MAX) return;  // what Pick counts in
    ++weights_[number];
    ++total_;
    for (int64_t i = number + 1; i < static_cast<int64_t>(sums_.size()); i += i & -i) ++sums_[i];
  }
}

WeightedCandidatePicker::WeightedCandidatePicker(std::vector<float> weights)
    : weights_(std::move(weights)), buckets_(weights_.size()) {
  const auto n = static_cast<int32_t>(weights_.size());
  double sum = 0;
  for (const float weight : weights_) {
    sum += weight;
    total_ += weight;
  }
  std::vector<double> shares(n);
  std::vector<int32_t> high, low;
  for (int32_t i = 0; i < n; ++i) {
    shares[i] = weights_[i] * n / sum;
    (shares[i] < 1.0 ? low : high).push_back(i);
    buckets_[i].other = -1;
  }
  // What a bucket lacks is filled up from one that has too much.
  while (!high.empty() && !low.empty()) {
    const int32_t l = low.back(), h = high.back();
    low.pop_back();
    high.pop_back();
    buckets_[l].other = h;
    shares[h] -= 1.0 - shares[l];
    (shares[h] < 1.0 ? low : high).push_back(h);
  }
  for (int32_t i = 0; i < n; ++i) buckets_[i].share = static_cast<float>(shares[i]);
  for (const std::vector<int32_t>* rest : {&high, &low}) {
    for (const int32_t i : *rest) buckets_[i] = {1.0f, i};
  }
}

int64_t WeightedCandidatePicker::Pick(PhiloxWords& words) const {
  const float share = UnitFloat(words.Next());
  const uint32_t bucket = UniformBelow(static_cast<uint32_t>(buckets_.size()), words);
  return share < buckets_[bucket].share ? bucket : buckets_[bucket].other;
}

float WeightedCandidatePicker::Probability(int64_t number) const {
  if (number < 0 || number >= static_cast<int64_t>(weights_.size())) return 0;
  return weights_[number] / total_;
}

}  // namespace tensorfleet::cpu
