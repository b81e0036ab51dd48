// SparseCross, SparseCrossV2, SparseCrossHashed: all combinations of the features of several
// columns, row by row. Schemas and shape rules: runtime/ops/sparse/sparse_cross_ops.cc.
#include <string>
#include <vector>

#include "runtime/kernels/cpu/index_input.h"
#include "runtime/kernels/cpu/sparse/cross_columns.h"
#include "runtime/kernels/cpu/string/fingerprint.h"
#include "runtime/kernels/cpu/string/hash64.h"
#include "runtime/kernels/kernel_registry.h"

namespace tensorfleet::cpu {
namespace {

// Rows of crosses as a sparse matrix, whose values `make(features)` gives.
template <typename T, typename Make>
Status SetCrosses(KernelContext& ctx, const CrossInput& input, const Make& make) {
  TFLEET_ASSIGN_OR_RETURN(const std::vector<int64_t> counts, CountCrosses(input));
  int64_t total = 0, widest = 0;
  std::vector<int64_t> starts;
  for (const int64_t count : counts) {
    starts.push_back(total);
    total += count;
    widest = std::max(widest, count);
  }
  TFLEET_ASSIGN_OR_RETURN(Tensor indices, ctx.Allocate(DType::kInt64, {total, 2}));
  TFLEET_ASSIGN_OR_RETURN(Tensor values, ctx.Allocate(kDTypeOf<T>, {total}));
  TFLEET_ASSIGN_OR_RETURN(Tensor shape, IntegerVector(DType::kInt64, {input.rows, widest}));
  int64_t* const index = indices.mutable_values<int64_t>().data();
  T* const value = values.mutable_values<T>().data();
  const int64_t nanoseconds = 100 * (total / std::max<int64_t>(1, input.rows) + 1);
  ParallelFor(ctx, input.rows, nanoseconds, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      int64_t at = starts[row];
      VisitCrosses(input, row, [&](Features features) {
        index[2 * at] = row;
        index[2 * at + 1] = at - starts[row];
        value[at++] = make(features);
      });
    }
  });
  ctx.SetOutput(0, std::move(indices));
  ctx.SetOutput(1, std::move(values));
  ctx.SetOutput(2, std::move(shape));
  return OkStatus();
}

// The first version: `out_type` says whether crosses are texts or hashes, `internal_type` which
// columns there may be.
template <typename Out>
class SparseCross final : public Kernel {
 public:
  explicit SparseCross(KernelInit& init) {
    num_sparse_ = NumSparseColumns(init);
    init.Get("num_buckets", &buckets_);
    init.Get("internal_type", &internal_);
    int64_t key = 0;
    init.Get("hash_key", &key);
    key_ = static_cast<uint64_t>(key);
  }
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const CrossInput input,
                            ReadCrossInput(ctx, num_sparse_, ctx.num_inputs()));
    for (const CrossColumn& column : input.columns) {
      if (internal_ == DType::kString && !column.has_strings()) {
        return InvalidArgument(column.is_dense ? "Dense inputs" : "Input values",
                               " should be of internal type ", static_cast<int>(internal_),
                               " but received ", static_cast<int>(column.values->dtype()));
      }
    }
    if constexpr (std::is_same_v<Out, std::string>) {
      return SetCrosses<std::string>(
          ctx, input, [&](Features features) { return JoinedFeatures(input, features, "_X_"); });
    } else {
      return SetCrosses<int64_t>(ctx, input, [&](Features features) {
        uint64_t hash = key_;
        for (size_t c = 0; c < features.size(); ++c) {
          const CrossColumn& column = input.columns[c];
          hash = CombinedHash(hash, column.has_strings()
                                        ? Fingerprint64(column.text(features[c]))
                                        : static_cast<uint64_t>(column.number(features[c])));
        }
        return HashBucket(hash, buckets_);
      });
    }
  }
  bool IsExpensive() const override { return true; }

 private:
  int64_t num_sparse_ = 0, buckets_ = 0;
  uint64_t key_ = 0;
  DType internal_ = DType::kString;
};

