#include "runtime/data/dataset.h"

#include <algorithm>

#include "runtime/data/iterator.h"

namespace tensorfleet::data {
namespace {

int DepthOver(const std::vector<DatasetRef>& inputs) {
  int depth = 0;
  for (const DatasetRef& input : inputs) depth = std::max(depth, input->depth());
  return depth + 1;
}

}  // namespace

Dataset::Dataset(ElementType type, std::vector<DatasetRef> inputs)
    : type_(std::move(type)), inputs_(std::move(inputs)), depth_(DepthOver(inputs_)) {}

void Dataset::MergeOptions(tensorflow::data::Options* options) const {
  for (const DatasetRef& input : inputs_) input->MergeOptions(options);
}

StatusOr<IteratorPtr> Dataset::NewIterator(IteratorScope& scope, int depth) const {
  if (depth >= kMaxDepth) {
    return ResourceExhausted("data sets are nested more than ", kMaxDepth,
                             " deep; does a function make its own data set again?");
  }
  return MakeIterator(scope, depth);
}

StatusOr<Recipe> Dataset::MakeRecipe() const {
  if (recipe_ != nullptr) return *recipe_;
  return Unimplemented("a data set that is part of another cannot be saved on its own");
}

StatusOr<VariantData> Dataset::Encode() const {
  return Unimplemented(
      "a data set cannot leave its task: put the ops that make it and its iterator on one device");
}

StatusOr<DatasetRef> DatasetIn(const Tensor& tensor) {
  if (tensor.dtype() != DType::kVariant || !tensor.shape().is_scalar()) {
    return InvalidArgument("Dataset tensor must be a scalar of dtype DT_VARIANT.");
  }
  const auto* dataset = tensor.scalar<Variant>().get<Dataset>();
  if (dataset == nullptr) return InvalidArgument("Tensor must be a Dataset object.");
  return dataset->shared_from_this();
}

Tensor DatasetTensor(DatasetRef dataset) {
  return Tensor::Scalar(Variant(std::shared_ptr<const VariantValue>(std::move(dataset))));
}

Status CheckTypes(const Element& element, const std::vector<DType>& types) {
  if (element.size() != types.size()) {
    return InvalidArgument("Number of components does not match: expected ", types.size(),
                           " types but got ", element.size(), ".");
  }
  for (size_t i = 0; i < types.size(); ++i) {
    if (element[i].dtype() != types[i]) {
      return InvalidArgument("Data type mismatch at component ", i, ": expected ",
                             DTypeName(types[i]), " but got ", DTypeName(element[i].dtype()), ".");
    }
  }
  return OkStatus();
}

Status CheckCompatible(const ElementType& want, const ElementType& have) {
  if (want.types.size() != have.types.size()) {
    return InvalidArgument("Number of components does not match: expected ", want.types.size(),
                           " types but got ", have.types.size(), ".");
  }
  for (size_t i = 0; i < want.types.size(); ++i) {
    if (want.types[i] != have.types[i]) {
      return InvalidArgument("Data type mismatch at component ", i, ": expected ",
                             DTypeName(want.types[i]), " but got ", DTypeName(have.types[i]), ".");
    }
  }
  for (size_t i = 0; i < want.shapes.size() && i < have.shapes.size(); ++i) {
    if (!want.shapes[i].IsCompatibleWith(have.shapes[i])) {
      return InvalidArgument("Incompatible shapes at component ", i, ": expected ",
                             want.shapes[i].ToString(), " but got ", have.shapes[i].ToString(),
                             ".");
    }
  }
  return OkStatus();
}

int64_t TimesCardinality(int64_t n, int64_t times) {
  if (n == 0 || times == 0) return 0;
  if (n == kUnknownCardinality || times == kUnknownCardinality) return kUnknownCardinality;
  if (n == kInfinite || times == kInfinite) return kInfinite;
  int64_t product = 0;
  return __builtin_mul_overflow(n, times, &product) ? kInfinite : product;
}

}  // namespace tensorfleet::data
