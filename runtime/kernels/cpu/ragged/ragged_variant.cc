// RaggedTensorToVariant, its gradient and RaggedTensorFromVariant: how ragged tensors travel
// through data sets and maps. Schemas: runtime/ops/sparse/sparse_serial_ops.cc.
#include <numeric>

#include "runtime/kernels/cpu/elements.h"
#include "runtime/kernels/cpu/families.h"
#include "runtime/kernels/cpu/index_input.h"
#include "runtime/kernels/cpu/ragged/ragged_input.h"
#include "runtime/kernels/cpu/ragged/ragged_value.h"
#include "runtime/kernels/kernel.h"
#include "runtime/kernels/kernel_registry.h"
#include "runtime/kernels/types.h"
#include "runtime/tensor/memory_account.h"
#include "runtime/tensor/variant.h"

namespace tensorfleet::cpu {
namespace {

class RaggedToVariant final : public Kernel {
 public:
  explicit RaggedToVariant(KernelInit& init) {
    init.Get("batched_input", &is_batched_);
    init.Get("Tsplits", &type_);
  }
  Status Compute(KernelContext& ctx) const override {
    const int rank = ctx.num_inputs() - 1;
    const DType values = ctx.input(rank).dtype();
    if (values == DType::kVariant || values == DType::kResource) {
      return Unimplemented("a ragged tensor of type ", DTypeName(values), " cannot be a variant");
    }
    if (!is_batched_) {
      std::vector<Tensor> parts;
      for (int i = 0; i <= rank; ++i) parts.push_back(ctx.input(i));
      if (rank > 0) TFLEET_RETURN_IF_ERROR(ReadRagged(ctx, 0, rank).status());
      ctx.SetOutput(0, Tensor::Scalar(RaggedVariantOf(std::move(parts))));
      return OkStatus();
    }
    TFLEET_ASSIGN_OR_RETURN(const Ragged ragged, ReadRagged(ctx, 0, rank));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DType::kVariant, {ragged.rows()}));
    LoopWatch watch(ctx, 1000);
    for (int64_t row = 0; row < ragged.rows(); ++row) {
      watch.Pass();
      TFLEET_ASSIGN_OR_RETURN(out.mutable_values<Variant>()[row], Row(ragged, row));
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  // One row, as a ragged tensor with a level less.
  StatusOr<Variant> Row(const Ragged& ragged, int64_t row) const {
    if (ragged.splits.empty()) {
      TFLEET_ASSIGN_OR_RETURN(Tensor values, CopiedRows(ragged.values, row, row + 1));
      TFLEET_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(values.shape().dims().subspan(1)));
      return RaggedVariantOf({values.Reshaped(shape)});
    }
    int64_t begin = ragged.splits[0][row], end = ragged.splits[0][row + 1];
    std::vector<Tensor> parts;
    for (size_t level = 1; level < ragged.splits.size(); ++level) {
      const Splits& all = ragged.splits[level];
      Splits splits(all.begin() + begin, all.begin() + end + 1);
      const int64_t first = splits[0];
      for (int64_t& split : splits) split -= first;
      begin = first;
      end = all[end];
      TFLEET_ASSIGN_OR_RETURN(parts.emplace_back(), SplitsTensor(type_, splits));
    }
    TFLEET_ASSIGN_OR_RETURN(parts.emplace_back(), CopiedRows(ragged.values, begin, end));
    return RaggedVariantOf(std::move(parts));
  }

