// RandomDataset: random numbers without end, TensorFlow's for the same seeds.
#include "runtime/data/dataset_kernel.h"
#include "runtime/data/families.h"
#include "runtime/data/iterator.h"
#include "runtime/data/seeds.h"

namespace tensorfleet::data {
namespace {

class RandomNumbers final : public Dataset {
 public:
  explicit RandomNumbers(SeedGeneratorRef seeds)
      : Dataset({{DType::kInt64}, {PartialShape(Shape())}}, {}), seeds_(std::move(seeds)) {}
  SeedGenerator& seeds() const { return *seeds_; }
  int64_t Cardinality() const override { return kInfinite; }

 private:
  StatusOr<IteratorPtr> MakeIterator(IteratorScope& scope, int depth) const override;
  const SeedGeneratorRef seeds_;
};

class RandomNumbersIterator final : public Iterator {
 public:
  explicit RandomNumbersIterator(const RandomNumbers* dataset)
      : dataset_(Kept(dataset)), random_(dataset->seeds().Next()) {}
  bool MayWait() const override { return false; }
  StatusOr<bool> Next(Element* out) override {
    out->clear();
    out->push_back(Tensor::Scalar<int64_t>(random_.Next()));
    return true;
  }
  Status Save(StateWriter& to) override {
    to.PutInt("seed", random_.seeds().seed);
    to.PutInt("seed2", random_.seeds().seed2);
    to.PutInt("drawn", random_.taken());
    to.PutInt("seeds_taken", dataset_->seeds().taken());
    return OkStatus();
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
    return OkStatus();
  }

 private:
  const std::shared_ptr<const RandomNumbers> dataset_;
  RandomWords random_;
};

StatusOr<IteratorPtr> RandomNumbers::MakeIterator(IteratorScope&, int) const {
  return IteratorPtr(std::make_unique<RandomNumbersIterator>(this));
}

// seed, seed2 and, of the second version, seed_generator.
class RandomNumbersKernel final : public DatasetKernel {
 public:
  explicit RandomNumbersKernel(KernelInit& init) : DatasetKernel(init) {
    if (FindAttr(init.def(), "rerandomize_each_iteration") != nullptr) {
      init.Get("rerandomize_each_iteration", &varies_);
    }
    const ElementType& type = declared();
    if (init.status().ok() && (type.size() != 1 || type.types[0] != DType::kInt64)) {
      init.Fail(InvalidArgument("a data set of random numbers gives one int64"));
    }
  }

 private:
  StatusOr<DatasetRef> Make(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const int64_t seed, ScalarInput<int64_t>(ctx, 0, "seed"));
    TFLEET_ASSIGN_OR_RETURN(const int64_t seed2, ScalarInput<int64_t>(ctx, 1, "seed2"));
    SeedGeneratorRef generator;
    if (ctx.num_inputs() > 2) {
      StatusOr<SeedGeneratorRef> given = LookupResource<SeedGenerator>(ctx, 2);
      if (given.ok()) {
        generator = *std::move(given);
      } else if (!absl::IsNotFound(given.status())) {
        return given.status();
      }
    }
    if (!generator) {
      generator = SeedGeneratorRef::Adopt(new SeedGenerator(Seeds::OrRandom(seed, seed2), varies_));
    }
    return std::make_shared<RandomNumbers>(std::move(generator));
  }
  bool varies_ = false;
};

}  // namespace

void RegisterRandomNumbersKernels(KernelRegistry& kernels) {
  for (const char* op : {"RandomDataset", "ExperimentalRandomDataset", "RandomDatasetV2"}) {
    kernels.Add<RandomNumbersKernel>(op, kCpu);
  }
}

}  // namespace tensorfleet::data
