// TensorDataset: its inputs as one element. TensorSliceDataset: their rows.
// SparseTensorSliceDataset: those of a sparse tensor. ListDataset: elements one by one.
#include <algorithm>

#include "runtime/data/composed.h"
#include "runtime/data/dataset_kernel.h"
#include "runtime/data/families.h"
#include "runtime/data/iterator.h"
#include "runtime/data/rows.h"
#include "runtime/graph/attr.h"

namespace tensorfleet::data {
namespace {

ElementType TypeOf(const Element& components, bool rows) {
  ElementType type;
  for (const Tensor& component : components) {
    type.types.push_back(component.dtype());
    const PartialShape shape(component.shape());
    type.shapes.push_back(rows ? WithoutFirst(shape) : shape);
  }
  return type;
}

// Elements that are there by number.
class Listed : public Dataset {
 public:
  Listed(ElementType type, int64_t count) : Dataset(std::move(type), {}), count_(count) {}
  int64_t Cardinality() const override { return count_; }
  virtual void Get(int64_t i, Element* out) const = 0;

 private:
  StatusOr<IteratorPtr> MakeIterator(IteratorScope& scope, int depth) const override;
  const int64_t count_;
};

class ListedIterator final : public Iterator {
 public:
  explicit ListedIterator(const Listed* dataset) : dataset_(Kept(dataset)) {}
  bool MayWait() const override { return false; }
  StatusOr<bool> Next(Element* out) override {
    if (at_ >= dataset_->Cardinality()) return false;
    dataset_->Get(at_++, out);
    return true;
  }
  StatusOr<bool> Skip(int64_t n) override {
    const bool more = dataset_->Cardinality() - at_ >= n;
    at_ = more ? at_ + n : dataset_->Cardinality();
    return more;
  }
  Status Save(StateWriter& to) override {
    to.PutInt("at", at_);
    return OkStatus();
  }
  Status Restore(StateReader& from) override {
    TFLEET_ASSIGN_OR_RETURN(at_, from.GetInt("at"));
    if (at_ < 0) return InvalidArgument("the saved iterator is at element ", at_);
    return OkStatus();
  }

 private:
  const std::shared_ptr<const Listed> dataset_;
  int64_t at_ = 0;
};

StatusOr<IteratorPtr> Listed::MakeIterator(IteratorScope&, int) const {
  return IteratorPtr(std::make_unique<ListedIterator>(this));
}

class OneElement final : public Listed {
 public:
  explicit OneElement(Element element)
      : Listed(TypeOf(element, false), 1), element_(std::move(element)) {}
  void Get(int64_t, Element* out) const override { *out = element_; }

 private:
  const Element element_;
};

class Slices final : public Listed {
 public:
  explicit Slices(Element components)
      : Listed(TypeOf(components, true), components[0].dim(0)),
        components_(std::move(components)) {}
  void Get(int64_t i, Element* out) const override {
    out->clear();
    out->reserve(components_.size());
    for (const Tensor& component : components_) out->push_back(RowOf(component, i));
  }

 private:
  const Element components_;
};

// Rows of a sparse tensor whose entries are ordered by them.
class SparseSlices final : public Listed {
 public:
  // `rows` and `places` are the first column of the indices and the others.
  SparseSlices(int64_t count, std::vector<int64_t> rows, Tensor places, Tensor values, Tensor shape)
      : Listed({{DType::kInt64, values.dtype(), DType::kInt64},
                {{PartialShape::kUnknownDim, places.dim(1)},
                 {PartialShape::kUnknownDim},
                 {places.dim(1)}}},
               count),
        rows_(std::move(rows)),
        places_(std::move(places)),
        values_(std::move(values)),
        shape_(std::move(shape)) {}
  void Get(int64_t i, Element* out) const override {
    const auto [first, last] = std::equal_range(rows_.begin(), rows_.end(), i);
    const int64_t begin = first - rows_.begin(), end = last - rows_.begin();
    *out = {places_.Rows(begin, end), values_.Rows(begin, end), shape_};
  }

 private:
  const std::vector<int64_t> rows_;
  const Tensor places_, values_, shape_;
};

class Elements final : public Listed {
 public:
  Elements(const ElementType& type, Element tensors)
      : Listed(type, static_cast<int64_t>(tensors.size() / type.size())),
        tensors_(std::move(tensors)) {}
  void Get(int64_t i, Element* out) const override {
    const auto begin = tensors_.begin() + i * static_cast<int64_t>(type().size());
    out->assign(begin, begin + static_cast<int64_t>(type().size()));
  }
  // Those that iterators make, windows, have none of a node.
  StatusOr<Recipe> MakeRecipe() const override {
    tensorflow::NodeDef node;
    node.set_op("ListDataset");
    std::vector<DType> types;
    for (const Tensor& tensor : tensors_) types.push_back(tensor.dtype());
    // The op has at least one tensor; a window never has none.
    if (types.empty()) return Unimplemented("a data set of no elements at all cannot be saved");
    SetAttr(&node, "Tinput_types", absl::MakeConstSpan(types));
    SetAttr(&node, "output_types", absl::MakeConstSpan(type().types));
    SetAttr(&node, "output_shapes", absl::MakeConstSpan(type().shapes));
    return Recipe{std::make_shared<const tensorflow::NodeDef>(std::move(node)), "handle", tensors_,
                  nullptr};
  }

