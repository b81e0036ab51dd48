#include "runtime/opfuzz/index_hints.h"

#include <set>

#include "absl/strings/match.h"
#include "runtime/opfuzz/plan_edit.h"
#include "runtime/opfuzz/values.h"

namespace tensorfleet::opfuzz {
namespace {

void SetSparse(Random& random, const std::vector<int64_t>& dims, NodePlan* plan, int indices,
               int values, int shape) {
  const int64_t rank = dims.size();
  std::vector<int64_t> at;
  std::set<std::vector<int64_t>> positions;
  for (int64_t tries = random.Below(6); tries > 0; --tries) {
    std::vector<int64_t> position;
    for (const int64_t d : dims) position.push_back(random.Below(d));
    positions.insert(position);
  }
  for (const std::vector<int64_t>& p : positions) at.insert(at.end(), p.begin(), p.end());
  const int64_t n = positions.size();
  SetIntegers(plan, indices, Shape({n, rank}), at);
  if (values >= 0) SetShape(random, plan, values, Shape({n}));
  if (shape >= 0) SetIntegers(plan, shape, Shape({rank}), dims);
}

// Rows at `indices` of what input 0 holds, once `lead` are the indices' own dimensions and `depth`
// of the others are used.
void SetUpdates(Random& random, NodePlan* plan, int updates, const Shape& lead, int depth) {
  const Shape& held = plan->shapes[0];
  const StatusOr<Shape> all =
      lead.Concatenated(held.SubShape(std::min(depth, held.rank()), held.rank()));
  if (all.ok()) SetShape(random, plan, updates, random.Percent(95) ? *all : Shape());
}

int UpdatesOf(const OpSchema& schema, const NodePlan& plan) {
  for (const char* name : {"grad", "updates", "update"}) {
    if (const int i = InputNamed(schema, plan, name); i >= 0) return i;
  }
  return -1;
}

}  // namespace

void HintSparse(Random& random, const OpSchema& schema, NodePlan* plan) {
  // All of one shape, as sums want them.
  std::vector<int64_t> dims(random.Between(1, 3));
  for (int64_t& d : dims) d = random.Between(1, 4);
  for (size_t i = 0; i < schema.inputs.size(); ++i) {
    if (!absl::EndsWith(schema.inputs[i].name, "indices")) continue;
    int values = -1, shape = -1;
    for (size_t k = i + 1; k < schema.inputs.size() && k < i + 3; ++k) {
      if (absl::EndsWith(schema.inputs[k].name, "values"))
        values = InputNamed(schema, *plan, schema.inputs[k].name);
      if (absl::StrContains(schema.inputs[k].name, "shape"))
        shape = InputNamed(schema, *plan, schema.inputs[k].name);
    }
    const int indices = InputNamed(schema, *plan, schema.inputs[i].name);
    if (indices < 0 || shape < 0) continue;
    const StatusOr<ArgRange> range = InputRange(schema, plan->def, schema.inputs[i].name);
    const int count = range.ok() ? range->end - range->begin : 1;  // SparseConcat takes several
    for (int k = 0; k < count; ++k) {
      const bool are_lists = count > 1 || schema.inputs[i].number_attr != "";
      SetSparse(random, dims, plan, indices + k, values < 0 ? -1 : values + (are_lists ? k : 0),
                shape + (are_lists ? k : 0));
    }
  }
}

void HintSegments(Random& random, const OpSchema& schema, NodePlan* plan) {
  const int indices = InputNamed(schema, *plan, "indices");
  const int segments = InputNamed(schema, *plan, "segment_ids");
  if (indices < 0 || segments < 0) return;
  if (plan->shapes[0].rank() == 0) SetShape(random, plan, 0, Shape({random.Between(1, 4), 2}));
  std::vector<int64_t> at(random.Between(0, 4)), ids(at.size());
  for (size_t i = 0; i < at.size(); ++i) {
    at[i] = random.Below(plan->shapes[0].dim(0));
    ids[i] = i == 0 ? 0 : ids[i - 1] + random.Between(0, 1);
  }
  const Shape shape({static_cast<int64_t>(at.size())});
  SetIntegers(plan, indices, shape, at);
  SetIntegers(plan, segments, shape, ids);
}

void HintRows(Random& random, const OpSchema& schema, NodePlan* plan) {
  const int indices = InputNamed(schema, *plan, "indices"), updates = UpdatesOf(schema, *plan);
  if (indices < 0 || updates < 0 || plan->shapes[0].rank() == 0) return;
  const Shape lead({random.Between(0, 3)});
  std::vector<int64_t> at(lead.num_elements());
  for (int64_t& row : at) row = random.Below(plan->shapes[0].dim(0));
  SetIntegers(plan, indices, lead, at);
  SetUpdates(random, plan, updates, lead, 1);
}

void HintNd(Random& random, const OpSchema& schema, NodePlan* plan) {
  const int indices = InputNamed(schema, *plan, "indices"), updates = UpdatesOf(schema, *plan);
  if (indices < 0) return;
  if (schema.name == "ScatterNd") plan->shapes[0] = RandomShape(random, Manner::kUsual);
  if (plan->shapes[0].rank() == 0) plan->shapes[0] = Shape({3, 2});
  const Shape held = plan->shapes[0];
  const int64_t depth = random.Between(1, held.rank()), n = random.Between(0, 3);
  std::vector<int64_t> at;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t d = 0; d < depth; ++d) at.push_back(random.Below(held.dim(d)));
  }
  if (schema.name != "ScatterNd") SetShape(random, plan, 0, held);
  SetIntegers(plan, indices, Shape({n, depth}), at);
  if (updates >= 0) SetUpdates(random, plan, updates, Shape({n}), depth);
  if (schema.name == "ScatterNd") {
    const int shape = InputNamed(schema, *plan, "shape");
    const Shape filled = held;
    if (shape >= 0) SetIntegers(plan, shape, Shape({filled.rank()}), filled.dims());
    plan->shapes[0] = plan->values[0].shape();
  }
}

}  // namespace tensorfleet::opfuzz
