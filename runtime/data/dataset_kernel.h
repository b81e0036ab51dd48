// The kernels of ops that make data sets, and how they read their inputs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/data/dataset.h"
#include "runtime/data/iterator_scope.h"
#include "runtime/kernels/kernel.h"
#include "runtime/kernels/kernel_registry.h"

namespace tensorfleet::data {

// Output 0 is the data set.
class DatasetKernel : public Kernel {
 public:
  explicit DatasetKernel(KernelInit& init);
  Status Compute(KernelContext& ctx) const final;

 protected:
  // `output_types` and `output_shapes` of the node, where the op has them.
  const ElementType& declared() const { return declared_; }
  virtual StatusOr<DatasetRef> Make(KernelContext& ctx) const = 0;

 private:
  ElementType declared_;
  Recipe recipe_;  // without inputs
};

// The data set in input `i`.
inline StatusOr<DatasetRef> DatasetInput(const KernelContext& ctx, int i) {
  return DatasetIn(ctx.input(i));
}
// Input `i` as a number. Errors: InvalidArgument `NAME must be a scalar`.
template <typename T>
StatusOr<T> ScalarInput(const KernelContext& ctx, int i, absl::string_view name);
// A list of strings, or one.
StatusOr<std::vector<std::string>> StringsInput(const KernelContext& ctx, int i,
                                                absl::string_view name);

// The function in an attribute, and the inputs that it captures.
class FunctionAttr {
 public:
  // `captured` is the name of an input list, or empty. An unknown function fails the node when its
  // kernel is made.
  FunctionAttr(KernelInit& init, absl::string_view attr, absl::string_view captured);
  CapturedFunctionRef Capture(const KernelContext& ctx) const;

 private:
  Status Bind(KernelInit& init, absl::string_view captured);

  tensorflow::NameAttrList function_;
  std::shared_ptr<const FunctionSource> source_;
  int begin_ = 0, end_ = 0;  // inputs
};

// What `deterministic` says: "true", "false" or "default".
enum class Order { kByOptions, kDeterministic, kSloppy };
Order OrderAttr(KernelInit& init, absl::string_view attr = "deterministic");
inline bool IsDeterministic(Order order, const IteratorScope& scope) {
  return order == Order::kByOptions ? scope.deterministic() : order == Order::kDeterministic;
}

template <typename T>
StatusOr<T> ScalarInput(const KernelContext& ctx, int i, absl::string_view name) {
  const Tensor& input = ctx.input(i);
  if (!input.shape().is_scalar()) return InvalidArgument(name, " must be a scalar");
  return input.scalar<T>();
}

}  // namespace tensorfleet::data
