// Data sets that pick elements of their input: ShardDataset, SamplingDataset, TakeWhileDataset,
// UniqueDataset, IgnoreErrorsDataset.
#include <cstring>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "runtime/base/log.h"
#include "runtime/data/dataset_kernel.h"
#include "runtime/data/families.h"
#include "runtime/data/predicate.h"
#include "runtime/data/seeds.h"
#include "runtime/data/unary_iterator.h"

namespace tensorfleet::data {
namespace {

// Every n-th element.
class Shard final : public Dataset {
 public:
  Shard(DatasetRef input, int64_t count, int64_t index, bool require_non_empty)
      : Dataset(input->type(), {input}),
        count_(count),
        index_(index),
        require_non_empty_(require_non_empty) {}
  int64_t count() const { return count_; }
  int64_t index() const { return index_; }
  bool require_non_empty() const { return require_non_empty_; }
  int64_t Cardinality() const override {
    const int64_t n = input()->Cardinality();
    return n < 0 ? n : n / count_ + (index_ < n % count_);
  }

 private:
  StatusOr<IteratorPtr> MakeIterator(IteratorScope& scope, int depth) const override;
  const int64_t count_;
  const int64_t index_;
  const bool require_non_empty_;
};

class ShardIterator final : public UnaryIterator<Shard> {
 public:
  using UnaryIterator::UnaryIterator;
  bool MayWait() const override { return input_ != nullptr; }
  StatusOr<bool> Next(Element* out) override {
    if (input_ == nullptr) return false;
    const int64_t before = is_first_ ? dataset_->index() : dataset_->count() - 1;
    for (int64_t skipped = 0; skipped < before;) {
      TFLEET_RETURN_IF_ERROR(scope_.CheckCancelled());
      const int64_t piece = std::min<int64_t>(before - skipped, 1000);
      TFLEET_ASSIGN_OR_RETURN(const bool more, input_->Skip(piece));
      if (!more) return End();
      skipped += piece;
    }
    TFLEET_ASSIGN_OR_RETURN(const bool more, input_->Next(out));
    if (!more) return End();
    is_first_ = false;
    return true;
  }
  Status Save(StateWriter& to) override {
    to.PutInt("is_first", is_first_);
    return UnaryIterator::Save(to);
  }
  Status Restore(StateReader& from) override {
    TFLEET_ASSIGN_OR_RETURN(is_first_, from.GetInt("is_first"));
    return UnaryIterator::Restore(from);
  }

 private:
  StatusOr<bool> End() {
    input_.reset();
    if (is_first_ && dataset_->require_non_empty()) {
      return InvalidArgument(
          "Could not apply FILE based sharding: the dataset has fewer elements "
          "than ",
          dataset_->count(), " shards; there is none for shard ", dataset_->index());
    }
    return false;
  }
  bool is_first_ = true;
};

// Each element with a probability.
class Sampling final : public Dataset {
 public:
  Sampling(DatasetRef input, float rate, Seeds seeds)
      : Dataset(input->type(), {input}), rate_(rate), seeds_(seeds) {}
  float rate() const { return rate_; }
  const Seeds& seeds() const { return seeds_; }

 private:
  StatusOr<IteratorPtr> MakeIterator(IteratorScope& scope, int depth) const override;
  const float rate_;
  const Seeds seeds_;
};

class SamplingIterator final : public UnaryIterator<Sampling> {
 public:
  SamplingIterator(const Sampling* dataset, IteratorScope& scope, int depth)
      : UnaryIterator(dataset, scope, depth), random_(dataset->seeds()) {}
  bool MayWait() const override { return input_ != nullptr; }
  StatusOr<bool> Next(Element* out) override {
    while (true) {
      TFLEET_RETURN_IF_ERROR(scope_.CheckCancelled());
      TFLEET_ASSIGN_OR_RETURN(const bool more, NextInput(out));
      if (!more) return false;
      // 23 bits of the number become a float in [1, 2).
      const uint32_t bits = (random_.Next() & 0x7fffff) | 0x3f800000;
      float value;
      std::memcpy(&value, &bits, sizeof value);
      if (value - 1.0f < dataset_->rate()) return true;
    }
  }
  Status Save(StateWriter& to) override {
    to.PutInt("seed", random_.seeds().seed);
    to.PutInt("seed2", random_.seeds().seed2);
    to.PutInt("drawn", random_.taken());
    return UnaryIterator::Save(to);
  }
  Status Restore(StateReader& from) override {
    Seeds seeds;
    TFLEET_ASSIGN_OR_RETURN(seeds.seed, from.GetInt("seed"));
    TFLEET_ASSIGN_OR_RETURN(seeds.seed2, from.GetInt("seed2"));
    TFLEET_ASSIGN_OR_RETURN(const int64_t drawn, from.GetInt("drawn"));
    if (drawn < 0) return InvalidArgument("the saved iterator has drawn ", drawn, " numbers");
    random_ = RandomWords(seeds, drawn);
    return UnaryIterator::Restore(from);
  }

