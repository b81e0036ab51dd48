// Kernels between strings and numbers: AsString, StringToNumber, StringToHashBucket and its kin,
// DecodeRaw.
// Schemas and shape rules: runtime/ops/string/string_ops.cc.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdio>
#include <limits>
#include <string>

#include <Eigen/Core>

#include "absl/strings/str_cat.h"
#include "runtime/kernels/cpu/elements.h"
#include "runtime/kernels/cpu/string/fingerprint.h"
#include "runtime/kernels/cpu/string/hash64.h"
#include "runtime/kernels/cpu/string/parse_number.h"
#include "runtime/kernels/kernel_registry.h"

namespace tensorfleet::cpu {
namespace {

// What snprintf makes of `format` and `args`.
template <typename... Args>
std::string Formatted(const std::string& format, Args... args) {
  const int size = std::snprintf(nullptr, 0, format.c_str(), args...);
  std::string text(std::max(size, 0) + 1, '\0');
  std::snprintf(text.data(), text.size(), format.c_str(), args...);
  text.pop_back();
  return text;
}

class AsString final : public Kernel {
 public:
  explicit AsString(KernelInit& init) {
    DType dtype = DType::kInvalid;
    init.Get("T", &dtype);
    Status status = MakeFormat(init, dtype);
    if (!status.ok()) init.Fail(status);
  }
  Status Compute(KernelContext& ctx) const override {
    const Tensor& in = ctx.input(0);
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DType::kString, in.shape()));
    auto to = out.mutable_values<std::string>();
    for (int64_t i = 0; i < in.num_elements(); ++i) to[i] = Text(in, i);
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  // A graph cannot make a server print numbers of megabytes each.
  static constexpr int64_t kMaxWidth = 10000;

  Status MakeFormat(KernelInit& init, DType dtype) {
    TFLEET_ASSIGN_OR_RETURN(const int64_t precision, GetAttr<int64_t>(init.def(), "precision"));
    TFLEET_ASSIGN_OR_RETURN(const bool scientific, GetAttr<bool>(init.def(), "scientific"));
    TFLEET_ASSIGN_OR_RETURN(const bool shortest, GetAttr<bool>(init.def(), "shortest"));
    TFLEET_ASSIGN_OR_RETURN(const int64_t width, GetAttr<int64_t>(init.def(), "width"));
    TFLEET_ASSIGN_OR_RETURN(const std::string fill, GetAttr<std::string>(init.def(), "fill"));
    const bool has_point = IsFloating(dtype) || IsComplex(dtype);
    if (dtype == DType::kVariant) {
      return Unimplemented("AsString is not available for variants");
    }
    if (scientific && shortest) {
      return InvalidArgument("Cannot select both scientific and shortest notation");
    }
    if (!has_point && (scientific || shortest)) {
      return InvalidArgument("scientific and shortest format not supported for datatype ",
                             DTypeName(dtype));
    }
    if (!has_point && precision >= 0) {
      return InvalidArgument("precision not supported for datatype ", DTypeName(dtype));
    }
    if (fill.size() > 1) return InvalidArgument("Fill string must be one or fewer characters");
    if (!fill.empty() && fill.find_first_of(" +-0#") != 0) {
      return InvalidArgument("Fill argument not supported: \"", fill, "\"");
    }
    if (width > kMaxWidth || precision > kMaxWidth) {
      return InvalidArgument("width and precision must be at most ", kMaxWidth, ", but are ", width,
                             " and ", precision);
    }
    std::string format = absl::StrCat("%", fill);
    if (width > -1) absl::StrAppend(&format, width);
    if (has_point) {
      if (precision > -1) absl::StrAppend(&format, ".", precision);
      format += scientific ? "e" : shortest ? "g" : "f";
      if (IsComplex(dtype)) format = absl::StrCat("(", format, ",", format, ")");
    } else if (dtype == DType::kString) {
      format = width > -1 ? absl::StrCat("%", fill == "-" ? "-" : "", width, "s") : "%s";
    } else {
      const bool is_unsigned = dtype == DType::kUInt8 || dtype == DType::kUInt16 ||
                               dtype == DType::kUInt32 || dtype == DType::kUInt64;
      format += is_unsigned ? "llu" : "lld";
    }
    format_ = std::move(format);
    return OkStatus();
  }

  std::string Text(const Tensor& in, int64_t i) const {
    switch (in.dtype()) {
      case DType::kFloat:
        return Formatted(format_, double(in.values<float>()[i]));
      case DType::kDouble:
        return Formatted(format_, in.values<double>()[i]);
      case DType::kHalf:
        return Formatted(format_, double(in.values<Eigen::half>()[i]));
      case DType::kBFloat16:
        return Formatted(format_, double(in.values<Eigen::bfloat16>()[i]));
      case DType::kInt8:
        return Signed(in.values<int8_t>()[i]);
      case DType::kInt16:
        return Signed(in.values<int16_t>()[i]);
      case DType::kInt32:
        return Signed(in.values<int32_t>()[i]);
      case DType::kInt64:
        return Signed(in.values<int64_t>()[i]);
      case DType::kUInt8:
        return Unsigned(in.values<uint8_t>()[i]);
      case DType::kUInt16:
        return Unsigned(in.values<uint16_t>()[i]);
      case DType::kUInt32:
        return Unsigned(in.values<uint32_t>()[i]);
      case DType::kUInt64:
        return Unsigned(in.values<uint64_t>()[i]);
      case DType::kComplex64:
        return Complex(in.values<std::complex<float>>()[i]);
      case DType::kComplex128:
        return Complex(in.values<std::complex<double>>()[i]);
      case DType::kBool:
        return in.values<bool>()[i] ? "true" : "false";
      default: {
        const std::string& text = in.values<std::string>()[i];
        return format_ == "%s" ? text : Formatted(format_, text.c_str());
      }
    }
  }
  std::string Signed(long long value) const {
    return format_ == "%lld" ? absl::StrCat(value) : Formatted(format_, value);
  }
  std::string Unsigned(unsigned long long value) const {
    return format_ == "%llu" ? absl::StrCat(value) : Formatted(format_, value);
  }
  template <typename T>
  std::string Complex(const std::complex<T>& value) const {
    return Formatted(format_, double(value.real()), double(value.imag()));
  }

