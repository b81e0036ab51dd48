// PrefetchDataset: elements made ahead, by a thread of its own.
#include <deque>

#include "runtime/base/contain.h"
#include "runtime/data/composed.h"
#include "runtime/data/dataset_kernel.h"
#include "runtime/data/families.h"
#include "runtime/data/iterator.h"
#include "runtime/data/scope_work.h"

namespace tensorfleet::data {
namespace {

// Where the graph leaves the size open: the buffer grows while whoever takes finds it empty, up to
// so many elements or bytes.
constexpr int64_t kMostElements = 512;
constexpr int64_t kMostBytes = int64_t{64} << 20;

class Prefetch final : public Dataset {
 public:
  Prefetch(DatasetRef input, int64_t size, int64_t least)
      : Dataset(input->type(), {input}), size_(size), least_(least) {}
  int64_t size() const { return size_; }
  int64_t least() const { return least_; }
  int64_t Cardinality() const override { return input()->Cardinality(); }

 private:
  StatusOr<IteratorPtr> MakeIterator(IteratorScope& scope, int depth) const override;
  const int64_t size_;  // kAutotune: open
  const int64_t least_;
};

int64_t BytesOf(const Element& element) {
  int64_t bytes = 0;
  for (const Tensor& component : element) bytes += static_cast<int64_t>(component.total_bytes());
  return bytes;
}

class PrefetchIterator final : public Iterator {
 public:
  PrefetchIterator(const Prefetch* dataset, IteratorScope& scope, int depth)
      : dataset_(Kept(dataset)),
        scope_(scope),
        depth_(depth),
        wake_(scope_, &mu_, &changed_),
        limit_(dataset->size() == kAutotune ? std::max<int64_t>(2, dataset->least())
                                            : dataset->size()) {}
  ~PrefetchIterator() override { scope_.cancellation().StartCancel(Cancelled("not needed")); }

  Status Open() {
    TFLEET_ASSIGN_OR_RETURN(input_, InputIterator(dataset_->input(), scope_, depth_));
    return OkStatus();
  }
  bool MayWait() const override { return true; }

  bool TryNext(Element* out, StatusOr<bool>* result) override {
    MutexLock lock(&mu_);
    if (buffer_.empty()) return false;
    *result = Take(out);
    return true;
  }

  StatusOr<bool> Next(Element* out) override {
    MutexLock lock(&mu_);
    if (!is_started_) {
      TFLEET_RETURN_IF_ERROR(scope_.StartWork(&background_, [this] { Fill(); }));
      is_started_ = true;
    } else if (buffer_.empty() && was_full_ && dataset_->size() == kAutotune) {
      if (limit_ < kMostElements && full_bytes_ < kMostBytes / 2) limit_ *= 2;
      was_full_ = false;
      changed_.NotifyAll();
    }
    while (buffer_.empty()) {
      if (is_over_) return false;
      TFLEET_RETURN_IF_ERROR(scope_.CheckCancelled());
      changed_.Wait(&mu_);
    }
    return Take(out);
  }

  Status Save(StateWriter& to) override {
    MutexLock lock(&mu_);
    is_saving_ = true;
    Status status;
    while (status.ok() && is_taking_) {
      changed_.WaitFor(&mu_, StateWriter::kMoment);
      status = to.CheckCancelled();
    }
    if (status.ok()) status = SaveAll(to);
    is_saving_ = false;
    changed_.NotifyAll();
    return status;
  }
  Status Restore(StateReader& from) override {
    MutexLock lock(&mu_);
    TFLEET_ASSIGN_OR_RETURN(is_over_, from.GetInt("is_over"));
    TFLEET_ASSIGN_OR_RETURN(const int64_t count, from.GetCount("buffer_count"));
    for (int64_t i = 0; i < count; ++i) {
      const std::string name = absl::StrCat("buffer", i);
      Result result;
      TFLEET_RETURN_IF_ERROR(from.GetStatus(name, &result.status));
      if (result.status.ok()) {
        TFLEET_ASSIGN_OR_RETURN(result.element, from.GetElement(name, dataset_->type().types));
      }
      buffer_.push_back(std::move(result));
    }
    return RestoreInput(from, "input", dataset_->input(), scope_, depth_, &input_);
  }

 private:
  struct Result {
    Status status;
    Element element;
  };