  bool is_batched_ = false;
  DType type_ = DType::kInt64;
};

class RaggedFromVariant final : public Kernel {
 public:
  explicit RaggedFromVariant(KernelInit& init) {
    init.Get("input_ragged_rank", &input_rank_);
    init.Get("output_ragged_rank", &output_rank_);
    init.Get("Tvalues", &values_type_);
    init.Get("Tsplits", &type_);
  }
  Status Compute(KernelContext& ctx) const override {
    const Tensor& encoded = ctx.input(0);
    const int64_t input_rank = input_rank_ == -1 ? output_rank_ - encoded.rank() : input_rank_;
    if (input_rank < 0) {
      return InvalidArgument(
          "Inferred input_ragged_rank (output_ragged_rank - encoded_variant.dims",
          "()) must be >= 0, found output_ragged_rank: ", output_rank_,
          ", encoded_variant.dims(): ", encoded.rank());
    }
    if (output_rank_ != encoded.rank() + input_rank) {
      return InvalidArgument("output_ragged_rank must be equal to input_ragged_rank + ",
                             "encoded_ragged.dims(): ", output_rank_, " vs. ", input_rank, " + ",
                             encoded.rank());
    }
    std::vector<const std::vector<Tensor>*> components;
    for (const Variant& variant : encoded.values<Variant>()) {
      TFLEET_ASSIGN_OR_RETURN(components.emplace_back(), Component(variant, input_rank));
    }
    if (encoded.rank() == 0) {
      for (int i = 0; i <= input_rank; ++i) ctx.SetOutput(i, (*components[0])[i]);
      return OkStatus();
    }
    return SetStacked(ctx, encoded.shape(), components, input_rank);
  }

 private:
  StatusOr<const std::vector<Tensor>*> Component(const Variant& variant, int64_t rank) const {
    const std::vector<Tensor>* const parts = RaggedPartsIn(variant);
    if (parts == nullptr) {
      return InvalidArgument("Input Variant element doesn't hold a RaggedTensorVariant");
    }
    if (static_cast<int64_t>(parts->size()) != rank + 1) {
      return InvalidArgument("Encoded input RaggedTensorVariant has ragged_rank=",
                             parts->size() - 1, ".  Expected ragged_rank=", rank, ".");
    }
    if (parts->back().dtype() != values_type_) {
      return InvalidArgument("Expected values Tensor dtype: ", DTypeName(values_type_),
                             ", found: ", DTypeName(parts->back().dtype()));
    }
    for (int64_t i = 0; i < rank; ++i) {
      if ((*parts)[i].dtype() != type_ || (*parts)[i].rank() != 1) {
        return InvalidArgument("Expected row_splits Tensor dtype: ", DTypeName(type_),
                               ", found: ", DTypeName((*parts)[i].dtype()));
      }
    }
    return parts;
  }

  Status SetStacked(KernelContext& ctx, const Shape& outer,
                    const std::vector<const std::vector<Tensor>*>& components,
                    int64_t input_rank) const {
    // The outer dimensions but the first are rows of one length each.
    int64_t rows = outer.dim(0);
    for (int d = 1; d < outer.rank(); ++d) {
      TFLEET_RETURN_IF_ERROR(CheckWorkSpace(rows + 1, sizeof(int64_t)));
      Splits splits(rows + 1);
      for (int64_t i = 0; i <= rows; ++i) splits[i] = i * outer.dim(d);
      TFLEET_ASSIGN_OR_RETURN(Tensor tensor, SplitsTensor(type_, splits));
      ctx.SetOutput(d - 1, std::move(tensor));
      rows *= outer.dim(d);
    }
    std::vector<Splits> levels(input_rank + 1, Splits{0});
    int64_t total = 0;
    for (const std::vector<Tensor>* parts : components) {
      Ragged ragged;
      for (int64_t i = 0; i < input_rank; ++i) {
        const Integers values = IntegersOf((*parts)[i]);
        ragged.splits.emplace_back(values.begin(), values.end());
      }
      ragged.values = parts->back();
      TFLEET_RETURN_IF_ERROR(CheckRagged(ragged));
      levels[0].push_back(levels[0].back() + ragged.rows());
      for (int64_t i = 0; i < input_rank; ++i) {
        const int64_t before = levels[i + 1].back();
        for (size_t k = 1; k < ragged.splits[i].size(); ++k) {
          levels[i + 1].push_back(before + ragged.splits[i][k]);
        }
      }
      total += ragged.values.dim(0);
    }
    for (int64_t i = 0; i <= input_rank; ++i) {
      TFLEET_ASSIGN_OR_RETURN(Tensor tensor, SplitsTensor(type_, levels[i]));
      ctx.SetOutput(outer.rank() - 1 + static_cast<int>(i), std::move(tensor));
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor values, Joined(components, total));
    ctx.SetOutput(static_cast<int>(output_rank_), std::move(values));
    return OkStatus();
  }

