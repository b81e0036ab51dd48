// ParseSequenceExample, ParseSequenceExampleV2, ParseSingleSequenceExample. Schemas and shape
// rules: runtime/ops/parsing/parse_example_ops.cc; the work: example_parser.h, feature_lists.h.
#include <algorithm>
#include <string>
#include <vector>

#include "runtime/kernels/cpu/parsing/feature_lists.h"
#include "runtime/kernels/kernel_registry.h"

namespace tensorfleet::cpu {
namespace {

using Keys = std::vector<std::string>;

constexpr uint32_t kFeatureLists = 2;  // the field of a SequenceExample beside its context

// The parts that context and feature lists have alike. Features are in the order sparse, dense,
// ragged.
struct Part {
  std::vector<DType> sparse_types, dense_types, ragged_types, split_types;
  std::vector<PartialShape> shapes;  // of the dense ones

  size_t size() const { return sparse_types.size() + dense_types.size() + ragged_types.size(); }
  size_t first_dense() const { return sparse_types.size(); }
  size_t first_ragged() const { return sparse_types.size() + dense_types.size(); }
};

class ParseSequenceExample final : public Kernel {
 public:
  explicit ParseSequenceExample(KernelInit& init) : op_(init.node().op()) {
    init.Get("context_sparse_types", &context_.sparse_types);
    init.Get("Tcontext_dense", &context_.dense_types);
    init.Get("context_dense_shapes", &context_.shapes);
    init.Get("feature_list_sparse_types", &lists_.sparse_types);
    init.Get("feature_list_dense_types", &lists_.dense_types);
    init.Get("feature_list_dense_shapes", &lists_.shapes);
    if (HasVectors()) {
      init.Get("context_ragged_value_types", &context_.ragged_types);
      init.Get("context_ragged_split_types", &context_.split_types);
      init.Get("feature_list_ragged_value_types", &lists_.ragged_types);
      init.Get("feature_list_ragged_split_types", &lists_.split_types);
    }
    if (HasAttributes()) {
      for (const char* name : {"context_sparse_keys", "context_dense_keys"}) {
        Append(init, name, &context_keys_);
      }
      for (const char* name : {"feature_list_sparse_keys", "feature_list_dense_keys"}) {
        Append(init, name, &list_keys_);
      }
      init.Get("feature_list_dense_missing_assumed_empty", &may_be_missing_);
    }
    int64_t counts[4] = {};
    const char* const names[] = {"Ncontext_sparse", "Ncontext_dense", "Nfeature_list_sparse",
                                 "Nfeature_list_dense"};
    for (int i = 0; i < 4; ++i) {
      if (i != 1 || !HasVectors()) init.Get(names[i], &counts[i]);
    }
    if (HasVectors()) counts[1] = static_cast<int64_t>(context_.dense_types.size());
    if (init.status().ok()) init.Fail(Check(counts));
  }

  Status Compute(KernelContext& ctx) const override {
    const Tensor& serialized = ctx.input(0);
    const bool is_single = serialized.rank() == 0;
    if (serialized.rank() > 1 || (IsSingle() && !is_single)) {
      return InvalidArgument("Expected serialized to be a ",
                             IsSingle() ? "scalar" : "scalar or vector",
                             ", got shape: ", serialized.shape().ToString());
    }
    const absl::Span<const std::string> examples = serialized.values<std::string>();
    const Tensor& debug = ctx.input(IsSingle() ? ctx.num_inputs() - 1 : 1);
    absl::Span<const std::string> names = debug.values<std::string>();
    if (!names.empty() && names.size() != examples.size()) {
      return InvalidArgument("example_names must be empty or have the correct number of elements");
    }
    Keys context_keys = context_keys_, list_keys = list_keys_;
    std::vector<bool> may_be_missing;
    TFLEET_RETURN_IF_ERROR(ReadKeys(ctx, &context_keys, &list_keys, &may_be_missing));
    TFLEET_ASSIGN_OR_RETURN(const std::vector<FeatureSpec> specs, ContextSpecs(ctx, context_keys));
    TFLEET_ASSIGN_OR_RETURN(const std::vector<FeatureListSpec> list_specs,
                            ListSpecs(list_keys, may_be_missing));
    TFLEET_ASSIGN_OR_RETURN(
        std::vector<FeatureOutput> context,
        ExampleParser(specs, kFeatureLists).Parse(ctx, examples, names, is_single));
    TFLEET_ASSIGN_OR_RETURN(std::vector<FeatureListOutput> lists,
                            ParseFeatureLists(list_specs, examples, names, is_single));
    if (is_single) {
      for (size_t i = context_.first_ragged(); i < context_.size(); ++i) {
        TFLEET_ASSIGN_OR_RETURN(context[i].splits, Tensor::Zeros(specs[i].split_type, Shape()));
      }
    }
    SetOutputs(ctx, &context, &lists);
    return OkStatus();
  }
  bool IsExpensive() const override { return true; }

