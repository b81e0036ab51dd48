#include "runtime/kernels/cpu/random/random_fill.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <Eigen/Core>

namespace tensorfleet::cpu {
namespace {

// Blocks made in one go: their words stay in the first-level cache.
constexpr int64_t kChunk = 256;

template <typename To, typename From>
To BitsAs(From bits) {
  static_assert(sizeof(To) == sizeof(From));
  To value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

// Calls group(words, outputs) for every block, where a block gives `kPerBlock` outputs; the last
// block may give more than is asked for.
template <typename T, int kPerBlock, typename Group>
void FillByBlocks(const KernelContext& ctx, Philox from, Tensor* out, int64_t cost,
                  const Group& group) {
  T* const to = static_cast<T*>(out->mutable_raw());
  const int64_t n = out->num_elements();
  const int64_t blocks = (n + kPerBlock - 1) / kPerBlock;
  const int64_t chunks = (blocks + kChunk - 1) / kChunk;
  ParallelFor(ctx, chunks, std::min(blocks, kChunk) * cost, [&](int64_t begin, int64_t end) {
    uint32_t words[4 * kChunk];
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      const int64_t first = chunk * kChunk;
      const int64_t count = std::min(kChunk, blocks - first);
      from.At(first).Fill(count, words);
      const int64_t whole = std::min(count, n / kPerBlock - first);
      T* next = to + first * kPerBlock;
      for (int64_t b = 0; b < whole; ++b) group(words + 4 * b, next + b * kPerBlock);
      if (whole < count) {
        T last[kPerBlock];
        group(words + 4 * whole, last);
        std::copy_n(last, n - (first + whole) * kPerBlock, next + whole * kPerBlock);
      }
    }
  });
}

template <typename T>
T Unit(const uint32_t* words);
template <>
float Unit<float>(const uint32_t* words) {
  return UnitFloat(words[0]);
}
// The small floats take their few bits from the low end of a word, like float.
template <>
Eigen::half Unit<Eigen::half>(const uint32_t* words) {
  const uint16_t bits = static_cast<uint16_t>((15 << 10) | (words[0] & 0x3ff));
  return BitsAs<Eigen::half>(bits) - Eigen::half(1.0f);
}
template <>
Eigen::bfloat16 Unit<Eigen::bfloat16>(const uint32_t* words) {
  const uint16_t bits = static_cast<uint16_t>((127 << 7) | (words[0] & 0x7f));
  return BitsAs<Eigen::bfloat16>(bits) - Eigen::bfloat16(1.0f);
}
template <>
double Unit<double>(const uint32_t* words) {
  return UnitDouble(words[0], words[1]);
}

// Words that one uniform number takes.
template <typename T>
constexpr int kWords = sizeof(T) == 8 ? 2 : 1;

// What the normal distribution of T is computed in.
template <typename T>
using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;

// Truncated normal outputs come in groups; each draws words from a stretch of the sequence of its
// own until it is full.
template <typename T>
void FillTruncated(const KernelContext& ctx, Philox from, Tensor* out) {
  using W = Wide<T>;
  constexpr int kGroup = 4 / kWords<W>;
  constexpr int kAttempt = 2 * kWords<W>;
  constexpr int64_t kBlocksPerGroup = kGroup * 256 / 4;
  T* const to = static_cast<T*>(out->mutable_raw());
  const int64_t n = out->num_elements();
  const int64_t groups = (n + kGroup - 1) / kGroup;
  ParallelFor(ctx, groups, 150, [&](int64_t begin, int64_t end) {
    for (int64_t group = begin; group < end; ++group) {
      PhiloxWords words(from.At(group * kBlocksPerGroup));
      T results[kGroup];
      for (int filled = 0; filled < kGroup;) {
        uint32_t attempt[kAttempt];
        for (uint32_t& word : attempt) word = words.Next();
        W pair[2];
        NormalPair(attempt, pair);
        for (const W value : pair) {
          if (std::abs(value) < W(2) && filled < kGroup) results[filled++] = static_cast<T>(value);
        }
      }
      std::copy_n(results, std::min<int64_t>(kGroup, n - group * kGroup), to + group * kGroup);
    }
  });
}

// Calls visit(T()) for the floating type of `out`.
template <typename Visit>
void VisitFloating(const Tensor& out, const Visit& visit) {
  switch (out.dtype()) {
    case DType::kHalf:
      return visit(Eigen::half());
    case DType::kBFloat16:
      return visit(Eigen::bfloat16());
    case DType::kFloat:
      return visit(float());
    default:
      return visit(double());
  }
}

uint64_t Joined(const uint32_t* words) { return words[0] | (uint64_t{words[1]} << 32); }

}  // namespace

void NormalPair(const uint32_t* words, float* pair) {
  const float u = std::max(UnitFloat(words[0]), 1.0e-7f);
  const float v = static_cast<float>(2.0f * M_PI * UnitFloat(words[1]));
  const float radius = std::sqrt(-2.0f * std::log(u));
  pair[0] = std::sin(v) * radius;
  pair[1] = std::cos(v) * radius;
}
void NormalPair(const uint32_t* words, double* pair) {
  const double u = std::max(UnitDouble(words[0], words[1]), 1.0e-7);
  const double v = 2 * M_PI * UnitDouble(words[2], words[3]);
  const double radius = std::sqrt(-2.0 * std::log(u));
  pair[0] = std::sin(v) * radius;
  pair[1] = std::cos(v) * radius;
}

float UnitFloat(uint32_t word) {
  return BitsAs<float>((uint32_t{127} << 23) | (word & 0x7fffff)) - 1.0f;
}

double UnitDouble(uint32_t high, uint32_t low) {
  const uint64_t mantissa = (uint64_t{high & 0xfffff} << 32) | low;
  return BitsAs<double>((uint64_t{1023} << 52) | mantissa) - 1.0;
}

void FillUniform(const KernelContext& ctx, Philox from, Tensor* out) {
  VisitFloating(*out, [&](auto zero) {
    using T = decltype(zero);
    constexpr int kPerBlock = 4 / kWords<T>;
    FillByBlocks<T, kPerBlock>(ctx, from, out, 5, [](const uint32_t* words, T* to) {
      for (int i = 0; i < kPerBlock; ++i) to[i] = Unit<T>(words + i * kWords<T>);
    });
  });
}

void FillNormal(const KernelContext& ctx, Philox from, Tensor* out) {
  VisitFloating(*out, [&](auto zero) {
    using T = decltype(zero);
    constexpr int kPerBlock = 4 / kWords<T>;
    FillByBlocks<T, kPerBlock>(ctx, from, out, 60, [](const uint32_t* words, T* to) {
      for (int i = 0; i < kPerBlock; i += 2) {
        Wide<T> pair[2];
        NormalPair(words + i * kWords<T>, pair);
        to[i] = static_cast<T>(pair[0]);
        to[i + 1] = static_cast<T>(pair[1]);
      }
    });
  });
}

void FillTruncatedNormal(const KernelContext& ctx, Philox from, Tensor* out) {
  VisitFloating(*out, [&](auto zero) { FillTruncated<decltype(zero)>(ctx, from, out); });
}

void FillUniformInt(const KernelContext& ctx, Philox from, int64_t low, int64_t high, Tensor* out) {
  const uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  if (out->dtype() == DType::kInt32) {
    const uint32_t range32 = static_cast<uint32_t>(range);
    const uint32_t low32 = static_cast<uint32_t>(low);
    FillByBlocks<uint32_t, 4>(ctx, from, out, 10, [=](const uint32_t* words, uint32_t* to) {
      for (int i = 0; i < 4; ++i) to[i] = low32 + words[i] % range32;
    });
  } else {
    FillByBlocks<uint64_t, 2>(ctx, from, out, 15, [=](const uint32_t* words, uint64_t* to) {
      for (int i = 0; i < 2; ++i)
        to[i] = static_cast<uint64_t>(low) + Joined(words + 2 * i) % range;
    });
  }
}

void FillFullInt(const KernelContext& ctx, Philox from, Tensor* out) {
  if (ElementSize(out->dtype()) == 4) {
    FillByBlocks<uint32_t, 4>(
        ctx, from, out, 5, [](const uint32_t* words, uint32_t* to) { std::copy_n(words, 4, to); });
  } else {
    FillByBlocks<uint64_t, 2>(ctx, from, out, 5, [](const uint32_t* words, uint64_t* to) {
      for (int i = 0; i < 2; ++i) to[i] = Joined(words + 2 * i);
    });
  }
}

}  // namespace tensorfleet::cpu
