// SerializeIterator and DeserializeIterator: the place of an iterator, with its data set, as a
// variant that checkpoints hold.
#include "runtime/base/log.h"
#include "runtime/data/families.h"
#include "runtime/data/iterator_resource.h"
#include "runtime/data/saved_dataset.h"
#include "runtime/data/whole_dataset.h"
#include "runtime/kernels/function_runner.h"

namespace tensorfleet::data {
namespace {

constexpr char kSavedIteratorType[] = "tensorfleet::SavedIterator";
// The only element of metadata: what the tensors are.
constexpr char kFormat[] = "1";

// What becomes of state that functions keep elsewhere; TensorFlow's numbers.
enum class OutsideState : int64_t { kWarn = 0, kIgnore = 1, kFail = 2 };

// Tensors: the data set, the names of the state's values, then the values.
StatusOr<VariantData> Encode(const Dataset& dataset, const IteratorState& state) {
  VariantData data{kSavedIteratorType, kFormat, {}};
  TFLEET_ASSIGN_OR_RETURN(VariantData encoded, EncodeDataset(dataset));
  data.tensors.push_back(
      Tensor::Scalar(Variant(std::make_shared<EncodedVariant>(std::move(encoded)))));
  std::vector<std::string> names;
  for (const auto& [name, _] : state) names.push_back(name);
  data.tensors.push_back(Tensor::Vector<std::string>(absl::MakeConstSpan(names)));
  for (const auto& [_, value] : state) {
    TFLEET_ASSIGN_OR_RETURN(data.tensors.emplace_back(), WithEncodedDatasets(value));
  }
  return data;
}

// `*saved` is what Encode made, or damaged.
Status Decode(const VariantData& saved, const FunctionSource& source, IteratorScope& scope,
              DatasetRef* dataset, IteratorState* state) {
  if (saved.type_name != kSavedIteratorType || saved.metadata != kFormat) {
    return InvalidArgument("'serialized' holds a '", saved.type_name,
                           "': it must be what SerializeIterator of this program gave "
                           "(TensorFlow's own saved iterators cannot be read)");
  }
  const std::vector<Tensor>& tensors = saved.tensors;
  if (tensors.size() < 2 || tensors[1].dtype() != DType::kString ||
      tensors[1].num_elements() != static_cast<int64_t>(tensors.size()) - 2) {
    return InvalidArgument("the saved iterator is damaged: its values have no names");
  }
  TFLEET_ASSIGN_OR_RETURN(const Tensor root, WithDecodedDatasets(tensors[0], source, scope));
  TFLEET_ASSIGN_OR_RETURN(*dataset, DatasetIn(root));
  for (size_t i = 2; i < tensors.size(); ++i) {
    TFLEET_ASSIGN_OR_RETURN((*state)[tensors[1].values<std::string>()[i - 2]],
                            WithDecodedDatasets(tensors[i], source, scope));
  }
  return OkStatus();
}

class SerializeKernel final : public AsyncKernel {
 public:
  explicit SerializeKernel(KernelInit& init) {
    int64_t policy = 0;
    init.Get("external_state_policy", &policy);
    if (policy < 0 || policy > 2) {
      init.Fail(InvalidArgument("external_state_policy is ", policy,
                                ", not 0 (warn), 1 (ignore) or 2 (fail)"));
    }
    policy_ = static_cast<OutsideState>(policy);
  }
  bool IsExpensive() const override { return true; }
  void ComputeAsync(KernelContext& ctx, Done done) const override {
    RunThroughDataset(ctx, std::move(done),
                      [this](KernelContext& ctx, IteratorScope&) { return Save(ctx); });
  }

 private:
  Status Save(KernelContext& ctx) const {
    TFLEET_ASSIGN_OR_RETURN(const ResourceRef<IteratorResource> iterator, IteratorInput(ctx, 0));
    TFLEET_ASSIGN_OR_RETURN(const std::shared_ptr<IteratorRun> run, iterator->run());
    const Status outside = CheckNoOutsideState(*run->dataset());
    if (!outside.ok()) {
      if (policy_ == OutsideState::kFail || !absl::IsFailedPrecondition(outside)) return outside;
      if (policy_ == OutsideState::kWarn) {
        LogWarning("An iterator is saved without some state", {{"state", outside.ToString()}});
      }
    }
    IteratorState state;
    TFLEET_RETURN_IF_ERROR(run->Save(&state, ctx.step().cancellation));
    TFLEET_ASSIGN_OR_RETURN(VariantData data, Encode(*run->dataset(), state));
    ctx.SetOutput(
        0, Tensor::Vector<Variant>({Variant(std::make_shared<EncodedVariant>(std::move(data)))}));
    return OkStatus();
  }

  OutsideState policy_;
};

class DeserializeKernel final : public AsyncKernel {
 public:
  explicit DeserializeKernel(KernelInit& init) {
    if (init.functions() == nullptr) {
      init.Fail(Unimplemented("iterators cannot be restored here: no functions can be called"));
    } else {
      source_ = init.functions()->Source();
    }
  }
  bool IsExpensive() const override { return true; }
  void ComputeAsync(KernelContext& ctx, Done done) const override {
    RunThroughDataset(ctx, std::move(done), [this](KernelContext& ctx, IteratorScope& scope) {
      return Restore(ctx, scope);
    });
  }

 private:
  Status Restore(KernelContext& ctx, IteratorScope& scope) const {
    TFLEET_ASSIGN_OR_RETURN(const ResourceRef<IteratorResource> iterator, IteratorInput(ctx, 0));
    const Tensor& serialized = ctx.input(1);
    const EncodedVariant* const saved = serialized.num_elements() == 1
                                            ? serialized.values<Variant>()[0].get<EncodedVariant>()
                                            : nullptr;
    if (saved == nullptr) {
      return InvalidArgument("'serialized' of shape ", serialized.shape().ToString(),
                             " is not what SerializeIterator gave");
    }
    DatasetRef dataset;
    IteratorState state;
    TFLEET_RETURN_IF_ERROR(Decode(saved->data(), *source_, scope, &dataset, &state));
    return iterator->Initialize(std::move(dataset), &ctx.pool(), HandleFromInput(ctx, 0)->name,
                                &state, ctx.step().cancellation);
  }

  std::shared_ptr<const FunctionSource> source_;
};

}  // namespace

void RegisterSaveKernels(KernelRegistry& kernels) {
  kernels.Add<SerializeKernel>("SerializeIterator", kCpu);
  kernels.Add<DeserializeKernel>("DeserializeIterator", kCpu);
}

}  // namespace tensorfleet::data