  StatusOr<Tensor> Joined(const std::vector<const std::vector<Tensor>*>& components,
                          int64_t total) const {
    if (components.empty()) return Tensor::Allocate(values_type_, {0});
    const Shape& first = components[0]->back().shape();
    TFLEET_ASSIGN_OR_RETURN(const Shape shape, first.WithDim(0, total));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(values_type_, shape));
    int64_t at = 0;
    for (const std::vector<Tensor>* parts : components) {
      const Tensor& values = parts->back();
      if (values.shape().dims().subspan(1) != first.dims().subspan(1)) {
        return InvalidArgument("All flat_values must have compatible shapes: ",
                               values.shape().ToString(), " and ", first.ToString());
      }
      CopyElements(values_type_, MutableElementAt(out, at), values.raw(), values.num_elements());
      at += values.num_elements();
    }
    return out;
  }

  int64_t input_rank_ = 0, output_rank_ = 0;
  DType values_type_ = DType::kInvalid, type_ = DType::kInt64;
};

// The values of the rows' gradients one after the other. A row that nothing depends on has none:
// its gradient is 0.
class RaggedToVariantGrad final : public Kernel {
 public:
  explicit RaggedToVariantGrad(KernelInit& init) { init.Get("Tvalues", &type_); }
  Status Compute(KernelContext& ctx) const override {
    const absl::Span<const Variant> rows = ctx.input(0).values<Variant>();
    const Integers splits = IntegersOf(ctx.input(1));
    TFLEET_ASSIGN_OR_RETURN(const Shape shape, ShapeFromInput(ctx.input(2)));
    if (shape.rank() < 1 && rows.size() != 1) {
      return InvalidArgument("dense_values_shape must have a first dimension");
    }
    if (rows.size() == 1 && !rows[0].is_empty()) {
      TFLEET_ASSIGN_OR_RETURN(Tensor values, Values(rows[0]));
      ctx.SetOutput(0, std::move(values));
      return OkStatus();
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor out, Tensor::Zeros(type_, shape));
    const int64_t first = shape.rank() == 0 ? 1 : shape.dim(0);
    const int64_t row_size = first == 0 ? 0 : shape.num_elements() / first;
    int64_t at = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      int64_t size = 0;
      if (!rows[i].is_empty()) {
        TFLEET_ASSIGN_OR_RETURN(const Tensor values, Values(rows[i]));
        size = values.num_elements();
        if (size > out.num_elements() - at) return DoNotFit(shape);
        CopyElements(type_, MutableElementAt(out, at), values.raw(), size);
      } else {
        if (i + 1 >= splits.size() || splits[i] < 0 || splits[i + 1] < splits[i] ||
            splits[i + 1] > first) {
          return InvalidArgument("row_splits do not say how long row ", i, " is");
        }
        size = (splits[i + 1] - splits[i]) * row_size;
        if (size > out.num_elements() - at) return DoNotFit(shape);
      }
      at += size;
    }
    if (at != out.num_elements()) return DoNotFit(shape);
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  static Status DoNotFit(const Shape& shape) {
    return InvalidArgument("the gradients of the rows do not make up dense values of shape ",
                           shape.ToString());
  }

  StatusOr<Tensor> Values(const Variant& variant) const {
    const std::vector<Tensor>* const parts = RaggedPartsIn(variant);
    if (parts == nullptr) {
      return InvalidArgument("Input Variant element doesn't hold a RaggedTensorVariant");
    }
    if (parts->back().dtype() != type_) {
      return InvalidArgument("Expected values Tensor dtype: ", DTypeName(type_),
                             ", found: ", DTypeName(parts->back().dtype()));
    }
    return parts->back();
  }

  DType type_ = DType::kInvalid;
};

}  // namespace

void RegisterRaggedVariantKernels(KernelRegistry& r) {
  for (const DType type : {DType::kInt32, DType::kInt64}) {
    r.Add<RaggedToVariantGrad>("RaggedTensorToVariantGradient", kCpu, {{"Tsplits", type}});
    r.Add<RaggedToVariant>("RaggedTensorToVariant", kCpu, {{"Tsplits", type}});
    r.Add<RaggedFromVariant>("RaggedTensorFromVariant", kCpu, {{"Tsplits", type}});
  }
}

}  // namespace tensorfleet::cpu