 private:
  const Element tensors_;
};

Element Inputs(const KernelContext& ctx) {
  Element inputs;
  for (int i = 0; i < ctx.num_inputs(); ++i) inputs.push_back(ctx.input(i));
  return inputs;
}

class TensorKernel final : public DatasetKernel {
 public:
  using DatasetKernel::DatasetKernel;

 private:
  StatusOr<DatasetRef> Make(KernelContext& ctx) const override {
    return std::make_shared<OneElement>(Inputs(ctx));
  }
};

class SlicesKernel final : public DatasetKernel {
 public:
  using DatasetKernel::DatasetKernel;

 private:
  StatusOr<DatasetRef> Make(KernelContext& ctx) const override {
    Element components = Inputs(ctx);
    for (const Tensor& component : components) {
      if (component.rank() == 0) {
        return InvalidArgument("All components must be at least 1-dimensional");
      }
      if (component.dim(0) != components[0].dim(0)) {
        return InvalidArgument("All components must have the same size in the 0th dimension");
      }
    }
    return std::make_shared<Slices>(std::move(components));
  }
};

class SparseSlicesKernel final : public DatasetKernel {
 public:
  using DatasetKernel::DatasetKernel;

 private:
  StatusOr<DatasetRef> Make(KernelContext& ctx) const override {
    const Tensor &indices = ctx.input(0), &values = ctx.input(1), &shape = ctx.input(2);
    if (indices.rank() != 2) {
      return InvalidArgument("Input indices must be a matrix. Got: ", indices.shape().ToString());
    }
    if (values.rank() != 1) {
      return InvalidArgument("Input values must be a vector. Got: ", values.shape().ToString());
    }
    if (shape.rank() != 1) {
      return InvalidArgument("Input shape must be a vector. Got: ", shape.shape().ToString());
    }
    const int64_t n = indices.dim(0), rank = indices.dim(1);
    if (values.dim(0) != n) {
      return InvalidArgument("Number of values must match first dimension of indices. Got ",
                             values.dim(0), " values, indices shape: ", indices.shape().ToString());
    }
    if (shape.dim(0) != rank) {
      return InvalidArgument("Number of dimensions must match second dimension of indices. Got ",
                             shape.dim(0),
                             " dimensions, indices shape: ", indices.shape().ToString());
    }
    if (rank == 0) return InvalidArgument("The shape argument requires at least one element.");
    TFLEET_ASSIGN_OR_RETURN(const Shape dense, Shape::Make(shape.values<int64_t>()));
    TFLEET_ASSIGN_OR_RETURN(Tensor places, Tensor::Allocate(DType::kInt64, {n, rank - 1}));
    const int64_t* from = indices.values<int64_t>().data();
    int64_t* to = places.mutable_values<int64_t>().data();
    std::vector<int64_t> rows;
    rows.reserve(n);
    for (int64_t i = 0; i < n; ++i, from += rank) {
      if (from[0] < 0 || from[0] >= dense.dim(0)) {
        return InvalidArgument("entry ", i, " is in row ", from[0], " of ", dense.dim(0));
      }
      if (!rows.empty() && from[0] < rows.back()) {
        return Unimplemented(
            "The SparseTensor must be ordered in the batch dimension; handling arbitrarily ordered "
            "input is not currently supported.");
      }
      rows.push_back(from[0]);
      to = std::copy(from + 1, from + rank, to);
    }
    return std::make_shared<SparseSlices>(dense.dim(0), std::move(rows), std::move(places), values,
                                          shape.Rows(1, rank));
  }
};

class ListKernel final : public DatasetKernel {
 public:
  using DatasetKernel::DatasetKernel;

 private:
  StatusOr<DatasetRef> Make(KernelContext& ctx) const override {
    const ElementType& type = declared();
    Element tensors = Inputs(ctx);
    if (tensors.size() % type.size() != 0) {
      return InvalidArgument(tensors.size(), " tensors are no list of elements of ", type.size(),
                             " components");
    }
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (tensors[i].dtype() != type.types[i % type.size()]) {
        return InvalidArgument("tensor ", i, " of the list is of type ",
                               DTypeName(tensors[i].dtype()), ", expected ",
                               DTypeName(type.types[i % type.size()]));
      }
    }
    return std::make_shared<Elements>(type, std::move(tensors));
  }
};

}  // namespace

DatasetRef MakeElements(ElementType type, std::vector<Element> elements) {
  Element tensors;
  tensors.reserve(elements.size() * type.size());
  for (Element& element : elements) {
    for (Tensor& component : element) tensors.push_back(std::move(component));
  }
  return std::make_shared<Elements>(type, std::move(tensors));
}

void RegisterTensorSourceKernels(KernelRegistry& kernels) {
  kernels.Add<TensorKernel>("TensorDataset", kCpu);
  kernels.Add<SparseSlicesKernel>("SparseTensorSliceDataset", kCpu);
  kernels.Add<SlicesKernel>("TensorSliceDataset", kCpu);
  kernels.Add<ListKernel>("ListDataset", kCpu);
}

}  // namespace tensorfleet::data
