// Which classes a candidate sampler picks, number for number as TensorFlow does.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/kernels/cpu/random/random_fill.h"
#include "runtime/kernels/philox.h"

namespace tensorfleet::cpu {

// A number in [0, n), every one as likely: what would favour the small ones is drawn again.
uint32_t UniformBelow(uint32_t n, PhiloxWords& words);
uint64_t UniformBelow64(uint64_t n, PhiloxWords& words);

class CandidatePicker {
 public:
  virtual ~CandidatePicker() = default;
  virtual int64_t Pick(PhiloxWords& words) const = 0;
  // Of class `number`; 0 outside the range.
  virtual float Probability(int64_t number) const = 0;
  // After a batch with these true classes.
  virtual void Learn(absl::Span<const int64_t>) {}
};

class UniformPicker final : public CandidatePicker {
 public:
  explicit UniformPicker(int64_t range) : range_(range) {}
  int64_t Pick(PhiloxWords& words) const override;
  float Probability(int64_t) const override { return 1.0f / static_cast<float>(range_); }

 private:
  const int64_t range_;
};

// Class k with probability log((k + 2) / (k + 1)) / log(range + 1): for classes sorted by
// frequency.
class LogUniformPicker final : public CandidatePicker {
 public:
  explicit LogUniformPicker(int64_t range);
  int64_t Pick(PhiloxWords& words) const override;
  float Probability(int64_t number) const override;

 private:
  const int64_t range_;
  const double log_range_;
};

// As often as each class was among the true ones, plus once.
class LearnedPicker final : public CandidatePicker {
 public:
  explicit LearnedPicker(int64_t range);
  int64_t Pick(PhiloxWords& words) const override;
  float Probability(int64_t number) const override;
  void Learn(absl::Span<const int64_t> numbers) override;

 private:
  std::vector<int32_t> weights_;
  std::vector<int64_t> sums_;  // a binary indexed tree over the weights
  int64_t total_ = 0;
};

// By given weights (Walker's alias method).
class WeightedCandidatePicker final : public CandidatePicker {
 public:
  explicit WeightedCandidatePicker(std::vector<float> weights);
  int64_t Pick(PhiloxWords& words) const override;
  float Probability(int64_t number) const override;

 private:
  struct Bucket {
    float share;
    int32_t other;
  };
  const std::vector<float> weights_;
  std::vector<Bucket> buckets_;
  float total_ = 0;
};

}  // namespace tensorfleet::cpu
