// CacheDataset in memory: the elements of the first whole run are kept for the next ones.
#include "runtime/data/memory_cache.h"
#include "runtime/data/composed.h"
#include "runtime/data/dataset_kernel.h"
#include "runtime/data/families.h"
#include "runtime/data/unary_iterator.h"

namespace tensorfleet::data {
namespace {

class Cached final : public Dataset {
 public:
  Cached(DatasetRef input, MemoryCacheRef cache)
      : Dataset(input->type(), {input}), cache_(std::move(cache)) {}
  MemoryCache& cache() const { return *cache_; }
  int64_t Cardinality() const override { return input()->Cardinality(); }

 private:
  StatusOr<IteratorPtr> MakeIterator(IteratorScope& scope, int depth) const override;
  const MemoryCacheRef cache_;
};

class CachedIterator final : public UnaryIterator<Cached> {
 public:
  using UnaryIterator::UnaryIterator;
  Status Open() override {
    whole_ = dataset_->cache().whole();
    return whole_ != nullptr ? OkStatus() : OpenInput();
  }
  StatusOr<bool> Next(Element* out) override {
    if (whole_ != nullptr) {
      if (at_ >= whole_->size()) return false;
      // Written by another run, perhaps through a graph whose elements are others.
      TFLEET_RETURN_IF_ERROR(CheckTypes(whole_->at(at_), dataset_->type().types));
      *out = whole_->at(at_++);
      return true;
    }
    if (input_ == nullptr) return false;
    TFLEET_ASSIGN_OR_RETURN(const bool more, NextInput(out));
    if (more) {
      TFLEET_RETURN_IF_ERROR(read_.Push(*out));
      return true;
    }
    std::vector<Element> all;
    for (int64_t i = 0; i < read_.size(); ++i) all.push_back(std::move(read_.at(i)));
    read_ = ElementRing();
    dataset_->cache().Complete(std::move(all));
    return false;
  }

  // With the elements: who goes on from here has another cache.
  Status Save(StateWriter& to) override {
    to.PutInt("is_whole", whole_ != nullptr);
    to.PutInt("at", static_cast<int64_t>(at_));
    if (whole_ != nullptr) {
      to.PutElements("elements", *whole_);
      return OkStatus();
    }
    std::vector<Element> read;
    for (int64_t i = 0; i < read_.size(); ++i) read.push_back(read_.at(i));
    to.PutElements("elements", read);
    return UnaryIterator::Save(to);
  }
  Status Restore(StateReader& from) override {
    TFLEET_ASSIGN_OR_RETURN(const int64_t is_whole, from.GetInt("is_whole"));
    TFLEET_ASSIGN_OR_RETURN(const int64_t at, from.GetInt("at"));
    TFLEET_ASSIGN_OR_RETURN(std::vector<Element> elements,
                            from.GetElements("elements", dataset_->type().types));
    read_ = ElementRing();
    if (is_whole == 0) {
      whole_ = nullptr;
      for (Element& element : elements) TFLEET_RETURN_IF_ERROR(read_.Push(std::move(element)));
      return UnaryIterator::Restore(from);
    }
    if (at < 0) return InvalidArgument("the saved iterator reads element ", at, " of its cache");
    at_ = at;
    input_.reset();
    dataset_->cache().Complete(std::move(elements));
    whole_ = dataset_->cache().whole();
    return OkStatus();
  }

 private:
  std::shared_ptr<const std::vector<Element>> whole_;  // read from, when there
  size_t at_ = 0;
  ElementRing read_;  // of the input, so far
};

StatusOr<IteratorPtr> Cached::MakeIterator(IteratorScope& scope, int depth) const {
  return Opened<CachedIterator>(this, scope, depth);
}

class CacheKernel final : public DatasetKernel {
 public:
  using DatasetKernel::DatasetKernel;

 private:
  StatusOr<DatasetRef> Make(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(DatasetRef input, DatasetInput(ctx, 0));
    TFLEET_ASSIGN_OR_RETURN(const std::string file, ScalarInput<std::string>(ctx, 1, "filename"));
    if (!file.empty()) return MakeFileCache(std::move(input), file);
    MemoryCacheRef cache;
    if (ctx.num_inputs() > 2) {
      StatusOr<MemoryCacheRef> given = LookupResource<MemoryCache>(ctx, 2);
      if (given.ok()) {
        cache = *std::move(given);
      } else if (!absl::IsNotFound(given.status())) {
        return given.status();
      }
    }
    if (!cache) cache = MemoryCacheRef::Adopt(new MemoryCache);
    return std::make_shared<Cached>(std::move(input), std::move(cache));
  }
};

}  // namespace

void RegisterMemoryCacheKernels(KernelRegistry& kernels) {
  kernels.Add<CacheKernel>("CacheDataset", kCpu);
  kernels.Add<CacheKernel>("CacheDatasetV2", kCpu);
}

}  // namespace tensorfleet::data
