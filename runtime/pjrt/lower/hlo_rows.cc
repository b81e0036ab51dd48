// Instructions that work on slices at places known only at run time, and sorting.
#include <algorithm>

#include "runtime/base/check.h"
#include "runtime/pjrt/lower/hlo_builder.h"
#include "runtime/pjrt/lower/hlo_types.h"

namespace tensorfleet::pjrt {

Hlo HloBuilder::DynamicSlice(const Hlo& x, absl::Span<const Hlo> start, Dims sizes) {
  if (x.shape.rank() == 0) return x;
  const Shape shape = ValidOrThrow(Shape::Make(sizes));
  hlo::Instruction* const out = Start("dynamic-slice", x.dtype, shape, {&x});
  for (const Hlo& place : start) out->add_operand_ids(place.id);
  out->mutable_dynamic_slice_sizes()->Add(sizes.begin(), sizes.end());
  return Result(*out, x.dtype, shape);
}

Hlo HloBuilder::DynamicUpdateSlice(const Hlo& x, const Hlo& update, absl::Span<const Hlo> start) {
  if (x.shape.rank() == 0) return update;
  hlo::Instruction* const out = Start("dynamic-update-slice", x.dtype, x.shape, {&x, &update});
  for (const Hlo& place : start) out->add_operand_ids(place.id);
  return Result(*out, x.dtype, x.shape);
}

Hlo HloBuilder::Gather(const Hlo& x, const Hlo& indices, Dims axes, int64_t lead, int64_t outer) {
  const int64_t rest = indices.shape.rank() - 1 - lead;
  std::vector<int64_t> slice(x.shape.dims().begin(), x.shape.dims().end()), others;
  for (const int64_t axis : axes) slice[axis] = 1;
  for (int64_t i = 0; i < x.shape.rank(); ++i) {
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) others.push_back(i);
  }
  std::vector<int64_t> dims, offsets;
  for (int64_t i = 0; i < lead; ++i) dims.push_back(indices.shape.dim(static_cast<int>(i)));
  const auto add_other = [&](int64_t k) {
    offsets.push_back(static_cast<int64_t>(dims.size()));
    dims.push_back(slice[others[k]]);
  };
  for (int64_t k = 0; k < outer; ++k) add_other(k);
  for (int64_t i = lead; i < lead + rest; ++i) {
    dims.push_back(indices.shape.dim(static_cast<int>(i)));
  }
  for (int64_t k = outer; k < static_cast<int64_t>(others.size()); ++k) add_other(k);
  const Shape shape = ValidOrThrow(Shape::Make(dims));
  // XLA wants a slice to begin with, also where nothing is taken.
  if (x.shape.num_elements() == 0) return Full(x.dtype, shape, 0);
  hlo::Instruction* const out = Start("gather", x.dtype, shape, {&x, &indices});
  hlo::GatherDimensions* const d = out->mutable_gather_dimensions();
  std::vector<int64_t> collapsed(axes.begin(), axes.end());
  std::sort(collapsed.begin(), collapsed.end());
  d->mutable_collapsed()->Add(collapsed.begin(), collapsed.end());
  d->mutable_start_index_map()->Add(axes.begin(), axes.end());
  d->mutable_offset()->Add(offsets.begin(), offsets.end());
  d->set_index_vector(indices.shape.rank() - 1);
  out->mutable_gather_slice_sizes()->Add(slice.begin(), slice.end());
  return Result(*out, x.dtype, shape);
}

Hlo HloBuilder::Scatter(const char* opcode, const Hlo& x, const Hlo& indices, const Hlo& updates,
                        bool are_unique) {
  if (x.shape.num_elements() == 0 || updates.shape.num_elements() == 0) return x;
  const int lead = indices.shape.rank() - 1;
  const int depth = static_cast<int>(indices.shape.dim(-1));
  TFLEET_CHECK(updates.dtype == x.dtype && updates.shape.rank() == lead + x.shape.rank() - depth);
  const int64_t function = ScalarFunction(opcode, x.dtype);
  hlo::Instruction* const out = Start("scatter", x.dtype, x.shape, {&x, &indices, &updates});
  hlo::ScatterDimensions* const dims = out->mutable_scatter_dimensions();
  for (int i = 0; i < x.shape.rank(); ++i) {
    if (i < depth) {
      dims->add_inserted_window(i);
      dims->add_scatter_to_operand(i);
    } else {
      dims->add_update_window(lead + i - depth);
    }
  }
  dims->set_index_vector(lead);
  out->set_unique_indices(are_unique);
  out->add_called_computation_ids(function);
  return Result(*out, x.dtype, x.shape);
}

std::vector<Hlo> HloBuilder::Sort(absl::Span<const Hlo> operands, int64_t dimension,
                                  const char* direction) {
  Begin(absl::StrCat("order_", direction, next_id_));
  std::vector<Hlo> pair;
  for (const Hlo& operand : operands) {
    for (int side = 0; side < 2; ++side) {
      const Hlo parameter = Parameter(operand.dtype, Shape());
      if (pair.size() < 2) pair.push_back(parameter);
    }
  }
  const Hlo order = Compare(direction, pair[0], pair[1]);
  if (IsFloating(pair[0].dtype)) {
    current().mutable_instructions()->rbegin()->set_comparison_type("TOTALORDER");
  }
  const int64_t function = End(order.id);
  const Values like(operands.begin(), operands.end());
  hlo::Instruction* out = nullptr;
  if (operands.size() == 1) {
    out = Start("sort", operands[0].dtype, operands[0].shape, {&operands[0]});
  } else {
    out = StartTuple("sort", like);
    for (const Hlo& operand : operands) out->add_operand_ids(operand.id);
  }
  out->add_dimensions(dimension);
  out->add_called_computation_ids(function);
  out->set_is_stable(true);
  if (operands.size() == 1) return {Result(*out, like[0].dtype, like[0].shape)};
  return Parts(out->id(), like);
}

}  // namespace tensorfleet::pjrt
