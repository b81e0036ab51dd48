// RebatchDataset: every batch in as many parts. RebatchDatasetV2: the rows of batches as batches of
// other sizes, in turns.
#include <algorithm>

#include "runtime/data/dataset_kernel.h"
#include "runtime/data/families.h"
#include "runtime/data/rows.h"
#include "runtime/data/unary_iterator.h"

namespace tensorfleet::data {
namespace {

class Split final : public Dataset {
 public:
  Split(DatasetRef input, ElementType type, int64_t parts)
      : Dataset(std::move(type), {std::move(input)}), parts_(parts) {}
  int64_t parts() const { return parts_; }

 private:
  StatusOr<IteratorPtr> MakeIterator(IteratorScope& scope, int depth) const override;
  const int64_t parts_;
};

class SplitIterator final : public UnaryIterator<Split> {
 public:
  using UnaryIterator::UnaryIterator;
  StatusOr<bool> Next(Element* out) override {
    if (part_ == 0) {
      TFLEET_ASSIGN_OR_RETURN(const bool more, NextInput(&whole_));
      if (!more) return false;
      TFLEET_RETURN_IF_ERROR(CheckWhole());
    }
    out->clear();
    for (const Tensor& component : whole_) {
      const int64_t rows = component.dim(0);
      // Rounded up: the last parts are smaller, or empty. No product here is above rows + parts.
      const int64_t each = rows / dataset_->parts() + (rows % dataset_->parts() != 0);
      const int64_t begin = part_ < rows ? std::min(rows, each * part_) : rows;
      out->push_back(component.Rows(begin, std::min(rows, begin + each)));
    }
    part_ = part_ + 1 < dataset_->parts() ? part_ + 1 : 0;
    if (part_ == 0) whole_.clear();
    return true;
  }
  Status Save(StateWriter& to) override {
    to.PutInt("part", part_);
    if (part_ != 0) to.PutElement("whole", whole_);
    return UnaryIterator::Save(to);
  }
  Status Restore(StateReader& from) override {
    TFLEET_ASSIGN_OR_RETURN(part_, from.GetInt("part"));
    if (part_ < 0 || part_ >= dataset_->parts()) {
      return InvalidArgument("the saved iterator is at part ", part_, " of ", dataset_->parts());
    }
    whole_.clear();
    if (part_ != 0) {
      TFLEET_ASSIGN_OR_RETURN(whole_, from.GetElement("whole", dataset_->type().types));
      TFLEET_RETURN_IF_ERROR(CheckWhole());
    }
    return UnaryIterator::Restore(from);
  }

 private:
  Status CheckWhole() const {
    for (size_t i = 0; i < whole_.size(); ++i) {
      if (whole_[i].rank() > 0) continue;
      return InvalidArgument(
          "Cannot rebatch dataset: All components must have at least one dimension. Perhaps your "
          "input dataset is not batched? Component ",
          i, " is scalar.");
    }
    return OkStatus();
  }

  Element whole_;  // while parts of it are still to come
  int64_t part_ = 0;
};

StatusOr<IteratorPtr> Split::MakeIterator(IteratorScope& scope, int depth) const {
  return Opened<SplitIterator>(this, scope, depth);
}

class Rebatched final : public Dataset {
 public:
  Rebatched(DatasetRef input, ElementType type, std::vector<int64_t> sizes, bool drops_remainder)
      : Dataset(std::move(type), {std::move(input)}),
        sizes_(std::move(sizes)),
        drops_remainder_(drops_remainder) {}
  // At least one, none below 0.
  const std::vector<int64_t>& sizes() const { return sizes_; }
  bool drops_remainder() const { return drops_remainder_; }

