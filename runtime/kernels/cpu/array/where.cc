// Where: the positions of the elements that are not zero, row by row. Schema and shape rule:
// runtime/ops/array/gather_ops.cc.
#include <algorithm>
#include <vector>

#include "runtime/kernels/cpu/elements.h"
#include "runtime/kernels/cpu/index_input.h"
#include "runtime/kernels/kernel_registry.h"

namespace tensorfleet::cpu {
namespace {

// The bits of an element that make it other than zero: all but the signs of floats.
template <typename E>
E MeaningfulBits(DType dtype) {
  if constexpr (std::is_same_v<E, Bytes16>) {
    return {~uint64_t{0} >> 1, ~uint64_t{0} >> 1};  // complex128
  } else {
    const E all = static_cast<E>(~E{0});
    if (IsFloating(dtype)) return static_cast<E>(all >> 1);
    if (dtype == DType::kComplex64) return static_cast<E>(0x7fffffff7fffffffULL);
    return all;
  }
}

template <typename E>
bool IsNonZero(E element, E mask) {
  if constexpr (std::is_same_v<E, Bytes16>) {
    return ((element.low & mask.low) | (element.high & mask.high)) != 0;
  } else {
    return (element & mask) != 0;
  }
}

// Writes the positions of the elements [begin, end) that are not zero, `count` of them.
// kRank 0: any.
template <int kRank, typename E>
void WritePositions(const E* elements, E mask, const Shape& shape, int64_t begin, int64_t end,
                    int64_t count, int64_t* to) {
  const int rank = kRank == 0 ? shape.rank() : kRank;
  int64_t* const stop = to + count * rank;
  Integers position(rank);
  int64_t rest = begin;
  for (int d = rank - 1; d >= 0; --d) {
    position[d] = rest % shape.dim(d);
    rest /= shape.dim(d);
  }
  const int64_t width = shape.dim(-1);
  while (begin < end) {
    // Along the last dimension. Every position is written, and only those that count are kept.
    const int64_t first = position[rank - 1];
    const int64_t row_end = std::min(width, first + end - begin);
    const E* row = elements + begin - first;
    for (int64_t column = first; column < row_end && to != stop; ++column) {
      for (int d = 0; d + 1 < rank; ++d) to[d] = position[d];
      to[rank - 1] = column;
      to += IsNonZero(row[column], mask) ? rank : 0;
    }
    begin += row_end - first;
    position[rank - 1] = 0;
    for (int d = rank - 2; d >= 0; --d) {
      if (++position[d] < shape.dim(d)) break;
      position[d] = 0;
    }
  }
}

template <typename E>
StatusOr<Tensor> Positions(const KernelContext& ctx, const Tensor& input) {
  const E* elements = ElementsOf<E>(input);
  const E mask = MeaningfulBits<E>(input.dtype());
  const int64_t n = input.num_elements();
  // Counted chunk by chunk, so that each chunk knows where its positions begin.
  constexpr int64_t kChunk = 1 << 14;
  const int64_t chunks = (n + kChunk - 1) / kChunk;
  std::vector<int64_t> begins(chunks + 1, 0);
  const auto for_chunks = [&](int64_t cost, const auto& body) {
    ParallelFor(ctx, chunks, cost, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) body(c, c * kChunk, std::min(n, (c + 1) * kChunk));
    });
  };
  for_chunks(kChunk / 4, [&](int64_t chunk, int64_t begin, int64_t end) {
    int64_t count = 0;
    for (int64_t i = begin; i < end; ++i) count += IsNonZero(elements[i], mask);
    begins[chunk + 1] = count;
  });
  for (int64_t c = 0; c < chunks; ++c) begins[c + 1] += begins[c];
  TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DType::kInt64, {begins[chunks], input.rank()}));
  int64_t* const to = out.mutable_values<int64_t>().data();
  for_chunks(kChunk, [&](int64_t chunk, int64_t begin, int64_t end) {
    const auto write = input.rank() == 1   ? &WritePositions<1, E>
                       : input.rank() == 2 ? &WritePositions<2, E>
                                           : &WritePositions<0, E>;
    write(elements, mask, input.shape(), begin, end, begins[chunk + 1] - begins[chunk],
          to + begins[chunk] * input.rank());
  });
  return out;
}

class Where final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    const Tensor& input = ctx.input(0);
    if (input.rank() == 0) return InvalidArgument("WhereOp : Unhandled input dimensions: 0");
    if (!IsPlainData(input.dtype())) {
      return Unimplemented("Where is not available for type ", DTypeName(input.dtype()));
    }
    Status status;
    VisitElement(input.dtype(), [&](auto tag) {
      using E = typename decltype(tag)::Type;
      if constexpr (std::is_trivially_copyable_v<E>) {
        StatusOr<Tensor> out = Positions<E>(ctx, input);
        status = out.status();
        if (out.ok()) ctx.SetOutput(0, *std::move(out));
      }
    });
    return status;
  }
};

}  // namespace

void RegisterWhereKernels(KernelRegistry& kernels) { kernels.Add<Where>("Where", kCpu); }

}  // namespace tensorfleet::cpu
