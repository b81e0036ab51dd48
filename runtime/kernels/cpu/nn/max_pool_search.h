// Where the largest elements of a pool's windows are.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "runtime/kernels/cpu/elementwise.h"
#include "runtime/kernels/cpu/nn/pool_plan.h"

namespace tensorfleet::cpu {

// Looks at one window at a time, a block of channels at a time. Of equals the first is the largest.
template <typename T>
class LargestOfWindow {
 public:
  static constexpr int64_t kBlock = 64;  // channels
  // As wide as T where that is possible, so that both fill vectors of one kind.
  using Index = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;

  explicit LargestOfWindow(const PoolPlan& plan) : plan_(plan) {}

  // To the window of output (out_y, out_x) of image `n`.
  void MoveTo(int64_t n, int64_t out_y, int64_t out_x) {
    pixels_.clear();
    plan_.ForWindow(n, out_y, out_x, [&](int64_t from, int64_t count) {
      for (int64_t i = 0; i < count; ++i) pixels_.push_back(from + i * plan_.channels);
    });
  }
  // Where the channels of the pixels that the window sees begin, row by row.
  const std::vector<int64_t>& pixels() const { return pixels_; }

  // Looks at the channels [first, first + count), count <= kBlock, of at least one pixel.
  void Find(const T* image, int64_t first, int64_t count) {
    int64_t c = 0;
    if constexpr (kHasVectors) {
      for (; c + kLanes <= count; c += kLanes) {
        Values values;
        const Indices indices = FindInVector(image + first + c, pixels_.size(), &values);
        std::memcpy(&values_[c], &values, sizeof(values));
        std::memcpy(&indices_[c], &indices, sizeof(indices));
      }
    }
    for (; c < count; ++c) {
      indices_[c] = FindOne(image + first + c);
      values_[c] = image[pixels_[indices_[c]] + first + c];
    }
  }
  // What it found for each of these channels: the element, and which of pixels() has it.
  const T* values() const { return values_.data(); }
  const Index* indices() const { return indices_.data(); }

  // Gives given[c] to the largest of each channel c: adds it to `to`, or puts it there with 0 at
  // all others, for pixels() from `begin` to `end`.
  template <bool adds>
  void Give(const T* image, const T* given, size_t begin, size_t end, T* to) const {
    if (begin == 0 && end == 4 && pixels_.size() == 4) {  // by far the most frequent: 2 x 2
      GiveTo<adds>(image, given, 0, 4, 4, to);
    } else {
      GiveTo<adds>(image, given, begin, end, pixels_.size(), to);
    }
  }

 private:
  template <bool adds>
  [[gnu::always_inline]] void GiveTo(const T* image, const T* given, size_t begin, size_t end,
                                     size_t count, T* to) const {
    int64_t c = 0;
    if constexpr (kHasVectors) {
      for (; c + kLanes <= plan_.channels; c += kLanes) {
        Values ignored, value;
        const Indices index = FindInVector(image + c, count, &ignored);
        std::memcpy(&value, given + c, sizeof(value));
        for (size_t i = begin; i < end; ++i) {
          T* const at = to + pixels_[i] + c;
          Values result = index == static_cast<Index>(i) ? value : Values{};
          if constexpr (adds) {
            Values old;
            std::memcpy(&old, at, sizeof(old));
            result += old;
          }
          std::memcpy(at, &result, sizeof(result));
        }
      }
    }
    for (; c < plan_.channels; ++c) {
      const size_t index = FindOne(image + c);
      for (size_t i = begin; i < end; ++i) {
        T& at = to[pixels_[i] + c];
        if (!adds) at = T(0);
        if (i == index) at = static_cast<T>(at + given[c]);
      }
    }
  }

  static constexpr bool kHasVectors = sizeof(T) == sizeof(Index) && std::is_arithmetic_v<T>;
  static constexpr int64_t kLanes = 32 / sizeof(T);
  using Lane = std::conditional_t<kHasVectors, T, Index>;
  typedef Lane Values __attribute__((vector_size(32)));
  typedef Index Indices __attribute__((vector_size(32)));

  // Of the channel that `x` points at.
  Index FindOne(const T* x) const {
    size_t best = 0;
    for (size_t i = 1; i < pixels_.size(); ++i) {
      if (x[pixels_[best]] < x[pixels_[i]]) best = i;
    }
    return static_cast<Index>(best);
  }
  // Of kLanes channels from there on, without leaving the registers.
  [[gnu::always_inline]] Indices FindInVector(const T* x, size_t count, Values* largest) const {
    Values best;
    std::memcpy(&best, x + pixels_[0], sizeof(best));
    Indices index = {};
    for (size_t i = 1; i < count; ++i) {
      Values value;
      std::memcpy(&value, x + pixels_[i], sizeof(value));
      const Indices is_larger = best < value;
      best = is_larger ? value : best;
      index = is_larger ? Indices{} + static_cast<Index>(i) : index;
    }
    *largest = best;
    return index;
  }

  const PoolPlan& plan_;
  std::vector<int64_t> pixels_;
  std::array<T, kBlock> values_;
  std::array<Index, kBlock> indices_;
};

// Calls visit(first, count) for the blocks of `channels` channels.
template <typename T, typename Visit>
void ForChannelBlocks(int64_t channels, const Visit& visit) {
  constexpr int64_t kBlock = LargestOfWindow<T>::kBlock;
  for (int64_t first = 0; first < channels; first += kBlock) {
    visit(first, std::min(kBlock, channels - first));
  }
}

// Calls visit(window, at) for every window, moved to it, on several threads; `at` is where its
// output's channels begin.
template <typename T, typename Visit>
void ForLargest(const KernelContext& ctx, const PoolPlan& p, const Visit& visit) {
  const int64_t per_image = p.rows.output * p.columns.output;
  ParallelFor(ctx, p.batch * per_image, p.CostOfPixel(), [&](int64_t begin, int64_t end) {
    LargestOfWindow<T> window(p);
    for (int64_t i = begin; i < end; ++i) {
      window.MoveTo(i / per_image, i / p.columns.output % p.rows.output, i % p.columns.output);
      visit(window, i * p.channels);
    }
  });
}

}  // namespace tensorfleet::cpu
