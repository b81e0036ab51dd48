// TopK and InTopK.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "runtime/kernels/cpu/array/cast.h"
#include "runtime/kernels/cpu/elementwise.h"
#include "runtime/kernels/cpu/math/axis.h"

namespace tensorfleet::cpu {
namespace {

// Puts the positions of the k largest of n elements first, largest first; of equals the one further
// left. NaN counts as smaller than everything, so that there is an order at all.
template <typename T>
void FindTopK(const T* x, int64_t n, int64_t k, std::vector<int64_t>* positions) {
  positions->resize(n);
  std::iota(positions->begin(), positions->end(), 0);
  const auto before = [x](int64_t a, int64_t b) {
    const auto left = static_cast<Widened<T>>(x[a]), right = static_cast<Widened<T>>(x[b]);
    if (left > right) return true;
    if (left < right) return false;
    if constexpr (std::is_floating_point_v<Widened<T>>) {
      const bool left_is_nan = left != left, right_is_nan = right != right;
      if (left_is_nan != right_is_nan) return right_is_nan;
    }
    return a < b;
  };
  if (k == 1 && n > 0) {
    int64_t best = 0;
    for (int64_t i = 1; i < n; ++i) {
      if (before(i, best)) best = i;
    }
    positions->front() = best;
  } else if (k > n / 8) {
    // Half or so of all: cutting off first and sorting then beats a heap.
    if (k < n)
      std::nth_element(positions->begin(), positions->begin() + k, positions->end(), before);
    std::sort(positions->begin(), positions->begin() + k, before);
  } else {
    std::partial_sort(positions->begin(), positions->begin() + k, positions->end(), before);
  }
}

template <typename T>
class TopK final : public Kernel {
 public:
  explicit TopK(KernelInit& init) : k_is_attr_(init.node().op() != "TopKV2") {
    if (init.node().op() == "ApproxTopK") CheckApprox(init);
    // Results are always sorted, which satisfies sorted = false too.
    if (k_is_attr_)
      init.Get("k", &k_);
    else
      init.Get("index_type", &index_type_);
    narrow_ = FindCast(DType::kInt64, index_type_);
  }

  Status Compute(KernelContext& ctx) const override {
    const Tensor& in = ctx.input(0);
    int64_t k = k_;
    if (!k_is_attr_) {
      if (!ctx.input(1).shape().is_scalar()) {
        return InvalidArgument("k must be scalar, got shape ", ctx.input(1).shape().ToString());
      }
      k = IntegerScalar(ctx.input(1));
    }
    if (k < 0) return InvalidArgument("Need k >= 0, got ", k);
    if (in.rank() < 1) {
      return InvalidArgument("input must be >= 1-D, got shape ", in.shape().ToString());
    }
    const int64_t columns = in.dim(-1);
    if (columns < k) {
      return InvalidArgument("input must have at least k columns. Had ", columns, ", needed ", k);
    }
    TFLEET_ASSIGN_OR_RETURN(const Shape shape, in.shape().WithDim(in.rank() - 1, k));
    TFLEET_ASSIGN_OR_RETURN(Tensor values, ctx.Allocate(in.dtype(), shape));
    TFLEET_ASSIGN_OR_RETURN(Tensor indices, ctx.Allocate(index_type_, shape));
    if (shape.num_elements() > 0) {
      const T* x = in.values<T>().data();
      T* best = values.template mutable_values<T>().data();
      char* where = static_cast<char*>(indices.mutable_raw());
      const size_t index_size = ElementSize(index_type_);
      ParallelFor(ctx, shape.num_elements() / k, 10 * columns, [&](int64_t begin, int64_t end) {
        std::vector<int64_t> positions;
        for (int64_t row = begin; row < end; ++row) {
          FindTopK(x + row * columns, columns, k, &positions);
          for (int64_t i = 0; i < k; ++i) best[row * k + i] = x[row * columns + positions[i]];
          narrow_(positions.data(), where + row * k * index_size, k);
        }
      });
    }
    ctx.SetOutput(0, std::move(values));
    ctx.SetOutput(1, std::move(indices));
    return OkStatus();
  }

 private:
  // Exact results are approximate ones too; like TensorFlow's kernel, only of the largest of rows.
  static void CheckApprox(KernelInit& init) {
    int64_t dimension = 0;
    bool is_max = true;
    init.Get("reduction_dimension", &dimension);
    init.Get("is_max_k", &is_max);
    if (dimension == -1 && is_max) return;
    init.Fail(
        NotFound("ApproxTopK has a kernel for reduction_dimension = -1 and is_max_k = true "
                 "only; transpose or negate its input"));
  }

  const bool k_is_attr_;
  int64_t k_ = 0;
  DType index_type_ = DType::kInt32;
  UnaryLoop narrow_ = nullptr;
};

template <typename T>
class InTopK final : public Kernel {
 public:
  explicit InTopK(KernelInit& init) : k_is_attr_(init.node().op() == "InTopK") {
    if (k_is_attr_) init.Get("k", &k_);
  }

  Status Compute(KernelContext& ctx) const override {
    const Tensor& predictions = ctx.input(0);
    const Tensor& targets = ctx.input(1);
    if (predictions.rank() != 2) return InvalidArgument("predictions must be 2-dimensional");
    if (targets.rank() != 1) return InvalidArgument("targets must be 1-dimensional");
    const int64_t rows = predictions.dim(0), classes = predictions.dim(1);
    if (rows != targets.dim(0)) {
      return InvalidArgument("First dimension of predictions ", rows,
                             " must match length of targets ", targets.dim(0));
    }
    int64_t k = k_;
    if (!k_is_attr_) {
      if (!ctx.input(2).shape().is_scalar()) {
        return InvalidArgument("k must be 0-D, got shape ", ctx.input(2).shape().ToString());
      }
      k = IntegerScalar(ctx.input(2));
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DType::kBool, {rows}));
    const float* x = predictions.values<float>().data();
    for (int64_t row = 0; row < rows; ++row) {
      out.mutable_values<bool>()[row] =
          IsIn(x + row * classes, classes, targets.values<T>()[row], k);
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  // Nothing can be said of a row with a number that is not finite: then the answer is no.
  static bool IsIn(const float* row, int64_t classes, int64_t target, int64_t k) {
    if (target < 0 || target >= classes || !std::isfinite(row[target])) return false;
    int64_t better = 0;
    for (int64_t i = 0; i < classes; ++i) {
      if (!std::isfinite(row[i])) return false;
      if (row[i] > row[target] && ++better > k) break;
    }
    return better < k;
  }

  const bool k_is_attr_;
  int64_t k_ = 0;
};

}  // namespace

void RegisterTopKKernels(KernelRegistry& r) {
  AddForTypes<TopK>(r, "TopK", Reals());
  AddForTypes<TopK>(r, "TopKV2", Reals());
  AddForTypes<TopK>(r, "ApproxTopK", Types<Eigen::half, Eigen::bfloat16, float>());
  AddForTypes<InTopK>(r, "InTopK", Types<int32_t, int64_t>());
  AddForTypes<InTopK>(r, "InTopKV2", Types<int32_t, int64_t>());
}

}  // namespace tensorfleet::cpu
