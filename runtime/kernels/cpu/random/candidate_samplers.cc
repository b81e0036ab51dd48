// Classes to compare the true ones with, for losses over many classes. Schemas:
// runtime/ops/random/sampler_ops.cc; how they are picked: candidate_pickers.h.
#include <cfloat>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "runtime/io/file_system.h"
#include "runtime/kernels/cpu/random/candidate_pickers.h"
#include "runtime/kernels/cpu/random/generator.h"
#include "runtime/kernels/kernel_registry.h"

namespace tensorfleet::cpu {
namespace {

Status CheckTrueClasses(const Tensor& classes, int64_t num_true) {
  if (classes.rank() != 2) {
    return InvalidArgument("true_classes must be a matrix, got shape ", classes.shape().ToString());
  }
  if (classes.dim(1) != num_true) {
    return InvalidArgument("true_classes must have num_true columns, expected: ", num_true,
                           " was: ", classes.dim(1));
  }
  return OkStatus();
}

Status CheckRange(const Tensor& classes, int64_t range) {
  for (const int64_t number : classes.values<int64_t>()) {
    if (number < 0 || number >= range) {
      return InvalidArgument("`true_candidate` out of range [0, ", range, "), received ", number);
    }
  }
  return OkStatus();
}

// The number of times that a class of this probability is expected among `sampled` picks, or at
// all when it took `tries` picks to get so many different ones.
float ExpectedCount(float probability, int64_t sampled, int64_t tries) {
  if (tries == sampled) return probability * static_cast<float>(sampled);
  return static_cast<float>(-std::expm1(static_cast<double>(tries) * std::log1p(-probability)));
}

class CandidateSampler : public Kernel {
 public:
  explicit CandidateSampler(KernelInit& init) : generator_(init) {
    init.Get("num_true", &num_true_);
    init.Get("num_sampled", &num_sampled_);
    init.Get("unique", &is_unique_);
  }
  bool IsExpensive() const override { return true; }

  Status Compute(KernelContext& ctx) const final {
    const Tensor& true_classes = ctx.input(0);
    TFLEET_RETURN_IF_ERROR(CheckTrueClasses(true_classes, num_true_));
    TFLEET_RETURN_IF_ERROR(CheckRange(true_classes, range_));
    if (is_unique_ && num_sampled_ > range_)
      return InvalidArgument("Sampler's range is too small.");
    TFLEET_ASSIGN_OR_RETURN(Tensor sampled, ctx.Allocate(DType::kInt64, {num_sampled_}));
    TFLEET_ASSIGN_OR_RETURN(Tensor true_counts, ctx.Allocate(DType::kFloat, true_classes.shape()));
    TFLEET_ASSIGN_OR_RETURN(Tensor counts, ctx.Allocate(DType::kFloat, {num_sampled_}));
    // Unused when more numbers are drawn again than was thought of: those are then used twice.
    PhiloxWords words(generator_.Reserve(static_cast<uint64_t>(num_sampled_) * 512));
    const auto numbers = sampled.mutable_values<int64_t>();
    {
      MutexLock lock(&mu_);
      TFLEET_ASSIGN_OR_RETURN(const int64_t tries, Sample(ctx, words, numbers));
      const std::pair<absl::Span<const int64_t>, absl::Span<float>> expected[] = {
          {numbers, counts.mutable_values<float>()},
          {true_classes.values<int64_t>(), true_counts.mutable_values<float>()}};
      for (const auto& [of, to] : expected) {
        for (size_t i = 0; i < of.size(); ++i) {
          to[i] = ExpectedCount(picker_->Probability(of[i]), num_sampled_, tries);
        }
      }
      picker_->Learn(true_classes.values<int64_t>());
    }
    ctx.SetOutput(0, std::move(sampled));
    ctx.SetOutput(1, std::move(true_counts));
    ctx.SetOutput(2, std::move(counts));
    return OkStatus();
  }

 protected:
  // Called by constructors.
  void PickBy(std::unique_ptr<CandidatePicker> picker, int64_t range) {
    range_ = range;
    MutexLock lock(&mu_);
    picker_ = std::move(picker);
  }
  int64_t RangeOf(KernelInit& init) const {
    int64_t range = 1;
    init.Get("range_max", &range);
    return range;
  }