class SparseCrossV2 final : public Kernel {
 public:
  explicit SparseCrossV2(KernelInit& init) { num_sparse_ = NumSparseColumns(init); }
  Status Compute(KernelContext& ctx) const override {
    const int last = ctx.num_inputs() - 1;
    TFLEET_ASSIGN_OR_RETURN(const CrossInput input, ReadCrossInput(ctx, num_sparse_, last));
    if (!ctx.input(last).shape().is_scalar()) {
      return InvalidArgument("Input separator should be a scalar. Received: ",
                             ctx.input(last).shape().ToString());
    }
    const std::string& separator = ctx.input(last).scalar<std::string>();
    return SetCrosses<std::string>(
        ctx, input, [&](Features features) { return JoinedFeatures(input, features, separator); });
  }
  bool IsExpensive() const override { return true; }

 private:
  int64_t num_sparse_ = 0;
};

class SparseCrossHashed final : public Kernel {
 public:
  explicit SparseCrossHashed(KernelInit& init) { num_sparse_ = NumSparseColumns(init); }
  Status Compute(KernelContext& ctx) const override {
    const int first = ctx.num_inputs() - 3;
    TFLEET_ASSIGN_OR_RETURN(const CrossInput input, ReadCrossInput(ctx, num_sparse_, first));
    const Tensor& buckets = ctx.input(first);
    const Tensor& strong = ctx.input(first + 1);
    const Tensor& salt = ctx.input(first + 2);
    if (!buckets.shape().is_scalar() || !strong.shape().is_scalar()) {
      return InvalidArgument("num_buckets and strong_hash should be scalars. Received: ",
                             buckets.shape().ToString(), " and ", strong.shape().ToString());
    }
    const bool is_strong = strong.scalar<bool>();
    uint64_t key[2] = {};
    if (is_strong) {
      if (salt.num_elements() != 2) {
        return InvalidArgument("salt must have 2 elements, not ", salt.num_elements());
      }
      for (int i = 0; i < 2; ++i) key[i] = static_cast<uint64_t>(salt.values<int64_t>()[i]);
    }
    const auto hash_of = [&](const CrossColumn& column, int64_t at) {
      if (column.has_strings()) {
        return is_strong ? SipHash(key, column.text(at)) : Fingerprint64(column.text(at));
      }
      // As TensorFlow has it: of a dense column the number itself, of a sparse one its low half.
      if (column.is_dense) return static_cast<uint64_t>(column.number(at));
      const auto low = static_cast<uint32_t>(column.number(at));
      const absl::string_view bytes(reinterpret_cast<const char*>(&low), sizeof(low));
      return is_strong ? SipHash(key, bytes) : Fingerprint64(bytes);
    };
    return SetCrosses<int64_t>(ctx, input, [&](Features features) {
      uint64_t hash = hash_of(input.columns[0], features[0]);
      for (size_t c = 1; c < features.size(); ++c) {
        hash = CombinedHash(hash, hash_of(input.columns[c], features[c]));
      }
      return HashBucket(hash, buckets.scalar<int64_t>());
    });
  }
  bool IsExpensive() const override { return true; }

 private:
  int64_t num_sparse_ = 0;
};

}  // namespace

void RegisterSparseCrossKernels(KernelRegistry& r) {
  for (const DType internal : {DType::kInt64, DType::kString}) {
    r.Add<SparseCross<int64_t>>("SparseCross", kCpu,
                                {{"out_type", DType::kInt64}, {"internal_type", internal}});
    r.Add<SparseCross<std::string>>("SparseCross", kCpu,
                                    {{"out_type", DType::kString}, {"internal_type", internal}});
  }
  r.Add<SparseCrossV2>("SparseCrossV2", kCpu);
  r.Add<SparseCrossHashed>("SparseCrossHashed", kCpu);
}

}  // namespace tensorfleet::cpu
