#include "runtime/kernels/cpu/parsing/feature_lists.h"

#include "absl/container/flat_hash_map.h"
#include "runtime/kernels/cpu/index_input.h"
#include "runtime/kernels/cpu/parsing/merge_columns.h"

namespace tensorfleet::cpu {
namespace {

// The serialized steps of one list in one example.
struct Steps {
  bool is_there = false;
  std::vector<absl::string_view> features;
};

class ListsParser {
 public:
  ListsParser(const std::vector<FeatureListSpec>& specs, absl::Span<const std::string> examples,
              absl::Span<const std::string> names, bool is_single)
      : specs_(specs), examples_(examples), names_(names), is_single_(is_single) {
    for (size_t i = 0; i < specs.size(); ++i) by_key_.emplace(specs[i].key, i);
  }

  StatusOr<std::vector<FeatureListOutput>> Parse() {
    steps_.resize(specs_.size());
    for (std::vector<Steps>& steps : steps_) steps.resize(examples_.size());
    for (size_t e = 0; e < examples_.size(); ++e) TFLEET_RETURN_IF_ERROR(Find(e));
    std::vector<FeatureListOutput> outputs;
    for (size_t l = 0; l < specs_.size(); ++l) {
      TFLEET_ASSIGN_OR_RETURN(outputs.emplace_back(),
                              specs_[l].kind == FeatureKind::kDense ? Dense(l) : Uneven(l));
    }
    return outputs;
  }

 private:
  std::string NameOf(size_t example) const {
    return names_.empty() ? "<unknown>" : names_[example];
  }

  Status Find(size_t example) {
    // The last of several lists with one key is the one that counts.
    std::vector<absl::string_view> lists(specs_.size());
    const bool is_well_formed =
        VisitEntries(examples_[example], 2, 1, [&](absl::string_view key, absl::string_view list) {
          const auto it = by_key_.find(key);
          if (it == by_key_.end()) return;
          lists[it->second] = list.data() == nullptr ? absl::string_view("") : list;
        });
    bool has_good_lists = true;
    for (size_t l = 0; l < specs_.size() && is_well_formed; ++l) {
      Steps& steps = steps_[l][example];
      steps.is_there = lists[l].data() != nullptr;
      has_good_lists = has_good_lists && VisitSteps(lists[l], [&](absl::string_view feature) {
                         steps.features.push_back(feature);
                       });
    }
    if (is_well_formed && has_good_lists) return OkStatus();
    return InvalidArgument("Name: ", NameOf(example),
                           ".  Could not parse the feature lists of a SequenceExample.");
  }

  // The values of one step, whose type must be the list's.
  StatusOr<FeatureView> View(size_t list, size_t example, size_t step) const {
    TFLEET_ASSIGN_OR_RETURN(const FeatureView view,
                            ViewFeature(steps_[list][example].features[step]));
    if (view.type == DType::kInvalid || view.type == specs_[list].type) return view;
    return InvalidArgument(
        "Name: ", NameOf(example), ", Feature list: ", specs_[list].key, ", Index: ", step,
        ".  Data types don't match. Expected type: ", DTypeName(specs_[list].type));
  }

  Status Malformed(size_t list, size_t example, size_t step) const {
    return InvalidArgument("Name: ", NameOf(example), ", Feature list: ", specs_[list].key,
                           ", Index: ", step, ".  Can't parse serialized Example.");
  }

  int64_t MostSteps(size_t list) const {
    size_t most = 0;
    for (const Steps& steps : steps_[list]) most = std::max(most, steps.features.size());
    return static_cast<int64_t>(most);
  }