 private:
  // How many tries it took.
  StatusOr<int64_t> Sample(const KernelContext& ctx, PhiloxWords& words,
                           absl::Span<int64_t> numbers) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (!is_unique_) {
      for (int64_t& number : numbers) number = picker_->Pick(words);
      return static_cast<int64_t>(numbers.size());
    }
    LoopWatch watch(ctx, 50);
    absl::flat_hash_set<int64_t> seen;
    int64_t tries = 0;
    for (size_t picked = 0; picked < numbers.size();) {
      watch.Pass();
      if (++tries == INT32_MAX) {
        return InvalidArgument("there are not enough classes that are ever picked: ", picked,
                               " different ones in ", tries, " tries");
      }
      const int64_t number = picker_->Pick(words);
      if (seen.insert(number).second) numbers[picked++] = number;
    }
    return tries;
  }

  const Generator generator_;
  int64_t num_true_ = 1, num_sampled_ = 1, range_ = 1;
  bool is_unique_ = false;
  mutable Mutex mu_;
  std::unique_ptr<CandidatePicker> picker_ ABSL_PT_GUARDED_BY(mu_);
};

class UniformSampler final : public CandidateSampler {
 public:
  explicit UniformSampler(KernelInit& init) : CandidateSampler(init) {
    const int64_t range = RangeOf(init);
    if (init.status().ok()) PickBy(std::make_unique<UniformPicker>(range), range);
  }
};

class LogUniformSampler final : public CandidateSampler {
 public:
  explicit LogUniformSampler(KernelInit& init) : CandidateSampler(init) {
    const int64_t range = RangeOf(init);
    if (init.status().ok()) PickBy(std::make_unique<LogUniformPicker>(range), range);
  }
};

constexpr int64_t kMostWeights = int64_t{1} << 24;

class LearnedSampler final : public CandidateSampler {
 public:
  explicit LearnedSampler(KernelInit& init) : CandidateSampler(init) {
    const int64_t range = RangeOf(init);
    if (range > kMostWeights) {
      init.Fail(ResourceExhausted("range_max ", range, " is too large: at most ", kMostWeights,
                                  " classes can be learned"));
    }
    if (init.status().ok()) PickBy(std::make_unique<LearnedPicker>(range), range);
  }
};

// Every class once, and all of them.
class AllSampler final : public Kernel {
 public:
  explicit AllSampler(KernelInit& init) {
    init.Get("num_true", &num_true_);
    init.Get("num_sampled", &num_sampled_);
  }
  Status Compute(KernelContext& ctx) const override {
    TFLEET_RETURN_IF_ERROR(CheckTrueClasses(ctx.input(0), num_true_));
    TFLEET_RETURN_IF_ERROR(CheckRange(ctx.input(0), num_sampled_));
    TFLEET_ASSIGN_OR_RETURN(Tensor sampled, ctx.Allocate(DType::kInt64, {num_sampled_}));
    for (int64_t i = 0; i < num_sampled_; ++i) sampled.mutable_values<int64_t>()[i] = i;
    TFLEET_ASSIGN_OR_RETURN(Tensor true_counts, ctx.Allocate(DType::kFloat, ctx.input(0).shape()));
    TFLEET_ASSIGN_OR_RETURN(Tensor counts, ctx.Allocate(DType::kFloat, {num_sampled_}));
    for (Tensor* each : {&true_counts, &counts}) {
      std::fill_n(each->mutable_values<float>().begin(), each->num_elements(), 1.0f);
    }
    ctx.SetOutput(0, std::move(sampled));
    ctx.SetOutput(1, std::move(true_counts));
    ctx.SetOutput(2, std::move(counts));
    return OkStatus();
  }

 private:
  int64_t num_true_ = 1, num_sampled_ = 1;
};

// By the weights in an attribute or in the last column of a file.
class FixedSampler final : public CandidateSampler {
 public:
  explicit FixedSampler(KernelInit& init) : CandidateSampler(init) {
    const int64_t range = RangeOf(init);
    StatusOr<std::vector<float>> weights = Weights(init);
    if (!weights.ok()) init.Fail(weights.status());
    if (!init.status().ok()) return;
    if (static_cast<int64_t>(weights->size()) != range) {
      init.Fail(InvalidArgument("range_max is ", range, " but there are weights for ",
                                weights->size(), " classes"));
      return;
    }
    double total = 0;
    for (const float weight : *weights) {
      if (!(weight >= 0) || !std::isfinite(weight)) {
        init.Fail(InvalidArgument("weights must be finite and not negative, got ", weight));
        return;
      }
      total += weight;
    }
    if (!(total > 0)) {
      init.Fail(InvalidArgument("all weights are zero"));
      return;
    }
    PickBy(std::make_unique<WeightedCandidatePicker>(*std::move(weights)), range);
  }

