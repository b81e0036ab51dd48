// SerializeSparse, SerializeManySparse and their opposites: a sparse tensor as a vector of its
// three parts, each a string or a variant. Schemas: runtime/ops/sparse/sparse_serial_ops.cc.
#include <string>
#include <vector>

#include "proto/tensor.pb.h"
#include "runtime/kernels/cpu/elements.h"
#include "runtime/kernels/cpu/families.h"
#include "runtime/kernels/cpu/index_input.h"
#include "runtime/kernels/cpu/sparse/sparse_input.h"
#include "runtime/kernels/cpu/sparse/tensor_variant.h"
#include "runtime/kernels/kernel.h"
#include "runtime/kernels/kernel_registry.h"
#include "runtime/tensor/tensor_proto.h"

namespace tensorfleet::cpu {
namespace {

constexpr int kParts = 3;

// Stores `part` as element `i` of strings or variants.
Status Store(const Tensor& part, int64_t i, Tensor& out) {
  if (out.dtype() == DType::kVariant) {
    out.mutable_values<Variant>()[i] = VariantOf(part);
    return OkStatus();
  }
  tensorflow::TensorProto proto;
  TFLEET_RETURN_IF_ERROR(TensorToProto(part, &proto));
  if (!proto.SerializeToString(&out.mutable_values<std::string>()[i])) {
    return InvalidArgument("a part of ", part.total_bytes(),
                           " bytes is too large to be serialized");
  }
  return OkStatus();
}

StatusOr<Tensor> Load(const Tensor& serialized, int64_t i) {
  if (serialized.dtype() == DType::kVariant) {
    const Tensor* const part = TensorIn(serialized.values<Variant>()[i]);
    if (part == nullptr) {
      return InvalidArgument("element ", i, " of serialized_sparse holds no tensor");
    }
    return *part;
  }
  tensorflow::TensorProto proto;
  if (!proto.ParseFromString(serialized.values<std::string>()[i])) {
    return InvalidArgument("Could not parse serialized_sparse[", i, "] as a tensor");
  }
  return TensorFromProto(proto);
}

Status CheckValues(const SparseInput& sparse) {
  const DType type = sparse.values->dtype();
  if (type != DType::kVariant && type != DType::kResource) return OkStatus();
  return Unimplemented("a sparse tensor of type ", DTypeName(type), " cannot be serialized");
}

class SerializeSparse final : public Kernel {
 public:
  explicit SerializeSparse(KernelInit& init) { init.Get("out_type", &type_); }
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const SparseInput sparse, ReadSparse(ctx, 0));
    TFLEET_RETURN_IF_ERROR(CheckValues(sparse));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(type_, {kParts}));
    for (int i = 0; i < kParts; ++i) TFLEET_RETURN_IF_ERROR(Store(ctx.input(i), i, out));
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  DType type_ = DType::kString;
};

// The rows of a sparse tensor, each on its own.
class SerializeManySparse final : public Kernel {
 public:
  explicit SerializeManySparse(KernelInit& init) { init.Get("out_type", &type_); }
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const SparseInput sparse, ReadSparse(ctx, 0));
    TFLEET_RETURN_IF_ERROR(CheckValues(sparse));
    if (sparse.rank() < 2) {
      return InvalidArgument("Rank of input SparseTensor should be > 1, but saw rank: ",
                             sparse.rank());
    }
    const int64_t rows = sparse.shape.dim(0), rank = sparse.rank() - 1;
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(type_, {rows, kParts}));
    // Where each row's entries are, in their order.
    std::vector<std::vector<int64_t>> entries(rows);
    for (int64_t i = 0; i < sparse.size(); ++i) {
      const int64_t row = sparse.At(i)[0];
      if (row < 0 || row >= rows) {
        return InvalidArgument("Received unexpected column 0 value in input SparseTensor: ", row,
                               " is not in [0, ", rows, ")");
      }
      entries[row].push_back(i);
    }
    TFLEET_ASSIGN_OR_RETURN(const Tensor shape,
                            IntegerVector(DType::kInt64, sparse.shape.dims().subspan(1)));
    std::vector<int64_t> coordinates;
    for (int64_t row = 0; row < rows; ++row) {
      coordinates.clear();
      for (const int64_t i : entries[row]) {
        const auto at = sparse.At(i).subspan(1);
        coordinates.insert(coordinates.end(), at.begin(), at.end());
      }
      const auto count = static_cast<int64_t>(entries[row].size());
      TFLEET_ASSIGN_OR_RETURN(const Tensor indices, IndexMatrix(coordinates, count, rank));
      TFLEET_ASSIGN_OR_RETURN(const Tensor values, PickEntries(*sparse.values, entries[row]));
      TFLEET_RETURN_IF_ERROR(Store(indices, row * kParts, out));
      TFLEET_RETURN_IF_ERROR(Store(values, row * kParts + 1, out));
      TFLEET_RETURN_IF_ERROR(Store(shape, row * kParts + 2, out));
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  DType type_ = DType::kString;
};

