// Data sets that give their input's elements: options, and what TensorFlow's runtime is told about
// tuning, statistics and rewrites, which ours does on its own terms.
#include "proto/dataset_options.pb.h"
#include "runtime/data/dataset_kernel.h"
#include "runtime/data/families.h"
#include "runtime/data/unary_iterator.h"

namespace tensorfleet::data {
namespace {

class PassOn : public Dataset {
 public:
  explicit PassOn(DatasetRef input) : Dataset(input->type(), {input}) {}
  int64_t Cardinality() const override { return input()->Cardinality(); }

 private:
  StatusOr<IteratorPtr> MakeIterator(IteratorScope& scope, int depth) const override {
    return InputIterator(input(), scope, depth);
  }
};

class WithOptions final : public PassOn {
 public:
  WithOptions(DatasetRef input, tensorflow::data::Options options)
      : PassOn(std::move(input)), options_(std::move(options)) {}
  void MergeOptions(tensorflow::data::Options* options) const override {
    Dataset::MergeOptions(options);
    options->MergeFrom(options_);
  }

 private:
  const tensorflow::data::Options options_;
};

class PassOnKernel : public DatasetKernel {
 public:
  using DatasetKernel::DatasetKernel;

 private:
  StatusOr<DatasetRef> Make(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(DatasetRef input, DatasetInput(ctx, 0));
    return std::make_shared<PassOn>(std::move(input));
  }
};

// input_dataset and a number of threads, which ours are not limited to: they are as many as are
// busy.
class ThreadsKernel final : public DatasetKernel {
 public:
  using DatasetKernel::DatasetKernel;

 private:
  StatusOr<DatasetRef> Make(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(DatasetRef input, DatasetInput(ctx, 0));
    TFLEET_ASSIGN_OR_RETURN(const int64_t number, ScalarInput<int64_t>(ctx, 1, "num_threads"));
    if (number < 0) return InvalidArgument("`num_threads` must be greater equal than 0");
    return std::make_shared<PassOn>(std::move(input));
  }
};

// Fails where the input has another number of elements.
class AssertCardinality final : public Dataset {
 public:
  AssertCardinality(DatasetRef input, int64_t count)
      : Dataset(input->type(), {input}), count_(count) {}
  int64_t Cardinality() const override { return count_; }

 private:
  StatusOr<IteratorPtr> MakeIterator(IteratorScope& scope, int depth) const override;
  const int64_t count_;
};

class AssertCardinalityIterator final : public UnaryIterator<AssertCardinality> {
 public:
  using UnaryIterator::UnaryIterator;
  StatusOr<bool> Next(Element* out) override {
    const bool was_over = input_ == nullptr;
    TFLEET_ASSIGN_OR_RETURN(const bool more, NextInput(out));
    seen_ += more;
    const int64_t wanted = dataset_->Cardinality();
    const bool is_wrong = more ? wanted >= 0 && seen_ > wanted : !was_over && seen_ != wanted;
    if (!is_wrong) return more;
    return FailedPrecondition("Input dataset was expected to contain ",
                              wanted < 0 ? "an infinite number of" : absl::StrCat(wanted),
                              " elements but contained ", more ? "at least " : "only ", seen_,
                              " elements.");
  }
  Status Save(StateWriter& to) override {
    to.PutInt("seen", seen_);
    return UnaryIterator::Save(to);
  }
  Status Restore(StateReader& from) override {
    TFLEET_ASSIGN_OR_RETURN(seen_, from.GetInt("seen"));
    return UnaryIterator::Restore(from);
  }

 private:
  int64_t seen_ = 0;
};

StatusOr<IteratorPtr> AssertCardinality::MakeIterator(IteratorScope& scope, int depth) const {
  return Opened<AssertCardinalityIterator>(this, scope, depth);
}

class AssertCardinalityKernel final : public DatasetKernel {
 public:
  using DatasetKernel::DatasetKernel;

 private:
  StatusOr<DatasetRef> Make(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(DatasetRef input, DatasetInput(ctx, 0));
    TFLEET_ASSIGN_OR_RETURN(const int64_t count, ScalarInput<int64_t>(ctx, 1, "cardinality"));
    return std::make_shared<AssertCardinality>(std::move(input), count);
  }
};

class OptionsKernel final : public DatasetKernel {
 public:
  explicit OptionsKernel(KernelInit& init) : DatasetKernel(init) {
    std::string serialized;
    init.Get("serialized_options", &serialized);
    if (!options_.ParseFromString(serialized)) {
      init.Fail(InvalidArgument("Could not parse serialized_options as valid Options."));
    }
  }

 private:
  StatusOr<DatasetRef> Make(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(DatasetRef input, DatasetInput(ctx, 0));
    return std::make_shared<WithOptions>(std::move(input), options_);
  }
  tensorflow::data::Options options_;
};

class GetOptionsKernel final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const DatasetRef input, DatasetInput(ctx, 0));
    tensorflow::data::Options options;
    input->MergeOptions(&options);
    ctx.SetOutput(0, Tensor::Scalar(options.SerializeAsString()));
    return OkStatus();
  }
};

}  // namespace

void RegisterPassOnKernels(KernelRegistry& kernels) {
  kernels.Add<OptionsKernel>("OptionsDataset", kCpu);
  kernels.Add<GetOptionsKernel>("GetOptions", kCpu);
  kernels.Add<AssertCardinalityKernel>("AssertCardinalityDataset", kCpu);
  for (const char* op :
       {"PrivateThreadPoolDataset", "ExperimentalPrivateThreadPoolDataset",
        "MaxIntraOpParallelismDataset", "ExperimentalMaxIntraOpParallelismDataset"}) {
    kernels.Add<ThreadsKernel>(op, kCpu);
  }
  for (const char* op :
       {"ModelDataset", "OptimizeDataset", "OptimizeDatasetV2", "FinalizeDataset", "RewriteDataset",
        "NonSerializableDataset", "ExperimentalNonSerializableDataset"}) {
    kernels.Add<PassOnKernel>(op, kCpu);
  }
}

}  // namespace tensorfleet::data
