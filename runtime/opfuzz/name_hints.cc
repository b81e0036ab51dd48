#include "runtime/opfuzz/name_hints.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "runtime/graph/attr.h"
#include "runtime/opfuzz/plan_edit.h"

namespace tensorfleet::opfuzz {
namespace {

enum class Kind { kNone, kScalar, kVector, kAsLongAsRank, kPair, kPairs };

Kind KindOf(absl::string_view op, absl::string_view name) {
  const auto is = [&](std::initializer_list<absl::string_view> names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (name == "size") return absl::StrContains(op, "Slice") ? Kind::kAsLongAsRank : Kind::kScalar;
  if (name == "axis" && absl::StartsWith(op, "Reverse")) return Kind::kVector;
  if (absl::StartsWith(name, "num_") || absl::EndsWith(name, "_dim")) return Kind::kScalar;
  if (is({"index",
          "axis",
          "dim",
          "local_step",
          "new_global_step",
          "start",
          "limit",
          "stop",
          "num",
          "delta",
          "depth",
          "on_value",
          "off_value",
          "k",
          "alg",
          "constant_values",
          "default_value",
          "padding_value",
          "max_num_elements",
          "n",
          "max_size",
          "tag",
          "pred",
          "output_dim0",
          "branch_index",
          "output_index",
          "pattern",
          "rewrite",
          "filename",
          "contents",
          "prefix",
          "minval",
          "maxval",
          "file_pattern",
          "tensor_name",
          "shard",
          "shape_and_slice",
          "basename",
          "min",
          "max",
          "clip_value_min",
          "clip_value_max"})) {
    return Kind::kScalar;
  }
  if (is({"begin", "end", "strides", "perm", "multiples", "begins", "start_indices"}))
    return Kind::kAsLongAsRank;
  if (name == "seed") return Kind::kPair;
  if (is({"paddings", "crops"})) return Kind::kPairs;
  if (is({"element_shape", "lengths", "seq_lengths", "segment_ids", "size_splits", "block_shape",
          "shift", "scale", "offset", "bias", "counter", "shape", "dims", "sizes", "tensor_names",
          "shape_and_slices", "targets"})) {
    return Kind::kVector;
  }
  return Kind::kNone;
}

}  // namespace

void HintByNames(Random& random, const OpSchema& schema, NodePlan* plan) {
  for (const ArgSpec& arg : schema.inputs) {
    const Kind kind = KindOf(schema.name, arg.name);
    const int i = InputNamed(schema, *plan, arg.name);
    if (kind == Kind::kNone || i < 0 || IsHandle(plan->types[i]) || random.Percent(7)) continue;
    const int64_t rank = plan->shapes[0].rank();
    if (arg.name == "element_shape" && random.Percent(60)) {  // any
      SetIntegers(plan, i, Shape(), {-1});
      continue;
    }
    switch (kind) {
      case Kind::kScalar:
        SetShape(random, plan, i, Shape());
        if (arg.name == "alg") SetIntegers(plan, i, Shape(), {random.Between(1, 3)});
        break;
      case Kind::kVector:
        SetShape(random, plan, i, Shape({random.Pick({int64_t{1}, int64_t{2}, int64_t{3}, rank})}));
        break;
      case Kind::kAsLongAsRank:
        SetShape(random, plan, i, Shape({rank}));
        break;
      case Kind::kPair:
        SetShape(random, plan, i, Shape({2}));
        break;
      case Kind::kPairs: {
        const int block = InputNamed(schema, *plan, "block_shape");
        SetShape(random, plan, i,
                 Shape({block < 0 ? rank : plan->shapes[block].num_elements(), 2}));
        break;
      }
      case Kind::kNone:
        break;
    }
  }
}

}  // namespace tensorfleet::opfuzz