 private:
  static StatusOr<std::vector<float>> Weights(KernelInit& init) {
    std::string file;
    std::vector<float> unigrams;
    float distortion = 1;
    int64_t reserved = 0, shards = 1, shard = 0;
    init.Get("vocab_file", &file);
    init.Get("unigrams", &unigrams);
    init.Get("distortion", &distortion);
    init.Get("num_reserved_ids", &reserved);
    init.Get("num_shards", &shards);
    init.Get("shard", &shard);
    TFLEET_RETURN_IF_ERROR(init.status());
    if (file.empty() == unigrams.empty()) {
      return InvalidArgument("Must provide either vocab_file or unigrams, not both.");
    }
    if (shard >= shards) return InvalidArgument("shard ", shard, " must be below num_shards");
    if (!file.empty()) {
      TFLEET_ASSIGN_OR_RETURN(unigrams, ReadUnigrams(file));
    }
    if (reserved < 0 || reserved > kMostWeights) {
      return InvalidArgument("num_reserved_ids is ", reserved);
    }
    std::vector<float> weights;
    int64_t id = 0;
    const auto add = [&](float weight) {
      if (id++ % shards == shard) weights.push_back(weight);
    };
    for (int64_t i = 0; i < reserved; ++i) add(0);
    for (const float unigram : unigrams) add(std::pow(unigram, distortion));
    return weights;
  }

  static StatusOr<std::vector<float>> ReadUnigrams(const std::string& path) {
    TFLEET_ASSIGN_OR_RETURN(const ResolvedPath file, ResolvePath(path));
    TFLEET_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(*file.file_system, file.path));
    std::vector<float> unigrams;
    for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
      const std::vector<absl::string_view> columns = absl::StrSplit(line, ',');
      float weight = 0;
      if (!absl::SimpleAtof(columns.back(), &weight)) {
        return InvalidArgument(path, ": the last column of line ", unigrams.size() + 1,
                               " is no number: ", columns.back());
      }
      unigrams.push_back(weight);
    }
    return unigrams;
  }
};

// Where sampled classes are true ones of an example by accident.
class ComputeAccidentalHits final : public Kernel {
 public:
  explicit ComputeAccidentalHits(KernelInit& init) { init.Get("num_true", &num_true_); }
  Status Compute(KernelContext& ctx) const override {
    const Tensor &true_classes = ctx.input(0), &sampled = ctx.input(1);
    TFLEET_RETURN_IF_ERROR(CheckTrueClasses(true_classes, num_true_));
    if (sampled.rank() != 1) {
      return InvalidArgument(
          "sampled_candidates must be a vector, which is typically an output "
          "from CandidateSampler");
    }
    absl::flat_hash_map<int64_t, int64_t> places;
    for (int64_t i = 0; i < sampled.num_elements(); ++i) places[sampled.values<int64_t>()[i]] = i;
    std::vector<int32_t> rows;
    std::vector<int64_t> ids;
    for (int64_t i = 0; i < true_classes.num_elements(); ++i) {
      const auto found = places.find(true_classes.values<int64_t>()[i]);
      if (found == places.end()) continue;
      rows.push_back(static_cast<int32_t>(i / num_true_));
      ids.push_back(found->second);
    }
    ctx.SetOutput(2, Tensor::Vector<float>(std::vector<float>(ids.size(), -FLT_MAX)));
    ctx.SetOutput(0, Tensor::Vector<int32_t>(rows));
    ctx.SetOutput(1, Tensor::Vector<int64_t>(ids));
    return OkStatus();
  }

 private:
  int64_t num_true_ = 1;
};

}  // namespace

void RegisterCandidateSamplerKernels(KernelRegistry& r) {
  r.Add<UniformSampler>("UniformCandidateSampler", kCpu);
  r.Add<LogUniformSampler>("LogUniformCandidateSampler", kCpu);
  r.Add<LearnedSampler>("LearnedUnigramCandidateSampler", kCpu);
  r.Add<LearnedSampler>("ThreadUnsafeUnigramCandidateSampler", kCpu);
  r.Add<AllSampler>("AllCandidateSampler", kCpu);
  r.Add<FixedSampler>("FixedUnigramCandidateSampler", kCpu);
  r.Add<ComputeAccidentalHits>("ComputeAccidentalHits", kCpu);
}

}  // namespace tensorfleet::cpu
