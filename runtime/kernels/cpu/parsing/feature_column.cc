#include "runtime/kernels/cpu/parsing/feature_column.h"

namespace tensorfleet::cpu {

int64_t FeatureColumn::widest() const {
  int64_t most = 0;
  for (int64_t row = 0; row < rows(); ++row) most = std::max(most, RowSize(row));
  return most;
}

bool FeatureColumn::Append(const FeatureView& feature) {
  switch (feature.type) {
    case DType::kInt64:
      return ReadInt64List(feature.list, [this](int64_t value) { ints.push_back(value); });
    case DType::kFloat:
      return ReadFloatList(feature.list, [this](absl::string_view bytes) {
        const size_t before = floats.size();
        floats.resize(before + bytes.size() / sizeof(float));
        std::memcpy(floats.data() + before, bytes.data(), bytes.size());
      });
    case DType::kString:
      return ReadBytesList(feature.list, [this](absl::string_view text) { texts.push_back(text); });
    default:
      return true;
  }
}

void FeatureColumn::CopyTo(int64_t begin, int64_t n, Tensor* out, int64_t to) const {
  switch (out->dtype()) {
    case DType::kInt64:
      std::copy_n(ints.begin() + begin, n, out->mutable_values<int64_t>().begin() + to);
      break;
    case DType::kFloat:
      std::copy_n(floats.begin() + begin, n, out->mutable_values<float>().begin() + to);
      break;
    default: {
      std::string* const texts_out = out->mutable_values<std::string>().data() + to;
      for (int64_t i = 0; i < n; ++i) {
        texts_out[i].assign(texts[begin + i].data(), texts[begin + i].size());
      }
    }
  }
}

bool CopyFeature(const FeatureView& feature, int64_t n, Tensor* out, int64_t to, int64_t* count) {
  int64_t found = 0;
  bool is_well_formed = true;
  switch (feature.type) {
    case DType::kInt64: {
      int64_t* const values = out->mutable_values<int64_t>().data() + to;
      is_well_formed = ReadInt64List(feature.list, [&](int64_t value) {
        if (found < n) values[found] = value;
        ++found;
      });
      break;
    }
    case DType::kFloat: {
      float* const values = out->mutable_values<float>().data() + to;
      is_well_formed = ReadFloatList(feature.list, [&](absl::string_view bytes) {
        const int64_t more = static_cast<int64_t>(bytes.size() / sizeof(float));
        const int64_t room = std::clamp<int64_t>(n - found, 0, more);
        if (room > 0) std::memcpy(values + found, bytes.data(), room * sizeof(float));
        found += more;
      });
      break;
    }
    default: {
      std::string* const values = out->mutable_values<std::string>().data() + to;
      is_well_formed = ReadBytesList(feature.list, [&](absl::string_view text) {
        if (found < n) values[found].assign(text.data(), text.size());
        ++found;
      });
    }
  }
  *count = found;
  return is_well_formed;
}

const char* ListName(DType type) {
  return type == DType::kInt64 ? "int64" : type == DType::kFloat ? "float" : "bytes";
}

}  // namespace tensorfleet::cpu
