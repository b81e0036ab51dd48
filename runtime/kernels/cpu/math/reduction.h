// Reductions along axes. A reducer R says what is done to the elements:
//   In, Acc                       element type, and the type that results are gathered in
//   Acc Init()                    the result over nothing
//   Acc Map(In)                   what one element contributes
//   Acc Combine(Acc, Acc)         two contributions together
//   Acc Contiguous(const In*, n)  many neighbours at once, n >= 1
//   In Final(Acc, count)          the result over `count` elements
// Over<Acc> is the reducer that goes on with results of this one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "runtime/kernels/cpu/elementwise.h"
#include "runtime/kernels/cpu/math/reduction_plan.h"

namespace tensorfleet::cpu {

inline constexpr int64_t kReductionBlock = 1024;

// Pairwise over blocks, which keeps rounding errors of long sums small; all at once where nothing
// is rounded.
template <typename R>
typename R::Acc ReduceContiguous(const typename R::In* in, int64_t n) {
  if (n == 0) return R::Init();
  if (n <= kReductionBlock || requires { R::kIsExact; }) return R::Contiguous(in, n);
  const int64_t half = (n / 2 + kReductionBlock - 1) / kReductionBlock * kReductionBlock;
  return R::Combine(ReduceContiguous<R>(in, half), ReduceContiguous<R>(in + half, n - half));
}

// The rows of in[rows][stride], columns [0, width), into out[width].
template <typename R>
void ReduceRows(const typename R::In* in, int64_t rows, int64_t stride, int64_t width,
                typename R::Acc* out) {
  if (rows == 0) {
    std::fill(out, out + width, R::Init());
    return;
  }
  for (int64_t j = 0; j < width; ++j) out[j] = R::Map(in[j]);
  // Four rows at a time, which spares three of four loads and stores of the results.
  int64_t i = 1;
  for (; i + 4 <= rows; i += 4) {
    const typename R::In* row = in + i * stride;
    TFLEET_VECTORIZE
    for (int64_t j = 0; j < width; ++j) {
      auto sum = R::Combine(out[j], R::Map(row[j]));
      sum = R::Combine(sum, R::Map(row[stride + j]));
      sum = R::Combine(sum, R::Map(row[2 * stride + j]));
      out[j] = R::Combine(sum, R::Map(row[3 * stride + j]));
    }
  }
  for (; i < rows; ++i) {
    const typename R::In* row = in + i * stride;
    TFLEET_VECTORIZE
    for (int64_t j = 0; j < width; ++j) out[j] = R::Combine(out[j], R::Map(row[j]));
  }
}

// As ReduceRows for whole rows that are narrow: several rows are taken for one wide one.
template <typename R>
void ReduceNarrowRows(const typename R::In* in, int64_t rows, int64_t width, typename R::Acc* out) {
  constexpr int64_t kWide = 128;
  const int64_t group = kWide / width;
  if (group < 2 || rows < 2 * group) return ReduceRows<R>(in, rows, width, width, out);
  typename R::Acc wide[kWide];
  const int64_t wide_rows = rows / group, rest = rows - wide_rows * group;
  ReduceRows<R>(in, wide_rows, group * width, group * width, wide);
  std::copy(wide, wide + width, out);
  for (int64_t g = 1; g < group; ++g) {
    for (int64_t j = 0; j < width; ++j) out[j] = R::Combine(out[j], wide[g * width + j]);
  }
  for (int64_t i = rows - rest; i < rows; ++i) {
    for (int64_t j = 0; j < width; ++j) out[j] = R::Combine(out[j], R::Map(in[i * width + j]));
  }
}

// in[outer][n][inner] to out[outer][inner].
template <typename R>
Status ReduceMiddle(KernelContext& ctx, const typename R::In* in, int64_t outer, int64_t n,
                    int64_t inner, typename R::Acc* out) {
  using Acc = typename R::Acc;
  constexpr int64_t kColumns = 2048;   // accumulators that stay in the cache
  constexpr int64_t kChunk = 1 << 16;  // elements worth a thread of their own
  const int64_t column_blocks = (inner + kColumns - 1) / kColumns;
  if (n * inner > 2 * kChunk && outer * column_blocks < 2 * ctx.pool().num_threads()) {
    // Few long reductions: cut each into chunks (of a size that does not depend on the threads),
    // then combine the chunks' results.
    const int64_t chunk_rows = std::max<int64_t>(1, kChunk / inner);
    const int64_t chunks = (n + chunk_rows - 1) / chunk_rows;
    TFLEET_ASSIGN_OR_RETURN(const BufferRef buffer,
                            AllocateHostBuffer(chunks * inner * sizeof(Acc)));
    Acc* partial = static_cast<Acc*>(buffer->data());
    for (int64_t o = 0; o < outer; ++o) {
      const typename R::In* from = in + o * n * inner;
      ParallelFor(ctx, chunks, kChunk / 4, [&](int64_t begin, int64_t end) {
        for (int64_t c = begin; c < end; ++c) {
          const int64_t first = c * chunk_rows, rows = std::min(chunk_rows, n - first);
          if (inner == 1)
            partial[c] = ReduceContiguous<R>(from + first, rows);
          else
            ReduceNarrowRows<R>(from + first * inner, rows, inner, partial + c * inner);
        }
      });
      std::copy(partial, partial + inner, out + o * inner);
      for (int64_t c = 1; c < chunks; ++c) {
        for (int64_t j = 0; j < inner; ++j) {
          out[o * inner + j] = R::Combine(out[o * inner + j], partial[c * inner + j]);
        }
      }
    }
    return OkStatus();
  }
  const auto units = [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t o = unit / column_blocks, first = unit % column_blocks * kColumns;
      const typename R::In* from = in + o * n * inner + first;
      Acc* to = out + o * inner + first;
      if (inner == 1)
        *to = ReduceContiguous<R>(from, n);
      else if (column_blocks == 1)
        ReduceNarrowRows<R>(from, n, inner, to);
      else
        ReduceRows<R>(from, n, inner, std::min(kColumns, inner - first), to);
    }
  };
  if (outer * n * inner <= kInlineElements)
    units(0, outer * column_blocks);
  else
    ParallelFor(ctx, outer * column_blocks, 10 + n * std::min(inner, kColumns) / 4, units);
  return OkStatus();
}

