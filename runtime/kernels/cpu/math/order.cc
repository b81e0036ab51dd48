// What depends on the order of numbers: NthElement and IsotonicRegression. Schemas:
// runtime/ops/math/counting_ops.cc.
#include <algorithm>
#include <vector>

#include "runtime/kernels/cpu/small_float.h"
#include "runtime/kernels/kernel.h"
#include "runtime/kernels/types.h"

namespace tensorfleet::cpu {
namespace {

// NaN comes last, so that there is an order at all.
template <typename T>
bool IsBefore(const T& a, const T& b) {
  if constexpr (std::is_integral_v<T>) {
    return a < b;
  } else {
    return a < b || (b != b && a == a);
  }
}

template <typename T>
class NthElement final : public Kernel {
 public:
  explicit NthElement(KernelInit& init) { init.Get("reverse", &reverse_); }
  bool IsExpensive() const override { return true; }

  Status Compute(KernelContext& ctx) const override {
    const Tensor &in = ctx.input(0), &n_in = ctx.input(1);
    if (n_in.rank() != 0) {
      return InvalidArgument("N must be scalar but has rank ", n_in.rank());
    }
    const int64_t n = n_in.scalar<int32_t>();
    if (n < 0) return InvalidArgument("n must be non-negative but is ", n);
    if (in.rank() < 1) {
      return InvalidArgument("Input must be at least rank 1 but is rank ", in.rank());
    }
    const int64_t size = in.dim(-1);
    if (size <= n) {
      return InvalidArgument("Input must have last dimension > n = ", n, " but it is ", size);
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor out,
                            ctx.Allocate(in.dtype(), in.shape().SubShape(0, in.rank() - 1)));
    const T* const from = in.values<T>().data();
    T* const to = out.template mutable_values<T>().data();
    const int64_t place = reverse_ ? size - 1 - n : n;
    ParallelFor(ctx, out.num_elements(), 10 * size, [&](int64_t begin, int64_t end) {
      std::vector<T> row;
      for (int64_t i = begin; i < end; ++i) {
        row.assign(from + i * size, from + (i + 1) * size);
        std::nth_element(row.begin(), row.begin() + place, row.end(), IsBefore<T>);
        to[i] = row[place];
      }
    });
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  bool reverse_ = false;
};

// The sequence that never rises and is nearest to each row by the sum of squares: neighbours that
// rise are pooled into one segment of their mean, from left to right.
template <typename T, typename Out>
class IsotonicRegression final : public Kernel {
 public:
  bool IsExpensive() const override { return true; }

  Status Compute(KernelContext& ctx) const override {
    const Tensor& in = ctx.input(0);
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(kDTypeOf<Out>, in.shape()));
    TFLEET_ASSIGN_OR_RETURN(Tensor segments, ctx.Allocate(DType::kInt32, in.shape()));
    const int64_t size = in.rank() == 0 ? 1 : in.dim(-1);
    if (in.num_elements() > 0) {
      const T* const from = in.values<T>().data();
      Out* const to = out.template mutable_values<Out>().data();
      int32_t* const segment = segments.mutable_values<int32_t>().data();
      ParallelFor(ctx, in.num_elements() / size, 20 * size, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
          Fit(from + row * size, size, to + row * size, segment + row * size);
        }
      });
    }
    ctx.SetOutput(0, std::move(out));
    ctx.SetOutput(1, std::move(segments));
    return OkStatus();
  }

 private:
  using W = Widened<Out>;
  struct Segment {
    W sum;
    int64_t count, end;
    W mean() const { return sum / static_cast<W>(count); }
  };
  static void Fit(const T* from, int64_t size, Out* to, int32_t* number) {
    std::vector<Segment> segments;
    for (int64_t i = 0; i < size; ++i) {
      Segment last{static_cast<W>(from[i]), 1, i + 1};
      while (!segments.empty() && segments.back().mean() < last.mean()) {
        last.sum += segments.back().sum;
        last.count += segments.back().count;
        segments.pop_back();
      }
      segments.push_back(last);
    }
    int64_t at = 0;
    for (size_t s = 0; s < segments.size(); ++s) {
      const Out mean = static_cast<Out>(segments[s].mean());
      for (; at < segments[s].end; ++at) {
        to[at] = mean;
        number[at] = static_cast<int32_t>(s);
      }
    }
  }
};

template <typename T, typename Out>
void AddIsotonic(KernelRegistry& r) {
  r.Add<IsotonicRegression<T, Out>>("IsotonicRegression", kCpu,
                                    {{"T", kDTypeOf<T>}, {"output_dtype", kDTypeOf<Out>}});
}

}  // namespace

void RegisterOrderKernels(KernelRegistry& r) {
  AddForTypes<NthElement>(r, "NthElement", Reals());
  AddIsotonic<Eigen::half, Eigen::half>(r);
  AddIsotonic<Eigen::bfloat16, Eigen::bfloat16>(r);
  AddIsotonic<float, float>(r);
  AddIsotonic<double, double>(r);
  AddIsotonic<int8_t, float>(r);
  AddIsotonic<int16_t, float>(r);
  AddIsotonic<int32_t, double>(r);
  AddIsotonic<int64_t, double>(r);
}

}  // namespace tensorfleet::cpu