// Sparse tensors [..., 3] become one, which has their outer dimensions before its own.
class DeserializeSparse final : public Kernel {
 public:
  explicit DeserializeSparse(KernelInit& init) {
    init.Get("dtype", &type_);
    is_many_ = init.node().op() == "DeserializeManySparse";
  }
  Status Compute(KernelContext& ctx) const override {
    const Tensor& serialized = ctx.input(0);
    const int outer = serialized.rank() - 1;
    if (outer < 0 || (is_many_ && outer != 1)) {
      return InvalidArgument("Serialized sparse should be ", is_many_ ? "a matrix" : "of rank > 0",
                             " but received shape ", serialized.shape().ToString());
    }
    if (serialized.dim(outer) != kParts) {
      return InvalidArgument("Serialized sparse should have 3 as the last dimension but the last ",
                             "dimension was ", serialized.dim(outer));
    }
    const int64_t count = serialized.num_elements() / kParts;
    if (count == 0) {
      return InvalidArgument("Must have at least 1 serialized SparseTensor, but input has shape ",
                             serialized.shape().ToString());
    }
    std::vector<std::array<Tensor, kParts>> all(count);
    int64_t total = 0;
    for (int64_t i = 0; i < count; ++i) {
      for (int k = 0; k < kParts; ++k) {
        TFLEET_ASSIGN_OR_RETURN(all[i][k], Load(serialized, i * kParts + k));
      }
      TFLEET_RETURN_IF_ERROR(Check(all[i], i, all[0][2].num_elements()));
      total += all[i][1].num_elements();
    }
    if (outer == 0) {
      for (int k = 0; k < kParts; ++k) ctx.SetOutput(k, std::move(all[0][k]));
      return OkStatus();
    }
    return SetStacked(ctx, serialized.shape().dims().first(outer), all, total);
  }

 private:
  Status Check(const std::array<Tensor, kParts>& parts, int64_t i, int64_t rank) const {
    if (parts[0].dtype() != DType::kInt64 || parts[2].dtype() != DType::kInt64) {
      return InvalidArgument("serialized sparse tensor ", i, " has indices and shape of types ",
                             DTypeName(parts[0].dtype()), " and ", DTypeName(parts[2].dtype()),
                             ", not int64");
    }
    if (parts[1].dtype() != type_) {
      return InvalidArgument("Requested SparseTensor of type ", DTypeName(type_),
                             " but SparseTensor[", i,
                             "].values.dtype() == ", DTypeName(parts[1].dtype()));
    }
    TFLEET_RETURN_IF_ERROR(MakeSparse(parts[0], parts[1], parts[2]).status());
    if (parts[2].num_elements() != rank) {
      return InvalidArgument("Inconsistent rank across SparseTensors: rank prior to SparseTensor[",
                             i, "] was: ", rank, " but rank of SparseTensor[", i,
                             "] is: ", parts[2].num_elements());
    }
    return OkStatus();
  }

  Status SetStacked(KernelContext& ctx, absl::Span<const int64_t> outer,
                    const std::vector<std::array<Tensor, kParts>>& all, int64_t total) const {
    const auto outer_rank = static_cast<int64_t>(outer.size());
    const int64_t inner_rank = all[0][2].num_elements(), rank = outer_rank + inner_rank;
    std::vector<int64_t> shape(outer.begin(), outer.end());
    shape.resize(rank, 0);
    TFLEET_ASSIGN_OR_RETURN(Tensor indices, ctx.Allocate(DType::kInt64, {total, rank}));
    TFLEET_ASSIGN_OR_RETURN(Tensor values, ctx.Allocate(type_, {total}));
    std::vector<int64_t> place(outer.size(), 0);
    int64_t* to = indices.mutable_values<int64_t>().data();
    int64_t at = 0;
    for (const std::array<Tensor, kParts>& parts : all) {
      for (int64_t d = 0; d < inner_rank; ++d) {
        shape[outer_rank + d] = std::max(shape[outer_rank + d], parts[2].values<int64_t>()[d]);
      }
      const int64_t n = parts[1].num_elements();
      const int64_t* from = parts[0].values<int64_t>().data();
      for (int64_t i = 0; i < n; ++i, from += inner_rank) {
        to = std::copy(place.begin(), place.end(), to);
        to = std::copy(from, from + inner_rank, to);
      }
      CopyElements(type_, MutableElementAt(values, at), parts[1].raw(), n);
      at += n;
      for (int64_t d = outer_rank - 1; d >= 0 && ++place[d] == outer[d]; --d) place[d] = 0;
    }
    ctx.SetOutput(0, std::move(indices));
    ctx.SetOutput(1, std::move(values));
    ctx.SetOutput(2, Tensor::Vector<int64_t>(absl::MakeConstSpan(shape)));
    return OkStatus();
  }

  DType type_ = DType::kInvalid;
  bool is_many_ = false;
};

}  // namespace

void RegisterSerializeSparseKernels(KernelRegistry& r) {
  for (const DType type : {DType::kString, DType::kVariant}) {
    r.Add<SerializeSparse>("SerializeSparse", kCpu, {{"out_type", type}});
    r.Add<SerializeManySparse>("SerializeManySparse", kCpu, {{"out_type", type}});
    r.Add<DeserializeSparse>("DeserializeSparse", kCpu, {{"Tserialized", type}});
  }
  r.Add<DeserializeSparse>("DeserializeManySparse", kCpu);
}

}  // namespace tensorfleet::cpu
