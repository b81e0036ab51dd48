// ShuffleDataset and ShuffleAndRepeatDataset: elements in a random order, out of a buffer. The
// order for given seeds is TensorFlow's: the element to give is drawn from the oldest round through
// the input that is in the buffer, and the first one of that round takes its place.
#include <deque>

#include "absl/strings/match.h"
#include "runtime/data/dataset_kernel.h"
#include "runtime/data/element_ring.h"
#include "runtime/data/families.h"
#include "runtime/data/seeds.h"
#include "runtime/data/unary_iterator.h"

namespace tensorfleet::data {
namespace {

class Shuffle final : public Dataset {
 public:
  // `buffer_size` may be kUnknownCardinality: all elements. `count` rounds, below 0 for ever.
  Shuffle(DatasetRef input, int64_t buffer_size, int64_t count, SeedGeneratorRef seeds)
      : Dataset(input->type(), {input}),
        buffer_size_(buffer_size),
        count_(count),
        seeds_(std::move(seeds)) {}
  int64_t buffer_size() const { return buffer_size_; }
  int64_t count() const { return count_; }
  SeedGenerator& seeds() const { return *seeds_; }
  int64_t Cardinality() const override {
    return TimesCardinality(input()->Cardinality(), count_ < 0 ? kInfinite : count_);
  }

 private:
  StatusOr<IteratorPtr> MakeIterator(IteratorScope& scope, int depth) const override;
  const int64_t buffer_size_;
  const int64_t count_;
  const SeedGeneratorRef seeds_;
};

class ShuffleIterator final : public UnaryIterator<Shuffle> {
 public:
  ShuffleIterator(const Shuffle* dataset, IteratorScope& scope, int depth)
      : UnaryIterator(dataset, scope, depth), random_(dataset->seeds().Next()) {}
  Status Open() override { return OkStatus(); }
  bool MayWait() const override {
    // One element for one, once the buffer is full.
    return input_ == nullptr ? WantsMore() : input_->MayWait() || !was_filled_;
  }
  StatusOr<bool> Next(Element* out) override {
    TFLEET_RETURN_IF_ERROR(Fill());
    was_filled_ = true;
    if (buffer_.empty()) return false;
    while (rounds_.front() == 0) {
      rounds_.pop_front();
      random_ = RandomWords(dataset_->seeds().Next());  // each round has its own
    }
    const int64_t drawn = random_.Next() % static_cast<uint64_t>(rounds_.front());
    *out = std::move(buffer_.at(drawn));
    std::swap(buffer_.at(drawn), buffer_.at(0));
    buffer_.PopFront();
    --rounds_.front();
    return true;
  }

  Status Save(StateWriter& to) override {
    to.PutInt("seed", random_.seeds().seed);
    to.PutInt("seed2", random_.seeds().seed2);
    to.PutInt("drawn", random_.taken());
    to.PutInt("seeds_taken", dataset_->seeds().taken());
    to.PutInt("round", round_);
    to.PutInt("any", any_);
    to.PutInt("rounds_count", static_cast<int64_t>(rounds_.size()));
    for (size_t i = 0; i < rounds_.size(); ++i) to.PutInt(absl::StrCat("rounds", i), rounds_[i]);
    to.PutInt("buffer_count", buffer_.size());
    for (int64_t i = 0; i < buffer_.size(); ++i) {
      to.PutElement(absl::StrCat("buffer_", i), buffer_.at(i));
    }
    return UnaryIterator::Save(to);
  }
  Status Restore(StateReader& from) override {
    Seeds seeds;
    TFLEET_ASSIGN_OR_RETURN(seeds.seed, from.GetInt("seed"));
    TFLEET_ASSIGN_OR_RETURN(seeds.seed2, from.GetInt("seed2"));
    TFLEET_ASSIGN_OR_RETURN(const int64_t drawn, from.GetInt("drawn"));
    TFLEET_ASSIGN_OR_RETURN(const int64_t seeds_taken, from.GetInt("seeds_taken"));
    if (drawn < 0 || seeds_taken < 0) {
      return InvalidArgument("the saved iterator has drawn ", drawn, " numbers");
    }
    random_ = RandomWords(seeds, drawn);
    dataset_->seeds().Restore(seeds_taken);
    TFLEET_ASSIGN_OR_RETURN(round_, from.GetInt("round"));
    TFLEET_ASSIGN_OR_RETURN(any_, from.GetInt("any"));
    TFLEET_ASSIGN_OR_RETURN(const int64_t rounds, from.GetCount("rounds_count"));
    TFLEET_ASSIGN_OR_RETURN(auto elements, from.GetElements("buffer", dataset_->type().types));
    rounds_.clear();
    int64_t left = static_cast<int64_t>(elements.size());
    for (int64_t i = 0; i < rounds; ++i) {
      TFLEET_ASSIGN_OR_RETURN(const int64_t size, from.GetInt(absl::StrCat("rounds", i)));
      if (size < 0 || size > left) return InvalidArgument("the saved shuffle buffer is damaged");
      rounds_.push_back(size);
      left -= size;
    }
    if (left != 0) return InvalidArgument("the saved shuffle buffer is damaged");
    buffer_ = ElementRing();
    for (Element& element : elements) TFLEET_RETURN_IF_ERROR(buffer_.Push(std::move(element)));
    return UnaryIterator::Restore(from);
  }

