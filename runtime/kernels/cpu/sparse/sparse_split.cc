// SparseSplit and SparseSliceGrad. Schemas and shape rules: runtime/ops/sparse/sparse_pair_ops.cc.
#include <vector>

#include "runtime/kernels/cpu/families.h"
#include "runtime/kernels/cpu/index_input.h"
#include "runtime/kernels/cpu/sparse/sparse_input.h"
#include "runtime/kernels/kernel.h"
#include "runtime/kernels/types.h"

namespace tensorfleet::cpu {
namespace {

// Parts of one size along a dimension; what is left over makes the first ones larger by 1.
class SparseSplit final : public Kernel {
 public:
  explicit SparseSplit(KernelInit& init) { init.Get("num_split", &parts_); }
  Status Compute(KernelContext& ctx) const override {
    if (ctx.input(0).num_elements() != 1 || ctx.input(0).rank() != 0) {
      return InvalidArgument("split_dim must be a scalar, not of shape ",
                             ctx.input(0).shape().ToString());
    }
    TFLEET_ASSIGN_OR_RETURN(const SparseInput sparse, ReadSparse(ctx, 1));
    const int rank = sparse.rank();
    const int64_t axis = NormalizedAxis(ctx.input(0).scalar<int64_t>(), rank);
    if (axis < 0) {
      return InvalidArgument("Input split_dim should be in range [", -rank, ", ", rank, "), got ",
                             ctx.input(0).scalar<int64_t>());
    }
    const int64_t length = sparse.shape.dim(static_cast<int>(axis));
    if (parts_ < 1 || parts_ > length) {
      return InvalidArgument(
          "Input num_split should be between 1 and the splitting dimension size (", length,
          "), got ", parts_);
    }
    TFLEET_RETURN_IF_ERROR(CheckInBounds(sparse));
    const int64_t size = length / parts_, larger = length % parts_;
    const auto begin_of = [&](int64_t part) { return part * size + std::min(part, larger); };
    std::vector<std::vector<int64_t>> entries(parts_);
    for (int64_t i = 0; i < sparse.size(); ++i) {
      const int64_t at = sparse.At(i)[axis];
      const int64_t in_larger = larger * (size + 1);
      entries[at < in_larger ? at / (size + 1) : larger + (at - in_larger) / size].push_back(i);
    }
    for (int64_t p = 0; p < parts_; ++p) {
      std::vector<int64_t> coordinates;
      for (const int64_t i : entries[p]) {
        const absl::Span<const int64_t> at = sparse.At(i);
        coordinates.insert(coordinates.end(), at.begin(), at.end());
        coordinates[coordinates.size() - rank + axis] -= begin_of(p);
      }
      std::vector<int64_t> dims(sparse.shape.dims().begin(), sparse.shape.dims().end());
      dims[axis] = begin_of(p + 1) - begin_of(p);
      const auto count = static_cast<int64_t>(entries[p].size());
      TFLEET_ASSIGN_OR_RETURN(Tensor indices, IndexMatrix(coordinates, count, rank));
      TFLEET_ASSIGN_OR_RETURN(Tensor values, PickEntries(*sparse.values, entries[p]));
      TFLEET_ASSIGN_OR_RETURN(Tensor shape, IntegerVector(DType::kInt64, dims));
      const int part = static_cast<int>(p), parts = static_cast<int>(parts_);
      ctx.SetOutput(part, std::move(indices));
      ctx.SetOutput(parts + part, std::move(values));
      ctx.SetOutput(2 * parts + part, std::move(shape));
    }
    return OkStatus();
  }

 private:
  int64_t parts_ = 0;
};

// Entries of the slice hand their gradient on to the entries that they were.
template <typename T>
class SparseSliceGrad final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    const Tensor &gradient = ctx.input(0), &start = ctx.input(2);
    const Tensor &in = ctx.input(1), &out = ctx.input(3);
    if (in.rank() != 2 || out.rank() != 2 || in.dim(1) != out.dim(1)) {
      return InvalidArgument("Input and output indices should be matrices of as many columns, but ",
                             "are of shapes ", in.shape().ToString(), " and ",
                             out.shape().ToString());
    }
    if (gradient.rank() != 1 || gradient.dim(0) != out.dim(0)) {
      return InvalidArgument(
          "# elements in backprop_val_grad and rows in output_indices should match (#",
          gradient.shape().ToString(), " vs. #", out.dim(0), ")");
    }
    const int64_t rank = in.dim(1);
    if (start.rank() != 1 || start.dim(0) != rank) {
      return InvalidArgument("The input_start should be a vector of ", rank,
                             " elements, not of shape ", start.shape().ToString());
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor grad, Tensor::Zeros(kDTypeOf<T>, {in.dim(0)}));
    const int64_t* const a = in.values<int64_t>().data();
    const int64_t* const b = out.values<int64_t>().data();
    const int64_t* const from = start.values<int64_t>().data();
    int64_t j = 0;
    for (int64_t i = 0; i < in.dim(0) && j < out.dim(0); ++i) {
      bool is_same = true;
      for (int64_t d = 0; d < rank && is_same; ++d) {
        int64_t was = 0;
        is_same = !__builtin_add_overflow(b[j * rank + d], from[d], &was) && was == a[i * rank + d];
      }
      if (is_same) grad.mutable_values<T>()[i] = gradient.values<T>()[j++];
    }
    if (j != out.dim(0)) {
      return InvalidArgument("Elements of backprop_val_grad aren't all propagated. Num elements:",
                             out.dim(0), ", used: ", j);
    }
    ctx.SetOutput(0, std::move(grad));
    return OkStatus();
  }
};

}  // namespace

void RegisterSparseSplitKernels(KernelRegistry& r) {
  r.Add<SparseSplit>("SparseSplit", kCpu);
  AddForTypes<SparseSliceGrad>(r, "SparseSliceGrad", Numbers());
}

}  // namespace tensorfleet::cpu