 private:
  RandomWords random_;
};

// Up to the first element that a function says no to.
class TakeWhile final : public Dataset {
 public:
  TakeWhile(DatasetRef input, CapturedFunctionRef predicate)
      : Dataset(input->type(), {input}), predicate_(std::move(predicate)) {}
  const CapturedFunctionRef& predicate() const { return predicate_; }

 private:
  StatusOr<IteratorPtr> MakeIterator(IteratorScope& scope, int depth) const override;
  const CapturedFunctionRef predicate_;
};

class TakeWhileIterator final : public UnaryIterator<TakeWhile> {
 public:
  using UnaryIterator::UnaryIterator;
  Status Open() override {
    TFLEET_ASSIGN_OR_RETURN(predicate_, scope_.Bind(dataset_->predicate()));
    return OpenInput();
  }
  bool MayWait() const override { return true; }
  StatusOr<bool> Next(Element* out) override {
    TFLEET_ASSIGN_OR_RETURN(const bool more, NextInput(out));
    if (!more) return false;
    const StatusOr<bool> passes = SaysYes(predicate_, *out);
    if (passes.ok() && *passes) return true;
    if (!passes.ok() && !absl::IsOutOfRange(passes.status())) return passes.status();
    input_.reset();
    return false;
  }

 private:
  BoundFunction predicate_;
};

// The first of equal elements.
class Unique final : public Dataset {
 public:
  explicit Unique(DatasetRef input) : Dataset(input->type(), {input}) {}

 private:
  StatusOr<IteratorPtr> MakeIterator(IteratorScope& scope, int depth) const override;
};

class UniqueIterator final : public UnaryIterator<Unique> {
 public:
  using UnaryIterator::UnaryIterator;
  bool MayWait() const override { return input_ != nullptr; }
  StatusOr<bool> Next(Element* out) override {
    while (true) {
      TFLEET_RETURN_IF_ERROR(scope_.CheckCancelled());
      TFLEET_ASSIGN_OR_RETURN(const bool more, NextInput(out));
      if (!more) {
        seen_.clear();
        return false;
      }
      if (seen_.size() == room_) {
        room_ = 2 * room_ + 1024;
        TFLEET_RETURN_IF_ERROR(CheckWorkSpace(static_cast<int64_t>(room_), 64));
      }
      if (seen_.insert(KeyOf((*out)[0])).second) return true;
    }
  }
  Status Save(StateWriter& to) override {
    std::vector<std::string> seen(seen_.begin(), seen_.end());
    to.Put("seen", Tensor::Vector<std::string>(absl::MakeConstSpan(seen)));
    return UnaryIterator::Save(to);
  }
  Status Restore(StateReader& from) override {
    TFLEET_ASSIGN_OR_RETURN(const Tensor seen, from.Get("seen"));
    if (seen.dtype() != DType::kString) {
      return InvalidArgument("what the saved iterator has seen is not a list of keys");
    }
    const auto keys = seen.values<std::string>();
    seen_.clear();
    seen_.insert(keys.begin(), keys.end());
    return UnaryIterator::Restore(from);
  }

 private:
  // The bytes of the value, with its shape.
  static std::string KeyOf(const Tensor& value) {
    std::string key = value.shape().ToString();
    if (value.dtype() == DType::kString) {
      for (const std::string& s : value.values<std::string>()) {
        absl::StrAppend(&key, s.size(), ":", s);
      }
    } else {
      key.append(static_cast<const char*>(value.raw()), value.bytes());
    }
    return key;
  }

  absl::flat_hash_set<std::string> seen_;
  size_t room_ = 0;
};

// Without the elements that fail.
class IgnoreErrors final : public Dataset {
 public:
  IgnoreErrors(DatasetRef input, bool logs) : Dataset(input->type(), {input}), logs_(logs) {}
  bool logs() const { return logs_; }