  std::string format_;
};

template <typename T>
class StringToNumber final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    const Tensor& in = ctx.input(0);
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(kDTypeOf<T>, in.shape()));
    T* to = out.mutable_values<T>().data();
    for (const std::string& text : in.values<std::string>()) {
      if (!ParseNumber(text, to++)) {
        return InvalidArgument("StringToNumberOp could not correctly convert string: ", text);
      }
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }
};

// One of `num_buckets` for each string. `Hash` is made of the node: Hash(init), uint64_t(text).
template <typename Hash>
class StringToHashBucket final : public Kernel {
 public:
  explicit StringToHashBucket(KernelInit& init) : hash_(init) {
    init.Get("num_buckets", &buckets_);
  }
  Status Compute(KernelContext& ctx) const override {
    const Tensor& in = ctx.input(0);
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DType::kInt64, in.shape()));
    auto to = out.mutable_values<int64_t>().begin();
    for (const std::string& text : in.values<std::string>()) {
      *to++ = static_cast<int64_t>(hash_(text) % static_cast<uint64_t>(buckets_));
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  const Hash hash_;
  int64_t buckets_ = 1;  // at least 1 by the schema
};

struct FastHash {
  explicit FastHash(KernelInit&) {}
  uint64_t operator()(absl::string_view text) const { return Fingerprint64(text); }
};

struct FirstHash {
  explicit FirstHash(KernelInit&) {}
  uint64_t operator()(absl::string_view text) const { return Hash64(text); }
};

class StrongHash {
 public:
  explicit StrongHash(KernelInit& init) {
    std::vector<int64_t> key;
    init.Get("key", &key);
    if (!init.status().ok()) return;
    if (key.size() == 2) {
      key_[0] = static_cast<uint64_t>(key[0]);
      key_[1] = static_cast<uint64_t>(key[1]);
    } else {
      init.Fail(InvalidArgument("Key must have 2 elements"));
    }
  }
  uint64_t operator()(absl::string_view text) const { return SipHash(key_, text); }

 private:
  uint64_t key_[2] = {};
};

class DecodeRaw final : public Kernel {
 public:
  explicit DecodeRaw(KernelInit& init) {
    init.Get("out_type", &dtype_);
    init.Get("little_endian", &little_endian_);
  }
  Status Compute(KernelContext& ctx) const override {
    const Tensor& in = ctx.input(0);
    const auto texts = in.values<std::string>();
    const size_t length = texts.empty() ? 0 : texts[0].size();
    for (size_t i = 1; i < texts.size(); ++i) {
      if (texts[i].size() != length) {
        return InvalidArgument(
            "DecodeRaw requires input strings to all be the same size, but "
            "element ",
            i, " has size ", length, " != ", texts[i].size());
      }
    }
    const size_t size = ElementSize(dtype_);
    if (length % size != 0) {
      return InvalidArgument("Input to DecodeRaw has length ", length,
                             " that is not a multiple of ", size, ", the size of ",
                             DTypeName(dtype_));
    }
    TFLEET_ASSIGN_OR_RETURN(const Shape shape,
                            in.shape().Concatenated({static_cast<int64_t>(length / size)}));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(dtype_, shape));
    char* to = static_cast<char*>(out.mutable_raw());
    for (const std::string& text : texts) to = std::copy(text.begin(), text.end(), to);
    if (dtype_ == DType::kBool) {
      for (uint8_t& b : absl::MakeSpan(static_cast<uint8_t*>(out.mutable_raw()), out.bytes()))
        b = b != 0;
    }
    if (!little_endian_) {
      // The parts of a complex number are turned around each for itself.
      const size_t word = IsComplex(dtype_) ? size / 2 : size;
      char* const begin = static_cast<char*>(out.mutable_raw());
      for (size_t at = 0; at < out.bytes(); at += word) std::reverse(begin + at, begin + at + word);
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  DType dtype_ = DType::kUInt8;
  bool little_endian_ = true;
};

}  // namespace

void RegisterStringConvertKernels(KernelRegistry& kernels) {
  kernels.Add<AsString>("AsString", kCpu);
  kernels.Add<StringToNumber<float>>("StringToNumber", kCpu, {{"out_type", DType::kFloat}});
  kernels.Add<StringToNumber<double>>("StringToNumber", kCpu, {{"out_type", DType::kDouble}});
  kernels.Add<StringToNumber<int32_t>>("StringToNumber", kCpu, {{"out_type", DType::kInt32}});
  kernels.Add<StringToNumber<int64_t>>("StringToNumber", kCpu, {{"out_type", DType::kInt64}});
  kernels.Add<StringToHashBucket<FastHash>>("StringToHashBucketFast", kCpu);
  kernels.Add<StringToHashBucket<FirstHash>>("StringToHashBucket", kCpu);
  kernels.Add<StringToHashBucket<StrongHash>>("StringToHashBucketStrong", kCpu);
  kernels.Add<DecodeRaw>("DecodeRaw", kCpu);
}

}  // namespace tensorfleet::cpu