// Reduces `in`, which has elements, as the plan says; R::Final is left to the caller. Takes the
// reduced dimensions one at a time, the innermost first.
template <typename R>
Status Gather(KernelContext& ctx, const typename R::In* in, const ReductionPlan& plan,
              typename R::Acc* out) {
  using Acc = typename R::Acc;
  auto dims = plan.dims;
  if (dims.empty() || (dims.size() == 1 && !plan.first_is_reduced)) {
    return ReduceMiddle<R>(ctx, in, 1, 1, dims.empty() ? 1 : dims[0], out);
  }
  BufferRef held;
  const Acc* from = nullptr;  // results of the last pass; null before the first
  for (;;) {
    const bool last_is_reduced = (dims.size() % 2 == 1) == plan.first_is_reduced;
    const int64_t inner = last_is_reduced ? 1 : dims.back();
    if (!last_is_reduced) dims.pop_back();
    const int64_t n = dims.back();
    dims.pop_back();
    int64_t outer = 1;
    for (const int64_t dim : dims) outer *= dim;
    // What is left are kept and reduced dimensions in turns, the last one kept, before `inner`.
    const bool is_last_pass = dims.size() <= (plan.first_is_reduced ? 0 : 1);
    BufferRef buffer;
    Acc* to = out;
    if (!is_last_pass) {
      TFLEET_ASSIGN_OR_RETURN(buffer, AllocateHostBuffer(outer * inner * sizeof(Acc)));
      to = static_cast<Acc*>(buffer->data());
    }
    if (from == nullptr) {
      TFLEET_RETURN_IF_ERROR(ReduceMiddle<R>(ctx, in, outer, n, inner, to));
    } else {
      TFLEET_RETURN_IF_ERROR(
          ReduceMiddle<typename R::template Over<Acc>>(ctx, from, outer, n, inner, to));
    }
    if (is_last_pass) return OkStatus();
    held = std::move(buffer);
    from = to;
    // The kept dimension that is last now runs on into `inner`.
    dims.back() *= inner;
  }
}

template <typename R>
class ReductionKernel final : public Kernel {
 public:
  using In = typename R::In;
  using Acc = typename R::Acc;

  explicit ReductionKernel(KernelInit& init) { init.Get("keep_dims", &keep_dims_); }

  Status Compute(KernelContext& ctx) const override {
    const Tensor& in = ctx.input(0);
    TFLEET_ASSIGN_OR_RETURN(const ReductionPlan plan,
                            PlanReduction(in.shape(), ctx.input(1), keep_dims_));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(in.dtype(), plan.out_shape));
    const int64_t results = out.num_elements();
    In* to = out.template mutable_values<In>().data();
    if (in.num_elements() == 0) {
      std::fill(to, to + results, R::Final(R::Init(), plan.reduced_elements));
    } else {
      BufferRef buffer;
      Acc* gathered = nullptr;
      if constexpr (std::is_same_v<In, Acc>) {
        gathered = to;
      } else {
        TFLEET_ASSIGN_OR_RETURN(buffer, AllocateHostBuffer(results * sizeof(Acc)));
        gathered = static_cast<Acc*>(buffer->data());
      }
      TFLEET_RETURN_IF_ERROR(Gather<R>(ctx, in.template values<In>().data(), plan, gathered));
      for (int64_t i = 0; i < results; ++i) to[i] = R::Final(gathered[i], plan.reduced_elements);
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  bool keep_dims_ = false;
};

template <template <typename> class R, typename... Ts>
void AddReduction(KernelRegistry& registry, absl::string_view op, Types<Ts...>) {
  (registry.Add<ReductionKernel<R<Ts>>>(op, kCpu, {{"T", kDTypeOf<Ts>}}), ...);
}

}  // namespace tensorfleet::cpu
