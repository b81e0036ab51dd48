#include "runtime/kernels/cpu/io/histogram.h"

#include <algorithm>
#include <cfloat>

#include "proto/summary.pb.h"

namespace tensorfleet::cpu {
namespace {

// Upper limits, ascending; the last one is above every number.
const std::vector<double>& Limits() {
  static const std::vector<double>* const limits = [] {
    std::vector<double> positive;
    for (double limit = 1e-12; limit < 1e20; limit *= 1.1) positive.push_back(limit);
    positive.push_back(DBL_MAX);
    auto* all = new std::vector<double>();
    for (auto it = positive.rbegin(); it != positive.rend(); ++it) all->push_back(-*it);
    all->push_back(0.0);
    all->insert(all->end(), positive.begin(), positive.end());
    return all;
  }();
  return *limits;
}

}  // namespace

Histogram::Histogram() : min_(DBL_MAX), max_(-DBL_MAX), counts_(Limits().size(), 0) {}

void Histogram::Add(double value) {
  const std::vector<double>& limits = Limits();
  const size_t bucket = std::upper_bound(limits.begin(), limits.end(), value) - limits.begin();
  counts_[std::min(bucket, counts_.size() - 1)] += 1;
  min_ = std::min(min_, value);
  max_ = std::max(max_, value);
  num_ += 1;
  sum_ += value;
  sum_squares_ += value * value;
}

void Histogram::ToProto(tensorflow::HistogramProto* proto) const {
  proto->set_min(min_);
  proto->set_max(max_);
  proto->set_num(num_);
  proto->set_sum(sum_);
  proto->set_sum_squares(sum_squares_);
  for (size_t i = 0; i < counts_.size(); ++i) {
    while (counts_[i] == 0 && i + 1 < counts_.size() && counts_[i + 1] == 0) ++i;
    proto->add_bucket_limit(Limits()[i]);
    proto->add_bucket(static_cast<double>(counts_[i]));
  }
}

}  // namespace tensorfleet::cpu