  StatusOr<FeatureListOutput> Dense(size_t list) const {
    const FeatureListSpec& spec = specs_[list];
    const int64_t stride = spec.shape.num_elements(), most = MostSteps(list);
    FeatureListOutput out;
    TFLEET_ASSIGN_OR_RETURN(Shape shape, spec.shape.Stacked(most));
    if (!is_single_) {
      TFLEET_ASSIGN_OR_RETURN(shape, shape.Stacked(static_cast<int64_t>(examples_.size())));
    }
    TFLEET_ASSIGN_OR_RETURN(out.values, Tensor::Zeros(spec.type, shape));
    std::vector<int64_t> lengths;
    for (size_t e = 0; e < examples_.size(); ++e) {
      const Steps& steps = steps_[list][e];
      if (!steps.is_there && !spec.may_be_missing) {
        return InvalidArgument("Name: ", NameOf(e), ", Feature list '", spec.key,
                               "' is required but could not be found.  Did you mean to include it "
                               "in feature_list_dense_missing_assumed_empty or "
                               "feature_list_dense_defaults?");
      }
      for (size_t s = 0; s < steps.features.size(); ++s) {
        TFLEET_ASSIGN_OR_RETURN(const FeatureView view, View(list, e, s));
        int64_t count = 0;
        const int64_t to = (static_cast<int64_t>(e) * most + static_cast<int64_t>(s)) * stride;
        if (view.type != DType::kInvalid && !CopyFeature(view, stride, &out.values, to, &count)) {
          return Malformed(list, e, s);
        }
        if (count != stride) {
          return InvalidArgument("Name: ", NameOf(e), ", Key: ", spec.key, ", Index: ", s,
                                 ".  Number of values != expected.  values size: ", count,
                                 " but output shape: ", spec.shape.ToString());
        }
      }
      lengths.push_back(static_cast<int64_t>(steps.features.size()));
    }
    TFLEET_ASSIGN_OR_RETURN(out.lengths, IntegerVector(DType::kInt64, lengths));
    if (is_single_) out.lengths = out.lengths.Reshaped(Shape());
    return out;
  }

  // Sparse or ragged.
  StatusOr<FeatureListOutput> Uneven(size_t list) const {
    const FeatureListSpec& spec = specs_[list];
    FeatureColumn column;  // a row for each step
    std::vector<int64_t> outer = {0}, coordinates;
    for (size_t e = 0; e < examples_.size(); ++e) {
      const Steps& steps = steps_[list][e];
      for (size_t s = 0; s < steps.features.size(); ++s) {
        TFLEET_ASSIGN_OR_RETURN(const FeatureView view, View(list, e, s));
        if (!column.Append(view)) return Malformed(list, e, s);
        column.EndRow();
        if (spec.kind != FeatureKind::kSparse) continue;
        for (int64_t i = 0; i < column.RowSize(column.rows() - 1); ++i) {
          if (!is_single_) coordinates.push_back(static_cast<int64_t>(e));
          coordinates.push_back(static_cast<int64_t>(s));
          coordinates.push_back(i);
        }
      }
      outer.push_back(column.rows());
    }
    FeatureListOutput out;
    TFLEET_ASSIGN_OR_RETURN(out.values, Tensor::Allocate(spec.type, {column.size()}));
    column.CopyTo(0, column.size(), &out.values, 0);
    if (spec.kind == FeatureKind::kRagged) {
      TFLEET_ASSIGN_OR_RETURN(out.inner_splits, RowSplits({&column}, spec.split_type));
      TFLEET_ASSIGN_OR_RETURN(out.outer_splits, IntegerVector(spec.split_type, outer));
      // One example alone: only how many steps it has.
      if (is_single_) out.outer_splits = out.outer_splits.Rows(1, 2).Reshaped(Shape());
      return out;
    }
    const int64_t rank = is_single_ ? 2 : 3;
    TFLEET_ASSIGN_OR_RETURN(out.indices, IntegerVector(DType::kInt64, coordinates));
    TFLEET_ASSIGN_OR_RETURN(const Shape indices, Shape::Make({column.size(), rank}));
    out.indices = out.indices.Reshaped(indices);
    const int64_t dims[] = {static_cast<int64_t>(examples_.size()), MostSteps(list),
                            column.widest()};
    TFLEET_ASSIGN_OR_RETURN(out.shape,
                            IntegerVector(DType::kInt64, absl::MakeSpan(dims).last(rank)));
    return out;
  }

  const std::vector<FeatureListSpec>& specs_;
  const absl::Span<const std::string> examples_, names_;
  const bool is_single_;
  absl::flat_hash_map<absl::string_view, size_t> by_key_;
  std::vector<std::vector<Steps>> steps_;  // by list, then example
};

}  // namespace

StatusOr<std::vector<FeatureListOutput>> ParseFeatureLists(
    const std::vector<FeatureListSpec>& specs, absl::Span<const std::string> examples,
    absl::Span<const std::string> names, bool is_single) {
  return ListsParser(specs, examples, names, is_single).Parse();
}

}  // namespace tensorfleet::cpu