 private:
  StatusOr<IteratorPtr> MakeIterator(IteratorScope& scope, int depth) const override;
  const bool logs_;
};

class IgnoreErrorsIterator final : public UnaryIterator<IgnoreErrors> {
 public:
  using UnaryIterator::UnaryIterator;
  bool MayWait() const override { return input_ != nullptr; }
  StatusOr<bool> Next(Element* out) override {
    while (true) {
      TFLEET_RETURN_IF_ERROR(scope_.CheckCancelled());
      const StatusOr<bool> more = NextInput(out);
      if (more.ok()) return more;
      TFLEET_RETURN_IF_ERROR(scope_.CheckCancelled());
      if (dataset_->logs()) {
        LogWarning("An element of a data set is left out", {{"error", more.status().ToString()}});
      }
    }
  }
};

StatusOr<IteratorPtr> Shard::MakeIterator(IteratorScope& scope, int depth) const {
  return Opened<ShardIterator>(this, scope, depth);
}
StatusOr<IteratorPtr> Sampling::MakeIterator(IteratorScope& scope, int depth) const {
  return Opened<SamplingIterator>(this, scope, depth);
}
StatusOr<IteratorPtr> TakeWhile::MakeIterator(IteratorScope& scope, int depth) const {
  return Opened<TakeWhileIterator>(this, scope, depth);
}
StatusOr<IteratorPtr> Unique::MakeIterator(IteratorScope& scope, int depth) const {
  return Opened<UniqueIterator>(this, scope, depth);
}
StatusOr<IteratorPtr> IgnoreErrors::MakeIterator(IteratorScope& scope, int depth) const {
  return Opened<IgnoreErrorsIterator>(this, scope, depth);
}

class ShardKernel final : public DatasetKernel {
 public:
  explicit ShardKernel(KernelInit& init) : DatasetKernel(init) {
    init.Get("require_non_empty", &require_non_empty_);
  }

 private:
  StatusOr<DatasetRef> Make(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(DatasetRef input, DatasetInput(ctx, 0));
    TFLEET_ASSIGN_OR_RETURN(const int64_t count, ScalarInput<int64_t>(ctx, 1, "num_shards"));
    TFLEET_ASSIGN_OR_RETURN(const int64_t index, ScalarInput<int64_t>(ctx, 2, "index"));
    if (count < 1) {
      return InvalidArgument(
          "Number of shards must be greater than zero (currently num_shards = ", count, ").");
    }
    if (index < 0 || index >= count) {
      return InvalidArgument("Index must be between 0 and ", count - 1,
                             " (currently index = ", index, ", num_shards = ", count, ").");
    }
    return std::make_shared<Shard>(std::move(input), count, index, require_non_empty_);
  }
  bool require_non_empty_ = false;
};

class SamplingKernel final : public DatasetKernel {
 public:
  using DatasetKernel::DatasetKernel;

 private:
  StatusOr<DatasetRef> Make(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(DatasetRef input, DatasetInput(ctx, 0));
    TFLEET_ASSIGN_OR_RETURN(const float rate, ScalarInput<float>(ctx, 1, "rate"));
    TFLEET_ASSIGN_OR_RETURN(const int64_t seed, ScalarInput<int64_t>(ctx, 2, "seed"));
    TFLEET_ASSIGN_OR_RETURN(const int64_t seed2, ScalarInput<int64_t>(ctx, 3, "seed2"));
    return std::make_shared<Sampling>(std::move(input), rate, Seeds::OrRandom(seed, seed2));
  }
};

class TakeWhileKernel final : public DatasetKernel {
 public:
  explicit TakeWhileKernel(KernelInit& init)
      : DatasetKernel(init), predicate_(init, "predicate", "other_arguments") {}

 private:
  StatusOr<DatasetRef> Make(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(DatasetRef input, DatasetInput(ctx, 0));
    return std::make_shared<TakeWhile>(std::move(input), predicate_.Capture(ctx));
  }
  const FunctionAttr predicate_;
};

class UniqueKernel final : public DatasetKernel {
 public:
  using DatasetKernel::DatasetKernel;

 private:
  StatusOr<DatasetRef> Make(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(DatasetRef input, DatasetInput(ctx, 0));
    if (input->type().size() != 1) {
      return InvalidArgument("UniqueDataset only supports inputs with a single component.");
    }
    const DType type = input->type().types[0];
    if (type != DType::kInt32 && type != DType::kInt64 && type != DType::kString) {
      return InvalidArgument(
          "UniqueDataset only supports inputs with a single `tf.int32`, `tf.int64`, or "
          "`tf.string` component.");
    }
    return std::make_shared<Unique>(std::move(input));
  }
};

class IgnoreErrorsKernel final : public DatasetKernel {
 public:
  explicit IgnoreErrorsKernel(KernelInit& init) : DatasetKernel(init) {
    init.Get("log_warning", &logs_);
  }

 private:
  StatusOr<DatasetRef> Make(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(DatasetRef input, DatasetInput(ctx, 0));
    return std::make_shared<IgnoreErrors>(std::move(input), logs_);
  }
  bool logs_ = false;
};

}  // namespace

void RegisterSelectingKernels(KernelRegistry& kernels) {
  kernels.Add<ShardKernel>("ShardDataset", kCpu);
  kernels.Add<SamplingKernel>("SamplingDataset", kCpu);
  for (const char* prefix : {"", "Experimental"}) {
    const std::string before(prefix);
    kernels.Add<TakeWhileKernel>(before + "TakeWhileDataset", kCpu);
    kernels.Add<UniqueKernel>(before + "UniqueDataset", kCpu);
    kernels.Add<IgnoreErrorsKernel>(before + "IgnoreErrorsDataset", kCpu);
  }
}

}  // namespace tensorfleet::data