 private:
  // More rounds are not put into the buffer at once: so it holds no more than these few times the
  // elements that there are.
  static constexpr size_t kMaxRounds = 3;

  bool WantsMore() const {
    if (input_ == nullptr && dataset_->count() >= 0 && round_ >= dataset_->count()) return false;
    if (rounds_.size() > kMaxRounds && !buffer_.empty()) return false;
    // All elements of one round, and only then those of the next.
    if (dataset_->buffer_size() < 0) return input_ != nullptr || buffer_.empty();
    return buffer_.size() < dataset_->buffer_size();
  }
  Status Fill() {
    while (WantsMore()) {
      TFLEET_RETURN_IF_ERROR(scope_.CheckCancelled());
      if (input_ == nullptr) {
        TFLEET_RETURN_IF_ERROR(OpenInput());
        rounds_.push_back(0);
        ++round_;
      }
      Element element;
      TFLEET_ASSIGN_OR_RETURN(const bool more, NextInput(&element));
      if (more) {
        any_ = true;
        TFLEET_RETURN_IF_ERROR(buffer_.Push(std::move(element)));
        ++rounds_.back();
      } else if (!any_ && dataset_->count() < 0) {
        break;  // an empty input, for ever
      }
    }
    return OkStatus();
  }

  RandomWords random_;
  ElementRing buffer_;
  std::deque<int64_t> rounds_;  // how many elements of each round are in the buffer, oldest first
  int64_t round_ = 0;           // begun
  bool any_ = false;
  bool was_filled_ = false;
};

StatusOr<IteratorPtr> Shuffle::MakeIterator(IteratorScope& scope, int depth) const {
  return Opened<ShuffleIterator>(this, scope, depth);
}

// Inputs: input_dataset, buffer_size, then seed and seed2 but for the second version of Shuffle,
// then count, where it repeats, then seed_generator from the second versions on.
class ShuffleKernel final : public DatasetKernel {
 public:
  explicit ShuffleKernel(KernelInit& init) : DatasetKernel(init) {
    const std::string& op = init.node().op();
    repeats_ = absl::StartsWith(op, "ShuffleAndRepeat");
    has_seeds_ = op != "ShuffleDatasetV2";
    has_generator_ = absl::EndsWith(op, "V2") || absl::EndsWith(op, "V3");
    if (FindAttr(init.def(), "reshuffle_each_iteration") != nullptr) {
      init.Get("reshuffle_each_iteration", &reshuffles_);
    }
  }

 private:
  StatusOr<DatasetRef> Make(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(DatasetRef input, DatasetInput(ctx, 0));
    TFLEET_ASSIGN_OR_RETURN(const int64_t buffer_size, ScalarInput<int64_t>(ctx, 1, "buffer_size"));
    if (buffer_size < 1 && buffer_size != kUnknownCardinality) {
      return InvalidArgument("buffer_size must be greater than zero or UNKNOWN_CARDINALITY");
    }
    int next = 2;
    int64_t seed = 0, seed2 = 0, count = 1;
    if (has_seeds_) {
      TFLEET_ASSIGN_OR_RETURN(seed, ScalarInput<int64_t>(ctx, next++, "seed"));
      TFLEET_ASSIGN_OR_RETURN(seed2, ScalarInput<int64_t>(ctx, next++, "seed2"));
    }
    if (repeats_) {
      TFLEET_ASSIGN_OR_RETURN(count, ScalarInput<int64_t>(ctx, next++, "count"));
      if (count < 1 && count != -1) {
        return InvalidArgument("count must be greater than zero or equal to -1.");
      }
    }
    SeedGeneratorRef generator;
    if (has_generator_) {
      StatusOr<SeedGeneratorRef> given = LookupResource<SeedGenerator>(ctx, next);
      if (given.ok()) {
        generator = *std::move(given);
      } else if (!has_seeds_ || !absl::IsNotFound(given.status())) {
        return given.status();
      }
    }
    if (!generator) {
      generator =
          SeedGeneratorRef::Adopt(new SeedGenerator(Seeds::OrRandom(seed, seed2), reshuffles_));
    }
    return std::make_shared<Shuffle>(std::move(input), buffer_size, count, std::move(generator));
  }

  bool repeats_ = false, has_seeds_ = true, has_generator_ = false;
  bool reshuffles_ = true;
};

}  // namespace

void RegisterShuffleKernels(KernelRegistry& kernels) {
  for (const char* op : {"ShuffleDataset", "ShuffleDatasetV2", "ShuffleDatasetV3",
                         "ShuffleAndRepeatDataset", "ShuffleAndRepeatDatasetV2"}) {
    kernels.Add<ShuffleKernel>(op, kCpu);
  }
}

}  // namespace tensorfleet::data
