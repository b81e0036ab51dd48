// The values of one feature over a range of examples, as parsing finds them, and the tensors that
// they become.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "runtime/base/status.h"
#include "runtime/kernels/cpu/parsing/example_wire.h"
#include "runtime/tensor/tensor.h"

namespace tensorfleet::cpu {

// What a feature becomes: a tensor with the same number of values for each example; one whose
// examples are filled up to the longest; indices, values and shape; values and row splits.
enum class FeatureKind { kDense, kPadded, kSparse, kRagged };

// Strings are views into the serialized examples until they are copied into a tensor.
struct FeatureColumn {
  std::vector<int64_t> ints;
  std::vector<float> floats;
  std::vector<absl::string_view> texts;
  std::vector<int64_t> ends;  // how many values there were at the end of each row

  int64_t size() const { return static_cast<int64_t>(ints.size() + floats.size() + texts.size()); }
  void EndRow() { ends.push_back(size()); }
  int64_t rows() const { return static_cast<int64_t>(ends.size()); }
  int64_t RowBegin(int64_t row) const { return row == 0 ? 0 : ends[row - 1]; }
  int64_t RowSize(int64_t row) const { return ends[row] - RowBegin(row); }
  int64_t widest() const;

  // Adds the values of a serialized list. False when malformed.
  bool Append(const FeatureView& feature);
  // Copies values [begin, begin + n) to elements [to, to + n) of `out`, of the column's type.
  void CopyTo(int64_t begin, int64_t n, Tensor* out, int64_t to) const;
};

// Writes the values of a serialized list to elements [to, to + n) of `out`, which is of the list's
// type, and stores how many the list has in `*count`: those beyond n are dropped. False when
// malformed.
bool CopyFeature(const FeatureView& feature, int64_t n, Tensor* out, int64_t to, int64_t* count);

// "int64", "float", "bytes": how messages call the values of a type.
const char* ListName(DType type);

}  // namespace tensorfleet::cpu
