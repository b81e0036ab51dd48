// Gradients of conditionals by dataflow. Where a branch was not taken, its values are dead, and so
// are the gradients worked out from them: a Merge takes whichever is there.
#include "runtime/client/gradients/context.h"
#include "runtime/client/gradients/families.h"
#include "runtime/client/gradients/shape_math.h"
#include "runtime/client/ops.h"

namespace tensorfleet {
namespace {

using C = GradientContext;

// Zeros for the branch of a Switch that nothing came back from; dead where it is not taken.
Output NothingFrom(C& c, int branch, DType type) {
  const Scope& s = c.scope();
  const Term data = c.x(0);
  const Scope there = s.OnDevice("").ColocatedWith(data.output().op());
  const Output zeros = data.dtype() == DType::kResource
                           ? ops::Fill(s, ops::VariableShape(there, data), ScalarConst(s, type, 0))
                           : ops::ZerosLike(s, data);
  const auto split = ops::Switch(s, zeros, c.x(1));
  return branch == 1 ? split.output_true : split.output_false;
}

void Switch(C& c) {
  const DType type = (c.has_gradient(0) ? c.g(0) : c.g(1)).dtype();
  std::vector<Output> branches;
  for (const int branch : {0, 1}) {
    branches.push_back(c.has_gradient(branch) ? c.g(branch).output()
                                              : NothingFrom(c, branch, type));
  }
  c.Set(0, ops::Merge(c.scope(), branches).output);
}

// Of (inputs) -> (output, value_index): back to the input that came.
void Merge(C& c) {
  const Term index = c.y(1);
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (!c.wants(i)) continue;
    const Output came = ops::Equal(c.scope(), index, index.Number(i));
    c.Set(i, ops::Switch(c.scope(), c.g(0), came).output_true);
  }
}

}  // namespace

void RegisterBranchGradients(GradientRegistry& registry) {
  registry.Add("Switch", Switch);
  registry.Add("RefSwitch", Switch);
  registry.Add("Merge", Merge);
  registry.Add("RefMerge", Merge);
}

}  // namespace tensorfleet
