// SerializeSparse, SerializeManySparse and their opposites: a sparse tensor as a vector of its
// three parts, each a string or a variant. Schemas: runtime/ops/sparse/sparse_serial_ops.cc.
#include <string>
#include <vector>

#include "proto/tensor.pb.h"
#include "runtime/kernels/cpu/elements.h"
#include "runtime/kernels/cpu/families.h"
#include "runtime/kernels/cpu/index_input.h"
#include "runtime/kernels/cpu/sparse/sparse_input.h"
#include "runtime/kernels/cpu/sparse/sparse_parts.h"
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
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(type_, {sparse.shape.dim(0), kParts}));
    TFLEET_RETURN_IF_ERROR(VisitRows(sparse, [&](int64_t row, const SparseParts& parts) -> Status {
      for (int k = 0; k < kParts; ++k) {
        TFLEET_RETURN_IF_ERROR(Store(parts[k], row * kParts + k, out));
      }
      return OkStatus();
    }));
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
    std::vector<SparseParts> all(count);
    for (int64_t i = 0; i < count; ++i) {
      for (int k = 0; k < kParts; ++k) {
        TFLEET_ASSIGN_OR_RETURN(all[i][k], Load(serialized, i * kParts + k));
      }
      TFLEET_RETURN_IF_ERROR(CheckParts(all[i], i, type_, all[0][2].num_elements()));
    }
    if (outer == 0) {
      for (int k = 0; k < kParts; ++k) ctx.SetOutput(k, std::move(all[0][k]));
      return OkStatus();
    }
    return SetStacked(ctx, type_, serialized.shape().dims().first(outer), all);
  }

 private:
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
