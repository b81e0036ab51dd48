#include "runtime/opfuzz/plan_edit.h"

#include "runtime/graph/attr.h"
#include "runtime/opfuzz/values.h"

namespace tensorfleet::opfuzz {

int InputNamed(const OpSchema& schema, const NodePlan& plan, absl::string_view name) {
  const StatusOr<ArgRange> range = InputRange(schema, plan.def, name);
  return range.ok() && range->begin < range->end ? range->begin : -1;
}

void SetShape(Random& random, NodePlan* plan, int i, const Shape& shape) {
  plan->shapes[i] = shape;
  if (plan->values[i].is_valid()) {
    plan->values[i] = RandomTensor(random, plan->types[i], shape, Manner::kUsual);
  }
}

void SetIntegers(NodePlan* plan, int i, const Shape& shape, absl::Span<const int64_t> values) {
  const DType type = plan->types[i];
  if (type != DType::kInt32 && type != DType::kInt64) return;
  Tensor tensor = *Tensor::Zeros(type, shape);
  for (size_t k = 0; k < values.size(); ++k) {
    if (type == DType::kInt32) {
      tensor.mutable_values<int32_t>()[k] = static_cast<int32_t>(values[k]);
    } else {
      tensor.mutable_values<int64_t>()[k] = values[k];
    }
  }
  plan->shapes[i] = shape;
  plan->values[i] = std::move(tensor);
}

}  // namespace tensorfleet::opfuzz
