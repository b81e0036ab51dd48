// Bytes in other forms: DecodeBase64, EncodeBase64, DecodeCompressed, DecodePaddedRaw. Schemas and
// shape rules: runtime/ops/parsing/decode_ops.cc.
#include <algorithm>
#include <array>
#include <string>

#include "runtime/io/inflate.h"
#include "runtime/kernels/kernel_registry.h"

namespace tensorfleet::cpu {
namespace {

constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr char kPad = '=';

// Each byte's six bits, or 255 for one that is not in the alphabet.
std::array<uint8_t, 256> MakeSixBits() {
  std::array<uint8_t, 256> bits;
  bits.fill(255);
  for (int i = 0; i < 64; ++i) bits[static_cast<uint8_t>(kAlphabet[i])] = static_cast<uint8_t>(i);
  return bits;
}

Status DecodeBase64(absl::string_view text, std::string* out) {
  static const std::array<uint8_t, 256> kSixBits = MakeSixBits();
  // One or two pads complete the last group of four.
  if (text.size() % 4 == 0 && !text.empty() && text.back() == kPad) {
    text.remove_suffix(text[text.size() - 2] == kPad ? 2 : 1);
  }
  if (text.size() % 4 == 1) {
    return InvalidArgument("Base64 string length cannot be 1 modulo 4.");
  }
  out->resize(text.size() * 3 / 4);
  char* to = out->data();
  const auto six = [&](size_t i) { return kSixBits[static_cast<uint8_t>(text[i])]; };
  uint8_t seen = 0;  // all bits that there were: more than six in a wrong character
  size_t i = 0;
  for (; i + 4 <= text.size(); i += 4) {
    const uint8_t a = six(i), b = six(i + 1), c = six(i + 2), d = six(i + 3);
    seen |= a | b | c | d;
    *to++ = static_cast<char>(a << 2 | b >> 4);
    *to++ = static_cast<char>(b << 4 | c >> 2);
    *to++ = static_cast<char>(c << 6 | d);
  }
  if (i < text.size()) {  // two or three characters
    const uint8_t a = six(i), b = six(i + 1), c = i + 2 < text.size() ? six(i + 2) : uint8_t{0};
    seen |= a | b | c;
    *to++ = static_cast<char>(a << 2 | b >> 4);
    if (i + 2 < text.size()) *to++ = static_cast<char>(b << 4 | c >> 2);
  }
  if (seen > 63) return InvalidArgument("Invalid character found in base64.");
  return OkStatus();
}

void EncodeBase64(absl::string_view bytes, bool pads, std::string* out) {
  const size_t rest = bytes.size() % 3;
  out->resize(bytes.size() / 3 * 4 + (rest == 0 ? 0 : pads ? 4 : rest + 1), kPad);
  char* to = out->data();
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(bytes[i]); };
  size_t i = 0;
  for (; i + 3 <= bytes.size(); i += 3) {
    const uint32_t group = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    *to++ = kAlphabet[group >> 18];
    *to++ = kAlphabet[group >> 12 & 63];
    *to++ = kAlphabet[group >> 6 & 63];
    *to++ = kAlphabet[group & 63];
  }
  if (rest == 0) return;
  const uint32_t group = byte(i) << 16 | (rest > 1 ? byte(i + 1) << 8 : 0);
  *to++ = kAlphabet[group >> 18];
  *to++ = kAlphabet[group >> 12 & 63];
  if (rest > 1) *to++ = kAlphabet[group >> 6 & 63];
}

class Base64 final : public Kernel {
 public:
  explicit Base64(KernelInit& init) : decodes_(init.node().op() == "DecodeBase64") {
    if (!decodes_) init.Get("pad", &pads_);
  }
  Status Compute(KernelContext& ctx) const override {
    const Tensor& in = ctx.input(0);
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DType::kString, in.shape()));
    std::string* to = out.mutable_values<std::string>().data();
    for (const std::string& text : in.values<std::string>()) {
      if (decodes_) {
        TFLEET_RETURN_IF_ERROR(DecodeBase64(text, to++));
      } else {
        EncodeBase64(text, pads_, to++);
      }
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  const bool decodes_;
  bool pads_ = false;
};

class DecodeCompressed final : public Kernel {
 public:
  explicit DecodeCompressed(KernelInit& init) {
    init.Get("compression_type", &type_);
    if (type_.empty() || type_ == "ZLIB" || type_ == "GZIP") return;
    init.Fail(InvalidArgument("Only ZLIB, GZIP or NONE are supported compressions"));
  }
  Status Compute(KernelContext& ctx) const override {
    const Tensor& in = ctx.input(0);
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DType::kString, in.shape()));
    std::string* to = out.mutable_values<std::string>().data();
    LoopWatch watch(ctx, kNanosecondsAPiece);
    // What comes out may be as large as a tensor, not larger.
    const auto look = [&watch](size_t size) {
      watch.Pass();
      const StatusOr<Shape> shape = Shape::Make({static_cast<int64_t>(size)});
      return shape.ok() ? Tensor::CheckSize(DType::kUInt8, *shape) : shape.status();
    };
    for (const std::string& bytes : in.values<std::string>()) {
      if (type_.empty()) {
        *to++ = bytes;
      } else {
        TFLEET_RETURN_IF_ERROR(Inflate(
            bytes, type_ == "GZIP" ? InflateFormat::kGzip : InflateFormat::kZlib, look, to++));
      }
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }
  bool IsExpensive() const override { return true; }

