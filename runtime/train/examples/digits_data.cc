#include "runtime/train/examples/digits_data.h"

#include <algorithm>
#include <numeric>

#include "proto/example.pb.h"
#include "runtime/io/record_file.h"

namespace tensorfleet::train {

StatusOr<Digits> ReadDigits(const std::string& path) {
  TFLEET_ASSIGN_OR_RETURN(const ResolvedPath at, ResolvePath(path));
  TFLEET_ASSIGN_OR_RETURN(const auto reader,
                          RecordReader::Open(at.file_system, at.path, Compression::kGzip));
  Digits digits;
  std::string record;
  for (;;) {
    TFLEET_ASSIGN_OR_RETURN(const bool has_more, reader->Read(&record));
    if (!has_more) return digits;
    tensorflow::Example example;
    if (!example.ParseFromString(record)) {
      return InvalidArgument(path, ": record ", digits.size(), " is no tf.train.Example");
    }
    const auto& features = example.features().feature();
    const auto image = features.find("image");
    const auto label = features.find("label");
    if (image == features.end() || label == features.end() ||
        image->second.bytes_list().value_size() != 1 ||
        image->second.bytes_list().value(0).size() != kDigitPixels ||
        label->second.int64_list().value_size() != 1) {
      return InvalidArgument(path, ": record ", digits.size(), " has no 'image' of ", kDigitPixels,
                             " bytes and one 'label'");
    }
    const std::string& pixels = image->second.bytes_list().value(0);
    digits.pixels.insert(digits.pixels.end(), pixels.begin(), pixels.end());
    digits.labels.push_back(label->second.int64_list().value(0));
  }
}

DigitBatch RowsOf(const Digits& digits, const std::vector<int>& rows) {
  std::vector<uint8_t> pixels;
  std::vector<int64_t> labels;
  for (const int row : rows) {
    const auto begin = digits.pixels.begin() + row * kDigitPixels;
    pixels.insert(pixels.end(), begin, begin + kDigitPixels);
    labels.push_back(digits.labels[row]);
  }
  const Shape shape = *Shape::Make({static_cast<int64_t>(rows.size()), kDigitPixels});
  return {Tensor::Vector<uint8_t>(pixels).Reshaped(shape), Tensor::Vector<int64_t>(labels)};
}

DigitBatch AllOf(const Digits& digits) {
  std::vector<int> rows(digits.size());
  std::iota(rows.begin(), rows.end(), 0);
  return RowsOf(digits, rows);
}

DigitShuffler::DigitShuffler(const Digits* digits, int batch_size, uint32_t seed)
    : digits_(digits), batch_size_(batch_size), random_(seed), order_(digits->size()) {
  std::iota(order_.begin(), order_.end(), 0);
  next_ = order_.size();
}

DigitBatch DigitShuffler::Next() {
  std::vector<int> rows;
  while (static_cast<int>(rows.size()) < batch_size_) {
    if (next_ == order_.size()) {
      std::shuffle(order_.begin(), order_.end(), random_);
      next_ = 0;
    }
    rows.push_back(order_[next_++]);
  }
  return RowsOf(*digits_, rows);
}

}  // namespace tensorfleet::train
