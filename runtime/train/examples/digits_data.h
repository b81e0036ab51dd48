// The digits of deploy/examples/digits: reading them and handing them out in batches.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/tensor/tensor.h"

namespace tensorfleet::train {

inline constexpr int kDigitPixels = 64;  // 8 x 8, each 0 to 16

struct Digits {
  std::vector<uint8_t> pixels;  // kDigitPixels each
  std::vector<int64_t> labels;
  int size() const { return static_cast<int>(labels.size()); }
};

// Reads a gzipped TFRecord file of examples with an "image" and a "label". Errors: those of the
// file; InvalidArgument for a record that is none of these.
StatusOr<Digits> ReadDigits(const std::string& path);

struct DigitBatch {
  Tensor images;  // uint8, [rows, 64]
  Tensor labels;  // int64, [rows]
};
DigitBatch RowsOf(const Digits& digits, const std::vector<int>& rows);
DigitBatch AllOf(const Digits& digits);

// Goes through the digits in another random order each time. Not thread-safe.
class DigitShuffler {
 public:
  // `digits` must outlive it.
  DigitShuffler(const Digits* digits, int batch_size, uint32_t seed);
  DigitBatch Next();

 private:
  const Digits* const digits_;
  const int batch_size_;
  std::mt19937 random_;
  std::vector<int> order_;
  size_t next_ = 0;
};

}  // namespace tensorfleet::train
