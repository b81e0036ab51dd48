#include "runtime/kernels/cpu/strided_copy.h"

#if defined(__AVX__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <cstring>

#include "runtime/kernels/cpu/elements.h"

namespace tensorfleet::cpu {
namespace {

// Side of the square tiles in which axes are exchanged: a tile's rows and columns fit the
// first-level cache.
constexpr int64_t kTile = 32;

// Axes of one element say nothing, and an axis that continues its inner neighbour on both sides is
// one with it. Returns false when there is nothing to copy.
bool Simplify(const CopyAxes& axes, CopyAxes* simple) {
  for (const CopyAxis& axis : axes) {
    if (axis.size == 0) return false;
    if (axis.size == 1) continue;
    if (!simple->empty()) {
      CopyAxis& outer = simple->back();
      if (outer.from == axis.from * axis.size && outer.to == axis.to * axis.size) {
        outer = {outer.size * axis.size, axis.from, axis.to};
        continue;
      }
    }
    simple->push_back(axis);
  }
  return true;
}

// Walks the index space of some outer axes, starting at a given position of their flattened order.
class Walk {
 public:
  Walk(absl::Span<const CopyAxis> axes, int64_t position) : axes_(axes), index_(axes.size()) {
    for (int i = static_cast<int>(axes.size()) - 1; i >= 0; --i) {
      index_[i] = position % axes[i].size;
      position /= axes[i].size;
      from_ += index_[i] * axes[i].from;
      to_ += index_[i] * axes[i].to;
    }
  }
  int64_t from() const { return from_; }
  int64_t to() const { return to_; }
  void Next() {
    for (int i = static_cast<int>(axes_.size()) - 1; i >= 0; --i) {
      from_ += axes_[i].from;
      to_ += axes_[i].to;
      if (++index_[i] < axes_[i].size) return;
      index_[i] = 0;
      from_ -= axes_[i].from * axes_[i].size;
      to_ -= axes_[i].to * axes_[i].size;
    }
  }