 private:
  bool HasAttributes() const { return op_ == "ParseSequenceExample"; }
  bool HasVectors() const { return op_ == "ParseSequenceExampleV2"; }
  bool IsSingle() const { return op_ == "ParseSingleSequenceExample"; }

  static void Append(KernelInit& init, const char* attr, Keys* keys) {
    Keys more;
    init.Get(attr, &more);
    keys->insert(keys->end(), more.begin(), more.end());
  }

  Status Check(const int64_t (&counts)[4]) const {
    const auto fits = [](const Part& part, int64_t sparse, int64_t dense) {
      return static_cast<int64_t>(part.sparse_types.size()) == sparse &&
             static_cast<int64_t>(part.dense_types.size()) == dense &&
             part.shapes.size() == part.dense_types.size() &&
             part.split_types.size() == part.ragged_types.size();
    };
    if (!fits(context_, counts[0], counts[1]) || !fits(lists_, counts[2], counts[3])) {
      return InvalidArgument("the numbers of keys, types and shapes do not go together");
    }
    if (HasAttributes() &&
        (context_keys_.size() != context_.size() || list_keys_.size() != lists_.size())) {
      return InvalidArgument("the numbers of keys and types do not go together");
    }
    for (const Part* part : {&context_, &lists_}) {
      for (const PartialShape& shape : part->shapes) {
        if (!shape.is_fully_defined()) {
          return InvalidArgument("Shape ", shape.ToString(), " is not fully defined");
        }
      }
    }
    return OkStatus();
  }

  // Keys that are inputs, and which dense lists may be missing.
  Status ReadKeys(const KernelContext& ctx, Keys* context_keys, Keys* list_keys,
                  std::vector<bool>* may_be_missing) const {
    if (HasVectors()) return ReadVectors(ctx, context_keys, list_keys, may_be_missing);
    Keys missing = may_be_missing_;
    if (IsSingle()) {
      const auto given = ctx.input(1).values<std::string>();
      missing.assign(given.begin(), given.end());
      const size_t total = context_.size() + lists_.size();
      for (size_t i = 0; i < total; ++i) {
        const Tensor& key = ctx.input(static_cast<int>(2 + i));
        if (key.num_elements() != 1) {
          return InvalidArgument("Expected the key of a feature to be a scalar, got shape: ",
                                 key.shape().ToString());
        }
        (i < context_.size() ? context_keys : list_keys)->push_back(key.values<std::string>()[0]);
      }
    }
    for (size_t i = lists_.first_dense(); i < lists_.first_ragged(); ++i) {
      may_be_missing->push_back(std::find(missing.begin(), missing.end(), (*list_keys)[i]) !=
                                missing.end());
    }
    return OkStatus();
  }

  Status ReadVectors(const KernelContext& ctx, Keys* context_keys, Keys* list_keys,
                     std::vector<bool>* may_be_missing) const {
    const size_t counts[] = {context_.sparse_types.size(), context_.dense_types.size(),
                             context_.ragged_types.size(), lists_.sparse_types.size(),
                             lists_.dense_types.size(),    lists_.ragged_types.size()};
    for (int i = 0; i < 6; ++i) {
      const Tensor& keys = ctx.input(2 + i);
      if (keys.rank() != 1 || keys.dim(0) != static_cast<int64_t>(counts[i])) {
        return InvalidArgument("Expected as many ", i < 3 ? "context" : "feature list",
                               " keys as types, ", counts[i],
                               ", but got shape: ", keys.shape().ToString());
      }
      for (const std::string& key : keys.values<std::string>()) {
        (i < 3 ? context_keys : list_keys)->push_back(key);
      }
    }
    const Tensor& missing = ctx.input(8);
    if (missing.num_elements() != static_cast<int64_t>(lists_.dense_types.size())) {
      return InvalidArgument(
          "Expected len(feature_list_dense_missing_assumed_empty to match Nfeature_list_dense");
    }
    const auto values = missing.values<bool>();
    may_be_missing->assign(values.begin(), values.end());
    return OkStatus();
  }

