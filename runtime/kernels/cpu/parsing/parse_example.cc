// ParseExample, ParseExampleV2, ParseSingleExample. Schemas and shape rules:
// runtime/ops/parsing/parse_example_ops.cc; the work: example_parser.h.
#include <string>
#include <vector>

#include "runtime/kernels/cpu/parsing/example_parser.h"
#include "runtime/kernels/kernel_registry.h"

namespace tensorfleet::cpu {
namespace {

// The names of features where an op takes them: inputs, each a scalar; inputs, a vector for each
// kind; or attributes.
enum class KeySource { kScalars, kVectors, kAttributes };

class ParseExample final : public Kernel {
 public:
  explicit ParseExample(KernelInit& init) : op_(init.node().op()) {
    source_ = op_ == "ParseExample"     ? KeySource::kScalars
              : op_ == "ParseExampleV2" ? KeySource::kVectors
                                        : KeySource::kAttributes;
    init.Get("sparse_types", &sparse_types_);
    init.Get("Tdense", &dense_types_);
    init.Get("dense_shapes", &dense_shapes_);
    if (source_ == KeySource::kVectors) {
      init.Get("ragged_value_types", &ragged_types_);
      init.Get("ragged_split_types", &split_types_);
    }
    int64_t num_sparse = 0, num_dense = static_cast<int64_t>(dense_types_.size());
    init.Get(source_ == KeySource::kScalars ? "Nsparse" : "num_sparse", &num_sparse);
    if (source_ == KeySource::kScalars) init.Get("Ndense", &num_dense);
    if (source_ == KeySource::kAttributes) {
      init.Get("sparse_keys", &sparse_keys_);
      init.Get("dense_keys", &dense_keys_);
    }
    if (init.status().ok()) init.Fail(CheckAttributes(num_sparse, num_dense));
    if (init.status().ok()) init.Fail(MakeSpecs());
  }

  Status Compute(KernelContext& ctx) const override {
    const Tensor& serialized = ctx.input(0);
    const bool is_single = serialized.rank() == 0;
    const bool may_be_single = source_ != KeySource::kScalars;
    const bool may_be_batch = source_ != KeySource::kAttributes;
    if (serialized.rank() > 1 || (is_single && !may_be_single) || (!is_single && !may_be_batch)) {
      return InvalidArgument("Expected serialized to be a ",
                             may_be_single && may_be_batch ? "scalar or vector"
                             : may_be_batch                ? "vector"
                                                           : "scalar",
                             ", got shape: ", serialized.shape().ToString());
    }
    std::vector<FeatureSpec> specs = specs_;
    absl::Span<const std::string> names;
    if (source_ != KeySource::kAttributes) {
      const Tensor& given = ctx.input(1);
      if (given.num_elements() > 0 && given.shape() != serialized.shape()) {
        return InvalidArgument("Expected names have the same shape as serialized: name.shape=",
                               given.shape().ToString(),
                               ", serialized.shape=", serialized.shape().ToString());
      }
      names = given.values<std::string>();
      TFLEET_RETURN_IF_ERROR(SetKeys(ctx, &specs));
    }
    const int first_default = ctx.num_inputs() - static_cast<int>(dense_types_.size());
    for (size_t d = 0; d < dense_types_.size(); ++d) {
      const int index = static_cast<int>(d);
      TFLEET_RETURN_IF_ERROR(
          SetFallback(ctx.input(first_default + index), index, &specs[sparse_types_.size() + d]));
    }
    TFLEET_ASSIGN_OR_RETURN(
        std::vector<FeatureOutput> features,
        ExampleParser(specs).Parse(ctx, serialized.values<std::string>(), names, is_single));
    SetOutputs(ctx, &features);
    return OkStatus();
  }
  bool IsExpensive() const override { return true; }

 private:
  Status CheckAttributes(int64_t num_sparse, int64_t num_dense) const {
    const auto differ = [](const char* a, const char* b, size_t have, size_t want) {
      return InvalidArgument("len(", a, ") != len(", b, "): ", have, " vs. ", want);
    };
    const size_t sparse = static_cast<size_t>(num_sparse);
    if (sparse_types_.size() != sparse) {
      return differ("sparse_types", "sparse_keys", sparse_types_.size(), sparse);
    }
    // Where keys are inputs, their number says which inputs the defaults are.
    if (dense_types_.size() != static_cast<size_t>(num_dense)) {
      return differ("dense_types", "dense_keys", dense_types_.size(),
                    static_cast<size_t>(num_dense));
    }
    if (dense_shapes_.size() != dense_types_.size()) {
      return differ("dense_shapes", "dense_types", dense_shapes_.size(), dense_types_.size());
    }
    if (split_types_.size() != ragged_types_.size()) {
      return differ("ragged_split_types", "ragged_value_types", split_types_.size(),
                    ragged_types_.size());
    }
    if (source_ != KeySource::kAttributes) return OkStatus();
    if (sparse_keys_.size() != sparse) {
      return differ("sparse_keys", "sparse_types", sparse_keys_.size(), sparse);
    }
    if (dense_keys_.size() != dense_types_.size()) {
      return differ("dense_keys", "dense_types", dense_keys_.size(), dense_types_.size());
    }
    return OkStatus();
  }

