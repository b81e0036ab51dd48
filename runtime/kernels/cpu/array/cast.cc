#include "runtime/kernels/cpu/array/cast.h"

#include <complex>
#include <cstring>
#include <limits>

namespace tensorfleet::cpu {
namespace {

// What x86's conversion gives, and so TensorFlow: the least number for what is out of range, NaN
// too. The language leaves that open.
template <typename To, typename From>
To Truncate(From x) {
  static_assert(std::is_same_v<To, int32_t> || std::is_same_v<To, int64_t>);
  constexpr From kBound = static_cast<From>(uint64_t{1} << (sizeof(To) * 8 - 1));
  return x >= -kBound && x < kBound ? static_cast<To>(x) : std::numeric_limits<To>::min();
}

template <typename From>
uint64_t TruncateUnsigned(From x) {
  const int64_t low = Truncate<int64_t>(x);
  const int64_t high = Truncate<int64_t>(x - static_cast<From>(uint64_t{1} << 63));
  return static_cast<uint64_t>(low | (high & (low >> 63)));
}

template <typename From, typename To>
To Convert(From x) {
  if constexpr (Eigen::NumTraits<From>::IsComplex) {
    if constexpr (Eigen::NumTraits<To>::IsComplex) {
      using Part = typename Eigen::NumTraits<To>::Real;
      return To(static_cast<Part>(x.real()), static_cast<Part>(x.imag()));
    } else {
      return Convert<typename Eigen::NumTraits<From>::Real, To>(x.real());
    }
  } else if constexpr (Eigen::NumTraits<To>::IsComplex) {
    return To(static_cast<typename Eigen::NumTraits<To>::Real>(x));
  } else if constexpr (std::is_same_v<To, bool>) {
    return x != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To> && sizeof(To) < 4) {
    return static_cast<To>(Truncate<int32_t>(x));
  } else if constexpr (std::is_floating_point_v<From> && std::is_same_v<To, uint32_t>) {
    return static_cast<To>(Truncate<int64_t>(x));
  } else if constexpr (std::is_floating_point_v<From> && std::is_same_v<To, uint64_t>) {
    return TruncateUnsigned(x);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return Truncate<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

#if defined(__x86_64__)
// Only AVX-512 converts vectors of 64-bit integers to floating numbers.
template <typename From, typename To>
__attribute__((target("avx512f,avx512dq,avx512vl"))) void WideIntegersToFloats(const From* x, To* y,
                                                                               int64_t n) {
  TFLEET_VECTORIZE
  for (int64_t i = 0; i < n; ++i) y[i] = static_cast<To>(x[i]);
}
template <typename From, typename To>
inline constexpr bool kGainsFromAvx512 = std::is_integral_v<From> &&
                                         sizeof(From) == 8 && std::is_floating_point_v<To>;
bool HasAvx512() {
  static const bool has = __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return has;
}
#endif

template <typename From, typename To>
void CastLoop(const void* in, void* out, int64_t n) {
  if constexpr (kIsSmallFloat<From> && std::is_same_v<To, float>) {
    ToFloat(static_cast<const From*>(in), static_cast<float*>(out), n);
  } else if constexpr (std::is_same_v<From, float> && kIsSmallFloat<To>) {
    FromFloat(static_cast<const float*>(in), static_cast<To*>(out), n);
  } else if constexpr (kIsSmallFloat<From>) {
    float block[kSmallFloatBlock];
    for (int64_t begin = 0; begin < n; begin += kSmallFloatBlock) {
      const int64_t size = std::min(kSmallFloatBlock, n - begin);
      ToFloat(static_cast<const From*>(in) + begin, block, size);
      CastLoop<float, To>(block, static_cast<To*>(out) + begin, size);
    }
  } else if constexpr (kIsSmallFloat<To>) {
    float block[kSmallFloatBlock];
    for (int64_t begin = 0; begin < n; begin += kSmallFloatBlock) {
      const int64_t size = std::min(kSmallFloatBlock, n - begin);
      CastLoop<From, float>(static_cast<const From*>(in) + begin, block, size);
      FromFloat(block, static_cast<To*>(out) + begin, size);
    }
  } else {
    const From* x = static_cast<const From*>(in);
    To* y = static_cast<To*>(out);
#if defined(__x86_64__)
    if constexpr (kGainsFromAvx512<From, To>) {
      if (HasAvx512()) return WideIntegersToFloats(x, y, n);
    }
#endif
    // Types of one size may share memory, others are apart.
    TFLEET_VECTORIZE
    for (int64_t i = 0; i < n; ++i) y[i] = Convert<From, To>(x[i]);
  }
}

using CastTypes = Concat<Numbers, Types<bool>>;

template <typename From>
UnaryLoop FindFrom(DType to) {
  UnaryLoop found = nullptr;
  ForEachType(CastTypes(), [&](auto tag) {
    using To = typename decltype(tag)::type;
    if (kDTypeOf<To> == to) found = &CastLoop<From, To>;
  });
  return found;
}

int MantissaBits(DType type) {
  switch (type) {
    case DType::kDouble:
      return 52;
    case DType::kFloat:
      return 23;
    case DType::kHalf:
      return 10;
    case DType::kBFloat16:
      return 7;
    default:
      return 0;
  }
}

// Clears the low mantissa bits, so that rounding to nearest rounds towards zero.
template <typename T, typename Bits>
void TruncateMantissa(const T* in, T* out, int64_t n, int bits) {
  const Bits mask = ~((Bits{1} << bits) - 1);
  for (int64_t i = 0; i < n; ++i) {
    Bits b;
    std::memcpy(&b, in + i, sizeof b);
    b &= mask;
    std::memcpy(out + i, &b, sizeof b);
  }
}

class Cast final : public Kernel {
 public:
  explicit Cast(KernelInit& init) {
    bool truncate = false;
    init.Get("SrcT", &from_);
    init.Get("DstT", &to_);
    init.Get("Truncate", &truncate);
    loop_ = FindCast(from_, to_);
    if (loop_ == nullptr && from_ != to_) {
      init.Fail(
          Unimplemented("Cast ", DTypeName(from_), " to ", DTypeName(to_), " is not supported"));
    }
    const int from_bits = MantissaBits(from_), to_bits = MantissaBits(to_);
    if (truncate && to_bits > 0 && from_bits > to_bits) truncated_bits_ = from_bits - to_bits;
  }

  Status Compute(KernelContext& ctx) const override {
    if (from_ == to_) {
      ctx.SetOutput(0, ctx.TakeInput(0));
      return OkStatus();
    }
    const Tensor* in = &ctx.input(0);
    Tensor truncated;
    if (truncated_bits_ > 0) {
      TFLEET_ASSIGN_OR_RETURN(truncated, Truncated(ctx, *in));
      in = &truncated;
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ElementSize(from_) == ElementSize(to_)
                                            ? ctx.ForwardOrAllocate(0, to_, in->shape())
                                            : ctx.Allocate(to_, in->shape()));
    const char* x = static_cast<const char*>(in->raw());
    char* y = static_cast<char*>(out.mutable_raw());
    const size_t in_size = ElementSize(from_), out_size = ElementSize(to_);
    ForElements(ctx, in->num_elements(), 300, [&](int64_t begin, int64_t end) {
      loop_(x + begin * in_size, y + begin * out_size, end - begin);
    });
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  StatusOr<Tensor> Truncated(KernelContext& ctx, const Tensor& in) const {
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(from_, in.shape()));
    const int64_t n = in.num_elements();
    switch (from_) {
      case DType::kDouble:
        TruncateMantissa<double, uint64_t>(in.values<double>().data(),
                                           out.mutable_values<double>().data(), n, truncated_bits_);
        break;
      case DType::kFloat:
        TruncateMantissa<float, uint32_t>(in.values<float>().data(),
                                          out.mutable_values<float>().data(), n, truncated_bits_);
        break;
      default:  // half to bfloat16
        TruncateMantissa<Eigen::half, uint16_t>(in.values<Eigen::half>().data(),
                                                out.mutable_values<Eigen::half>().data(), n,
                                                truncated_bits_);
    }
    return out;
  }

  DType from_ = DType::kInvalid, to_ = DType::kInvalid;
  UnaryLoop loop_ = nullptr;
  int truncated_bits_ = 0;
};

}  // namespace

UnaryLoop FindCast(DType from, DType to) {
  UnaryLoop found = nullptr;
  ForEachType(CastTypes(), [&](auto tag) {
    using From = typename decltype(tag)::type;
    if (kDTypeOf<From> == from) found = FindFrom<From>(to);
  });
  return found;
}

void RegisterCastKernels(KernelRegistry& r) { r.Add<Cast>("Cast", kCpu); }

}  // namespace tensorfleet::cpu