  StatusOr<bool> Take(Element* out) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    Result result = std::move(buffer_.front());
    buffer_.pop_front();
    changed_.NotifyAll();
    TFLEET_RETURN_IF_ERROR(result.status);
    bytes_ -= BytesOf(result.element);
    *out = std::move(result.element);
    return true;
  }

  Status SaveAll(StateWriter& to) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    to.PutInt("is_over", is_over_);
    to.PutInt("buffer_count", static_cast<int64_t>(buffer_.size()));
    for (size_t i = 0; i < buffer_.size(); ++i) {
      to.PutStatus(absl::StrCat("buffer", i), buffer_[i].status);
      if (buffer_[i].status.ok()) to.PutElement(absl::StrCat("buffer", i), buffer_[i].element);
    }
    return SaveInput(to, "input", input_.get());
  }

  // The background thread.
  void Fill() {
    MutexLock lock(&mu_);
    while (!is_over_ && !scope_.cancellation().is_cancelled()) {
      const bool is_full = static_cast<int64_t>(buffer_.size()) >= limit_;
      if (is_full || is_saving_) {
        was_full_ |= is_full;
        full_bytes_ = bytes_;
        changed_.Wait(&mu_);
        continue;
      }
      is_taking_ = true;
      mu_.Unlock();
      Result result;
      const StatusOr<bool> more = Contained([&]() -> StatusOr<bool> {
        if (input_ == nullptr) return false;
        return input_->Next(&result.element);
      });
      mu_.Lock();
      is_taking_ = false;
      result.status = more.status();
      if (more.ok() && !*more) {
        is_over_ = true;
        input_.reset();
      } else {
        if (more.ok()) bytes_ += BytesOf(result.element);
        buffer_.push_back(std::move(result));
      }
      changed_.NotifyAll();
    }
  }

  const std::shared_ptr<const Prefetch> dataset_;
  IteratorScope scope_;
  const int depth_;
  IteratorPtr input_;  // used by whoever is taking
  Mutex mu_;
  CondVar changed_;
  const WakeOnCancel wake_;
  bool is_started_ ABSL_GUARDED_BY(mu_) = false;
  bool is_taking_ ABSL_GUARDED_BY(mu_) = false;
  bool is_saving_ ABSL_GUARDED_BY(mu_) = false;
  bool is_over_ ABSL_GUARDED_BY(mu_) = false;
  int64_t limit_ ABSL_GUARDED_BY(mu_);
  bool was_full_ ABSL_GUARDED_BY(mu_) = false;
  int64_t bytes_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t full_bytes_ ABSL_GUARDED_BY(mu_) = 0;
  std::deque<Result> buffer_ ABSL_GUARDED_BY(mu_);
  Background background_;  // joined before anything else goes
};

StatusOr<IteratorPtr> Prefetch::MakeIterator(IteratorScope& scope, int depth) const {
  if (size_ == 0) return InputIterator(input(), scope, depth);
  auto iterator = std::make_unique<PrefetchIterator>(this, scope, depth);
  TFLEET_RETURN_IF_ERROR(iterator->Open());
  return IteratorPtr(std::move(iterator));
}

class PrefetchKernel final : public DatasetKernel {
 public:
  explicit PrefetchKernel(KernelInit& init) : DatasetKernel(init) {
    init.Get("buffer_size_min", &least_);
  }

 private:
  StatusOr<DatasetRef> Make(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(DatasetRef input, DatasetInput(ctx, 0));
    TFLEET_ASSIGN_OR_RETURN(const int64_t size, ScalarInput<int64_t>(ctx, 1, "buffer_size"));
    if (size < 0 && size != kAutotune) {
      return InvalidArgument("buffer_size must be >= 0 or set buffer_size to be ", kAutotune,
                             " for auto-tuning");
    }
    return std::make_shared<Prefetch>(std::move(input), size, std::min(least_, kMostElements));
  }
  int64_t least_ = 0;
};

}  // namespace

DatasetRef MakePrefetch(DatasetRef input, int64_t size) {
  return std::make_shared<Prefetch>(std::move(input), size, 0);
}

void RegisterPrefetchKernels(KernelRegistry& kernels) {
  kernels.Add<PrefetchKernel>("PrefetchDataset", kCpu);
}

}  // namespace tensorfleet::data