  // Sparse features first, then dense and ragged ones.
  Status MakeSpecs() {
    for (size_t i = 0; i < sparse_types_.size(); ++i) {
      FeatureSpec& spec = specs_.emplace_back();
      spec.kind = FeatureKind::kSparse;
      spec.type = sparse_types_[i];
      if (!sparse_keys_.empty()) spec.key = sparse_keys_[i];
    }
    for (size_t i = 0; i < dense_types_.size(); ++i) {
      FeatureSpec& spec = specs_.emplace_back();
      spec.type = dense_types_[i];
      if (!dense_keys_.empty()) spec.key = dense_keys_[i];
      TFLEET_RETURN_IF_ERROR(SetDenseShape(dense_shapes_[i], static_cast<int>(i), &spec));
    }
    for (size_t i = 0; i < ragged_types_.size(); ++i) {
      FeatureSpec& spec = specs_.emplace_back();
      spec.kind = FeatureKind::kRagged;
      spec.type = ragged_types_[i];
      spec.split_type = split_types_[i];
    }
    return OkStatus();
  }

  Status SetKeys(const KernelContext& ctx, std::vector<FeatureSpec>* specs) const {
    if (source_ == KeySource::kScalars) {
      for (size_t i = 0; i < specs->size(); ++i) {
        const Tensor& key = ctx.input(static_cast<int>(2 + i));
        if (key.num_elements() != 1) {
          return InvalidArgument("Expected the key of a feature to be a scalar, got shape: ",
                                 key.shape().ToString());
        }
        (*specs)[i].key = key.values<std::string>()[0];
      }
      return OkStatus();
    }
    const std::pair<const char*, size_t> kinds[] = {{"sparse", sparse_types_.size()},
                                                    {"dense", dense_types_.size()},
                                                    {"ragged", ragged_types_.size()}};
    size_t at = 0;
    for (int k = 0; k < 3; ++k) {
      const Tensor& keys = ctx.input(2 + k);
      const auto& [kind, count] = kinds[k];
      if (keys.rank() != 1 || keys.dim(0) != static_cast<int64_t>(count)) {
        return InvalidArgument("Expected len(", kind, "_keys) == len(", kind,
                               "_types) but got: ", keys.num_elements(), " vs. ", count);
      }
      for (const std::string& key : keys.values<std::string>()) (*specs)[at++].key = key;
    }
    return OkStatus();
  }

  // Indices, values and shapes of the sparse ones; the dense ones; values and splits of the ragged
  // ones.
  void SetOutputs(KernelContext& ctx, std::vector<FeatureOutput>* features) const {
    const size_t sparse = sparse_types_.size(), dense = dense_types_.size();
    int out = 0;
    for (Tensor FeatureOutput::*part :
         {&FeatureOutput::indices, &FeatureOutput::values, &FeatureOutput::shape}) {
      for (size_t i = 0; i < sparse; ++i) ctx.SetOutput(out++, std::move((*features)[i].*part));
    }
    for (size_t i = 0; i < dense; ++i) {
      ctx.SetOutput(out++, std::move((*features)[sparse + i].values));
    }
    for (Tensor FeatureOutput::*part : {&FeatureOutput::values, &FeatureOutput::splits}) {
      for (size_t i = sparse + dense; i < features->size(); ++i) {
        ctx.SetOutput(out++, std::move((*features)[i].*part));
      }
    }
  }

  const std::string op_;
  KeySource source_ = KeySource::kScalars;
  std::vector<DType> sparse_types_, dense_types_, ragged_types_, split_types_;
  std::vector<PartialShape> dense_shapes_;
  std::vector<std::string> sparse_keys_, dense_keys_;
  std::vector<FeatureSpec> specs_;  // without keys and defaults where those are inputs
};

}  // namespace

void RegisterParseExampleKernels(KernelRegistry& r) {
  for (const char* op : {"ParseExample", "ParseExampleV2", "ParseSingleExample"}) {
    r.Add<ParseExample>(op, kCpu);
  }
}

}  // namespace tensorfleet::cpu
