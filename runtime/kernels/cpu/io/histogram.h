// Counts of values by size, in the buckets that TensorBoard's histograms have always had: their
// limits grow by a tenth each, from 1e-12 to 1e20, on both sides of 0.
#pragma once

#include <cstdint>
#include <vector>

namespace tensorflow {
class HistogramProto;
}

namespace tensorfleet::cpu {

class Histogram {
 public:
  Histogram();
  void Add(double value);
  // Runs of empty buckets are written as one.
  void ToProto(tensorflow::HistogramProto* proto) const;

 private:
  double min_, max_;
  double num_ = 0, sum_ = 0, sum_squares_ = 0;
  std::vector<int64_t> counts_;
};

}  // namespace tensorfleet::cpu