 private:
  static constexpr int64_t kNanosecondsAPiece = 100'000;

  std::string type_;
};

class DecodePaddedRaw final : public Kernel {
 public:
  explicit DecodePaddedRaw(KernelInit& init) {
    init.Get("out_type", &type_);
    init.Get("little_endian", &little_endian_);
  }
  Status Compute(KernelContext& ctx) const override {
    const Tensor& in = ctx.input(0);
    if (!ctx.input(1).shape().is_scalar()) {
      return InvalidArgument("k must be scalar, got shape ", ctx.input(1).shape().ToString());
    }
    const int64_t length = ctx.input(1).scalar<int32_t>();
    const int64_t size = static_cast<int64_t>(ElementSize(type_));
    if (length % size != 0) {
      return InvalidArgument("fixed_length (", length,
                             ") must be a multiple of the size of out_type (", size, ")");
    }
    if (length <= 0) {
      return InvalidArgument("fixed_length (", length, ") must be greater than zero.");
    }
    TFLEET_ASSIGN_OR_RETURN(const Shape shape, in.shape().Concatenated({length / size}));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, Tensor::Zeros(type_, shape));
    char* to = static_cast<char*>(out.mutable_raw());
    for (const std::string& bytes : in.values<std::string>()) {
      std::copy_n(bytes.data(), std::min<size_t>(bytes.size(), length), to);
      for (int64_t at = 0; !little_endian_ && at < length; at += size) {
        std::reverse(to + at, to + at + size);
      }
      to += length;
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  DType type_ = DType::kUInt8;
  bool little_endian_ = true;
};

}  // namespace

void RegisterDecodeBytesKernels(KernelRegistry& r) {
  r.Add<Base64>("DecodeBase64", kCpu);
  r.Add<Base64>("EncodeBase64", kCpu);
  r.Add<DecodeCompressed>("DecodeCompressed", kCpu);
  for (const DType type :
       {DType::kHalf, DType::kFloat, DType::kDouble, DType::kInt32, DType::kUInt16, DType::kUInt8,
        DType::kInt16, DType::kInt8, DType::kInt64, DType::kBFloat16}) {
    r.Add<DecodePaddedRaw>("DecodePaddedRaw", kCpu, {{"out_type", type}});
  }
}

}  // namespace tensorfleet::cpu
