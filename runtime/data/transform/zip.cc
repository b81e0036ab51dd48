// ZipDataset: one element of each input as one element, up to the end of the shortest.
#include "runtime/data/dataset_kernel.h"
#include "runtime/data/families.h"
#include "runtime/data/iterator.h"

namespace tensorfleet::data {
namespace {

ElementType TypeOfAll(const std::vector<DatasetRef>& inputs) {
  ElementType all;
  for (const DatasetRef& input : inputs) {
    const ElementType& type = input->type();
    all.types.insert(all.types.end(), type.types.begin(), type.types.end());
    all.shapes.insert(all.shapes.end(), type.shapes.begin(), type.shapes.end());
  }
  return all;
}

class Zip final : public Dataset {
 public:
  explicit Zip(std::vector<DatasetRef> inputs) : Dataset(TypeOfAll(inputs), inputs) {}
  int64_t Cardinality() const override {
    int64_t least = kInfinite;
    for (const DatasetRef& input : inputs()) {
      const int64_t n = input->Cardinality();
      if (n == kUnknownCardinality) return kUnknownCardinality;
      if (n != kInfinite && (least == kInfinite || n < least)) least = n;
    }
    return least;
  }

 private:
  StatusOr<IteratorPtr> MakeIterator(IteratorScope& scope, int depth) const override;
};

class ZipIterator final : public Iterator {
 public:
  ZipIterator(const Zip* dataset, IteratorScope& scope, int depth)
      : dataset_(Kept(dataset)), scope_(scope), depth_(depth) {}
  Status Open() {
    for (const DatasetRef& input : dataset_->inputs()) {
      TFLEET_ASSIGN_OR_RETURN(inputs_.emplace_back(), InputIterator(input, scope_, depth_));
    }
    return OkStatus();
  }
  bool MayWait() const override {
    for (const IteratorPtr& input : inputs_) {
      if (input->MayWait()) return true;
    }
    return false;
  }
  StatusOr<bool> Next(Element* out) override {
    if (inputs_.empty()) return false;
    // All are asked, so that an error of one leaves them at the same place.
    out->clear();
    out->reserve(dataset_->type().size());
    Status status;
    bool more = true;
    Element part;
    for (const IteratorPtr& input : inputs_) {
      part.clear();
      const StatusOr<bool> got = input->Next(&part);
      if (!got.ok()) {
        if (status.ok()) status = got.status();
        continue;
      }
      if (!*got) {
        more = false;
        break;
      }
      for (Tensor& component : part) out->push_back(std::move(component));
    }
    if (!more) {
      inputs_.clear();
      out->clear();
      return false;
    }
    TFLEET_RETURN_IF_ERROR(status);
    return true;
  }
  Status Save(StateWriter& to) override {
    to.PutInt("is_over", inputs_.empty());
    for (size_t i = 0; i < inputs_.size(); ++i) {
      TFLEET_RETURN_IF_ERROR(SaveInput(to, absl::StrCat("input", i), inputs_[i].get()));
    }
    return OkStatus();
  }
  Status Restore(StateReader& from) override {
    TFLEET_ASSIGN_OR_RETURN(const int64_t is_over, from.GetInt("is_over"));
    if (is_over != 0) inputs_.clear();
    for (size_t i = 0; i < inputs_.size(); ++i) {
      TFLEET_RETURN_IF_ERROR(RestoreInput(from, absl::StrCat("input", i), dataset_->inputs()[i],
                                          scope_, depth_, &inputs_[i]));
      if (inputs_[i] == nullptr) return InvalidArgument("the saved iterator lacks input ", i);
    }
    return OkStatus();
  }

 private:
  const std::shared_ptr<const Zip> dataset_;
  IteratorScope& scope_;
  const int depth_;
  std::vector<IteratorPtr> inputs_;  // none at the end
};

StatusOr<IteratorPtr> Zip::MakeIterator(IteratorScope& scope, int depth) const {
  auto iterator = std::make_unique<ZipIterator>(this, scope, depth);
  TFLEET_RETURN_IF_ERROR(iterator->Open());
  return IteratorPtr(std::move(iterator));
}

class ZipKernel final : public DatasetKernel {
 public:
  using DatasetKernel::DatasetKernel;

 private:
  StatusOr<DatasetRef> Make(KernelContext& ctx) const override {
    std::vector<DatasetRef> inputs;
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      TFLEET_ASSIGN_OR_RETURN(inputs.emplace_back(), DatasetInput(ctx, i));
    }
    return std::make_shared<Zip>(std::move(inputs));
  }
};

}  // namespace

void RegisterZipKernels(KernelRegistry& kernels) { kernels.Add<ZipKernel>("ZipDataset", kCpu); }

}  // namespace tensorfleet::data
