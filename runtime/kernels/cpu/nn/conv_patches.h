// The patches of an image that a convolution's filter meets, as the rows of a matrix: a convolution
// is then a product of matrices.
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/kernels/cpu/nn/conv_plan.h"
#include "runtime/tensor/buffer.h"

namespace tensorfleet::cpu {

// Walks the patch at `position` (counted through the batch), a row of taps at a time: calls
// inside(y, x, tap, count) for `count` taps from `tap` on that meet the image from pixel (y, x) on,
// and outside(tap, count) for those that meet none. Rows y of a volume count through its planes.
template <typename Inside, typename Outside>
void ForTaps(const ConvPlan& p, int64_t position, const Inside& inside, const Outside& outside) {
  const int64_t out_x = position % p.columns.output;
  const int64_t out_y = position / p.columns.output % p.rows.output;
  const int64_t out_z = position / p.columns.output / p.rows.output % p.planes.output;
  const int64_t plane_taps = p.rows.size * p.columns.size;
  const int64_t first = p.columns.FirstTap(out_x);
  const int64_t last = std::max(first, p.columns.LastTap(out_x));
  const int64_t x = p.columns.Start(out_x) + first * p.columns.dilation;
  for (int64_t tap_z = 0; tap_z < p.planes.size; ++tap_z) {
    const int64_t z = p.planes.Start(out_z) + tap_z * p.planes.dilation;
    if (z < 0 || z >= p.planes.input) {
      outside(tap_z * plane_taps, plane_taps);
      continue;
    }
    for (int64_t tap_y = 0; tap_y < p.rows.size; ++tap_y) {
      const int64_t y = p.rows.Start(out_y) + tap_y * p.rows.dilation;
      const int64_t tap = tap_z * plane_taps + tap_y * p.columns.size;
      if (y < 0 || y >= p.rows.input) {
        outside(tap, p.columns.size);
        continue;
      }
      if (first > 0) outside(tap, first);
      if (last > first) inside(z * p.rows.input + y, x, tap + first, last - first);
      if (last < p.columns.size) outside(tap + last, p.columns.size - last);
    }
  }
}

// Where pixel (y, x) of the image of `position` begins, of the channels of `group`.
inline int64_t PixelOffset(const ConvPlan& p, int64_t position, int64_t group, int64_t y,
                           int64_t x) {
  const int64_t image = position / p.positions_per_image();
  return ((image * p.planes.input * p.rows.input + y) * p.columns.input + x) * p.in_channels +
         group * p.depth();
}

// patches[end - begin][patch()] <- the patches at positions [begin, end), zero outside the image.
template <typename T>
void GatherPatches(const ConvPlan& p, const T* image, int64_t group, int64_t begin, int64_t end,
                   T* patches) {
  const int64_t depth = p.depth(), step = p.columns.dilation * p.in_channels;
  for (int64_t position = begin; position < end; ++position, patches += p.patch()) {
    ForTaps(
        p, position,
        [&](int64_t y, int64_t x, int64_t tap, int64_t count) {
          const T* from = image + PixelOffset(p, position, group, y, x);
          T* to = patches + tap * depth;
          if (step == depth) {
            std::copy(from, from + count * depth, to);
          } else {
            for (int64_t i = 0; i < count; ++i) std::copy_n(from + i * step, depth, to + i * depth);
          }
        },
        [&](int64_t tap, int64_t count) {
          std::fill_n(patches + tap * depth, count * depth, T(0));
        });
  }
}

// The reverse: adds patches to the image.
template <typename T>
void AddPatches(const ConvPlan& p, const T* patches, int64_t group, int64_t begin, int64_t end,
                T* image) {
  const int64_t depth = p.depth(), step = p.columns.dilation * p.in_channels;
  for (int64_t position = begin; position < end; ++position, patches += p.patch()) {
    ForTaps(
        p, position,
        [&](int64_t y, int64_t x, int64_t tap, int64_t count) {
          T* to = image + PixelOffset(p, position, group, y, x);
          const T* from = patches + tap * depth;
          for (int64_t i = 0; i < count; ++i) {
            for (int64_t c = 0; c < depth; ++c) to[i * step + c] += from[i * depth + c];
          }
        },
        [](int64_t, int64_t) {});
  }
}

// `filter` [rows, columns, depth, out_channels], the columns of one group, side by side.
template <typename T>
void GatherFilter(const ConvPlan& p, const T* filter, int64_t group, T* packed) {
  const int64_t width = p.out_channels / p.groups;
  for (int64_t row = 0; row < p.patch(); ++row) {
    std::copy_n(filter + row * p.out_channels + group * width, width, packed + row * width);
  }
}

// Whether all patches together are small: then one product of matrices for the whole batch reads a
// large filter once.
template <typename T>
bool FitsWhole(const ConvPlan& p) {
  constexpr double kBytes = 4 << 20;
  return p.groups == 1 && static_cast<double>(p.positions()) * p.patch() * sizeof(T) <= kBytes;
}

// [positions()][patch()], for the patches of a batch that fits.
template <typename T>
StatusOr<BufferRef> RoomForPatches(const ConvPlan& p) {
  return AllocateHostBuffer(p.positions() * p.patch() * sizeof(T));
}

template <typename T>
StatusOr<BufferRef> AllPatches(const KernelContext& ctx, const ConvPlan& p, const T* image) {
  TFLEET_ASSIGN_OR_RETURN(BufferRef buffer, RoomForPatches<T>(p));
  T* const patches = static_cast<T*>(buffer->data());
  ParallelFor(ctx, p.positions(), 20 + p.patch() / 8, [&](int64_t begin, int64_t end) {
    GatherPatches<T>(p, image, 0, begin, end, patches + begin * p.patch());
  });
  return buffer;
}

// How many patches are multiplied at once: as many as stay in the second-level cache.
template <typename T>
int64_t PatchesAtOnce(const ConvPlan& p, int64_t least) {
  constexpr int64_t kCacheBytes = 256 * 1024;
  const int64_t row_bytes = std::max<int64_t>(1, p.patch() * static_cast<int64_t>(sizeof(T)));
  return std::max(least, kCacheBytes / row_bytes);
}

}  // namespace tensorfleet::cpu
