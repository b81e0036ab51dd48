// The one loop behind slicing, transposing, reversing, broadcasting, tiling, padding, joining and
// splitting: elements go from one regular grid in memory to another.
#pragma once

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "runtime/base/thread_pool.h"
#include "runtime/tensor/dtype.h"
#include "runtime/tensor/shape.h"

namespace tensorfleet::cpu {

// One axis of the grid: how many elements, and how far apart (in elements) neighbours lie in the
// source (0 repeats, negative walks backwards) and in the destination.
struct CopyAxis {
  int64_t size;
  int64_t from;
  int64_t to;
};
using CopyAxes = absl::InlinedVector<CopyAxis, 8>;

// Copies the grid, outermost axis first, from `from` to `to`, which point at the elements of index
// 0 on every axis. Destination elements must be distinct and must not overlap the source. Large
// grids are shared among `pool`'s threads; null keeps to the calling thread.
void StridedCopy(DType dtype, const CopyAxes& axes, const void* from, void* to, ThreadPool* pool);

// Distances between neighbours on each axis of a dense row-major array.
absl::InlinedVector<int64_t, 8> DenseStrides(absl::Span<const int64_t> dims);

}  // namespace tensorfleet::cpu
