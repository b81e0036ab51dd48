// PaddedBatchDataset, PaddedBatchDatasetV2: elements as the rows of one, filled up to one shape.
#include <algorithm>

#include "runtime/data/dataset_kernel.h"
#include "runtime/data/families.h"
#include "runtime/data/padding.h"
#include "runtime/data/rows.h"
#include "runtime/data/unary_iterator.h"

namespace tensorfleet::data {
namespace {

ElementType PaddedType(const Dataset& input, const std::vector<PartialShape>& padded, int64_t size,
                       bool drops_remainder) {
  ElementType type = input.type();
  const bool is_whole = drops_remainder || input.Cardinality() == kInfinite;
  for (size_t i = 0; i < padded.size(); ++i) {
    type.shapes[i] = WithFirst(is_whole ? size : PartialShape::kUnknownDim, padded[i]);
  }
  return type;
}

class PaddedBatch final : public Dataset {
 public:
  PaddedBatch(DatasetRef input, int64_t size, std::vector<PartialShape> padded_shapes,
              std::vector<Tensor> values, bool drops_remainder)
      : Dataset(PaddedType(*input, padded_shapes, size, drops_remainder), {input}),
        size_(size),
        padded_shapes_(std::move(padded_shapes)),
        values_(std::move(values)),
        drops_remainder_(drops_remainder) {}
  int64_t size() const { return size_; }
  const std::vector<PartialShape>& padded_shapes() const { return padded_shapes_; }
  const std::vector<Tensor>& values() const { return values_; }
  bool drops_remainder() const { return drops_remainder_; }
  int64_t Cardinality() const override {
    const int64_t n = input()->Cardinality();
    return n < 0 ? n : n / size_ + (n % size_ != 0 && !drops_remainder_);
  }

 private:
  StatusOr<IteratorPtr> MakeIterator(IteratorScope& scope, int depth) const override;
  const int64_t size_;
  const std::vector<PartialShape> padded_shapes_;
  const std::vector<Tensor> values_;
  const bool drops_remainder_;
};

class PaddedBatchIterator final : public UnaryIterator<PaddedBatch> {
 public:
  using UnaryIterator::UnaryIterator;
  bool MayWait() const override { return input_ != nullptr; }
  StatusOr<bool> Next(Element* out) override {
    if (input_ == nullptr) return false;
    std::vector<Element> elements;
    while (static_cast<int64_t>(elements.size()) < dataset_->size()) {
      TFLEET_RETURN_IF_ERROR(scope_.CheckCancelled());
      Element element;
      TFLEET_ASSIGN_OR_RETURN(const bool more, NextInput(&element));
      if (!more) break;
      elements.push_back(std::move(element));
    }
    const bool is_whole = static_cast<int64_t>(elements.size()) == dataset_->size();
    if (elements.empty() || (!is_whole && dataset_->drops_remainder())) return false;
    out->clear();
    for (size_t i = 0; i < dataset_->type().size(); ++i) {
      TFLEET_ASSIGN_OR_RETURN(
          out->emplace_back(),
          PadTogether(elements, i, dataset_->padded_shapes()[i], dataset_->values()[i]));
    }
    return true;
  }
};

StatusOr<IteratorPtr> PaddedBatch::MakeIterator(IteratorScope& scope, int depth) const {
  return Opened<PaddedBatchIterator>(this, scope, depth);
}

class PaddedBatchKernel final : public DatasetKernel {
 public:
  using DatasetKernel::DatasetKernel;

 private:
  // input_dataset, batch_size, padded_shapes..., padding_values..., drop_remainder of the second
  // version.
  StatusOr<DatasetRef> Make(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(DatasetRef input, DatasetInput(ctx, 0));
    TFLEET_ASSIGN_OR_RETURN(const int64_t size, ScalarInput<int64_t>(ctx, 1, "batch_size"));
    if (size <= 0) return InvalidArgument("Batch size must be greater than zero.");
    const int n = static_cast<int>(input->type().size());
    const bool has_drop = ctx.num_inputs() % 2 == 1;
    const int given = (ctx.num_inputs() - 2 - has_drop) / 2;
    if (given != n) {
      return InvalidArgument("Number of padded shapes (", given,
                             ") must match the number of components in the input dataset's "
                             "elements (",
                             n, ")");
    }
    std::vector<PartialShape> shapes;
    std::vector<Tensor> values;
    for (int i = 0; i < n; ++i) {
      const Tensor& shape = ctx.input(2 + i);
      if (shape.rank() != 1) return InvalidArgument("All padded shapes must be vectors");
      for (const int64_t dim : shape.values<int64_t>()) {
        if (dim < -1) return InvalidArgument("a padded shape has a dimension of ", dim);
      }
      shapes.emplace_back(shape.values<int64_t>());
      const Tensor& value = ctx.input(2 + n + i);
      if (!value.shape().is_scalar()) return InvalidArgument("All padding values must be scalars");
      if (value.dtype() != input->type().types[i]) {
        return InvalidArgument("Mismatched type between padding value ", i,
                               " and input dataset's component ", i, ": ", DTypeName(value.dtype()),
                               " vs. ", DTypeName(input->type().types[i]));
      }
      values.push_back(value);
    }
    bool drops_remainder = false;
    if (has_drop) {
      TFLEET_ASSIGN_OR_RETURN(drops_remainder,
                              ScalarInput<bool>(ctx, ctx.num_inputs() - 1, "drop_remainder"));
    }
    return std::make_shared<PaddedBatch>(std::move(input), size, std::move(shapes),
                                         std::move(values), drops_remainder);
  }
};

}  // namespace

void RegisterPaddedBatchKernels(KernelRegistry& kernels) {
  kernels.Add<PaddedBatchKernel>("PaddedBatchDataset", kCpu);
  kernels.Add<PaddedBatchKernel>("PaddedBatchDatasetV2", kCpu);
}

}  // namespace tensorfleet::data