 private:
  StatusOr<IteratorPtr> MakeIterator(IteratorScope& scope, int depth) const override;
  const std::vector<int64_t> sizes_;
  const bool drops_remainder_;
};

class RebatchedIterator final : public UnaryIterator<Rebatched> {
 public:
  using UnaryIterator::UnaryIterator;
  // Batches without rows may go on for ever.
  bool MayWait() const override { return input_ != nullptr; }
  StatusOr<bool> Next(Element* out) override {
    if (input_ == nullptr) return false;
    const int64_t size = dataset_->sizes()[turn_];
    int64_t count = 0;
    std::vector<Element> pieces;  // with rows
    while (count < size) {
      TFLEET_RETURN_IF_ERROR(scope_.CheckCancelled());
      if (rest_.empty()) {
        TFLEET_ASSIGN_OR_RETURN(const bool more, NextInput(&rest_));
        if (!more) {
          rest_.clear();
          break;
        }
        if (const Status fits = CheckRest(); !fits.ok()) {
          rest_.clear();
          return fits;
        }
      }
      const int64_t rows = rest_[0].dim(0), taken = std::min(size - count, rows);
      // Batches without rows are put together too: they say of what shape the others are.
      if (taken > 0 || pieces.empty()) pieces.push_back(Slice(0, taken));
      count += taken;
      rest_ = taken < rows ? Slice(taken, rows) : Element();
    }
    turn_ = (turn_ + 1) % static_cast<int64_t>(dataset_->sizes().size());
    if (count < size && (count == 0 || dataset_->drops_remainder())) return false;
    if (size == 0) return NoRows(out);
    if (pieces.size() == 1) {
      *out = std::move(pieces[0]);
      return true;
    }
    return Joined(pieces, count, out);
  }
  Status Save(StateWriter& to) override {
    to.PutInt("turn", turn_);
    to.PutInt("has_rest", !rest_.empty());
    if (!rest_.empty()) to.PutElement("rest", rest_);
    return UnaryIterator::Save(to);
  }
  Status Restore(StateReader& from) override {
    TFLEET_ASSIGN_OR_RETURN(turn_, from.GetInt("turn"));
    if (turn_ < 0 || turn_ >= static_cast<int64_t>(dataset_->sizes().size())) {
      return InvalidArgument("the saved iterator is at size ", turn_, " of ",
                             dataset_->sizes().size());
    }
    TFLEET_ASSIGN_OR_RETURN(const int64_t has_rest, from.GetInt("has_rest"));
    rest_.clear();
    if (has_rest != 0) {
      TFLEET_ASSIGN_OR_RETURN(rest_, from.GetElement("rest", dataset_->type().types));
      TFLEET_RETURN_IF_ERROR(CheckRest());
    }
    return UnaryIterator::Restore(from);
  }

 private:
  Status CheckRest() const {
    for (size_t i = 0; i < rest_.size(); ++i) {
      if (rest_[i].rank() == 0) {
        return InvalidArgument("Input element must have a non-scalar value in each component.");
      }
      if (rest_[i].dim(0) != rest_[0].dim(0)) {
        return InvalidArgument(
            "Input element must have the same batch size in each component. Component 0 had size ",
            rest_[0].dim(0), " but component ", i, " had size, ", rest_[i].dim(0), ".");
      }
    }
    return OkStatus();
  }
  Element Slice(int64_t begin, int64_t end) const {
    Element slice;
    for (const Tensor& component : rest_) slice.push_back(component.Rows(begin, end));
    return slice;
  }
  // An element of a batch size of 0. Dimensions that are not known are 0 too.
  StatusOr<bool> NoRows(Element* out) const {
    const ElementType& type = dataset_->type();
    out->clear();
    for (size_t i = 0; i < type.size(); ++i) {
      std::vector<int64_t> dims = {0};
      for (int d = 1; type.shapes[i].has_rank() && d < type.shapes[i].rank(); ++d) {
        dims.push_back(std::max<int64_t>(0, type.shapes[i].dim(d)));
      }
      TFLEET_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
      TFLEET_ASSIGN_OR_RETURN(out->emplace_back(), Tensor::Allocate(type.types[i], shape));
    }
    return true;
  }
  StatusOr<bool> Joined(std::vector<Element>& pieces, int64_t count, Element* out) const {
    const ElementType& type = dataset_->type();
    Element joined;
    for (size_t i = 0; i < type.size(); ++i) {
      const Shape& first = pieces[0][i].shape();
      TFLEET_ASSIGN_OR_RETURN(const Shape shape, first.WithDim(0, count));
      TFLEET_ASSIGN_OR_RETURN(Tensor whole, Tensor::Allocate(type.types[i], shape));
      char* to = static_cast<char*>(whole.mutable_raw());
      for (Element& piece : pieces) {
        Tensor& rows = piece[i];
        if (rows.shape().SubShape(1, rows.rank()) != first.SubShape(1, first.rank())) {
          return FailedPrecondition("Cannot put batches of component ", i,
                                    " together: one is of shape ", first.ToString(),
                                    ", another of shape ", rows.shape().ToString());
        }
        CopyElements(rows.dtype(), to, rows.mutable_raw(), rows.num_elements(),
                     rows.buffer_is_unique());
        to += rows.bytes();
      }
      joined.push_back(std::move(whole));
    }
    *out = std::move(joined);
    return true;
  }