  StatusOr<std::vector<FeatureSpec>> ContextSpecs(const KernelContext& ctx,
                                                  const Keys& keys) const {
    std::vector<FeatureSpec> specs(context_.size());
    const int dense = static_cast<int>(context_.dense_types.size());
    const int first_default = ctx.num_inputs() - dense - (IsSingle() ? 1 : 0);
    for (size_t i = 0; i < specs.size(); ++i) {
      FeatureSpec& spec = specs[i];
      spec.key = keys[i];
      if (i < context_.first_dense()) {
        spec.kind = FeatureKind::kSparse;
        spec.type = context_.sparse_types[i];
      } else if (i < context_.first_ragged()) {
        const int d = static_cast<int>(i - context_.first_dense());
        spec.type = context_.dense_types[d];
        TFLEET_RETURN_IF_ERROR(SetDenseShape(context_.shapes[d], d, &spec));
        const Tensor& fallback = ctx.input(first_default + d);
        if (fallback.num_elements() > 0 && PartialShape(fallback.shape()) != spec.shape) {
          return InvalidArgument("default_value[", d, "].shape() == ", fallback.shape().ToString(),
                                 " != context_dense_shapes[", d, "] == ", spec.shape.ToString());
        }
        TFLEET_RETURN_IF_ERROR(SetFallback(fallback, d, &spec));
      } else {
        spec.kind = FeatureKind::kRagged;
        spec.type = context_.ragged_types[i - context_.first_ragged()];
        spec.split_type = context_.split_types[i - context_.first_ragged()];
      }
    }
    return specs;
  }

  StatusOr<std::vector<FeatureListSpec>> ListSpecs(const Keys& keys,
                                                   const std::vector<bool>& may_be_missing) const {
    std::vector<FeatureListSpec> specs(lists_.size());
    for (size_t i = 0; i < specs.size(); ++i) {
      FeatureListSpec& spec = specs[i];
      spec.key = keys[i];
      if (i < lists_.first_dense()) {
        spec.kind = FeatureKind::kSparse;
        spec.type = lists_.sparse_types[i];
      } else if (i < lists_.first_ragged()) {
        const size_t d = i - lists_.first_dense();
        spec.type = lists_.dense_types[d];
        spec.may_be_missing = may_be_missing[d];
        TFLEET_ASSIGN_OR_RETURN(spec.shape, lists_.shapes[d].ToShape());
      } else {
        spec.kind = FeatureKind::kRagged;
        spec.type = lists_.ragged_types[i - lists_.first_ragged()];
        spec.split_type = lists_.split_types[i - lists_.first_ragged()];
      }
    }
    return specs;
  }

  void SetOutputs(KernelContext& ctx, std::vector<FeatureOutput>* context,
                  std::vector<FeatureListOutput>* lists) const {
    int out = 0;
    const auto set = [&](auto* features, auto part, size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) ctx.SetOutput(out++, std::move((*features)[i].*part));
    };
    const size_t dense = context_.first_dense(), ragged = context_.first_ragged();
    set(context, &FeatureOutput::indices, 0, dense);
    set(context, &FeatureOutput::values, 0, dense);
    set(context, &FeatureOutput::shape, 0, dense);
    set(context, &FeatureOutput::values, dense, ragged);
    set(context, &FeatureOutput::values, ragged, context_.size());
    set(context, &FeatureOutput::splits, ragged, context_.size());
    const size_t list_dense = lists_.first_dense(), list_ragged = lists_.first_ragged();
    set(lists, &FeatureListOutput::indices, 0, list_dense);
    set(lists, &FeatureListOutput::values, 0, list_dense);
    set(lists, &FeatureListOutput::shape, 0, list_dense);
    set(lists, &FeatureListOutput::values, list_dense, list_ragged);
    if (!IsSingle()) set(lists, &FeatureListOutput::lengths, list_dense, list_ragged);
    set(lists, &FeatureListOutput::values, list_ragged, lists_.size());
    set(lists, &FeatureListOutput::outer_splits, list_ragged, lists_.size());
    set(lists, &FeatureListOutput::inner_splits, list_ragged, lists_.size());
  }

  const std::string op_;
  Part context_, lists_;
  Keys context_keys_, list_keys_, may_be_missing_;  // where they are attributes
};

}  // namespace

void RegisterParseSequenceExampleKernels(KernelRegistry& r) {
  for (const char* op :
       {"ParseSequenceExample", "ParseSequenceExampleV2", "ParseSingleSequenceExample"}) {
    r.Add<ParseSequenceExample>(op, kCpu);
  }
}

}  // namespace tensorfleet::cpu