 private:
  absl::Span<const CopyAxis> axes_;
  absl::InlinedVector<int64_t, 8> index_;
  int64_t from_ = 0;
  int64_t to_ = 0;
};

template <typename E>
void CopyRow(const CopyAxis& axis, const E* from, E* to) {
  const int64_t n = axis.size;
  if (axis.to == 1) {
    if (axis.from == 1) {
      std::copy_n(from, n, to);
    } else if (axis.from == 0) {
      std::fill_n(to, n, *from);
    } else if (axis.from == -1) {
      std::reverse_copy(from - (n - 1), from + 1, to);
    } else {
      for (int64_t i = 0; i < n; ++i) to[i] = from[i * axis.from];
    }
  } else {
    for (int64_t i = 0; i < n; ++i) to[i * axis.to] = from[i * axis.from];
  }
}

template <typename Body>
void ForRows(ThreadPool* pool, int64_t rows, int64_t cost_per_row, const Body& body) {
  if (pool == nullptr || rows == 1) {
    body(0, rows);
  } else {
    pool->ParallelFor(rows, cost_per_row, body);
  }
}

int64_t Product(absl::Span<const CopyAxis> axes) {
  int64_t product = 1;
  for (const CopyAxis& axis : axes) product *= axis.size;
  return product;
}

template <typename E>
void CopyRows(absl::Span<const CopyAxis> axes, const E* from, E* to, int64_t cost,
              ThreadPool* pool) {
  const CopyAxis row = axes.back();
  const absl::Span<const CopyAxis> outer = axes.subspan(0, axes.size() - 1);
  ForRows(pool, Product(outer), 3 + row.size * cost, [&](int64_t begin, int64_t end) {
    Walk walk(outer, begin);
    for (int64_t i = begin; i < end; ++i, walk.Next()) {
      CopyRow(row, from + walk.from(), to + walk.to());
    }
  });
}

// to[c * to_step + r] = from[r * from_step + c].
template <typename E>
void TransposeElements(const E* from, int64_t from_step, E* to, int64_t to_step, int64_t rows,
                       int64_t columns) {
  for (int64_t c = 0; c < columns; ++c) {
    for (int64_t r = 0; r < rows; ++r) to[c * to_step + r] = from[r * from_step + c];
  }
}

#if defined(__AVX__)
// The same for 8 rows and columns of 4 bytes, in registers.
inline void TransposeEight(const uint32_t* from, int64_t from_step, uint32_t* to, int64_t to_step) {
  __m256 r[8], s[8];
  for (int i = 0; i < 8; ++i)
    r[i] = _mm256_loadu_ps(reinterpret_cast<const float*>(from + i * from_step));
  for (int i = 0; i < 8; i += 2) {
    s[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
    s[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    r[i] = _mm256_shuffle_ps(s[i], s[i + 2], 0x44);
    r[i + 1] = _mm256_shuffle_ps(s[i], s[i + 2], 0xee);
    r[i + 2] = _mm256_shuffle_ps(s[i + 1], s[i + 3], 0x44);
    r[i + 3] = _mm256_shuffle_ps(s[i + 1], s[i + 3], 0xee);
  }
  for (int i = 0; i < 4; ++i) {
    _mm256_storeu_ps(reinterpret_cast<float*>(to + i * to_step),
                     _mm256_permute2f128_ps(r[i], r[i + 4], 0x20));
    _mm256_storeu_ps(reinterpret_cast<float*>(to + (i + 4) * to_step),
                     _mm256_permute2f128_ps(r[i], r[i + 4], 0x31));
  }
}
// And for 4 rows and columns of 8 bytes.
inline void TransposeFour(const uint64_t* from, int64_t from_step, uint64_t* to, int64_t to_step) {
  __m256d r[4], s[4];
  for (int i = 0; i < 4; ++i)
    r[i] = _mm256_loadu_pd(reinterpret_cast<const double*>(from + i * from_step));
  for (int i = 0; i < 4; i += 2) {
    s[i] = _mm256_unpacklo_pd(r[i], r[i + 1]);
    s[i + 1] = _mm256_unpackhi_pd(r[i], r[i + 1]);
  }
  for (int i = 0; i < 2; ++i) {
    _mm256_storeu_pd(reinterpret_cast<double*>(to + i * to_step),
                     _mm256_permute2f128_pd(s[i], s[i + 2], 0x20));
    _mm256_storeu_pd(reinterpret_cast<double*>(to + (i + 2) * to_step),
                     _mm256_permute2f128_pd(s[i], s[i + 2], 0x31));
  }
}
#endif

// TransposeElements, in squares that fit registers where there are instructions for them.
template <typename E>
void TransposeTile(const E* from, int64_t from_step, E* to, int64_t to_step, int64_t rows,
                   int64_t columns) {
#if defined(__AVX__)
  if constexpr (std::is_same_v<E, uint32_t> || std::is_same_v<E, uint64_t>) {
    constexpr int64_t kSide = sizeof(E) == 4 ? 8 : 4;
    const int64_t whole_rows = rows / kSide * kSide, whole_columns = columns / kSide * kSide;
    for (int64_t r = 0; r < whole_rows; r += kSide) {
      for (int64_t c = 0; c < whole_columns; c += kSide) {
        const E* square = from + r * from_step + c;
        if constexpr (sizeof(E) == 4)
          TransposeEight(square, from_step, to + c * to_step + r, to_step);
        else
          TransposeFour(square, from_step, to + c * to_step + r, to_step);
      }
    }
    TransposeElements(from + whole_columns, from_step, to + whole_columns * to_step, to_step,
                      whole_rows, columns - whole_columns);
    TransposeElements(from + whole_rows * from_step, from_step, to + whole_rows, to_step,
                      rows - whole_rows, columns);
    return;
  }
#endif
  TransposeElements(from, from_step, to, to_step, rows, columns);
}

// The source is contiguous along axis `across`, the destination along the last one: goes by tiles,
// so that both sides use whole cache lines.
template <typename E>
void CopyTiles(const CopyAxes& axes, size_t across, const E* from, E* to, int64_t cost,
               ThreadPool* pool) {
  const CopyAxis row = axes.back();
  const CopyAxis column = axes[across];
  CopyAxes outer;
  for (size_t i = 0; i + 1 < axes.size(); ++i) {
    if (i != across) outer.push_back(axes[i]);
  }
  // Strips of kTile columns are one more axis to walk.
  const int64_t strips = (column.size + kTile - 1) / kTile;
  const int64_t total = Product(outer) * strips;
  ForRows(pool, total, kTile * row.size * cost, [&](int64_t begin, int64_t end) {
    Walk walk(outer, begin / strips);
    int64_t strip = begin % strips;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t c0 = strip * kTile;
      const int64_t c1 = std::min(column.size, c0 + kTile);
      for (int64_t r0 = 0; r0 < row.size; r0 += kTile) {
        const int64_t r1 = std::min(row.size, r0 + kTile);
        if (row.to == 1) {
          TransposeTile(from + walk.from() + c0 + r0 * row.from, row.from,
                        to + walk.to() + c0 * column.to + r0, column.to, r1 - r0, c1 - c0);
          continue;
        }
        for (int64_t c = c0; c < c1; ++c) {
          const E* in = from + walk.from() + c * column.from;
          E* out = to + walk.to() + c * column.to;
          for (int64_t r = r0; r < r1; ++r) out[r * row.to] = in[r * row.from];
        }
      }
      if (++strip == strips) {
        strip = 0;
        walk.Next();
      }
    }
  });
}

template <typename E>
void Copy(const CopyAxes& axes, const E* from, E* to, int64_t cost, ThreadPool* pool) {
  const CopyAxis& row = axes.back();
  if (row.from != 1 && row.from != 0 && row.size > 1) {
    for (size_t i = 0; i + 1 < axes.size(); ++i) {
      if (axes[i].from == 1) return CopyTiles(axes, i, from, to, cost, pool);
    }
  }
  // One long row: cut it, so that threads can share it.
  constexpr int64_t kPiece = 1 << 14;
  if (axes.size() == 1 && row.size > 4 * kPiece && pool != nullptr) {
    ForRows(pool, (row.size + kPiece - 1) / kPiece, kPiece * cost / 4,
            [&](int64_t begin, int64_t end) {
              const int64_t first = begin * kPiece;
              const int64_t last = std::min(row.size, end * kPiece);
              CopyRow(CopyAxis{last - first, row.from, row.to}, from + first * row.from,
                      to + first * row.to);
            });
    return;
  }
  CopyRows<E>(axes, from, to, cost, pool);
}

}  // namespace

void StridedCopy(DType dtype, const CopyAxes& axes, const void* from, void* to, ThreadPool* pool) {
  CopyAxes simple;
  if (!Simplify(axes, &simple)) return;
  if (simple.empty()) simple.push_back({1, 1, 1});
  VisitElement(dtype, [&](auto tag) {
    using E = typename decltype(tag)::Type;
    Copy(simple, static_cast<const E*>(from), static_cast<E*>(to), MoveCost(dtype), pool);
  });
}

absl::InlinedVector<int64_t, 8> DenseStrides(absl::Span<const int64_t> dims) {
  absl::InlinedVector<int64_t, 8> strides(dims.size());
  uint64_t stride = 1;  // of an array without elements it may wrap around
  for (int i = static_cast<int>(dims.size()) - 1; i >= 0; --i) {
    strides[i] = static_cast<int64_t>(stride);
    stride *= static_cast<uint64_t>(dims[i]);
  }
  return strides;
}

}  // namespace tensorfleet::cpu