  Element rest_;      // the rows of a batch that are still to come; empty without
  int64_t turn_ = 0;  // whose size is next
};

StatusOr<IteratorPtr> Rebatched::MakeIterator(IteratorScope& scope, int depth) const {
  return Opened<RebatchedIterator>(this, scope, depth);
}

// The batches' type, with the shapes that the node says the new ones have.
StatusOr<ElementType> NewType(const Dataset& input, const ElementType& declared) {
  if (declared.types != input.type().types) {
    return InvalidArgument("output_types are not the types of the batches' components");
  }
  return declared;
}

class SplitKernel final : public DatasetKernel {
 public:
  using DatasetKernel::DatasetKernel;

 private:
  StatusOr<DatasetRef> Make(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(DatasetRef input, DatasetInput(ctx, 0));
    TFLEET_ASSIGN_OR_RETURN(ElementType type, NewType(*input, declared()));
    TFLEET_ASSIGN_OR_RETURN(const int64_t parts, ScalarInput<int64_t>(ctx, 1, "num_replicas"));
    if (parts <= 0) return InvalidArgument("num_replicas must be greater than zero.");
    return std::make_shared<Split>(std::move(input), std::move(type), parts);
  }
};

class RebatchedKernel final : public DatasetKernel {
 public:
  using DatasetKernel::DatasetKernel;

 private:
  StatusOr<DatasetRef> Make(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(DatasetRef input, DatasetInput(ctx, 0));
    TFLEET_ASSIGN_OR_RETURN(ElementType type, NewType(*input, declared()));
    if (ctx.input(1).rank() > 1) {
      return InvalidArgument("`batch_sizes` must be a scalar or a vector.");
    }
    const auto given = ctx.input(1).values<int64_t>();
    std::vector<int64_t> sizes(given.begin(), given.end());
    if (sizes.empty()) return InvalidArgument("`batch_sizes` must have at least one size.");
    for (const int64_t size : sizes) {
      if (size < 0) return InvalidArgument("`batch_sizes` must not be negative, got ", size, ".");
    }
    TFLEET_ASSIGN_OR_RETURN(const bool drops, ScalarInput<bool>(ctx, 2, "drop_remainder"));
    return std::make_shared<Rebatched>(std::move(input), std::move(type), std::move(sizes), drops);
  }
};

}  // namespace

void RegisterRebatchKernels(KernelRegistry& kernels) {
  kernels.Add<SplitKernel>("ExperimentalRebatchDataset", kCpu);
  kernels.Add<SplitKernel>("RebatchDataset", kCpu);
  kernels.Add<RebatchedKernel>("RebatchDatasetV2", kCpu);
}

}  // namespace tensorfleet::data
